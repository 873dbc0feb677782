"""JSON sent to a web service, and what it answers. The one place that opens a connection; nobody loads it who does not
use it."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    UnknownHandler,
)

from . import __version__
from .errors import FormatError, Unavailable
from .jsondata import dumps, loads

# Seconds: for an answer; before a second attempt, where the service names no time, and at most.
_PATIENCE, _PAUSE, _LONGEST_PAUSE = 20, 1, 5
_LONGEST_ANSWER = 1_000_000  # bytes


def post(who: str, url: str, headers: Mapping[str, str], body: Any) -> Any:
    """What the service answers to a body, both JSON data. TLS is verified, proxies are those of the environment. Asked
    once more where it is busy, out of order or late, if it says no later than in five seconds.

    Raises Unavailable, whose message begins with ``who`` and holds nothing of the URL, the headers, the body or the
    answer.
    """
    try:
        data = dumps(body).encode("utf-8")
        given = {"Content-Type": "application/json", "User-Agent": f"session-migrator/{__version__}", **headers}
        return loads(_answer(Request(url, data, given)))
    except FormatError:
        raise Unavailable(f"{who} did not answer with JSON") from None
    except OSError as error:
        raise Unavailable(f"{who} {_what_happened(error)}") from None
    except (HTTPException, ValueError):  # their messages quote the header or the URL
        raise Unavailable(f"{who} cannot be asked: its key or its base URL is malformed") from None


def _answer(request: Request) -> bytes:
    """The answer, at the second attempt if the first one fails in a way that may pass."""
    try:
        return _sent(request)
    except OSError as error:
        pause = _pause(error)
        if pause is None:
            raise
        time.sleep(pause)
        return _sent(request)


def _sent(request: Request) -> bytes:
    try:
        with _opener().open(request, timeout=_PATIENCE) as response:
            return response.read(_LONGEST_ANSWER)
    except HTTPError as error:
        error.close()
        raise


def _opener() -> OpenerDirector:
    """Speaks HTTP and HTTPS and nothing else, and follows no redirect: where one leads, the key has no business."""
    opener = OpenerDirector()
    for handler in (ProxyHandler, HTTPHandler, HTTPSHandler, UnknownHandler):
        opener.add_handler(handler())
    for handler in (HTTPErrorProcessor, HTTPDefaultErrorHandler):
        opener.add_handler(handler())
    return opener


def _pause(error: OSError) -> int | None:
    """Seconds until another attempt may be of use; None where it would not, or not soon."""
    if not isinstance(error, HTTPError):
        return _PAUSE if isinstance(_cause(error), TimeoutError) else None
    if error.code != HTTPStatus.TOO_MANY_REQUESTS and error.code < 500:
        return None
    given = error.headers.get("Retry-After", str(_PAUSE))
    seconds = int(given) if re.fullmatch(r"[0-9]{1,9}", given) else None
    return seconds if seconds is not None and seconds <= _LONGEST_PAUSE else None


def _what_happened(error: OSError) -> str:
    if isinstance(error, HTTPError):
        status = f"{error.code} {HTTPStatus(error.code).phrase}" if error.code in set(HTTPStatus) else str(error.code)
        return f"answered {status}" + (", and redirects are not followed" if 300 <= error.code < 400 else "")
    cause = _cause(error)
    if isinstance(cause, TimeoutError):
        return f"did not answer within {_PATIENCE} seconds"
    why = cause.strerror if isinstance(cause, OSError) else None
    return f"cannot be reached ({why or type(cause).__name__})"


def _cause(error: OSError) -> object:
    return error.reason if isinstance(error, URLError) else error
