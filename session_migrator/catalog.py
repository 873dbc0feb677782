"""Rows of lists, kept between runs: a cache that knows each file's size and time and is never trusted over them."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from .agents.spec import Peek
from .errors import WriteError
from .files import replace
from .model import SessionInfo

_VERSION = 1


class Catalog:
    """The rows of session files, by path. Use it as a context; what was new is kept when it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = _load(path)
        self._changed = False

    def __enter__(self) -> Catalog:
        return self

    def __exit__(self, *_: object) -> None:
        if self._changed:
            document = json.dumps({"version": _VERSION, "files": self._known}, separators=(",", ":"))
            with contextlib.suppress(WriteError):  # a cache that cannot be kept costs time, nothing else
                replace(self._path, [document.encode("ascii")])

    def remember(self, path: Path, peek: Peek) -> SessionInfo | None:
        """The row of a file: the one kept, where the file has the size and the time it had then."""
        try:
            status = path.stat()
        except OSError:
            return None
        stamp = [status.st_size, status.st_mtime_ns]
        known = self._known.get(str(path))
        if known is not None and known[:2] == stamp:
            with contextlib.suppress(TypeError):
                return SessionInfo(**known[2]) if known[2] else None
        info = peek(path)
        self._known[str(path)] = [*stamp, info.to_dict() if info else None]
        self._changed = True
        return info


def _load(path: Path) -> dict[str, list[Any]]:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["version"] == _VERSION:
            return {str(name): list(row) for name, row in document["files"].items() if len(row) == 3}
    return {}
