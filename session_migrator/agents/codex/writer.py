"""Session -> a Codex rollout, in the legacy form that 0.55 to 0.171 resume and list."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from ... import timestamps
from ...files import append_line, remove_empty, write_new
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
)
from ..jsonl import Record, dump
from ..spec import Appended, Written
from . import client
from .items import WRAPPED


def write(session: Session, home: Path, folder: Path) -> Written:
    """Write a lowered session as a new rollout, and its title as one more line of session_index.jsonl. Where it has
    earlier messages, the file shows those, and the client's model is sent the others.

    No usage is written (Codex would compact by it, or not, on a number that nobody counted), no model provider
    (Codex refuses to resume with another) and no base instructions (they would replace its own). Raises
    WriteError, Refused.
    """
    session_id = str(uuid.uuid4())
    start = session.created_at or timestamps.now()
    local = timestamps.to_datetime(start).astimezone()  # the client names files by this machine's time
    path = home / "sessions" / f"{local:%Y/%m/%d}" / f"rollout-{local:%Y-%m-%dT%H-%M-%S}-{session_id}.jsonl"
    folders = write_new(path, map(dump, records(session, session_id, str(folder), start)))
    appended: tuple[Appended, ...] = ()
    if session.title:
        line = {"id": session_id, "thread_name": session.title, "updated_at": session.updated_at or start}
        index = home / "session_index.jsonl"
        try:
            added = append_line(index, dump(line))
        except BaseException:
            path.unlink()
            remove_empty(folders)
            raise
        appended = (Appended(path=str(index), line=added.decode("utf-8")),)
    return Written(
        session_id=session_id,
        paths=(str(path),),
        appended=appended,
        folders=folders,
    )


def records(session: Session, session_id: str, cwd: str, start: str) -> Iterator[Record]:
    """The lines of the file: a header, then turns. Each message stands twice, as the item the model is sent and
    as the event the client shows; a turn goes from a prompt of the user's to the next. What was said is what is shown:
    where that is the earlier part, what the model is sent instead follows as a compaction's replacement."""
    meta: Record = {
        "id": session_id, "timestamp": start, "cwd": cwd, "originator": "session-migrator",
        "cli_version": client.VERSION, "source": "cli",
    }  # fmt: skip
    if session.git:
        meta["git"] = dict(session.git)
    stamp = start
    yield _line(stamp, "session_meta", meta)
    turn, answer = 0, None
    custom: set[str] = set()
    for message in session.earlier or session.messages:
        stamp = message.timestamp or stamp
        if message.role != "tool" and (not turn or message.role == "user"):
            if turn:
                yield _ended(stamp, session_id, turn, answer)
            turn, answer = turn + 1, None
            yield _event(stamp, "task_started", turn_id=_turn_id(session_id, turn), collaboration_mode_kind="default")
            if message.model or session.model:
                yield _line(stamp, "turn_context", {"cwd": cwd, "model": message.model or session.model})
        custom.update(call.id for call in message.calls if isinstance(call.arguments, str))
        for kind, payload in _payloads(message, custom):
            yield _line(stamp, kind, payload)
        if message.role == "assistant" and message.text:
            answer = message.text
    if turn:
        yield _ended(stamp, session_id, turn, answer)
    if session.earlier:
        yield _line(stamp, "compacted", _compaction(session.messages))
        yield _event(stamp, "context_compacted")


def _compaction(messages: Sequence[Message]) -> Record:
    """A compaction after which the model is sent these messages (0.140 and 0.171 take any items for a replacement)."""
    custom = {call.id for message in messages for call in message.calls if isinstance(call.arguments, str)}
    sent = (pair for message in messages for pair in _payloads(message, custom))
    return {
        "message": messages[0].text,
        "replacement_history": [payload for kind, payload in sent if kind == "response_item"],
    }


def _payloads(message: Message, custom: Collection[str]) -> Iterator[tuple[str, Record]]:
    """The items of a message and the events that show them, in order."""
    run: list[Part] = []
    for part in (*message.parts, None):
        if isinstance(part, Text | Image):
            run.append(part)
            continue
        if run:
            yield "response_item", _message(message.role, run)
            yield from _shown(message.role, run)
            run = []
        if part is not None:
            yield "response_item", _item(part, custom)


def _message(role: str, parts: list[Part]) -> Record:
    return {
        "type": "message",
        "role": "developer" if role == "system" else role,
        "content": [_content(part, "output_text" if role == "assistant" else "input_text") for part in parts],
    }


def _shown(role: str, parts: list[Part]) -> Iterator[tuple[str, Record]]:
    text = "\n".join(part.text for part in parts if isinstance(part, Text))
    if role == "user":
        yield "event_msg", {"type": "user_message", "message": text, "images": [], "local_images": []}
    elif role == "assistant":
        yield "event_msg", {"type": "agent_message", "message": text}


def _content(part: Part, text_type: str) -> Record:
    if isinstance(part, Image):
        url = part.location if part.data is None else f"data:{part.media_type};base64,{part.data}"
        return {"type": "input_image", "image_url": url}
    assert isinstance(part, Text)
    return {"type": text_type, "text": part.text}


def _item(part: Part, custom: Collection[str]) -> Record:
    """A call or a result as a response item. Free text for arguments makes it a ``custom`` tool's."""
    match part:
        case ToolCall(id=call_id, name=name, arguments=str() as text):
            return {"type": "custom_tool_call", "call_id": call_id, "name": name, "input": text}
        case ToolCall():
            arguments = compact(part.arguments)
            return {"type": "function_call", "name": part.name, "arguments": arguments, "call_id": part.id}
        case ToolResult():
            kind = "custom_tool_call_output" if part.call_id in custom else "function_call_output"
            return {"type": kind, "call_id": part.call_id, "output": _output(part)}
        case Text() | Image() | Thinking() | File() | Compaction() | Unknown():
            raise TypeError(f"a lowered session holds no {part.type} part here")


def _output(result: ToolResult) -> str | list[Record]:
    parts = result.parts
    if not parts:
        return ""
    if len(parts) == 1 and isinstance(parts[0], Text) and not parts[0].text.startswith(WRAPPED):
        return parts[0].text
    return [_content(part, "input_text") for part in parts]


def _line(stamp: str, kind: str, payload: Record) -> Record:
    return {"timestamp": stamp, "type": kind, "payload": payload}


def _event(stamp: str, kind: str, **fields: Any) -> Record:
    return _line(stamp, "event_msg", {"type": kind, **fields})


def _ended(stamp: str, session_id: str, turn: int, answer: str | None) -> Record:
    return _event(stamp, "task_complete", turn_id=_turn_id(session_id, turn), last_agent_message=answer)


def _turn_id(session_id: str, turn: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{session_id}/{turn}"))
