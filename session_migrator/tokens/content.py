"""What of a message reaches the model: its texts, its images, and the items it travels as."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..model import Compaction, File, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Unknown


def texts(parts: Iterable[Part]) -> Iterator[str]:
    """The texts that reach the model: no signatures, no base64, no unknown records."""
    for part in parts:
        match part:
            case Text(text=text) | Thinking(text=text) | Compaction(summary=text):
                yield text
            case ToolCall(name=name, arguments=arguments):
                yield name
                yield arguments if isinstance(arguments, str) else _compact(arguments)
            case ToolResult(parts=inner):
                yield from texts(inner)
            case File(name=name):
                yield name or ""
            case Image() | Unknown():
                pass


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


def _compact(arguments: Mapping[str, Any]) -> str:
    return json.dumps(dict(arguments), ensure_ascii=False, separators=(",", ":"), default=str)
