"""What of a message reaches the model: its texts, its images, and the items it travels as."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import ceil

from ..jsondata import compact
from ..model import Compaction, File, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Unknown
from .features import encodable


def texts(parts: Iterable[Part], longest_result: int | None = None) -> Iterator[str]:
    """The texts that reach the model: no signatures, no base64, no unknown records; of a result at most so many bytes,
    where its client sends no more."""
    for part in parts:
        match part:
            case Text(text=text) | Thinking(text=text) | Compaction(summary=text):
                yield text
            case ToolCall(name=name, arguments=arguments):
                yield name
                yield arguments if isinstance(arguments, str) else compact(dict(arguments), default=str)
            case ToolResult(parts=inner):
                yield from texts(inner) if longest_result is None else _shortened(texts(inner), longest_result)
            case File(name=name):
                yield name or ""
            case Image() | Unknown():
                pass


def is_longer(result: ToolResult, longest_result: int) -> bool:
    """Whether a result has more bytes of text than that."""
    return sum(len(encodable(text)[1]) for text in texts(result.parts)) > longest_result


def as_sent(message: Message, longest_result: int | None) -> Message:
    """A message as the client sends it, its results shortened."""
    if longest_result is None or not any(is_longer(result, longest_result) for result in message.results):
        return message
    return replace(message, parts=tuple(_sent(part, longest_result) for part in message.parts))


def _sent(part: Part, longest_result: int) -> Part:
    if not isinstance(part, ToolResult) or not is_longer(part, longest_result):
        return part
    shown = tuple(Text(text=text) for text in _shortened(texts(part.parts), longest_result))
    return replace(part, parts=(*shown, *images(part.parts)))


def _shortened(whole: Iterable[str], room: int) -> Iterator[str]:
    """Texts of a result within so many bytes, without the middle of the one that goes beyond, as Codex sends them
    (0.140 and 0.171, which take four bytes for a token)."""
    for text in whole:
        data = encodable(text)[1]
        if len(data) <= room:
            yield text
            room -= len(data)
        elif room:
            head, tail = data[: room // 2], data[len(data) - (room - room // 2) :]
            cut = f"…{ceil((len(data) - room) / 4)} tokens truncated…"
            yield head.decode(errors="ignore") + cut + tail.decode(errors="ignore")
            room = 0


def images(parts: Iterable[Part]) -> Iterator[Image]:
    """The images, those in results too."""
    for part in parts:
        if isinstance(part, Image):
            yield part
        elif isinstance(part, ToolResult):
            yield from images(part.parts)


def items(message: Message) -> int:
    """How many items a message is sent as: each call and each result is one of its own, all other parts together are
    one."""
    own = sum(isinstance(part, (ToolCall, ToolResult)) for part in message.parts)
    return own + (own < len(message.parts)) or 1
