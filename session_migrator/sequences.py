"""Long conversations without the memory for them: a read-only sequence of messages that lies on disk.

A session's ``messages`` are a tuple as long as they are small. Above ``LIMIT`` they go, one by one, into an
unnamed temporary file, and each is loaded when it is asked for. The file is ours alone (no name, 0600) and is gone
with the sequence, so what was read stays as it was, whatever happens to the source.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Generic, TypeVar, cast, overload

from .model import (
    REPLACED,
    Compaction,
    Image,
    Message,
    Part,
    Session,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)

LIMIT = 8 * 1024 * 1024
"""Bytes of content (about) that a session may hold in memory."""

_FRAME = 40
_DISK = Path("/var/tmp")  # /tmp is memory on many systems

Item = TypeVar("Item")


class Spool(Sequence[Item], Generic[Item]):
    """Values on disk, in order. Append to it while it is being made; iterate, index and slice it ever after.
    A slice is a view of the same file, not a copy."""

    def __init__(self) -> None:
        folder = _DISK if _DISK.is_dir() and os.access(_DISK, os.W_OK) else None
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  (it lives as long as the sequence)
        self._ends = array("q", [0])
        self._last: tuple[int, Item] | None = None

    def __del__(self) -> None:
        self._file.close()

    def append(self, item: Item) -> None:
        """Add a value at the end."""
        self._file.seek(self._ends[-1])
        pickle.dump(item, self._file, pickle.HIGHEST_PROTOCOL)
        self._ends.append(self._file.tell())

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` values."""
        del self._ends[length + 1 :]
        self._last = None

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        if isinstance(index, slice):
            return View(self, range(len(self))[index])
        place = range(len(self))[index]
        if self._last is None or self._last[0] != place:
            self._file.seek(self._ends[place])
            self._last = place, cast(Item, pickle.load(self._file))
        return self._last[1]


class View(Sequence[Item], Generic[Item]):
    """Some places of another sequence, as a sequence."""

    def __init__(self, base: Sequence[Item], places: Sequence[int]) -> None:
        self._base = base
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        if isinstance(index, slice):
            return View(self._base, self._places[index])
        return self._base[self._places[index]]


class Collected(Generic[Item]):
    """A sequence in the making: in memory as long as it is small, then on disk."""

    def __init__(self, weight: Callable[[Item], int]) -> None:
        self._weight = weight
        self._held: list[Item] = []
        self._spool: Spool[Item] | None = None
        self._bytes = 0

    def append(self, item: Item) -> None:
        """Add a value at the end."""
        if self._spool is not None:
            self._spool.append(item)
            return
        self._held.append(item)
        self._bytes += self._weight(item)
        if self._bytes > LIMIT:
            self._spool = Spool()
            for held in self._held:
                self._spool.append(held)
            self._held = []

    def __len__(self) -> int:
        return len(self._held if self._spool is None else self._spool)

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` values."""
        if self._spool is None:
            del self._held[length:]
        else:
            self._spool.truncate(length)

    def sequence(self) -> Sequence[Item]:
        """What was collected: a tuple, or a spool."""
        if self._spool is None:
            return tuple(self._held)
        return self._spool


def collect(messages: Iterable[Message]) -> Sequence[Message]:
    """The messages as a sequence, in memory or on disk by their size."""
    if isinstance(messages, (tuple, Spool, View)):
        return cast(Sequence[Message], messages)
    collected = Collected(weight)
    for message in messages:
        collected.append(message)
    return collected.sequence()


def full_history(session: Session) -> Session:
    """The session with its own compactions undone: all that was said, nothing that stands in for it."""
    replaced = int((session.extra or {}).get(REPLACED) or 0) if session.earlier else 0
    messages = collect(chain(session.earlier, session.messages[replaced:]))
    return replace(session, messages=messages, earlier=(), extra={**(session.extra or {}), REPLACED: 0})


def weight(message: Message) -> int:
    """About how many bytes a message's content takes in memory."""
    return sum(map(_part_weight, message.parts)) + _FRAME


def _part_weight(part: Part) -> int:
    match part:
        case Text(text=text) | Thinking(text=text) | Compaction(summary=text):
            return len(text)
        case ToolCall(arguments=arguments):
            return len(arguments) if isinstance(arguments, str) else _data_weight(arguments)
        case ToolResult(parts=parts):
            return sum(map(_part_weight, parts))
        case Image(data=data):
            return len(data or "")
        case Unknown(raw=raw):
            return _data_weight(raw)
        case _:
            return len(part.data or "")


def _data_weight(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_data_weight, cast(dict[str, Any], value).values())) + 100
    if isinstance(value, list):
        return sum(map(_data_weight, cast(list[Any], value))) + 50
    return 8
