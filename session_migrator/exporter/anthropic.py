"""Anthropic Messages: user and assistant messages of content blocks."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from functools import partial
from typing import Any

from ..jsondata import Record
from ..model import File, Image, Message, Part, Role, Thinking, ToolCall, ToolResult, Unknown
from . import openai
from .rendering import arguments_object, joined, own, remote, turns, words

SHAPE = "anthropic"

read = partial(openai.read, shape=SHAPE)


def write(messages: Iterable[Message]) -> list[Record]:
    """Messages as the Messages API takes them, but for system messages: they keep their role, and
    whoever sends a request moves their content into its ``system`` field.

    The results of neighbouring tool messages stand in one user message. Not expressible, hence left
    out: thinking without a signature of Anthropic's own, unknown parts of other shapes. Raw argument
    text is wrapped as ``{"_raw": text}``. Images and files stand in user messages and results only.
    """
    items: list[Record] = []
    for role, parts in joined(turns(messages)):
        content = [block for part in parts if (block := _block(part, role))]
        if content:
            items.append({"role": "user" if role == "tool" else role, "content": content})
    return items


def _block(part: Part, role: Role) -> Any:
    match part:
        case ToolCall():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": arguments_object(part)}
        case ToolResult():
            return _result(part)
        case Thinking():
            signed = role == "assistant" and part.provider == SHAPE and part.signature
            return {"type": "thinking", "thinking": part.text, "signature": part.signature} if signed else None
        case Unknown():
            return own(part, SHAPE)
        case Image() | File() if role in ("user", "tool") and (source := _source(part)):
            if isinstance(part, Image):
                return {"type": "image", "source": source}
            return {"type": "document", "source": source} | ({"title": part.name} if part.name else {})
        case _:
            text = words(part)
            return {"type": "text", "text": text} if text else None


def _result(part: ToolResult) -> Record:
    content = [block for inner in part.parts if (block := _block(inner, "tool"))]
    block: Record = {"type": "tool_result", "tool_use_id": part.call_id, "content": content}
    return block | {"is_error": True} if part.is_error else block


def _source(part: Image | File) -> Record | None:
    if not part.data:
        url = remote(part)
        return {"type": "url", "url": url} if url and not url.startswith("data:") else None
    if part.media_type == "text/plain":  # the API takes plain text as text, not as base64
        try:
            text = base64.b64decode(part.data, validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            return None
        return {"type": "text", "media_type": "text/plain", "data": text} if text else None
    default = "image/png" if isinstance(part, Image) else "application/pdf"
    return {"type": "base64", "media_type": part.media_type or default, "data": part.data}
