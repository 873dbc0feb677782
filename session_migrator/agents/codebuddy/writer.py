"""Session -> a session file of CodeBuddy or WorkBuddy, in the form that 2.163.0 resumes and lists."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from pathlib import Path

from ... import timestamps
from ...files import write_new
from ...jsondata import compact
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
from .items import address, held, wrapped


def write(session: Session, home: Path, folder: Path) -> Written:
    """Write a lowered session as a new one of the project in ``folder``. Of a long one the client takes the end alone,
    unless a variable says how much more; that leaves room for as much again. Raises WriteError, Refused.
    """
    session_id = str(uuid.uuid4())
    path = client.project_folder(home, folder) / f"{session_id}.jsonl"
    counted = itertools.count()
    lines = zip(map(dump, records(session, session_id, str(folder.resolve()))), counted, strict=False)
    folders = write_new(path, (line for line, _ in lines))
    size = next(counted)
    variables = ((client.MOST_RECORDS, str(2 * size)),) if 2 * size > client.RECORDS_TAKEN else ()
    return Written(session_id=session_id, paths=(str(path),), folders=folders, variables=variables)


def records(session: Session, session_id: str, cwd: str) -> Iterator[Record]:
    """The lines of the file: one chain, each record's parent the one before it; the parts of an answer share its id."""
    parent: str | None = None
    names: dict[str, str] = {}
    now = timestamps.now()
    for index, message in enumerate(session.messages):
        names |= {call.id: call.name for call in message.calls}
        stamp = timestamps.to_milliseconds(message.timestamp or session.created_at or now)
        for number, body in enumerate(_bodies(message, session, names, f"{session_id}/{index}")):
            record_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{session_id}/{index}/{number}"))
            above = {"parentId": parent} if parent else {}
            yield {"id": record_id, **above, "timestamp": stamp, **body, "sessionId": session_id, "cwd": cwd}
            parent = record_id
    title = title_of(session)
    if title:
        kind, key = ("custom-title", "customTitle") if session.title else ("ai-title", "aiTitle")
        title_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{session_id}/title"))
        stamp = timestamps.to_milliseconds(now)
        yield {"type": kind, "id": title_id, key: title, "timestamp": stamp, "sessionId": session_id}


def _bodies(message: Message, session: Session, names: dict[str, str], seed: str) -> Iterator[Record]:
    """The records of one message, without what all have."""
    if message.role == "assistant":
        named = message.model or session.model
        about = {"messageId": uuid.uuid5(uuid.NAMESPACE_OID, seed).hex} | ({"model": named} if named else {})
        for part in message.parts:
            yield {**_said(part), "providerData": about}
        return
    told: list[Record] = []
    for part in message.parts:
        if isinstance(part, ToolResult):
            yield _result(part, names.get(part.call_id, "unknown"))
        else:
            told.append(_told(part))
    if told:
        yield {"type": "message", "role": "user", "content": told}


def _said(part: Part) -> Record:
    match part:
        case Text():
            content = {"type": "output_text", "text": part.text}
            return {"type": "message", "role": "assistant", "status": "completed", "content": [content]}
        case ToolCall():
            arguments = compact(part.arguments)
            return {"type": "function_call", "callId": part.id, "name": part.name, "arguments": arguments}
        case Thinking() | Image() | ToolResult() | File() | Compaction() | Unknown():
            raise TypeError(f"a lowered session holds no {part.type} part in an answer")


def _told(part: Part) -> Record:
    match part:
        case Text():
            return {"type": "input_text", "text": wrapped(part.text)}
        case Image():
            return {"type": "input_image", "image": address(part)}
        case ToolCall() | ToolResult() | Thinking() | File() | Compaction() | Unknown():
            raise TypeError(f"a lowered session holds no {part.type} part here")


def _result(part: ToolResult, name: str) -> Record:
    """A result; images stand with its text in a JSON array, as the client stores them."""
    if any(isinstance(inner, Image) for inner in part.parts):
        words = held(part.parts)
    else:
        words = "".join(inner.text for inner in part.parts if isinstance(inner, Text))
    failed = {"providerData": {"toolResult": {"rawResponse": {"is_error": True}}}} if part.is_error else {}
    return {
        "type": "function_call_result", "name": name, "callId": part.call_id, "status": "completed",
        "output": {"type": "text", "text": words}, **failed,
    }  # fmt: skip
