"""Parts -> what every shape's writer needs: turns, URLs, argument text, stand-ins."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import count, groupby
from typing import Any

from ..jsondata import Record, as_object, as_text, clean, dumps
from ..model import Compaction, File, Image, Message, Part, Role, Text, ToolCall, ToolResult, Unknown
from .conversation import RAW


def turns(messages: Iterable[Message]) -> Iterator[tuple[Role, list[Part]]]:
    """The messages cut where results begin and end: a tool turn holds results only, any other turn
    none. What a tool message holds besides results is said by the user."""
    for message in messages:
        for results, parts in groupby(message.parts, lambda part: isinstance(part, ToolResult)):
            role: Role = "user" if message.role == "tool" else message.role
            yield "tool" if results else role, list(parts)


def joined(turns: Iterable[tuple[Role, list[Part]]]) -> Iterator[tuple[Role, list[Part]]]:
    """Turns with neighbouring tool turns made one, as APIs want that answer all calls of a turn at
    once; the results stand in the order of their calls."""
    places: dict[str, float] = {}
    numbers = count()
    for is_tool, run in groupby(turns, lambda turn: turn[0] == "tool"):
        if is_tool:
            parts = [part for _, parts in run for part in parts]
            yield "tool", sorted(parts, key=lambda part: places.get(getattr(part, "call_id", ""), math.inf))
            continue
        for role, parts in run:
            places |= {part.id: next(numbers) for part in parts if isinstance(part, ToolCall)}
            yield role, parts


def text_of(part: Part) -> str | None:
    """The words of a part that says something by itself, else None."""
    if isinstance(part, Text):
        return part.text or None
    return part.summary or None if isinstance(part, Compaction) else None


def lone_text(blocks: list[Any], kind: str) -> str | None:
    """The text of the only block where it is a text block, else None."""
    return as_text(blocks[0].get("text")) if len(blocks) == 1 and blocks[0].get("type") == kind else None


def stand_in(part: Image | File) -> str:
    """A line in the place of an image or a file that the shape cannot hold there."""
    kind, name = ("image", None) if isinstance(part, Image) else ("file", part.name)
    location = None if (part.location or "").startswith("data:") else part.location
    return f"[{kind}: {name or location or part.media_type or 'not included'}]"


def words(part: Part) -> str | None:
    """The part as text where only text can be held; None for what is not content."""
    return stand_in(part) if isinstance(part, (Image, File)) else text_of(part)


def url_of(part: Image | File) -> str | None:
    """A data URL of the bytes, or the part's own URL; None where the bytes are elsewhere on a disk."""
    if part.data:
        default = "image/png" if isinstance(part, Image) else "application/octet-stream"
        return f"data:{part.media_type or default};base64,{part.data}"
    return remote(part)


def remote(part: Image | File) -> str | None:
    """The location of an image or a file where it is a URL an API could fetch."""
    location = part.location or ""
    return location if location.startswith(("http://", "https://", "data:")) else None


def arguments_text(call: ToolCall) -> str:
    """The arguments as the text of a call: JSON of an object, raw text as it is, {} for none."""
    return call.arguments or "{}" if isinstance(call.arguments, str) else dumps(clean(call.arguments))


def arguments_object(call: ToolCall) -> Record:
    """The arguments where only an object will do; raw text stands under ``_raw``."""
    return {RAW: call.arguments} if isinstance(call.arguments, str) else dict(call.arguments)


def own(part: Unknown, shape: str) -> Record | None:
    """The object an unknown part was, if it came from that very shape, else None."""
    return as_object(part.raw) if part.meta and part.meta.get("shape") == shape else None
