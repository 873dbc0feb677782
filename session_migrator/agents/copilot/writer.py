"""Session -> a Copilot CLI session: the folder of a log and the file beside it, as 1.0.102 resumes and lists them.

The client's own import (``sessions import``, 1.0.85 and later) takes no images and no results that failed with more
than a text, and makes ids of its own; what it writes of the rest is the same.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from ... import timestamps
from ...files import remove_empty, write_new
from ...model import Image, Message, Part, Session, Text, ToolCall, title_of
from ..jsonl import Record, dump
from ..spec import Written
from .client import VERSION
from .log import VERSION as EVENTS
from .reader import LOG, WORKSPACE


def write(session: Session, home: Path, folder: Path) -> Written:
    """Write a lowered session as a new one of the project in ``folder``. Raises WriteError, Refused."""
    session_id, now = str(uuid.uuid4()), timestamps.now()
    place = home / "session-state" / session_id
    project = os.path.realpath(folder)
    folders = write_new(place / LOG, map(dump, records(session, session_id, project, now)))
    try:
        write_new(place / WORKSPACE, [_workspace(session, session_id, project, now)])
    except BaseException:
        (place / LOG).unlink()
        remove_empty(folders)
        raise
    paths = (str(place / LOG), str(place / WORKSPACE))
    return Written(session_id=session_id, paths=paths, folders=folders)


def records(session: Session, session_id: str, cwd: str, now: str) -> Iterator[Record]:
    """The events, each after the one that it names."""
    numbers, parent = count(), None
    for kind, stamp, data in _events(session, session_id, cwd, now):
        event_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{session_id}/{next(numbers)}"))
        yield {"type": kind, "data": data, "id": event_id, "timestamp": stamp, "parentId": parent}
        parent = event_id


def _events(session: Session, session_id: str, cwd: str, now: str) -> Iterator[tuple[str, str, Record]]:
    start = session.created_at or now
    yield "session.start", start, {
        "sessionId": session_id, "version": EVENTS, "producer": "copilot-agent", "copilotVersion": VERSION,
        "startTime": start, "context": {"cwd": cwd},
    }  # fmt: skip
    for at, message in enumerate(session.messages):
        stamp = message.timestamp or start
        if message.role == "assistant":
            yield from (("assistant.message", stamp, said) for said in _answers(message, session_id, at))
            for call in message.calls:
                told = {"toolCallId": call.id, "toolName": call.name, "arguments": call.arguments}
                yield "tool.execution_start", stamp, told
        elif message.role == "tool":
            for result in message.results:
                words = "".join(part.text for part in result.parts if isinstance(part, Text))
                told = {"toolCallId": result.call_id, "success": not result.is_error}
                outcome = {"error": {"message": words, "code": "failure"}} if result.is_error else {}
                yield "tool.execution_complete", stamp, {**told, **(outcome or {"result": {"content": words}})}
        else:
            yield from (("user.message", stamp, said) for said in _prompts(message))


def _answers(message: Message, session_id: str, at: int) -> Iterator[Record]:
    """A text each: the client keeps one in an answer. The calls are in the last."""
    texts = [part.text for part in message.parts if isinstance(part, Text)] or [""]
    requests = [
        {"toolCallId": call.id, "name": call.name, "arguments": call.arguments, "type": "function"}
        for call in message.calls
    ]
    for part in message.parts:
        if not isinstance(part, (Text, ToolCall)):
            raise TypeError(f"a lowered session holds no {part.type} part here")
    named = {"model": message.model} if message.model else {}
    for number, words in enumerate(texts):
        answer_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{session_id}/{at}/{number}"))
        held = {"toolRequests": requests} if requests and number == len(texts) - 1 else {}
        yield {"messageId": answer_id, **named, "content": words, **held}


def _prompts(message: Message) -> Iterator[Record]:
    """A text with the images behind it each: the client sends them in that order."""
    prompt: Record | None = None
    for part in message.parts:
        if isinstance(part, Text):
            if prompt:
                yield prompt
            prompt = {"content": part.text}
        else:
            prompt = prompt or {"content": ""}
            prompt.setdefault("attachments", []).append(_attachment(part))
    if prompt:
        yield prompt


def _attachment(part: Part) -> Record:
    match part:
        case Image():
            return {"type": "blob", "data": part.data, "mimeType": part.media_type}
        case _:
            raise TypeError(f"a lowered session holds no {part.type} part here")


def _workspace(session: Session, session_id: str, cwd: str, now: str) -> bytes:
    """The file beside the log; text as JSON has it, which is YAML too. 1.0.24 lists a session by its summary."""
    title = title_of(session) or "Untitled session"
    facts = {
        "id": session_id, "cwd": cwd, "client_name": "github/cli", "name": title, "summary": title, "user_named": False,
        "summary_count": 0, "fork_count": 0, "created_at": session.created_at or now, "updated_at": now,
    }  # fmt: skip
    plain = ("id", "client_name", "created_at", "updated_at")
    told = (f"{key}: {value if key in plain else _quoted(value)}" for key, value in facts.items())
    return "".join(f"{line}\n" for line in told).encode("utf-8", "replace")


def _quoted(value: str | int) -> str:
    return json.dumps(value, ensure_ascii=False)
