"""Session -> a Gemini CLI session file, in the form that 0.40 and 0.61 resume and list."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

from ... import timestamps
from ...errors import WriteError
from ...files import is_file, remove_empty, write_new
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
    goal,
    headline,
)
from ..jsonl import Record, dump
from ..spec import Written
from . import client
from .messages import PROVIDER, SIGNATURE


def write(session: Session, home: Path, folder: Path) -> Written:
    """Write a lowered session as a new one of the project in ``folder``, and the mark that its folder in the home is
    this project's, if there is none: another project of the name would take it. Raises WriteError, Refused.
    """
    session_id, now = str(uuid.uuid4()), timestamps.now()
    name = f"session-{now[:16].replace(':', '-')}-{session_id[:8]}.jsonl"
    project = os.path.realpath(folder)
    place = home / "tmp" / client.slug_of(home, folder)
    path, marker = place / "chats" / name, place / client.MARKER
    if client.has_older_sessions(home, project, place):
        problem = f"the older sessions of {project} have not been taken over by Gemini CLI yet, and would not be then"
        raise WriteError(problem, "start gemini there once, 0.40 or newer")
    folders = write_new(path, map(dump, records(session, session_id, client.project_hash(project), now)))
    if is_file(marker):
        return Written(session_id=session_id, paths=(str(path),), folders=folders)
    try:
        write_new(marker, [os.fsencode(project)])
    except BaseException:
        path.unlink()
        remove_empty(folders)
        raise
    return Written(session_id=session_id, paths=(str(path), str(marker)), folders=folders)


def records(session: Session, session_id: str, project: str, now: str) -> Iterator[Record]:
    """The lines of the file. The session is of today whatever its messages say: what was not touched for 30 days is
    deleted when the client starts (0.61).

    Calls stand in their message's content and results in one message after it, not beside the calls: the client
    sends those twice from the second resume on (0.61).
    """
    yield {"sessionId": session_id, "projectHash": project, "startTime": now, "lastUpdated": now, "kind": "main"}
    title = session.title or headline(goal(session.messages))
    if title:  # else the client asks its model for one when it starts (0.61)
        yield {"$set": {"summary": title}}
    names: dict[str, str] = {}
    for index, message in enumerate(session.messages):
        names |= {call.id: call.name for call in message.calls}
        is_models = message.role == "assistant"
        named = {"model": message.model or session.model} if is_models and (message.model or session.model) else {}
        yield {
            "id": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{session_id}/{index}")),
            "timestamp": message.timestamp or session.created_at or now,
            "type": "gemini" if is_models else "user",
            "content": list(_content(message, names)),
            **named,
        }


def _content(message: Message, names: dict[str, str]) -> Iterator[Record]:
    for part in message.parts:
        yield from _parts(part, names)


def _parts(part: Part, names: dict[str, str]) -> Iterator[Record]:
    """One part in the client's terms; the images of a result stand right behind it."""
    match part:
        case Text():
            yield {"text": part.text}
        case ToolCall():
            signature = dict((part.meta or {}).get(PROVIDER) or {}).get(SIGNATURE)
            signed = {SIGNATURE: signature} if signature else {}
            yield {"functionCall": {"id": part.id, "name": part.name, "args": part.arguments}, **signed}
        case ToolResult():
            response = {"error" if part.is_error else "output": _words(part.parts)}
            name = names.get(part.call_id, "unknown")
            yield {"functionResponse": {"id": part.call_id, "name": name, "response": response}}
            for inner in part.parts:
                if isinstance(inner, Image):
                    yield from _parts(inner, names)
        case Image():
            if part.data is None:
                yield {"fileData": {"fileUri": part.location}}
            else:
                yield {"inlineData": {"mimeType": part.media_type, "data": part.data}}
        case Thinking() | File() | Compaction() | Unknown():
            raise TypeError(f"a lowered session holds no {part.type} part here")


def _words(parts: Iterable[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text))
