"""Session -> a Gemini CLI session file, in the form that 0.40 and 0.61 resume and list."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

from ... import timestamps
from ...errors import WriteError
from ...files import is_file, remove_empty, write_new
from ...model import (
    Session,
    title_of,
)
from ..contents import written
from ..jsonl import Record, dump
from ..spec import Written
from . import client


def write(session: Session, home: Path, folder: Path) -> Written:
    """Write a lowered session as a new one of the project in ``folder``, and the mark that its folder in the home is
    this project's, if there is none: another project of the name would take it. Raises WriteError, Refused.
    """
    session_id, now = str(uuid.uuid4()), timestamps.now()
    # Not with the first of the id, as the client names its own: one that is resumed in a later minute gets a second
    # file of that name without a word in it, and at the next start is deleted with it (0.61.0).
    name = f"session-{now[:16].replace(':', '-')}-{session_id[-8:]}.jsonl"
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
    title = title_of(session)
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
            "content": list(written(message.parts, names)),
            **named,
        }
