"""Keys of ours in files that others write too, one JSON object each: putting one in, and taking it out again."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ..errors import WriteError
from ..files import rewrite
from .jsonl import Record
from .spec import Entry

_MARK = "\ufeff"


def put(path: Path, key: str, value: Mapping[str, Any]) -> Entry:
    """Put a key into the object in a file, or in the one that a link leads to, which is made where there is none; all
    others stay as they are. Raises WriteError."""
    path = Path(os.path.realpath(path))
    old = _text(path)
    rewrite(path, old, _dumped(path, {**_object(path, old), key: value}, old))
    return Entry(path=str(path), key=key)


def take_out(entry: Entry) -> None:
    """Take a key out again, if it is there; a file that holds nothing else goes. Raises WriteError."""
    path = Path(os.path.realpath(entry.path))
    old = _text(path)
    held = _object(path, old)
    if held.pop(entry.key, None) is None:
        return
    if held:
        rewrite(path, old, _dumped(path, held, old))
    else:
        path.unlink(missing_ok=True)


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _strange(path) from error


def _object(path: Path, words: str | None) -> Record:
    try:
        held: Any = json.loads(words.removeprefix(_MARK)) if words is not None else {}
    except (ValueError, RecursionError) as error:
        raise _strange(path) from error
    if not isinstance(held, dict):
        raise _strange(path)
    return cast(Record, held)


def _strange(path: Path) -> WriteError:
    return WriteError(f"{path} cannot be read as one JSON object", "start its client once, so that it is mended")


def _dumped(path: Path, held: Mapping[str, Any], old: str | None) -> str:
    """As clients written in JavaScript lay it out, with the byte order mark, the line breaks and the end that the old
    text had. Lone surrogates, which no UTF-8 file can hold, stand there as escapes, and then everything else does. A
    number past all that can be written again is refused."""
    old = old or ""
    try:
        words = json.dumps(held, ensure_ascii=False, indent=2, allow_nan=False)
        words.encode()
    except UnicodeEncodeError:
        words = json.dumps(held, indent=2, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise _strange(path) from error
    words = _MARK * old.startswith(_MARK) + words + "\n" * old.endswith("\n")
    return words.replace("\n", "\r\n") if "\r\n" in old else words
