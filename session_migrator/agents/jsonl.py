"""Tolerant reading of JSON lines: one bad line never hides the others."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from ..errors import FormatError, NoConversation, ReadError
from ..jsondata import clean

Record = dict[str, Any]

# With fewer brackets nothing is nested so deep that writing it again would fail.
_MANY_BRACKETS = 200
HEAD_BYTES = 64 * 1024
_BLANK = b"\0 \t\r\n"


class Line(NamedTuple):
    """A line of a file: its number from 1, its record (None where it is no JSON object), and where it lies, as
    the offset and the length in bytes."""

    number: int
    record: Record | None
    offset: int = 0
    length: int = 0


def parse(raw: bytes) -> Record | None:
    """One line as an object, or None. Padding of NUL bytes is taken off (a file system that lost power pads
    with them). Lone surrogates, which no UTF-8 file can hold, become U+FFFD, numbers that are none null."""
    if raw[:1] != b"{" and raw.lstrip(_BLANK)[:1] != b"{":
        return None
    try:
        value = _decoded(raw)
    except (ValueError, RecursionError, FormatError):
        return None
    return cast(Record, value) if isinstance(value, dict) else None


def _decoded(raw: bytes) -> Any:
    try:
        words = raw.decode("utf-8")
        value, end = _DECODER.raw_decode(words)
        if end != len(words) and words[end:].strip():
            raise ValueError("more than one value")
    except ValueError:
        value = _DECODER.decode(raw.strip(_BLANK).decode("utf-8", "replace"))
    return clean(value) if _is_suspect(raw) else value


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _nothing(_: str) -> None:
    """In the place of NaN and Infinity, which are no JSON."""


# Control characters inside strings are taken as they are: some clients do not escape them.
_DECODER = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=_nothing)


def _is_suspect(raw: bytes) -> bool:
    """Whether a line may hold lone surrogates or deep nesting."""
    if b"\\u" in raw and (b"\\ud" in raw or b"\\uD" in raw):
        return True
    return raw.count(b"[") + raw.count(b"{") > _MANY_BRACKETS


def lines(path: Path, limit: int | None = None) -> Iterator[Line]:
    """The lines of a file as it stands when it is opened, or those within its first ``limit`` bytes; blank
    ones are passed over.

    Lines end at ``\\n`` only (U+2028 and its like stand inside strings). Raises ReadError where the
    file cannot be read, NoConversation where it is empty.
    """
    with _opened(path) as (file, size):
        left = size if limit is None else min(size, limit)
        if not size:
            raise NoConversation(f"{path} is empty", "name another session (session-migrator list --all)")
        hole: int | None = None
        offset = 0
        for number, raw in enumerate(file, start=1):
            if left <= 0:
                return
            left -= len(raw)
            start, offset = offset, offset + len(raw)
            raw = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
            if raw[:1] == b"{" or raw.strip(_BLANK):
                if hole:
                    yield Line(hole, None)
                    hole = None
                yield Line(number, parse(raw), start, offset - start)
            elif b"\0" in raw:  # a line of NUL bytes may have been a record; at the end of a file it is padding
                hole = number


@contextlib.contextmanager
def bytes_of(path: Path) -> Generator[Callable[[int, int], bytes]]:
    """A function that reads again what lies at an offset, of a length. Raises ReadError."""
    with _opened(path) as (file, _):

        def load(offset: int, length: int) -> bytes:
            file.seek(offset)
            return file.read(length).removeprefix(b"\xef\xbb\xbf")

        yield load


@contextlib.contextmanager
def records_of(path: Path) -> Generator[Callable[[int, int], Record]]:
    """A function that reads again the record at an offset, of a length. Raises ReadError."""
    with bytes_of(path) as load:
        yield lambda offset, length: parse(load(offset, length)) or {}


def head(path: Path, size: int) -> bytes:
    """The first ``size`` bytes of a file, unpacked. Raises ReadError."""
    with _opened(path) as (file, _):
        return file.read(size)


class End:
    """The first or the last bytes of a file, as lines that are found and parsed only as they are asked for."""

    def __init__(self, data: bytes, *, last_first: bool, signs: tuple[bytes, ...] = ()) -> None:
        self._data = data
        self._last_first = last_first
        self._signs = signs

    def holding(self, *signs: bytes) -> End:
        """Only the lines in which one of these occurs."""
        return End(self._data, last_first=self._last_first, signs=signs)

    def __iter__(self) -> Iterator[Record]:
        if self._last_first:
            found = self._backwards(self._signs or (b"",))
        else:
            found = self._forwards() if self._signs else io.BytesIO(self._data)
        return filter(None, map(parse, found))

    def _forwards(self) -> Iterator[bytes]:
        start = 0
        while start < len(self._data):
            places = [at for sign in self._signs if (at := self._data.find(sign, start)) >= 0]
            if not places:
                return
            place = min(places)
            start = self._data.rfind(b"\n", start, place) + 1 or start
            end = self._data.find(b"\n", place)
            end = len(self._data) if end < 0 else end
            yield self._data[start:end]
            start = end + 1

    def _backwards(self, signs: tuple[bytes, ...]) -> Iterator[bytes]:
        end = len(self._data)
        while end > 0:
            place = max([self._data.rfind(sign, 0, end) for sign in signs])
            if place < 0:
                return
            start = self._data.rfind(b"\n", 0, place) + 1
            stop = self._data.find(b"\n", place)
            yield self._data[start : end if stop < 0 else min(stop, end)]
            end = start - 1


def ends(path: Path) -> tuple[End, End]:
    """The first 64 KiB of a file, and the last, the last line first: what lists are made of. A file that cannot be
    read has none."""
    try:
        if path.suffix == ".zst":
            with _opened(path) as (packed, _):
                first = tail = packed.read(HEAD_BYTES)
                while chunk := packed.read(HEAD_BYTES):
                    tail = (tail + chunk)[-HEAD_BYTES:]
        else:
            first, tail = _both_ends(path)
    except (OSError, ReadError):
        return End(b"", last_first=False), End(b"", last_first=True)
    return End(first.removeprefix(b"\xef\xbb\xbf"), last_first=False), End(tail, last_first=True)


def _both_ends(path: Path) -> tuple[bytes, bytes]:
    """By descriptor, since lists read hundreds of files and a file object costs as much as the reading."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        first = os.read(descriptor, HEAD_BYTES)
        if len(first) < HEAD_BYTES:
            return first, first
        os.lseek(descriptor, max(0, os.fstat(descriptor).st_size - HEAD_BYTES), os.SEEK_SET)
        return first, os.read(descriptor, HEAD_BYTES)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _opened(path: Path) -> Generator[tuple[BinaryIO, float]]:
    """A file's bytes and how many there are now; zstd is unpacked, its size then unknown (infinite).
    Raises ReadError."""
    try:
        if path.suffix != ".zst":
            with path.open("rb") as file:
                yield file, os.fstat(file.fileno()).st_size
            return
        try:
            import zstandard
        except ImportError as error:
            raise ReadError(f"{path} is packed with zstd", "pip install zstandard") from error
        try:
            with cast(Any, zstandard).open(path, "rb") as packed:
                yield cast(BinaryIO, io.BufferedReader(packed)), math.inf
        except zstandard.ZstdError as error:
            raise ReadError(f"cannot unpack {path}: {error}", "restore the file") from error
    except OSError as error:
        raise ReadError(f"cannot read {path}: {error.strerror}", "check the path and its permissions") from error


def unpacked(data: bytes, most: int) -> bytes | None:
    """What was packed with zstd, of at most so many bytes; None where it is damaged. Raises ReadError where nothing
    here can unpack it."""
    try:
        import zstandard
    except ImportError as error:
        raise ReadError("what is read is packed with zstd", "pip install zstandard") from error
    try:
        return cast(Any, zstandard).ZstdDecompressor().decompress(data, max_output_size=most)
    except zstandard.ZstdError:
        return None


def text(value: Any) -> str | None:
    """The value where it is text that says something, else None."""
    return value if isinstance(value, str) and value.strip() else None


def table(value: Any) -> Record:
    """The value where it is an object, else an empty one."""
    return cast(Record, value) if isinstance(value, dict) else {}


def rows(value: Any) -> list[Any]:
    """The value where it is an array, else an empty one."""
    return cast(list[Any], value) if isinstance(value, list) else []


def dump(record: Record) -> bytes:
    """A record as one line. U+2028, U+2029 and U+0085 are escaped: some readers split lines there."""
    text = _ENCODER.encode(record)
    for char in "\u2028\u2029\x85":
        if char in text:
            text = text.replace(char, f"\\u{ord(char):04x}")
    try:
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:
        return clean(text).encode("utf-8") + b"\n"


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
