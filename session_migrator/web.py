"""JSON sent to a web service, and what it answers. The one place that opens a connection; nobody loads it who does not
use it."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPException, IncompleteRead
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

_PAUSE, _LONGEST_PAUSE = 1, 5  # seconds before a second attempt: where the service names none, and at most
_LONGEST_ANSWER = 5_000_000  # bytes


class _TooLong(Exception):
    """More than anybody asked here has to say."""


def ask(
    who: str, url: str, headers: Mapping[str, str], body: Any = None, *, patience: float, direct: bool = False
) -> Any:
    """What a service answers, JSON data: to a POST of the body, JSON data too, or to a GET where there is none. TLS is
    verified, proxies are those of the environment (``direct``: none). Asked once more where it is busy, out of order or
    late by ``patience`` seconds, if it says no later than in five seconds.

    Raises Unavailable, whose message begins with ``who`` and holds nothing else of the URL, the headers, the body or
    the answer.
    """
    try:
        data = None if body is None else dumps(body).encode("utf-8")
        given = {"User-Agent": f"session-migrator/{__version__}", "Accept": "application/json", **headers}
        if data is not None:
            given["Content-Type"] = "application/json"
        return loads(_answer(Request(url, data, given), patience, direct))
    except (FormatError, _TooLong, OSError, HTTPException, ValueError) as error:
        happened = _what_happened(error, patience)
    raise Unavailable(f"{who} {happened}")  # not from the error: its message may quote the key


def _answer(request: Request, patience: float, direct: bool) -> bytes:
    """The answer, at the second attempt if the first one fails in a way that may pass."""
    try:
        return _sent(request, patience, direct)
    except OSError as error:
        pause = _pause(error)
        if pause is None:
            raise
        time.sleep(pause)
        return _sent(request, patience, direct)


def _sent(request: Request, patience: float, direct: bool) -> bytes:
    until, content = time.monotonic() + patience, bytearray()
    try:
        with _opener(direct).open(request, timeout=patience) as response:
            while chunk := response.read1(65_536):
                content += chunk
                if len(content) > _LONGEST_ANSWER:
                    raise _TooLong
                if time.monotonic() > until:
                    raise TimeoutError
    except HTTPError as error:
        error.close()
        raise
    return bytes(content)


def _opener(direct: bool) -> OpenerDirector:
    """Speaks HTTP and HTTPS and nothing else, and follows no redirect: where one leads, the key has no business."""
    opener = OpenerDirector()
    opener.add_handler(ProxyHandler({} if direct else None))
    for handler in (HTTPHandler, HTTPSHandler, UnknownHandler, HTTPErrorProcessor, HTTPDefaultErrorHandler):
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


def _what_happened(error: Exception, patience: float) -> str:
    if isinstance(error, HTTPError):
        status = f"{error.code} {HTTPStatus(error.code).phrase}" if error.code in set(HTTPStatus) else str(error.code)
        return f"answered {status}" + (", and redirects are not followed" if 300 <= error.code < 400 else "")
    if isinstance(error, FormatError):
        return "did not answer with JSON"
    if isinstance(error, _TooLong):
        return f"answered with more than {_LONGEST_ANSWER:,} bytes"
    if isinstance(error, IncompleteRead):
        return "broke off in the middle of its answer"
    if not isinstance(error, OSError):
        return "cannot be asked: its key or its base URL is malformed"
    cause = _cause(error)
    if isinstance(cause, TimeoutError):
        return f"did not answer within {patience:g} seconds"
    why = cause.strerror if isinstance(cause, OSError) else None
    return f"cannot be reached ({why or type(cause).__name__})"


def _cause(error: OSError) -> object:
    return error.reason if isinstance(error, URLError) else error
