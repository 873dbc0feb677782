"""Messages in the making: what a reader gathers over several records before it is a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter

from ..model import Compaction, Message, Origin, Part, Role, Text, ToolCall, ToolResult


@dataclass(slots=True, kw_only=True)
class Draft:
    """A message still open: further parts of the same turn may come."""

    role: Role
    parts: list[Part] = field(default_factory=list[Part])
    id: str | None = None
    timestamp: str | None = None
    model: str | None = None
    origin: Origin | None = None

    def has(self, kind: type[Text] | type[ToolCall]) -> bool:
        """Whether a part of that kind is there already."""
        return any(isinstance(part, kind) for part in self.parts)

    def message(self) -> Message:
        """The finished value."""
        return Message(
            role=self.role, parts=tuple(self.parts), id=self.id, timestamp=self.timestamp,
            model=self.model, origin=self.origin,
        )  # fmt: skip


def by_origin(parts: Iterable[tuple[Origin | None, Part]]) -> Iterator[tuple[Origin | None, list[Part]]]:
    """The parts of one record in runs of one origin; the text of a summary becomes a ``Compaction``."""
    for origin, run in groupby(parts, key=itemgetter(0)):
        yield origin, [_as_summary(part) if origin == "summary" else part for _, part in run]


def _as_summary(part: Part) -> Part:
    return Compaction(summary=part.text) if isinstance(part, Text) else part


def finish(drafts: Iterable[Draft], errors: dict[str, bool] | None = None) -> tuple[Message, ...]:
    """The messages of drafts that hold anything. ``errors`` tells by call id which results failed,
    where the client says so in another record than the result's."""
    known = errors or {}

    def settled(part: Part) -> Part:
        if isinstance(part, ToolResult) and part.call_id in known:
            return replace(part, is_error=known[part.call_id])
        return part

    for draft in drafts:
        draft.parts = [settled(part) for part in draft.parts]
    return tuple(draft.message() for draft in drafts if draft.parts)
