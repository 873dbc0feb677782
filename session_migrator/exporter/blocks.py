"""Content blocks -> parts. Block types have one meaning over the APIs, so one table reads them all."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from ..errors import FormatError
from ..jsondata import Record, as_list, as_object, as_text, dumps
from ..model import File, Image, Part, Text, Thinking, ToolResult, Unknown
from .conversation import Conversation, arguments_of, unwrapped

_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^;,]*)*;base64,(.*)", re.IGNORECASE | re.DOTALL)


def content_blocks(content: Any, place: str) -> list[Any]:
    """A message's content as a list: text and a lone block are lists of one, null is none. Raises
    FormatError where it is anything else."""
    if content is None:
        return []
    if isinstance(content, (str, dict)):
        return [content]
    if (blocks := as_list(content)) is None:
        raise FormatError(f"{place} must be text or a list of content blocks", "see the API's message format")
    return blocks


def read_block(block: Any, conversation: Conversation, shape: str) -> Part:
    """One content block as a part; one that is not known as ``Unknown``."""
    if isinstance(block, str):
        return Text(text=block)
    record = as_object(block) or {}
    kind = as_text(record.get("type")) or "block"
    part: Part | None = None
    if kind == "tool_use" and (name := as_text(record.get("name"))):
        part = conversation.call(record.get("id"), name, unwrapped(arguments_of(record.get("input"))))
    elif kind == "tool_result":
        part = ToolResult(
            call_id=conversation.answered(record.get("tool_use_id")),
            parts=result_parts(record.get("content")),
            is_error=record.get("is_error") is True,
        )
    elif kind in _READERS:
        part = _READERS[kind](record)
    return part or unknown(kind, block, shape)


def unknown(kind: str, raw: Any, shape: str) -> Unknown:
    """What is not known, tagged with the shape its object goes back into; other data does not."""
    return Unknown(kind=kind, raw=raw, meta={"shape": shape} if as_object(raw) else None)


def result_parts(value: Any) -> tuple[Part, ...]:
    """What a tool returned: text, blocks, or any JSON data, which is kept as its text."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return (Text(text=value),)
    blocks = as_list(value)
    if blocks is None:
        return (_result_block(value),)
    if not any(_known(block) for block in blocks):
        return (Text(text=dumps(value)),) if blocks else ()
    parts = (_result_block(block) for block in blocks)
    return tuple(part for part in parts if not (isinstance(part, Text) and not part.text))


def _known(value: Any) -> bool:
    record = as_object(value) or {}
    return as_text(record.get("type")) in _READERS


def _result_block(value: Any) -> Part:
    if isinstance(value, str):
        return Text(text=value)
    record = as_object(value) or {}
    part = _READERS[record["type"]](record) if _known(value) else None
    return part or Text(text=dumps(value))


def image_from(url: str) -> Image:
    """The image a URL stands for: a data URL's own bytes, or a place to fetch it from."""
    media_type, data = _split(url)
    return Image(location=url) if data is None else Image(media_type=media_type, data=data)


def _split(url: str) -> tuple[str | None, str | None]:
    match = _DATA_URL.fullmatch(url)
    return (match[1] or None, match[2]) if match else (None, None)


def _text(record: Record, key: str = "text") -> Text | None:
    text = as_text(record.get(key))
    return None if text is None else Text(text=text)


def _thinking(record: Record) -> Thinking | None:
    text, signature = as_text(record.get("thinking")), as_text(record.get("signature")) or None
    if text is None:
        return None
    return Thinking(text=text, signature=signature, provider="anthropic" if signature else None)


def _image_url(record: Record) -> Image | None:
    value = record.get("image_url")
    url = as_text((as_object(value) or {"url": value}).get("url"))
    return image_from(url) if url else None


def _image(record: Record) -> Image | None:
    """An Anthropic image (``source``), or an MCP one (``data``, ``mimeType``)."""
    source = as_object(record.get("source")) or record
    media_type = as_text(source.get("media_type")) or as_text(source.get("mimeType"))
    data, url = as_text(source.get("data")), as_text(source.get("url"))
    if data:
        return Image(media_type=media_type, data=data)
    return image_from(url) if url else None


def _file(record: Record) -> File | None:
    """A file of the OpenAI APIs: nested under ``file`` in chat messages, flat in Responses items."""
    record = as_object(record.get("file")) or record
    name, given, url = (as_text(record.get(key)) for key in ("filename", "file_data", "file_url"))
    if given:
        media_type, data = _split(given)
        return File(name=name, media_type=media_type, data=data or given)
    return File(name=name, location=url) if url else None


def _document(record: Record) -> File | None:
    source = as_object(record.get("source")) or {}
    name, media_type = as_text(record.get("title")), as_text(source.get("media_type"))
    data, url = as_text(source.get("data")), as_text(source.get("url"))
    if data and source.get("type") == "text":
        data = base64.b64encode(data.encode("utf-8")).decode("ascii")
    if data:
        return File(name=name, media_type=media_type, data=data)
    return File(name=name, location=url) if url else None


_READERS: dict[str, Callable[[Record], Part | None]] = {
    "text": _text, "input_text": _text, "output_text": _text, "summary_text": _text,
    "refusal": partial(_text, key="refusal"), "thinking": _thinking, "image_url": _image_url, "input_image": _image_url,
    "image": _image, "file": _file, "input_file": _file, "document": _document,
}  # fmt: skip
