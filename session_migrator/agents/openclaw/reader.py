"""OpenClaw's sessions -> Session: of 2026.8.1 and later from the database of an agent, before from its files."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ... import timestamps
from ...errors import ReadError
from ...files import is_file
from ...losses import merged
from ...model import SessionInfo, headline
from .. import sqlite
from ..jsonl import Record, head, text
from ..paths import newest_first
from ..pi import reader as pi
from ..pi.messages import human_words
from ..pi.reader import Log, note_facts
from ..spec import Reading, Remember, looked_at
from . import stored

AGENT = "openclaw"
_DATABASES, _FILES = "agents/*/agent/openclaw-agent.sqlite", "agents/*/sessions/*.jsonl"
_FIRST_ENTRIES = 40


def recognises(head: bytes) -> bool:
    """Whether a file is a database. Its older files are those of pi's family."""
    return head.startswith(sqlite.MAGIC)


def read(path: Path) -> Reading:
    """Read one session: ``<database>/<session id>``, a file, or a database alone (its last session). Raises ReadError,
    FormatError, NoConversation."""
    if is_file(path.parent):
        return _in_database(path.parent, path.name, path)
    if head(path, len(sqlite.MAGIC)) == sqlite.MAGIC:
        return _in_database(path, None, path)
    return pi.read(path, AGENT)


def _in_database(database_path: Path, session_id: str | None, path: Path) -> Reading:
    with sqlite.copied(database_path) as database:
        session_id = stored.chosen(database, database_path, session_id)
        log = Log()
        for place, entry in stored.entries(database, session_id, log.losses):
            log.take(entry, place, "an entry that is damaged")
        log.facts.setdefault("id", session_id)
        reading = pi.told(log, lambda place: stored.entry(database, session_id, place), path, AGENT)
        session = reading.session
        named = replace(
            session,
            id=session_id,
            title=session.title or stored.label(database, session_id),
            children=tuple(str(database_path / each) for each in _children(database, session_id)),
        )
    return Reading(session=named, losses=merged(reading.losses))


def _children(database: sqlite3.Connection, session_id: str) -> Iterator[str]:
    """The sessions of sub-agents."""
    parent = "parent_session_key = (SELECT session_key FROM session_windows WHERE session_id = ?)"
    with contextlib.suppress(sqlite3.Error):
        yield from (str(row["session_id"]) for row in stored.windows(database, parent, (session_id,)))


# --- lists


def list_sessions(home: Path, remember: Remember = looked_at) -> Iterator[SessionInfo]:
    """The sessions of all agents, those of the databases first: then the older files of which none is in them."""
    found = [info for file in newest_first(home.glob(_DATABASES)) for info in _rows(file.path)]
    seen = {info.id for info in found}
    older = (remember(file, lambda path: pi.peek(path, AGENT)) for file in newest_first(home.glob(_FILES)))
    found += [info for info in older if info and info.id not in seen]
    return iter(sorted(found, key=lambda info: info.updated_at or "", reverse=True))


def _rows(path: Path) -> Iterator[SessionInfo]:
    with contextlib.suppress(ReadError, sqlite3.Error), sqlite.copied(path) as database:
        for window in stored.windows(database):
            info = _row(database, window, path)
            if info:
                yield info


def _row(database: sqlite3.Connection, window: Record, path: Path) -> SessionInfo | None:
    """A row by the first entries of a session, None where the user has said nothing in them."""
    session_id, facts, words = str(window.get("session_id")), Record(), None
    for number, (_, entry) in enumerate(stored.entries(database, session_id, [])):
        note_facts(facts, entry or {})
        words = words or human_words(entry or {})
        if number >= _FIRST_ENTRIES or (words and facts.get("model")):
            break
    if not words:
        return None
    return SessionInfo(
        agent=AGENT,
        id=session_id,
        title=facts.get("name") or stored.label(database, session_id) or headline(words),
        cwd=text(facts.get("cwd")),
        model=facts.get("model"),
        created_at=facts.get("first"),
        updated_at=timestamps.parse(window.get("updated_at")) or facts.get("last"),
        path=str(path / session_id),
    )
