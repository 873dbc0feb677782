"""Whether two sessions say the same: what is checked after every write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, zip_longest
from typing import Any

from .jsondata import clean
from .model import Compaction, Image, Message, Part, Text, Thinking, ToolCall, ToolResult


def comparable(messages: Iterable[Message]) -> Iterator[tuple[str, Any]]:
    """Every part with its role, in order, without provider-tagged extras. Where one message of a role, or one text,
    ends and the next begins does not count: every client joins them when it sends. Calls and results keep their
    ids, so pairs are compared too."""
    parts = ((message.role, _bare(part)) for message in messages for part in message.parts)
    for (role, kind), run in groupby(parts, key=lambda pair: (pair[0], pair[1][0])):
        if kind == Text.type:
            yield role, (kind, "".join(bare[1] for _, bare in run))
        else:
            yield from run


def _bare(part: Part) -> Any:
    match part:
        case Text(text=text) | Compaction(summary=text):
            return "text", text
        case Thinking():
            return part.type, part.text, part.signature
        case ToolCall():
            return part.type, part.id, part.name, part.arguments
        case ToolResult():
            return part.type, part.call_id, part.is_error, tuple(map(_bare, part.parts))
        case Image():
            return part.type, part.media_type, part.data, part.location
        case _:
            return part.type, part.to_dict()


def difference(expected: Iterable[Message], found: Iterable[Message]) -> str | None:
    """Where two conversations differ first, in one sentence that quotes nothing of them; None if nowhere. Lone
    surrogates, which no file can hold, do not count."""
    for place, (one, other) in enumerate(zip_longest(comparable(expected), comparable(found)), start=1):
        if other is None:
            return f"it ends before part {place}"
        if one is None:
            return f"there is more after part {place - 1}"
        if one != other and clean(list(one)) != clean(list(other)):
            return f"part {place} ({one[0]}, {one[1][0]}) reads back as another"
    return None
