"""Messages in the making: what a reader gathers over several records before it is a value."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter

from ..model import Compaction, Message, Origin, Part, Role, Text, ToolCall, ToolResult
from ..sequences import Collected, weight


@dataclass(slots=True, kw_only=True)
class Draft:
    """A message still open: further parts of the same turn may come."""

    role: Role
    parts: list[Part] = field(default_factory=list[Part])
    id: str | None = None
    timestamp: str | None = None
    model: str | None = None
    origin: Origin | None = None

    kinds: set[type[Part]] = field(init=False)

    def __post_init__(self) -> None:
        self.kinds = set(map(type, self.parts))

    def add(self, parts: Iterable[Part]) -> None:
        """Take in further parts."""
        for part in parts:
            self.parts.append(part)
            self.kinds.add(type(part))

    def has(self, kind: type[Text] | type[ToolCall]) -> bool:
        """Whether a part of that kind is there already."""
        return kind in self.kinds


class Drafts:
    """The messages of a conversation as they are read: the last is open, those before are done and collected.

    ``failed`` tells by call id which results failed, where the client says so in another record than the
    result's; it may grow until the message is done.
    """

    def __init__(self, failed: Mapping[str, bool] | None = None) -> None:
        self.last: Draft | None = None
        self._failed: Mapping[str, bool] = failed if failed is not None else {}
        self._done = Collected(weight)
        self._turns = array("q")

    def add(self, draft: Draft) -> Draft:
        """Open another message; the one before is done."""
        self._close()
        self.last = draft
        return draft

    def extend(self, messages: Iterable[Message]) -> None:
        """Take in messages that are done already."""
        self._close()
        for message in messages:
            self._keep(message)

    def roll_back(self, turns: int) -> None:
        """Drop the last turns of the user, with all that followed them."""
        self._close()
        if turns > 0 and self._turns:
            start = self._turns[-min(turns, len(self._turns))]
            self._done.truncate(start)
            while self._turns and self._turns[-1] >= start:
                self._turns.pop()

    def __len__(self) -> int:
        return len(self._done) + (1 if self.last and self.last.parts else 0)

    def messages(self) -> Sequence[Message]:
        """What was read; messages without parts are none."""
        self._close()
        return self._done.sequence()

    def _close(self) -> None:
        draft, self.last = self.last, None
        if draft and draft.parts:
            self._keep(Message(
                role=draft.role, parts=tuple(map(self._settled, draft.parts)), id=draft.id,
                timestamp=draft.timestamp, model=draft.model, origin=draft.origin,
            ))  # fmt: skip

    def _keep(self, message: Message) -> None:
        if message.origin == "human":
            self._turns.append(len(self._done))
        self._done.append(message)

    def _settled(self, part: Part) -> Part:
        if isinstance(part, ToolResult) and part.call_id in self._failed:
            return replace(part, is_error=self._failed[part.call_id])
        return part


def by_origin(parts: Iterable[tuple[Origin | None, Part]]) -> Iterator[tuple[Origin | None, list[Part]]]:
    """The parts of one record in runs of one origin; the text of a summary becomes a ``Compaction``."""
    for origin, run in groupby(parts, key=itemgetter(0)):
        yield origin, [_as_summary(part) if origin == "summary" else part for _, part in run]


def _as_summary(part: Part) -> Part:
    return Compaction(summary=part.text) if isinstance(part, Text) else part
