"""Writing files so that nobody ever sees half of one and nothing is overwritten."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path

from .errors import Refused, WriteError

_ATTEMPTS = 5  # at a change of a file that others write to
_PREFIX, _SUFFIX = ".session-migrator-", ".tmp"
# zlib: its fastest level, and the window bits that stand for a gzip file.
_LEVEL, _GZIP = 1, 31


class _Changed(WriteError):
    """The file is not what it was when it was read."""


def is_file(path: Path | str) -> bool:
    """Whether there is a file; False also where no file can be, or where we may not look (pathlib raises there)."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path | str) -> bool:
    """The same of a folder."""
    return os.path.isdir(path)  # noqa: PTH112


def make_folder(folder: Path) -> tuple[str, ...]:
    """Make a folder and its missing parents, each 0700; those that were made, the innermost first. Raises
    WriteError."""
    made: list[str] = []
    try:
        for parent in (*reversed(folder.parents), folder):
            if not parent.is_dir():
                parent.mkdir(mode=0o700, exist_ok=True)
                made.insert(0, str(parent))
    except OSError as error:
        remove_empty(made)
        raise _cannot(folder, error) from error
    return tuple(made)


def remove_empty(folders: Iterable[str]) -> None:
    """Remove folders of our own making, as long as nobody else has put something there."""
    for folder in folders:
        with contextlib.suppress(OSError):
            Path(folder).rmdir()


def write_new(path: Path, chunks: Iterable[bytes]) -> tuple[str, ...]:
    """Write a file that must not exist yet, 0600: a temporary file beside it, fsync, then one link to the final
    name. Returns the folders that were made for it. Raises Refused where the name is taken, WriteError where it
    fails; then nothing is left."""
    folders = make_folder(path.parent)
    try:
        _publish(path, chunks)
    except BaseException:
        remove_empty(folders)
        raise
    return folders


def _publish(path: Path, chunks: Iterable[bytes]) -> None:
    temporary = _write_temporary(path, chunks)
    linked = False
    try:
        os.link(temporary, path)
        linked = True
        _sync_folder(path.parent)
        linked = False
    except FileExistsError as error:
        raise Refused(f"{path} exists already", "nothing was changed; try again") from error
    except OSError as error:
        raise _cannot(path, error) from error
    finally:
        for left in (temporary, path)[: 1 + linked]:
            with contextlib.suppress(OSError):
                left.unlink()


def replace(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file of our own, 0600, in the place of an older version. Raises WriteError."""
    make_folder(path.parent)
    _put(_write_temporary(path, chunks), path)


def _put(temporary: Path, path: Path) -> None:
    try:
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _cannot(path, error) from error


def rewrite(path: Path, old: str | None, new: str) -> None:
    """Put a new text (UTF-8) into a file of others, with the permissions it has, if it still holds the old one (None:
    there was no file). Raises WriteError."""
    _rewrite(path, old if old is None else old.encode("utf-8", "surrogateescape"), new.encode("utf-8"))


def _rewrite(path: Path, old: bytes | None, new: bytes) -> None:
    try:
        mode = path.stat().st_mode if old is not None else None
        if mode is not None and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _cannot(path, error) from error
    temporary = _write_temporary(path, [new])
    try:
        if mode is not None:
            temporary.chmod(mode)
        there = path.read_bytes() if path.exists() else None
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _cannot(path, error) from error
    if there != old:
        temporary.unlink(missing_ok=True)
        raise _Changed(f"{path} was written to by another program just now", "try again")
    _put(temporary, path)


def replace_by_digest(folder: Path, suffix: str, chunks: Iterable[bytes], packed: bool = False) -> str:
    """Write a file of our own that is named by the sha256 of its content, which is returned; ``packed`` with gzip.
    Raises WriteError."""
    digest = hashlib.sha256()
    packer = zlib.compressobj(_LEVEL, wbits=_GZIP)

    def passed() -> Iterator[bytes]:
        for chunk in chunks:
            digest.update(chunk)
            yield packer.compress(chunk) if packed else chunk
        if packed:
            yield packer.flush()

    make_folder(folder)
    temporary = _write_temporary(folder / "new", passed())
    _put(temporary, folder / f"{digest.hexdigest()}{suffix}")
    return digest.hexdigest()


def append_line(path: Path, line: bytes) -> bytes:
    """Add one line to a file that others write too, and return the bytes that were added (a line break first where
    the last line has none); every byte that is there stays. Raises WriteError; then nothing is added."""
    make_folder(path.parent)
    added, done = line, 0
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "r+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            added = (b"\n" if size and file.read(1) != b"\n" else b"") + line
            while done < len(added):
                done += file.write(added[done:])
            os.fsync(file.fileno())
    except BaseException as error:
        remove_end(path, added[:done])
        if isinstance(error, OSError):
            raise _cannot(path, error) from error
        raise
    return added


def remove_end(path: Path, added: bytes) -> bool:
    """Take off the bytes that a file ends with, if it still does; a file that held nothing else goes."""
    try:
        with path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            if size < len(added):
                return False
            file.seek(size - len(added))
            if file.read() != added:
                return False
            file.truncate(size - len(added))
        if size == len(added):
            Path(os.path.realpath(path)).unlink()
    except OSError:
        return False
    return True


def remove_line(path: Path, line: bytes) -> bool:
    """Take a line out of a file, or of the one that a link leads to, every other byte staying as it is; whether it was
    there. A file that holds nothing else goes. Raises WriteError, also where others write to it without a pause."""
    path = Path(os.path.realpath(path))
    for left in reversed(range(_ATTEMPTS)):
        if remove_end(path, line):
            return True
        try:
            old = path.read_bytes()
        except OSError:
            return False
        lines = BytesIO(old).readlines()
        if (ours := line.removeprefix(b"\n")) not in lines:
            return False
        del lines[len(lines) - 1 - lines[::-1].index(ours)]
        try:
            if lines:
                _rewrite(path, old, b"".join(lines))
            else:
                path.unlink()
        except _Changed:
            if not left:
                raise
        else:
            return True
    return False


def _write_temporary(path: Path, chunks: Iterable[bytes]) -> Path:
    _sweep(path.parent)
    try:
        handle, name = tempfile.mkstemp(prefix=f"{_PREFIX}{os.getpid()}-", suffix=_SUFFIX, dir=path.parent)
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


def _sweep(folder: Path) -> None:
    """Remove the temporary files of runs that were ended in the middle of a write."""
    for left in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
        owner = left.name[len(_PREFIX) :].split("-")[0]
        if not owner.isdigit() or not _alive(int(owner)):
            left.unlink(missing_ok=True)


def _alive(process: int) -> bool:
    if os.name == "nt":  # there os.kill ends the process it asks about
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


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
