"""Writing files so that nobody ever sees half of one and nothing is overwritten."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from .errors import Refused, WriteError


def make_folder(folder: Path) -> None:
    """Make a folder and its missing parents, each 0700. Raises WriteError."""
    try:
        for parent in (*reversed(folder.parents), folder):
            if not parent.is_dir():
                parent.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise _cannot(folder, error) from error


def write_new(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file that must not exist yet, 0600: a temporary file beside it, fsync, then one
    link to the final name. Raises Refused where the name is taken, WriteError where it fails."""
    temporary = _write_temporary(path, chunks)
    try:
        os.link(temporary, path)
        _sync_folder(path.parent)
    except FileExistsError as error:
        raise Refused(f"{path} exists already", "nothing was changed; try again") from error
    except OSError as error:
        raise _cannot(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def replace(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file of our own, 0600, in the place of an older version. Raises WriteError."""
    temporary = _write_temporary(path, chunks)
    try:
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _cannot(path, error) from error


def append_line(path: Path, line: bytes) -> None:
    """Add one line to a file that others write too; every byte that is there stays. Raises WriteError."""
    make_folder(path.parent)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            torn = size and file.read(1) != b"\n"
            file.write((b"\n" if torn else b"") + line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _cannot(path, error) from error


def remove_line(path: Path, line: bytes) -> bool:
    """Take a line out of a file, every other byte staying as it is; whether it was there. Raises WriteError."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
        mode = path.stat().st_mode
    except OSError:
        return False
    if line not in lines:
        return False
    lines.reverse()
    lines.remove(line)
    replace(path, reversed(lines))
    path.chmod(mode)
    return True


def _write_temporary(path: Path, chunks: Iterable[bytes]) -> Path:
    make_folder(path.parent)
    try:
        handle, name = tempfile.mkstemp(prefix=".session-migrator-", suffix=".tmp", dir=path.parent)
    except OSError as error:
        raise _cannot(path, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _cannot(path, error) from error
        raise
    return Path(name)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _cannot(path: Path, error: OSError) -> WriteError:
    return WriteError(f"cannot write {path}: {error.strerror}", "check that the folder exists and is writable")
