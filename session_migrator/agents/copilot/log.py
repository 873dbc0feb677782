"""The log of a Copilot CLI session: its lines, and which of its events are there in the end.

An event names the one before it, so the order is that of the lines. A compaction puts a summary in the place of all
before its start; a rewind takes events back; the events of a sub-agent stand between those of the session itself.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from ...losses import Loss
from ..jsonl import Line, Record, bytes_of, lines, parse, rows, table, text

VERSION = 1
"""The version of the events that is known (0.0.369 to 1.0.102)."""
SUMMARY = "session.compaction_complete"
_SPEAKING = (
    *("user.message", "assistant.message", "assistant.reasoning"),
    *("tool.execution_complete", "system.notification"),
)
_START, _CLEARED, _REWOUND = "session.compaction_start", "session.context_cleared", "session.snapshot_rewind"
_ASSET = "session.binary_asset"
# Families of events that say nothing in the conversation.
_QUIET = (
    "session.", "assistant.", "tool.", "system.", "hook.", "permission.", "subagent.", "skill.", "model.", "mcp.",
    "user_input.", "elicitation.", "sampling.", "external_tool.", "command.", "commands.", "capabilities.", "abort",
    "exit_plan_mode.", "auto_mode", "session_limits", "pending_messages.", "custom_notification", "canvas.",
)  # fmt: skip
_MOST = 64 * 1024 * 1024
"""Bytes of lines in a row that are looked at for events."""
_BEGIN = re.compile(rb'^\{\s*"type"\s*:', re.MULTILINE)


class Place(NamedTuple):
    """Where an event lies, and its id."""

    id: str
    kind: str
    offset: int
    length: int


@dataclass(slots=True)
class Log:
    """What the events come to: ``facts`` of the whole session, the ``live`` events, those before the last compaction,
    where the bytes of images are by their ids; ``known`` whether any event is Copilot's."""

    facts: Record = field(default_factory=dict[str, Any])
    earlier: list[Place] = field(default_factory=list[Place])
    assets: dict[str, Place] = field(default_factory=dict[str, Place])
    losses: list[Loss] = field(default_factory=list[Loss])
    known: bool = False

    # Of the live events the summary, and by a running number those behind it; the numbers by id, since each event may
    # be taken back.
    _summary: Place | None = None
    _behind: dict[int, Place] = field(default_factory=dict[int, Place])
    _numbers: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict[str, list[int]](list))
    _next: int = 0
    _started: int = 0

    @property
    def live(self) -> list[Place]:
        """The live events in order."""
        return [*([self._summary] if self._summary else []), *self._behind.values()]

    def take(self, line: Line) -> None:
        """Apply the next line."""
        event = line.record
        kind = text(table(event).get("type"))
        if event is None or kind is None:
            self.losses.append(Loss(kind="bad_line", detail=f"line {line.number} is no event and was skipped"))
            return
        data, place = data_of(event), Place(str(event.get("id")), kind, line.offset, line.length)
        self.known = self.known or is_event(event)
        if event.get("agentId") or data.get("parentToolCallId"):
            if kind in _SPEAKING:
                detail = "what a sub-agent said within the session is not carried"
                self.losses.append(Loss(kind="child_session", severity="info", detail=detail))
        elif kind in _SPEAKING:
            self._behind[self._next] = place
            self._numbers[place.id].append(self._next)
            self._next += 1
        elif kind == _ASSET:
            self.assets[str(data.get("assetId"))] = place
        elif kind == _START:
            self._started = self._next
        elif kind == SUMMARY and data.get("success") and text(data.get("summaryContent")):
            before = list(takewhile(lambda number: number < self._started, self._behind))
            self.earlier += [self._behind.pop(number) for number in before]
            self._summary = place
        elif kind in (_CLEARED, _REWOUND):
            self._take_back(data if kind == _REWOUND else None)
        else:
            self._note(kind, data)

    def _take_back(self, rewound: Record | None) -> None:
        """Drop what was rewound, or all."""
        count = len(self._behind) + bool(self._summary)
        named = {each for each in rows(table(rewound).get("eventIds")) if isinstance(each, str)}
        first = str(table(rewound).get("upToEventId"))
        summary = self._summary.id if self._summary else None
        is_all = rewound is None or (not named and first == summary)
        if is_all or summary in named:
            self._summary = None
        if is_all:
            self._behind.clear()
        elif named:
            for number in chain.from_iterable(self._numbers.pop(each, ()) for each in named):
                self._behind.pop(number, None)
        else:
            at = next((number for number in self._numbers[first] if number in self._behind), self._next)
            while self._behind and next(reversed(self._behind)) >= at:
                self._behind.popitem()
        if len(self._behind) + bool(self._summary) < count:
            detail = "messages that were taken back (a rewind, or a clear) are not carried"
            self.losses.append(Loss(kind="branch", detail=detail))

    def _note(self, kind: str, data: Record) -> None:
        context = table(data.get("context")) if kind in ("session.start", "session.resume") else {}
        if kind == "session.context_changed":
            context = data
        found = {
            "cwd": context.get("cwd"),
            "model": data.get("newModel") if kind == "session.model_change" else data.get("selectedModel"),
            "title": data.get("title") if kind == "session.title_changed" else None,
            "sessionId": data.get("sessionId") if kind == "session.start" else None,
            "startTime": data.get("startTime"),
        }
        self.facts |= {key: value for key, value in found.items() if text(value)}
        version = data.get("version")
        if kind == "session.start" and isinstance(version, int) and version > VERSION:
            detail = f"format version {version} is not known; what is understood of it was read"
            self.losses.append(Loss(kind="unknown_record", detail=detail))
        if not kind.startswith(_QUIET):
            detail = f"an event of a kind that is not known ({kind[:40]}) was skipped"
            self.losses.append(Loss(kind="unknown_record", detail=detail))


def events(path: Path) -> Iterator[Line]:
    """The lines of a log. An event with line breaks in its strings (1.0.24) is one line, of all of it.

    Raises ReadError, NoConversation."""
    with bytes_of(path) as load:
        torn: list[Line] = []
        for line in chain(lines(path), [None]):
            if line and not is_event(line.record) and (torn or line.record is None):
                torn.append(line)
                continue
            yield from _joined(torn, load)
            torn = []
            if line:
                yield line


def _joined(torn: Sequence[Line], load: Callable[[int, int], bytes]) -> Iterator[Line]:
    """Lines in a row that are no events, as the events that they are together; each of the others as it is."""
    if not torn:
        return
    start = torn[0].offset
    size = torn[-1].offset + torn[-1].length - start
    data = load(start, size) if size <= _MOST else b""
    begins = [0, *(found.start() for found in _BEGIN.finditer(data, 1)), size]
    offsets = [line.offset - start for line in torn]
    for begin, end in pairwise(begins):
        record = parse(data[begin:end])
        within = torn[bisect_left(offsets, begin) : bisect_left(offsets, end)]
        if is_event(record):
            yield Line(within[0].number, record, start + begin, end - begin)
        else:
            yield from within


def is_event(record: Record | None) -> bool:
    """Whether a record has the form of an event."""
    return record is not None and text(record.get("type")) is not None and isinstance(record.get("data"), dict)


def data_of(event: Record) -> Record:
    """What an event says."""
    return table(event.get("data"))
