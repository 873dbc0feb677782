"""OpenAI Chat Completions messages, the form of the most APIs and tools."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import FormatError
from ..jsondata import Record, as_list, as_object, as_text
from ..model import File, Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult, Unknown
from .blocks import content_blocks, read_block, result_parts
from .conversation import Conversation, arguments_of, input_of, role_of
from .rendering import arguments_text, lone_text, own, turns, url_of, words

SHAPE = "openai"
_CARRIERS = ("content", "tool_calls", "function_call", "refusal")


def write(messages: Iterable[Message]) -> list[Record]:
    """Messages as Chat Completions takes them.

    Not expressible, hence left out: thinking, the error flag of results, unknown parts of other
    shapes. Images and files stand in user messages only; elsewhere a line of text names them.
    Within one message, what is said comes before the calls.
    """
    return [item for role, parts in turns(messages) for item in _items(role, parts)]


def _items(role: Role, parts: list[Part]) -> Iterable[Record]:
    if role == "tool":
        for result in [part for part in parts if isinstance(part, ToolResult)]:
            texts = [_text_block(text) for inner in result.parts if (text := words(inner))]
            yield {"role": "tool", "tool_call_id": result.call_id, "content": _content(texts)}
        return
    content = _content([block for part in parts if (block := _block(part, role))])
    calls = [_call(part) for part in parts if isinstance(part, ToolCall)]
    if calls:
        yield {"role": role, "content": content or None, "tool_calls": calls}
    elif content:
        yield {"role": role, "content": content}


def _content(blocks: list[Any]) -> list[Any] | str:
    """Blocks as a list; none or a single text as plain text, which every server takes."""
    return lone_text(blocks, "text") or blocks or ""


def _text_block(text: str) -> Record:
    return {"type": "text", "text": text}


def _block(part: Part, role: Role) -> Any:
    if isinstance(part, Unknown):
        return own(part, SHAPE)
    if role == "user" and isinstance(part, (Image, File)) and (url := url_of(part)):
        if isinstance(part, Image):
            return {"type": "image_url", "image_url": {"url": url}}
        if part.data:
            return {"type": "file", "file": {"filename": part.name or "file", "file_data": url}}
    text = words(part)
    return _text_block(text) if text else None


def _call(call: ToolCall) -> Record:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments_text(call)}}


def read(item: Record, place: str, conversation: Conversation, shape: str = SHAPE) -> None:
    """Put one chat message into the conversation, of OpenAI's or (``shape``) of Anthropic's API.
    Raises FormatError where its role or its content cannot be told."""
    role = role_of(item, place)
    conversation.begin(role, as_text(item.get("id")))
    read_content(item, role, place, conversation, shape)


def read_content(item: Record, role: Role, place: str, conversation: Conversation, shape: str) -> None:
    """Put what a chat message holds into the message that was begun."""
    if not any(key in item for key in _CARRIERS):
        raise FormatError(f"{place} has no content", "give each message a content")
    blocks = content_blocks(item.get("content"), f"{place}.content")
    if role == "tool" and not any((as_object(block) or {}).get("type") == "tool_result" for block in blocks):
        call_id = conversation.answered(item.get("tool_call_id"), item.get("name"))
        conversation.put(ToolResult(call_id=call_id, parts=result_parts(item.get("content"))))
        return
    if thinking := as_text(item.get("reasoning_content")) or as_text(item.get("reasoning")):
        conversation.put(Thinking(text=thinking))
    for block in blocks:
        conversation.put(read_block(block, conversation, shape))
    if refusal := as_text(item.get("refusal")):
        conversation.put(Text(text=refusal))
    for call in (*(as_list(item.get("tool_calls")) or ()), item.get("function_call")):
        if call is not None:
            conversation.put(_read_call(call, conversation))


def _read_call(value: Any, conversation: Conversation) -> Part:
    """A call as ``tool_calls`` lists it (function or custom), or the bare older ``function_call``."""
    record = as_object(value) or {}
    custom = as_object(record.get("custom"))
    called = custom or as_object(record.get("function")) or record
    if not (name := as_text(called.get("name"))):
        return Unknown(kind="tool_call", raw=value)
    arguments = input_of(custom.get("input")) if custom else arguments_of(called.get("arguments"))
    return conversation.call(record.get("id"), name, arguments)
