"""The marks that stand where something was left out, and the bytes that each of them stands for.

A mark tells the model what is missing and how much of it, and holds an id: the beginning of the sha256 of the original
bytes, with which ``recall`` finds them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Protocol

from ..jsondata import dumps
from ..model import Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from .protocol import Span


class Messages(Protocol):
    """Messages by their place."""

    def __getitem__(self, index: int, /) -> Message: ...


ID_LENGTH = 10
"""Hexadecimal digits of an id. Two of a million originals share one with a chance of about a half."""


def id_of(chunks: Iterable[bytes]) -> str:
    """The id of an original, given as its bytes."""
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()[:ID_LENGTH]


def original(messages: Messages, spans: Iterable[Span]) -> Iterator[bytes]:
    """The bytes of what lies at these places: the text of a part as it is (of an image or anything that is no text, its
    JSON), whole messages as lines of JSON; an empty line between one place and the next."""
    for number, (start, stop, part) in enumerate(spans):
        if number:
            yield b"\n\n"
        if part is not None:
            yield text_of(messages[start].parts[part]).encode("utf-8", "surrogatepass")
            continue
        for place in range(start, stop):
            yield json.dumps(messages[place].to_dict()).encode("ascii") + b"\n"


def text_of(part: Part) -> str:
    """The text that a part is, as far as it is one: of a call its arguments, of a result its texts, else JSON."""
    match part:
        case Text() | Thinking():
            return part.text
        case ToolCall():
            return part.arguments if isinstance(part.arguments, str) else dumps(dict(part.arguments))
        case ToolResult() if all(isinstance(inner, Text) for inner in part.parts):
            return "\n".join(inner.text for inner in part.parts if isinstance(inner, Text))
        case _:
            return json.dumps(part.to_dict())


def cut(characters: int, lines: int, name: str) -> str:
    """In the middle of a text."""
    size = f"{lines:,} lines, " if lines > 1 else ""
    return f"[… {size}{characters:,} characters left out; recall {name} …]"


def repeated(lines: int, name: str) -> str:
    """In the place of lines that stand further on as well."""
    return f"[… {lines:,} lines left out that stand further on too; recall {name} …]"


def gap(messages: int, tokens: int, name: str) -> str:
    """In the place of whole messages."""
    return f"[{messages:,} message{'s' * (messages != 1)}, about {tokens:,} tokens, left out here; recall {name}]"


def picture(image: Image, name: str) -> str:
    """In the place of an image."""
    return f"[{image.media_type or 'image'} left out; recall {name}]"
