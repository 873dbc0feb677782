"""The records of a CodeBuddy conversation -> Messages."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ... import timestamps
from ...losses import Loss
from ...model import File, Image, Message, Origin, Part, Text, Thinking, ToolCall, ToolResult, Unknown
from ...toolnames import tool_kind
from ..drafts import Draft, Drafts, by_origin
from ..jsonl import Record, parse, rows, table, text
from .tree import is_summary

_QUERY = "user_query"
_OPEN, _CLOSE = f"<{_QUERY}>", f"</{_QUERY}>"
# What the client puts around, or beside, a user's words: for its model, and WorkBuddy in the file too (2.163.0).
_TAGS = (
    _QUERY, "system-reminder", "command-message", "command-name", "local-command-stdout", "task-notification",
    "monitor-event", "teammate-message", "channel", "cb_summary", "conversation_history_summary",
    "team-project-context", "user-context", "additional-data",
)  # fmt: skip
_BLOCK = re.compile(rf"<({'|'.join(_TAGS)})\b[^>]*>(.*?)</\1>", re.DOTALL)
_RESERVED = re.compile(rf"\s*<(?:{'|'.join(_TAGS)})\b")
_MARK = re.compile(r"</?(?:cb_summary|conversation_history_summary|summary)\b[^>]*>")
_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^,]*)?;base64,(.*)", re.DOTALL)
_BLOB_ID = re.compile(r"[0-9a-f]{64}")
_MOVED_OUT = "a result that its client had moved to a file is carried as its model saw it: a preview and the path"
_PERSISTED = "<persisted-output>"
ENCRYPTED = "ciphertext"
"""The key that an encrypted value has, of a record or in one (WorkBuddy, with encryption at rest)."""


def wrapped(words: str) -> str:
    """A user's words as WorkBuddy stores them. Without the marks the client takes words that begin as its own for its
    own, and joins those of neighbouring messages to one (2.163.0)."""
    return f"{_OPEN}{words}{_CLOSE}"


def conversation(records: Iterable[Record], blobs: Path, losses: list[Loss]) -> Sequence[Message]:
    """The messages in order; what cannot be told goes to ``losses``. ``blobs`` is the folder of the home's images."""
    drafts = Drafts()
    answer: Any = None  # the id of the answer that the last draft belongs to
    for record in records:
        kind, about = record.get("type"), table(record.get("providerData"))
        if about.get("discard") is True:
            continue
        parts = list(_parts(record, blobs))
        if kind in ("function_call_result", "function_call_output"):
            if any(map(_is_moved_out, parts)):
                losses.append(Loss(kind="file", severity="info", detail=_MOVED_OUT))
            if drafts.last and drafts.last.role == "tool":
                drafts.last.add(parts)
            else:
                drafts.add(Draft(role="tool", parts=parts, origin="tool", **_place(record)))
        elif kind == "message" and record.get("role") != "assistant":
            _told(drafts, record, about, parts)
        else:
            said, answer = answer, about.get("messageId")
            own = about.get("skipRun") is True  # the client's own words, an error mostly
            last = drafts.last
            if last and last.role == "assistant" and said == answer and (last.origin == "injected") == own:
                last.add(parts)
            else:
                model, origin = text(about.get("model")), "injected" if own else "model"
                drafts.add(Draft(role="assistant", parts=parts, model=model, origin=origin, **_place(record)))
    return drafts.messages()


def human_words(record: Record) -> str | None:
    """The human's words in a record, if it is one of theirs."""
    if record.get("type") != "message" or record.get("role") != "user" or _is_own(table(record.get("providerData"))):
        return None
    contents = (_text_of(table(content)) for content in _contents(record.get("content")))
    told = (apart for words in contents if words for apart in _apart(words))
    return next((words for origin, words in told if origin == "human" and words.strip()), None)


def _told(drafts: Drafts, record: Record, about: Record, parts: list[Part]) -> None:
    """A message in the user's place: words of the human, of the client or of a compaction."""
    if record.get("role") == "system":
        drafts.add(Draft(role="system", parts=parts, origin="injected", **_place(record)))
        return
    whole: Origin | None = "summary" if is_summary(record) else "injected" if _is_own(about) else None
    told: list[tuple[Origin | None, Part]] = []
    for part in parts:
        if whole == "summary" and isinstance(part, Text):
            told.append((whole, Text(text=_bare(part.text))))
        elif whole is None and isinstance(part, Text):
            told.extend((origin, Text(text=words)) for origin, words in _apart(part.text))
        else:
            told.append((whole or "human", part))
    for origin, run in by_origin(told):
        drafts.add(Draft(role="user", parts=run, origin=origin, **_place(record)))


def _bare(summary: str) -> str:
    """The words of a summary without the marks around them."""
    return _MARK.sub("", summary).strip()


def _is_own(about: Record) -> bool:
    """Whether the client said a message in the user's place."""
    return any(about.get(key) is True for key in ("isMeta", "isCompactInternal", "skipRun")) or bool(
        table(about.get("teammateMessage"))
    )


def _apart(words: str) -> Iterator[tuple[Origin, str]]:
    """A text in pieces: the human's own words, and what the client has put beside them, where it begins as such."""
    if not _RESERVED.match(words):
        yield "human", words
        return
    if words.startswith(_OPEN) and words.endswith(_CLOSE):
        yield "human", words[len(_OPEN) : -len(_CLOSE)]
        return
    at = 0
    for block in _BLOCK.finditer(words):
        between = words[at : block.start()].strip()
        if between:
            yield "human", between
        if block[1] != _QUERY:
            yield ("summary" if "summary" in block[1] else "injected"), block[0]
        elif block[2].strip():
            yield "human", block[2].strip()
        at = block.end()
    rest = words[at:].strip()
    if rest:
        yield ("human" if at else "injected"), rest


def _place(record: Record) -> dict[str, Any]:
    return {"id": text(record.get("id")), "timestamp": timestamps.parse(record.get("timestamp"))}


def _parts(record: Record, blobs: Path) -> Iterator[Part]:
    kind = record.get("type")
    if kind == "function_call":
        name = text(record.get("name")) or "unknown"
        arguments = _arguments(record.get("arguments"))
        yield ToolCall(id=_call_id(record), name=name, arguments=arguments, kind=tool_kind(name))
    elif kind in ("function_call_result", "function_call_output"):
        parts = tuple(_output(record.get("output"), blobs))
        yield ToolResult(call_id=_call_id(record), parts=parts, is_error=_failed(record))
    elif kind == "reasoning":
        texts = [
            _text_of(table(content)) or "" for content in _contents(record.get("rawContent") or record.get("content"))
        ]
        if any(texts):
            yield Thinking(text="\n".join(texts))
    else:
        for content in _contents(record.get("content")):
            yield from _content(table(content), blobs)


def _call_id(record: Record) -> str:
    return text(record.get("callId")) or text(record.get("call_id")) or ""


def _arguments(given: Any) -> Record | str:
    if isinstance(given, str):
        found = parse(given.encode("utf-8", "surrogatepass"))
        return given if found is None else found
    return table(given) if isinstance(given, dict) else "" if given is None else str(given)


def _failed(record: Record) -> bool:
    """What the client says of its tool; one that was broken off is incomplete."""
    answer = table(table(record.get("providerData")).get("toolResult"))
    failed = table(answer.get("rawResponse")).get("is_error")
    return failed is True or (record.get("status") == "incomplete" and failed is not False)


def _contents(content: Any) -> list[Any]:
    if isinstance(content, dict):
        return [content]
    return [{"type": "input_text", "text": content}] if isinstance(content, str) else rows(content)


def _text_of(content: Record) -> str | None:
    words = content.get("text")
    return words if isinstance(words, str) and content.get("type") in _TEXTS else None


_TEXTS = ("input_text", "output_text", "text", "reasoning_text", "summary_text")


def _content(content: Record, blobs: Path) -> Iterator[Part]:
    """One content of a message or of a result."""
    kind, words = content.get("type"), _text_of(content)
    if words is not None:
        if words:
            yield Text(text=words)
    elif kind in ("input_image", "image", "image_url", "image_blob_ref"):
        yield _image(content, blobs)
    elif kind == "input_file":
        name = text(content.get("filename")) or text(content.get("name"))
        yield File(name=name, location=text(content.get("file")) or text(content.get("path")))
    elif kind == "refusal" and isinstance(content.get("refusal"), str):
        yield Text(text=content["refusal"])
    elif content:
        yield Unknown(kind="encrypted content" if ENCRYPTED in content else str(kind), raw=content)


def _image(content: Record, blobs: Path) -> Image:
    """An image by its data, by its address, or in the home's folder of images (2.163.0)."""
    held = content.get("image") or content.get("image_url") or content
    blob = table(held) if "blob_id" in table(held) else content
    blob_id = text(blob.get("blob_id"))
    if blob_id:
        location = text(blob.get("blob_path"))
        kept = _blob(blobs, blob_id)
        return Image(media_type=text(blob.get("mime")), data=kept, location=None if kept else location)
    address = text(held) or text(table(held).get("url")) or text(table(held).get("data")) or ""
    found = _DATA_URL.match(address)
    return Image(media_type=found[1], data=found[2]) if found else Image(location=address or None)


def _blob(blobs: Path, blob_id: str) -> str | None:
    if not _BLOB_ID.fullmatch(blob_id):
        return None
    path = next((blobs / blob_id[:2]).glob(f"{blob_id}.*"), None)
    try:
        return base64.b64encode(path.read_bytes()).decode("ascii") if path else None
    except OSError:
        return None


def _output(output: Any, blobs: Path) -> Iterator[Part]:
    """What a tool returned; images stand in a JSON array that is the text (2.163.0)."""
    for content in _contents(output):
        words = _text_of(table(content))
        held = _held(words) if words else None
        for inner in held or [content]:
            yield from _content(table(inner), blobs)


def _held(words: str) -> list[Any] | None:
    """The contents in a result's text, where they are such as the client takes for contents: images, and texts."""
    if not words.startswith("[") or '"image_' not in words:
        return None
    found = rows(table(parse(b'{"held":' + words.encode("utf-8", "surrogatepass") + b"}")).get("held"))
    kinds = {table(content).get("type") for content in found}
    return (
        found if kinds & {"image_url", "image_blob_ref"} and kinds <= {"image_url", "image_blob_ref", "text"} else None
    )


def _is_moved_out(part: Part) -> bool:
    inner = part.parts if isinstance(part, ToolResult) else ()
    return any(isinstance(piece, Text) and piece.text.startswith(_PERSISTED) for piece in inner)


def held(parts: Sequence[Part]) -> str:
    """The text of a result with images: a JSON array, as the client stores them."""
    return json.dumps([_as_content(part) for part in parts], ensure_ascii=False)


def _as_content(part: Part) -> Record:
    if isinstance(part, Image):
        return {"type": "image_url", "image_url": {"url": address(part)}}
    assert isinstance(part, Text), "a lowered result holds nothing else"
    return {"type": "text", "text": part.text}


def address(image: Image) -> str | None:
    """An image as a data URL, or its address."""
    return image.location if image.data is None else f"data:{image.media_type};base64,{image.data}"
