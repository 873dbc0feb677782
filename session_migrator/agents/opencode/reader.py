"""Sessions of OpenCode and its forks -> Session: of 1.2 to 1.18 from the database, of 1.1 and before from folders of
JSON."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path

from ... import timestamps
from ...errors import MigrationError, NoConversation, ReadError
from ...files import is_file
from ...losses import Loss, merged
from ...model import REPLACED, Message, Session, SessionInfo, headline, title_of
from .. import sqlite
from ..jsonl import Record, head, parse, table, text
from ..paths import newest_first
from ..spec import Reading, Remember, looked_at
from .client import DEFAULT_TITLE, Client
from .messages import Cut, conversation, last_cut, until
from .stored import Exchange, opened, session_info

KNOWN = {"opencode": 1, "kilo": 7}
"""Whose a session may be, and the newest major version of each that is known: that alone is in a session, and a fork
counts from a number of its own."""
_DOCUMENT = re.compile(rb'\s*\{\s*(?:"info"\s*:\s*\{\s*)?"id"\s*:\s*"ses_')


def recognises(head: bytes) -> bool:
    """Whether a file begins as a session's object, an export of one, or a database."""
    return head.startswith(sqlite.MAGIC) or bool(_DOCUMENT.match(head.removeprefix(b"\xef\xbb\xbf")))


def read(path: Path, agent: str) -> Reading:
    """Read one session: ``<database>/<session id>``, a file of ``storage/session``, an export, or a database alone
    (its last session); of that agent where neither the folder nor the version tells. Raises ReadError, FormatError,
    NoConversation."""
    with opened(path) as stored:
        losses = stored.losses
        revert = table(stored.info.get("revert"))
        kept = list(until(stored.messages, revert, losses))
    cut = last_cut(kept)
    live, before = _parted(kept, cut)
    messages = conversation(live, losses)
    earlier = conversation(before, [])
    if all(message.origin == "injected" for message in messages):
        raise NoConversation(f"{path} holds no conversation", "name another session (session-migrator list --all)")
    agent = _owner(path, stored.info) or agent
    _note_version(stored.info, agent, losses)
    stands_in = cut.stands_in if cut else frozenset[str]()
    session = _session(path, agent, stored.info, messages, earlier, stands_in)
    return Reading(session=session, losses=merged(losses))


def _parted(messages: list[Exchange], cut: Cut | None) -> tuple[list[Exchange], list[Exchange]]:
    """What the model would see now, and what the summary stands for: the summary first, then the messages that were
    kept as they were, then those after the compaction."""
    if cut is None:
        return messages, []
    ids = [str(message.get("id")) for message, _ in messages]
    asked, summary = ids.index(cut.asked), ids.index(cut.summary)
    tail = ids.index(cut.tail) if cut.tail in ids[:asked] else asked
    whole = [messages[summary], *messages[tail:asked], *messages[asked + 1 : summary], *messages[summary + 1 :]]
    said = zip(ids[:tail], messages[:tail], strict=True)
    before = [pair for each, pair in said if each not in cut.stands_in and not _is_summary(pair[0])]
    return whole, before


def _is_summary(message: Record) -> bool:
    """Whether a message is a summary, or was to be one."""
    return bool(message.get("summary")) and message.get("role") != "user"


def _owner(path: Path, info: Record) -> str | None:
    """Whose a session is: by the folder or the name of its database, else by its version."""
    database = path.parent if is_file(path.parent) else path
    if head(database, len(sqlite.MAGIC)) == sqlite.MAGIC:
        for name in (database.parent.name, database.stem):
            if name in KNOWN:
                return name
    older = [agent for agent, known in KNOWN.items() if known <= _major(info)]
    return max(older, key=KNOWN.__getitem__, default=None)


def _major(info: Record) -> int:
    found = re.match(r"\d+", str(info.get("version") or ""))
    return int(found[0][:9]) if found else 0


def _note_version(info: Record, agent: str, losses: list[Loss]) -> None:
    if _major(info) > KNOWN[agent]:
        detail = f"format version {str(info['version'])[:40]} is not known; what is understood of it was read"
        losses.append(Loss(kind="unknown_record", detail=detail))


def _session(
    path: Path, agent: str, info: Record, messages: Sequence[Message], earlier: Sequence[Message], stands_in: Set[str]
) -> Session:
    told = [message.timestamp for message in messages if message.timestamp]
    times = table(info.get("time"))
    session_id = text(info.get("id")) or path.stem
    standing = sum(1 for _ in takewhile(lambda message: message.id in stands_in, messages))
    return Session(
        id=session_id,
        agent=agent,
        messages=messages,
        earlier=earlier,
        title=_title(info),
        cwd=text(info.get("directory")),
        model=next((message.model for message in reversed(messages) if message.model), None) or _model(info),
        created_at=timestamps.parse(times.get("created")) or (told[0] if told else None),
        updated_at=timestamps.parse(times.get("updated")) or (told[-1] if told else None),
        parent_id=text(info.get("parentID")),
        children=tuple(_children(path, session_id)),
        source=str(path),
        extra={REPLACED: standing if earlier else 0},
    )


def _title(info: Record) -> str | None:
    """The title, unless it is the one that a session has until the client makes another."""
    title = text(info.get("title"))
    return None if title and DEFAULT_TITLE.fullmatch(title) else title


def _model(info: Record) -> str | None:
    model = table(info.get("model"))
    provider, model_id = text(model.get("providerID")), text(model.get("id"))
    return f"{provider}/{model_id}" if provider and model_id else model_id


def _children(path: Path, session_id: str) -> Iterator[str]:
    """The sub-agents' own sessions."""
    if is_file(path.parent):
        with contextlib.suppress(ReadError, sqlite3.Error), sqlite.copied(path.parent) as database:
            found = sqlite.records(database, "session", "parent_id = ? ORDER BY id", [session_id])
            yield from (str(path.parent / str(row["id"])) for row in found)
    elif path.parent.parent.name == "session":
        for other in sorted(path.parent.glob("ses_*.json")):
            with contextlib.suppress(ReadError):
                if table(parse(head(other, -1))).get("parentID") == session_id:
                    yield str(other)


# --- lists


def list_sessions(home: Path, client: Client, remember: Remember = looked_at) -> Iterator[SessionInfo]:
    """The main sessions of a data folder that hold messages, the last used first: of every database in it, then of the
    older storage those that are in none."""
    found = [info for path in client.databases(home) for info in _in_database(path, client.word)]
    seen = {info.id for info in found}
    peek = partial(_peek, agent=client.word)
    older = (remember(file, peek) for file in newest_first((home / "storage" / "session").glob("*/ses_*.json")))
    found += [info for info in older if info and info.id not in seen]
    return iter(sorted(found, key=lambda info: info.updated_at or "", reverse=True))


def _in_database(path: Path, agent: str) -> Iterator[SessionInfo]:
    with contextlib.suppress(ReadError, sqlite3.Error), sqlite.copied(path) as database:
        where = "parent_id IS NULL AND EXISTS (SELECT 1 FROM message WHERE session_id = session.id)"
        for row in filter(None, sqlite.each(database, "session", where)):
            info, session_id = session_info(row), str(row.get("id"))
            yield _row(info, agent, path / session_id, _title(info) or _first_words(database, session_id))


def _first_words(database: sqlite3.Connection, session_id: str) -> str | None:
    """The first words of the user, where a session has no title yet."""
    order = "session_id = ? ORDER BY time_created, id LIMIT 20"
    with contextlib.suppress(sqlite3.Error):
        for row in filter(None, sqlite.each(database, "part", order, [session_id])):
            part = parse(str(row.get("data")).encode("utf-8", "replace")) or {}
            if part.get("type") == "text" and not part.get("synthetic"):
                return headline(text(part.get("text")))
    return None


def _peek(path: Path, agent: str) -> SessionInfo | None:
    """A row of the older storage: the session's own file, and its messages where it has no title or model."""
    try:
        session = read(path, agent).session
    except MigrationError:
        return None
    if session.parent_id:
        return None
    title = title_of(session)
    row = _row({"id": session.id, "directory": session.cwd}, agent, path, title)
    return replace(row, model=session.model, created_at=session.created_at, updated_at=session.updated_at)


def _row(info: Record, agent: str, path: Path, title: str | None) -> SessionInfo:
    times = table(info.get("time"))
    return SessionInfo(
        agent=agent,
        id=str(info.get("id")),
        title=title,
        cwd=text(info.get("directory")),
        model=_model(info),
        created_at=timestamps.parse(times.get("created")),
        updated_at=timestamps.parse(times.get("updated")),
        path=str(path),
    )
