"""OpenAI Responses input items, the form Codex stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from ..jsondata import Record, as_list, as_object, as_text
from ..model import File, Image, Message, Part, Role, Thinking, ToolCall, ToolResult, Unknown
from . import openai
from .blocks import result_parts, unknown
from .conversation import Conversation, arguments_of, role_of
from .rendering import arguments_text, lone_text, own, turns, url_of, words

SHAPE = "responses"
_ITEM = "responses item"
_PROVIDER = "openai"
_OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")


def write(messages: Iterable[Message]) -> list[Record]:
    """Messages as input items, each in its place: what is said, calls, results, signed reasoning.

    A call with raw argument text is a ``custom_tool_call``. Not expressible, hence left out:
    reasoning without encrypted content of OpenAI's own, the error flag of results, unknown parts of
    other shapes. Images and files stand in user messages and results only.
    """
    custom: set[str] = set()
    return [item for role, parts in turns(messages) for item in _items(role, parts, custom)]


def _items(role: Role, parts: list[Part], custom: set[str]) -> Iterator[Record]:
    for alone, run in groupby(parts, _stands_alone):
        if alone:
            yield from (item for part in run if (item := _item(part, role, custom)))
        elif content := [block for part in run if (block := _block(part, role))]:
            yield {"type": "message", "role": role, "content": content}


def _stands_alone(part: Part) -> bool:
    """Whether the part is an item of its own, not content of a message."""
    return isinstance(part, (ToolCall, ToolResult, Thinking)) or (
        isinstance(part, Unknown) and own(part, _ITEM) is not None
    )


def _item(part: Part, role: Role, custom: set[str]) -> Any:
    match part:
        case ToolCall(arguments=str() as text):
            custom.add(part.id)
            return {"type": "custom_tool_call", "call_id": part.id, "name": part.name, "input": text}
        case ToolCall():
            custom.discard(part.id)
            arguments = arguments_text(part)
            return {"type": "function_call", "call_id": part.id, "name": part.name, "arguments": arguments}
        case ToolResult():
            kind = "custom_tool_call_output" if part.call_id in custom else "function_call_output"
            return {"type": kind, "call_id": part.call_id, "output": _output(part)}
        case Thinking(provider="openai", signature=str() as signature) if signature and role == "assistant":
            summary = [{"type": "summary_text", "text": part.text}] if part.text else []
            return {"type": "reasoning", "summary": summary, "encrypted_content": signature}
        case Unknown():
            return own(part, _ITEM)
        case _:
            return None


def _output(part: ToolResult) -> Any:
    blocks = [block for inner in part.parts if (block := _block(inner, "user"))]
    return lone_text(blocks, "input_text") or blocks or ""


def _block(part: Part, role: Role) -> Any:
    if isinstance(part, Unknown):
        return own(part, SHAPE)
    if role == "user" and isinstance(part, (Image, File)) and (url := url_of(part)):
        if isinstance(part, Image):
            return {"type": "input_image", "image_url": url}
        data = {"filename": part.name or "file", "file_data": url} if part.data else {"file_url": url}
        return {"type": "input_file", **data}
    text = words(part)
    return {"type": "output_text" if role == "assistant" else "input_text", "text": text} if text else None


def read(item: Record, place: str, conversation: Conversation) -> None:
    """Put one item into the conversation. The API puts no border between the items of one response:
    a run of assistant items is one message, but for a message after one that has said all. Raises
    FormatError where a message's role or content cannot be told."""
    kind = as_text(item.get("type")) or "message"
    if kind == "message":
        role = role_of(item, place)
        if role == "assistant" and not conversation.finished():
            conversation.resume(role)
        else:
            conversation.begin(role, as_text(item.get("id")))
        openai.read_content(item, role, place, conversation, SHAPE)
    elif kind in _OUTPUTS:
        conversation.begin("tool")
        call_id = conversation.answered(item.get("call_id"))
        conversation.put(ToolResult(call_id=call_id, parts=result_parts(item.get("output"))))
    else:
        conversation.resume("assistant")
        conversation.put(_read_item(kind, item, conversation))


def _read_item(kind: str, item: Record, conversation: Conversation) -> Part:
    name = as_text(item.get("name"))
    match kind:
        case "function_call" if name:
            return conversation.call(item.get("call_id"), name, arguments_of(item.get("arguments")))
        case "custom_tool_call" if name:
            text = as_text(item.get("input"))
            return conversation.call(
                item.get("call_id"), name, arguments_of(item.get("input")) if text is None else text
            )
        case "local_shell_call":
            return conversation.call(item.get("call_id"), "local_shell", arguments_of(item.get("action")))
        case "reasoning":
            blocks = as_list(item.get("summary")) or as_list(item.get("content")) or []
            texts = [as_text((as_object(block) or {}).get("text")) for block in blocks]
            signature = as_text(item.get("encrypted_content")) or None
            return Thinking(
                text="\n\n".join(text for text in texts if text),
                signature=signature,
                provider=_PROVIDER if signature else None,
            )
        case _:
            return unknown(kind, item, _ITEM)
