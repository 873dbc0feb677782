"""Gemini ``contents``: roles user and model, and parts. Calls have no ids: order and name pair them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..errors import FormatError
from ..jsondata import Record, as_list, as_object, as_text
from ..model import File, Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult, Unknown
from .blocks import result_parts, unknown
from .conversation import Conversation, arguments_of, role_of, unwrapped
from .rendering import arguments_object, joined, own, turns, words

SHAPE = "gemini"
_PROVIDER = "google"
_SIGNATURE = "thoughtSignature"
_ROLES: dict[Role, str] = {"system": "system", "user": "user", "assistant": "model", "tool": "user"}


def write(messages: Iterable[Message]) -> list[Record]:
    """Messages as ``contents``, but for system messages: they keep their role, and whoever sends a
    request moves their parts into its ``systemInstruction``.

    The results of neighbouring tool messages stand in one content, in the order of their calls,
    their texts joined, their images and files right behind each. Not expressible, hence left
    out: the ids of calls, thinking without a signature of Google's own, unknown parts of other
    shapes. Raw argument text is wrapped as ``{"_raw": text}``.
    """
    names: dict[str, str] = {}
    items: list[Record] = []
    for role, parts in joined(turns(messages)):
        names |= {part.id: part.name for part in parts if isinstance(part, ToolCall)}
        written: list[Any] = []
        for part in parts:
            if isinstance(part, ToolResult):
                written += _response(part, names.get(part.call_id, "unknown"))
            elif block := _part(part, role):
                written.append(block)
        if written:
            items.append({"role": _ROLES[role], "parts": written})
    return items


def _response(result: ToolResult, name: str) -> list[Record]:
    media = [block for part in result.parts if (block := _media(part))]
    texts = [text for part in result.parts if not _media(part) and (text := words(part))]
    key = "error" if result.is_error else "output"
    return [{"functionResponse": {"name": name, "response": {key: "\n".join(texts)}}}, *media]


def _part(part: Part, role: Role) -> Any:
    match part:
        case ToolCall():
            return {"functionCall": {"name": part.name, "args": arguments_object(part)}, **_signature(part)}
        case Thinking(provider="google", signature=str() as signature) if signature and role == "assistant":
            return {"text": part.text, "thought": True, _SIGNATURE: signature}
        case Unknown():
            return own(part, SHAPE)
        case _:
            text = words(part)
            return _media(part) or ({"text": text, **_signature(part)} if text else None)


def _signature(part: Part) -> Record:
    """The signature Google put on a part that is no thought, for itself alone."""
    tagged = as_object((part.meta or {}).get(_PROVIDER)) or {}
    return {key: value for key, value in tagged.items() if key == _SIGNATURE}


def _media(part: Part) -> Record | None:
    if not isinstance(part, (Image, File)):
        return None
    default = "image/png" if isinstance(part, Image) else "application/octet-stream"
    media_type = part.media_type or default
    if part.data:
        return {"inlineData": {"mimeType": media_type, "data": part.data}}
    location = part.location or ""
    if location.startswith(("http://", "https://", "gs://")):
        return {"fileData": {"mimeType": media_type, "fileUri": location}}
    return None


def read(item: Record, place: str, conversation: Conversation) -> None:
    """Put one content into the conversation; media right behind a response is the result's own. Raises
    FormatError where its role or parts cannot be told."""
    parts = as_list(item.get("parts"))
    if parts is None:
        raise FormatError(f"{place}.parts must be a list", "give each content its parts")
    conversation.begin(role_of(item, place) if "role" in item else "user")
    made: list[Part] = []
    for value in parts:
        part, last = _read_part(value, conversation), made[-1] if made else None
        if isinstance(part, (Image, File)) and isinstance(last, ToolResult):
            made[-1] = replace(last, parts=(*last.parts, part))
        else:
            made.append(part)
    for part in made:
        conversation.put(part)


def _get(record: Record, key: str) -> Any:
    """The value of a key, spelled as in the API or, as Python clients do, with underscores."""
    return record.get(key) or record.get(re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key))


def _read_part(value: Any, conversation: Conversation) -> Part:
    if isinstance(value, str):
        return Text(text=value)
    record = as_object(value) or {}
    text, signature = as_text(record.get("text")), as_text(_get(record, _SIGNATURE)) or None
    meta = {_PROVIDER: {_SIGNATURE: signature}} if signature else None
    called, response = as_object(_get(record, "functionCall")), as_object(_get(record, "functionResponse"))
    media = as_object(_get(record, "inlineData")) or as_object(_get(record, "fileData"))
    if called and (name := as_text(called.get("name"))):
        call = conversation.call(called.get("id"), name, unwrapped(arguments_of(called.get("args"))))
        return replace(call, meta=meta)
    if response:
        return _read_response(response, conversation.answered(response.get("id"), response.get("name")))
    if media and (part := _read_media(media)):
        return part
    if text is None:
        return unknown(next(iter(record), "part"), value, SHAPE)
    if record.get("thought") is True:
        return Thinking(text=text, signature=signature, provider=_PROVIDER if signature else None)
    return Text(text=text, meta=meta)


def _read_response(record: Record, call_id: str) -> ToolResult:
    """A response is any object; ``output``, ``result`` and ``error`` are the keys in use for its text."""
    value = record.get("response")
    content = as_object(value) or {}
    key = next(iter(content)) if len(content) == 1 else None
    parts = result_parts(content[key] if key in ("output", "result", "error") else value)
    media = [as_object(_get(as_object(part) or {}, "inlineData")) for part in as_list(record.get("parts")) or ()]
    images = [part for found in media if found and (part := _read_media(found))]
    return ToolResult(call_id=call_id, parts=(*parts, *images), is_error=key == "error")


def _read_media(record: Record) -> Image | File | None:
    media_type, data = as_text(_get(record, "mimeType")), as_text(record.get("data"))
    location = as_text(_get(record, "fileUri"))
    if not data and not location:
        return None
    kind = Image if (media_type or "").startswith("image/") else File
    return kind(media_type=media_type, data=data, location=location)
