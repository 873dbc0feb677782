"""JSON as it comes from anywhere: read strictly, made clean, its places named in errors."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from .errors import FormatError

Record = dict[str, Any]

# Messages may nest less deeply than documents, so that whatever was read can be written again.
MESSAGE_DEPTH = 100
DOCUMENT_DEPTH = 200

_LONE = re.compile("[\ud800-\udfff]")


def clean(value: Any, depth: int = DOCUMENT_DEPTH) -> Any:
    """JSON data as a fresh copy every JSON writer accepts: lone surrogates become U+FFFD, numbers
    that are not finite become null, tuples lists. Raises FormatError where it is nested deeper than
    ``depth``, or holds what is no JSON data."""
    if isinstance(value, str):
        return value if value.isascii() else _LONE.sub("\ufffd", value)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth <= 0:
        raise FormatError("the data is nested too deeply", "give a conversation as its client stores it")
    if isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value).items()
        return {clean(str(key)): clean(item, depth - 1) for key, item in items}
    if isinstance(value, (list, tuple)):
        return [clean(item, depth - 1) for item in cast(list[Any], value)]
    raise FormatError(f"a value of type {type(value).__name__} is no JSON data", "give data as json.loads returns it")


def loads(data: str | bytes) -> Any:
    """Clean data out of JSON text, UTF-8 if bytes, with or without a byte order mark. Raises
    FormatError where it is no JSON: NaN and infinite numbers are none, nor is text in another encoding."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        value = json.loads(text.removeprefix("\ufeff"), parse_constant=_refuse, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 text: byte {error.start} fits no character", "save it as UTF-8") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise FormatError(f"not JSON: {error.msg} at {place}", "check that the file is whole") from error
    except ValueError as error:
        raise FormatError("not JSON: a number in it is not finite or too long", "correct the number") from error
    except RecursionError as error:
        raise FormatError("the data is nested too deeply", "give a conversation as its client stores it") from error
    return clean(value)


def _refuse(constant: str) -> float:
    raise ValueError(constant)


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse(digits)


def dumps(value: Any, indent: int | None = None) -> str:
    """JSON text of clean data, every character as itself."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


def compact(value: Any, default: Callable[[Any], str] | None = None) -> str:
    """JSON text without spaces: as the arguments of a call are counted, and written where a client keeps them as text.
    ``default``: what stands for a value that is no JSON; without it one raises TypeError."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=default)


def as_object(value: Any) -> Record | None:
    """The value where it is an object, else None."""
    return cast(Record, value) if isinstance(value, dict) else None


def as_list(value: Any) -> list[Any] | None:
    """The value where it is a list, else None."""
    return cast(list[Any], value) if isinstance(value, list) else None


def as_text(value: Any) -> str | None:
    """The value where it is text, else None."""
    return value if isinstance(value, str) else None
