"""Keys of ours in files that others write too, one JSON object each: putting one in, and taking it out again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ..errors import WriteError
from ..files import rewrite
from .jsonl import Record
from .spec import Entry


def put(path: Path, key: str, value: Mapping[str, Any]) -> Entry:
    """Put a key into the object in a file, which is made where there is none; all others stay as they are. Raises
    WriteError."""
    old = _text(path)
    rewrite(path, old, _dumped({**_object(path, old), key: value}, old))
    return Entry(path=str(path), key=key)


def take_out(entry: Entry) -> None:
    """Take a key out again, if it is there; a file that holds nothing else goes. Raises WriteError."""
    path = Path(entry.path)
    old = _text(path)
    held = _object(path, old)
    if held.pop(entry.key, None) is None:
        return
    if held:
        rewrite(path, old, _dumped(held, old))
    else:
        path.unlink(missing_ok=True)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _strange(path) from error


def _object(path: Path, words: str | None) -> Record:
    try:
        held: Any = json.loads(words) if words is not None else {}
    except (ValueError, RecursionError) as error:
        raise _strange(path) from error
    if not isinstance(held, dict):
        raise _strange(path)
    return cast(Record, held)


def _strange(path: Path) -> WriteError:
    return WriteError(f"{path} cannot be read as one JSON object", "start its client once, so that it is mended")


def _dumped(held: Mapping[str, Any], old: str | None) -> str:
    """As clients written in JavaScript lay it out, with the line break at the end that the old text had. Lone
    surrogates, which no UTF-8 file can hold, stand there as escapes, and then everything else does."""
    words = json.dumps(held, ensure_ascii=False, indent=2)
    try:
        words.encode()
    except UnicodeEncodeError:
        words = json.dumps(held, indent=2)
    return words + ("\n" if old and old.endswith("\n") else "")
