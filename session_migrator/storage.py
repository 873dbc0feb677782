"""What is kept between runs: JSON files, one folder a workspace, safe between processes.

ROOT/workspaces/<name>-<hash>/workspace.json            the folder it stands for
ROOT/workspaces/<name>-<hash>/<kind>/<key>.json         one document
ROOT/workspaces/<name>-<hash>/<kind>/<key>.jsonl.gz     lines, packed
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from .errors import NotFound, ReadError, UsageError, WriteError
from .files import make_folder, replace, replace_by_digest

Document = dict[str, Any]

_PACKED = ".jsonl.gz"
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


class Store:
    """All workspaces under one root: the folder given, else $SESSION_MIGRATOR_HOME, else ~/.session-migrator."""

    def __init__(self, root: Path | str | None = None) -> None:
        chosen = root or os.environ.get("SESSION_MIGRATOR_HOME") or Path.home() / ".session-migrator"
        self.root = Path(chosen)

    def workspace(self, folder: Path | str) -> Workspace:
        """The workspace of a project folder. Two folders never share one: the name holds a hash of the real
        path, and nothing of the path can lead outside the root."""
        real = os.path.realpath(folder)
        label = re.sub(r"[^A-Za-z0-9]+", "-", Path(real).name).strip("-")[:40] or "workspace"
        digest = hashlib.sha256(real.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        return Workspace(self.root / "workspaces" / f"{label}-{digest}", real)

    def workspaces(self) -> list[Workspace]:
        """Every workspace that holds something."""
        found: list[Workspace] = []
        for path in sorted((self.root / "workspaces").glob("*/workspace.json")):
            with contextlib.suppress(ReadError, KeyError):
                found.append(Workspace(path.parent, str(_load(path)["folder"])))
        return found


class Workspace:
    """The documents of one project folder, by kind and key."""

    def __init__(self, path: Path, folder: str) -> None:
        self.path = path
        self.folder = folder
        self._held = False

    def put(self, kind: str, key: str, document: Mapping[str, Any]) -> Path:
        """Store a document, in place of an older one of that key. Raises UsageError (key), WriteError."""
        return self.update(kind, key, lambda _: dict(document))

    def add(self, kind: str, chunks: Iterable[bytes], suffix: str = ".json") -> str:
        """Store a document, given as the pieces of its text, under the sha256 of that text; its key."""
        with self.locked():
            return replace_by_digest(self.path / _checked(kind), suffix, chunks)

    def pack(self, kind: str, chunks: Iterable[bytes]) -> str:
        """Store lines, given as pieces of their text, packed, under the sha256 of that text; its key."""
        with self.locked():
            return replace_by_digest(self.path / _checked(kind), _PACKED, chunks, packed=True)

    def unpack(self, kind: str, key: str) -> Iterator[bytes]:
        """The lines stored under a key. Raises ReadError where the file is missing or damaged."""
        path = self.packed_path(kind, key)
        try:
            with gzip.open(path, "rb") as lines:
                yield from lines
        except (OSError, EOFError, zlib.error) as error:
            raise ReadError(f"{path} is damaged or cannot be read", "restore it, or remove it") from error

    def packed(self, kind: str) -> list[str]:
        """The keys of what is stored packed, sorted."""
        return sorted(path.name.removesuffix(_PACKED) for path in (self.path / _checked(kind)).glob(f"*{_PACKED}"))

    def packed_path(self, kind: str, key: str) -> Path:
        """The file of what is stored packed."""
        return self.path / _checked(kind) / f"{_checked(key)}{_PACKED}"

    def update(self, kind: str, key: str, change: Callable[[Document | None], Document]) -> Path:
        """Replace a document by what ``change`` makes of it (None where there is none yet). No other process
        comes between the reading and the writing."""
        path = self._file(kind, key)
        with self.locked():
            document = change(_load(path) if path.exists() else None)
            replace(path, [json.dumps(document, ensure_ascii=True, indent=1).encode("ascii"), b"\n"])
        return path

    def get(self, kind: str, key: str) -> Document:
        """A document. Raises NotFound, and ReadError where it is damaged."""
        path = self._file(kind, key)
        if not path.exists():
            raise NotFound(f"no {kind} {key} in the workspace of {self.folder}", "see what there is with .keys()")
        return _load(path)

    def keys(self, kind: str) -> list[str]:
        """The keys of a kind, sorted."""
        return sorted(path.stem for path in (self.path / _checked(kind)).glob("*.json"))

    def remove(self, kind: str, key: str) -> None:
        """Remove a document, or what is stored packed, if it is there."""
        with self.locked():
            self._file(kind, key).unlink(missing_ok=True)
            self.packed_path(kind, key).unlink(missing_ok=True)

    def _file(self, kind: str, key: str) -> Path:
        return self.path / _checked(kind) / f"{_checked(key)}.json"

    @contextlib.contextmanager
    def locked(self) -> Generator[None]:
        """Hold the workspace against other processes; what is done with it meanwhile comes in between nothing."""
        if self._held:
            yield
            return
        make_folder(self.path)
        try:
            lock = os.fdopen(os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        except OSError as error:
            raise WriteError(f"cannot lock {self.path}: {error.strerror}", "check its permissions") from error
        with lock:
            _lock(lock.fileno())
            self._held = True
            try:
                named = self.path / "workspace.json"
                if not named.exists():
                    replace(named, [json.dumps({"folder": self.folder}).encode("ascii"), b"\n"])
                yield
            finally:
                self._held = False


def _checked(name: str) -> str:
    if not _KEY.fullmatch(name) or name.endswith("."):
        raise UsageError(f"{name[:80]!r} cannot name a document", "use letters, digits, dot, dash and underscore")
    return name


def _load(path: Path) -> Document:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ReadError(f"{path} is damaged or cannot be read", "restore it, or remove it") from error
    if not isinstance(document, dict):
        raise ReadError(f"{path} is damaged: it is no JSON object", "restore it, or remove it")
    return cast(Document, document)


if os.name == "nt":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)
