"""Rows of lists, kept between runs: a cache that knows each file's size and time and is never trusted over them."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import fields
from dataclasses import replace as replace_fields
from operator import attrgetter
from pathlib import Path
from typing import Any

from .agents.paths import Found
from .agents.spec import Peek
from .errors import WriteError
from .files import replace
from .model import SessionInfo

_FIELDS = [field.name for field in fields(SessionInfo)]
_values = attrgetter(*_FIELDS)
# What a kept row means: its form, and the fields of a session's row in their order.
_FORM = [3, *_FIELDS]
# Where a title may hold a secret. Few do, and the rules that tell for sure take longer to load than a list.
_SUSPECT = re.compile(r"[=:>@]|--|[!-~]{16}")


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
            document = json.dumps({"form": _FORM, "files": self._known}, separators=(",", ":"))
            with contextlib.suppress(WriteError):  # a cache that cannot be kept costs time, nothing else
                replace(self._path, [document.encode("ascii")])

    def remember(self, file: Found, peek: Peek) -> SessionInfo | None:
        """The row of a file: the one kept, where the file has the size and the time it had then."""
        name, stamp = str(file.path), [file.size, file.written]
        known = self._known.get(name)
        if known is not None and known[:2] == stamp:
            with contextlib.suppress(TypeError, ValueError):
                return SessionInfo(**dict(zip(_FIELDS, known[2], strict=True))) if known[2] else None
        info = _shareable(peek(file.path))
        self._known[name] = [*stamp, _values(info) if info else None]
        self._changed = True
        return info


def _shareable(info: SessionInfo | None) -> SessionInfo | None:
    """A row as it may be kept and shown: a title is what somebody typed or pasted first."""
    if info is None or not _SUSPECT.search(info.title or ""):
        return info
    from .redaction import redact

    return replace_fields(info, title=redact(info.title or "")[0])


def _load(path: Path) -> dict[str, list[Any]]:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["form"] == _FORM:
            return {str(name): list(row) for name, row in document["files"].items() if len(row) == 3}
    return {}
