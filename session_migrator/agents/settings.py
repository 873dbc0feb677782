"""Settings files of clients: JSON with comments and trailing commas."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..files import is_file
from .jsonl import Record, parse, table

# What has no end goes to the end of the text, so that nothing is looked at twice.
_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'"(?:\\.|[^"\\])*"?|,(?=\s*[}\]])', re.DOTALL)

_LARGEST = 32_000_000
"""Bytes; Claude Code's own notes on projects have some millions."""
_MOST = 1_000_000_000


def settings_of(path: Path) -> Record:
    """The object in a settings file; an empty one where there is none, or it cannot be read."""
    return _parsed(path) or {}


def unreadable(paths: Iterable[Path]) -> str:
    """A remark on the settings files that are there and cannot be read; empty where there are none."""
    return "".join(f"; {path} cannot be read" for path in paths if is_file(path) and _parsed(path) is None)


def _parsed(path: Path) -> Record | None:
    try:
        if not is_file(path) or not 0 < path.stat().st_size <= _LARGEST:
            return None
        words = path.read_text(encoding="utf-8-sig")
        for pattern in (_STRING_OR_COMMENT, _STRING_OR_COMMA):
            words = pattern.sub(lambda found: found[0] if found[0].startswith('"') else " ", words)
    except (OSError, ValueError):
        return None
    return parse(words.encode())


def positive(value: Any) -> int | None:
    """A size that settings give, such as the tokens of a window: a number of 1 or more, within reason; else None."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int(value) if is_number and 1 <= value <= _MOST else None


def joined(lower: Record, upper: Record) -> Record:
    """Two settings, one above the other: objects are joined, of anything else the upper one counts."""
    both = dict(lower)
    for key, value in upper.items():
        below = both.get(key)
        both[key] = joined(table(below), table(value)) if isinstance(below, dict) and isinstance(value, dict) else value
    return both
