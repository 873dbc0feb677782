"""Session -> a Claude Code session file, in the form that 1.0.128 to 2.1.332 resume and list."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ... import timestamps
from ...files import write_new
from ...model import (
    Compaction,
    File,
    Image,
    Message,
    Part,
    Session,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    title_of,
)
from ..jsonl import Record, dump
from ..spec import Written
from . import client
from .tree import STANDS_IN, SYNTHETIC


def write(session: Session, home: Path, folder: Path) -> Written:
    """Write a lowered session as a new one of the project in ``folder``. Where it has earlier messages, the file
    holds those too, and the client's model is sent the others. Raises WriteError, Refused."""
    session_id = str(uuid.uuid4())
    path = client.project_folder(home, folder) / f"{session_id}.jsonl"
    folders = write_new(path, map(dump, records(session, session_id, str(folder.resolve()))))
    return Written(
        session_id=session_id,
        paths=(str(path),),
        folders=folders,
    )


def records(session: Session, session_id: str, cwd: str) -> Iterator[Record]:
    """The lines of the file. One chain: each record's parent is the one before it, and the blocks of one
    assistant message are records that share its ``message.id``, so parallel calls stay together."""
    title = title_of(session)
    if title:
        kind, key = ("custom-title", "customTitle") if session.title else ("ai-title", "aiTitle")
        yield {"type": kind, key: title, "sessionId": session_id}
    parent: str | None = None
    envelope = {
        "isSidechain": False, "userType": "external", "cwd": cwd, "sessionId": session_id,
        "version": client.VERSION, "gitBranch": str((session.git or {}).get("branch") or ""),
    }  # fmt: skip
    for seed, stamp, body in _conversation(session, session_id):
        record_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{session_id}/{seed}"))
        above = {"parentUuid": None, "logicalParentUuid": parent} if body is _BOUNDARY else {"parentUuid": parent}
        yield {**above, **envelope, **body, "uuid": record_id, "timestamp": stamp}
        parent = record_id


_BOUNDARY: Record = {
    "type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": False,
    "level": "info", "compactMetadata": {"trigger": "manual"},
}  # fmt: skip


def _conversation(session: Session, session_id: str) -> Iterator[tuple[str, str, Record]]:
    """The records in order, each with what its id is made of and its time, without the envelope. Behind the earlier
    messages, at the time of the last of them, a boundary and what stands in for them."""
    stamp = session.created_at or timestamps.now()
    said = session.earlier or session.messages
    for index, message in enumerate(said):
        for number, body in enumerate(_bodies(message, session, f"{session_id}/{index}")):
            yield f"{index}/{number}", message.timestamp or stamp, body
    if not session.earlier:
        return
    stamp = session.earlier[-1].timestamp or stamp
    yield "boundary", stamp, _BOUNDARY
    for index, message in enumerate(session.messages, start=len(said)):
        told = {"isCompactSummary": True, "isVisibleInTranscriptOnly": True} if message.origin == "summary" else {}
        for number, body in enumerate(_bodies(message, session, f"{session_id}/{index}")):
            yield f"{index}/{number}", stamp, {**body, **told, STANDS_IN: True}


def _bodies(message: Message, session: Session, seed: str) -> Iterator[Record]:
    """The records of one message, without the envelope."""
    if message.role != "assistant":
        yield {"type": "user", "message": {"role": "user", "content": _content(message.parts)}}
        return
    message_id = "msg_" + uuid.uuid5(uuid.NAMESPACE_OID, seed).hex[:24]
    for part in message.parts:
        yield {
            "type": "assistant",
            "message": {
                "id": message_id, "type": "message", "role": "assistant",
                "model": _model(message.model or session.model), "content": [_block(part)],
                "stop_reason": "tool_use" if message.calls else "end_turn", "stop_sequence": None,
            },
        }  # fmt: skip


def _model(model: str | None) -> str:
    """The model to name; never the one that marks the client's own words."""
    return model if model and model != SYNTHETIC else "unknown"


def _content(parts: tuple[Part, ...]) -> str | list[Record]:
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return [_block(part) for part in parts]


def _block(part: Part) -> Record:
    """One part as a content block of the Messages API."""
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Thinking():
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case ToolCall():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}
        case ToolResult():
            error = {"is_error": True} if part.is_error else {}
            return {"type": "tool_result", "tool_use_id": part.call_id, "content": _content(part.parts), **error}
        case Image():
            return {"type": "image", "source": _source(part)}
        case File() | Compaction() | Unknown():
            raise TypeError(f"a lowered session holds no {part.type} part")


def _source(image: Image) -> dict[str, Any]:
    if image.data is None:
        return {"type": "url", "url": image.location}
    return {"type": "base64", "media_type": image.media_type, "data": image.data}
