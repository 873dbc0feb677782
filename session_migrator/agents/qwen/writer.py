"""Session -> a Qwen Code session file, in the form that 0.15 and 0.24 resume and list."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from ... import timestamps
from ...files import write_new
from ...model import FITTED, Message, Session, title_of
from ..contents import written
from ..jsonl import Record, dump, table
from ..spec import Written
from . import client
from .messages import COMPRESSION, OF_ALL


def write(session: Session, home: Path, folder: Path) -> Written:
    """Write a lowered session as a new one of the project in ``folder``. Where it has earlier messages, the file
    holds those too, and the client's model is sent the others. Raises WriteError, Refused."""
    session_id = str(uuid.uuid4())
    path = client.project_folder(home, folder) / "chats" / f"{session_id}.jsonl"
    folders = write_new(path, map(dump, records(session, session_id, os.path.realpath(folder))))
    return Written(session_id=session_id, paths=(str(path),), folders=folders)


def records(session: Session, session_id: str, cwd: str) -> Iterator[Record]:
    """The lines of the file: one chain, each record's parent the one before it. The title is the last, since the
    client looks for it in the last 64 KiB; all results of an answer are one record, or it would send the images of the
    first before the second (0.24)."""
    parent: str | None = None
    branch = str((session.git or {}).get("branch") or "")
    envelope = {"cwd": cwd, "version": client.VERSION, **({"gitBranch": branch} if branch else {})}
    for seed, stamp, kind, body in _conversation(session):
        record_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{session_id}/{seed}"))
        above = {"uuid": record_id, "parentUuid": parent, "sessionId": session_id, "timestamp": stamp}
        yield {**above, "type": kind, **envelope, **body}
        parent = record_id


def _conversation(session: Session) -> Iterator[tuple[str, str, str, Record]]:
    """The records in order, each with what its id is made of, its time and its type. Behind the earlier messages, at
    the time of the last of them, a compression with what stands in for them."""
    stamp = session.created_at or timestamps.now()
    size = table((session.extra or {}).get(FITTED)).get("tokens")
    said = session.earlier or session.messages
    last = max((at for at, message in enumerate(said) if message.role == "assistant"), default=-1)
    for at, (message, content) in enumerate(zip(said, _contents(said), strict=True)):
        stamp = message.timestamp or stamp
        told: Record = {"message": content}
        if message.role != "assistant":
            yield str(at), stamp, "tool_result" if message.role == "tool" else "user", told
            continue
        if model := message.model or session.model:
            told = {"model": model, **told}
        if at == last and size and not session.earlier:  # the client compresses by it
            told["usageMetadata"] = {"promptTokenCount": size, "candidatesTokenCount": 0, "totalTokenCount": size}
        yield str(at), stamp, "assistant", told
    if session.earlier:
        counts = {"originalTokenCount": size or 0, "newTokenCount": size or 0, "compressionStatus": 1}
        payload = {"info": counts, "compressedHistory": [*_contents(session.messages)], OF_ALL: True}
        yield COMPRESSION, stamp, "system", {"subtype": COMPRESSION, "systemPayload": payload}
    title = title_of(session)
    if title:
        payload = {"customTitle": title, "titleSource": "manual" if session.title else "auto"}
        yield "title", stamp, "system", {"subtype": "custom_title", "systemPayload": payload}


def _contents(messages: Sequence[Message]) -> Iterator[Record]:
    """The messages in the form of Gemini's."""
    names: dict[str, str] = {}
    for message in messages:
        names |= {call.id: call.name for call in message.calls}
        role = "model" if message.role == "assistant" else "user"
        yield {"role": role, "parts": [*written(message.parts, names, typed=True)]}
