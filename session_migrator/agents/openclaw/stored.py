"""Where OpenClaw keeps the entries of a session: rows of its agent's database (since 2026.8.1), or a file (before).

A session within a database is named by the database's path with the session's id behind it, as if it were a folder.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import FormatError, NoConversation
from ...losses import Loss
from .. import sqlite
from ..jsonl import Record, parse, text, unpacked
from ..pi.tree import Place

_OF_MAIN = "parent_session_key IS NULL AND spawned_by IS NULL"
_MOST = 4 * 1024 * 1024
"""Bytes of one entry at most (2026.9.6)."""


def windows(database: sqlite3.Connection, where: str = _OF_MAIN, values: tuple[str, ...] = ()) -> list[Record]:
    """The sessions in a database that hold entries, the last used first: those that are no sub-agent's, or those that
    fit. Raises sqlite3.Error."""
    there = "EXISTS (SELECT 1 FROM transcript_events WHERE session_id = session_windows.session_id)"
    return sqlite.records(database, "session_windows", f"{where} AND {there} ORDER BY updated_at DESC", values)


def entries(database: sqlite3.Connection, session_id: str, losses: list[Loss]) -> Iterator[tuple[Place, Record | None]]:
    """The entries of a session in order, each with its place; None where one is damaged. What keeps all of them from
    being read goes to ``losses``."""
    try:
        for row in sqlite.each(database, "transcript_events", "session_id = ? ORDER BY seq", [session_id]):
            yield (row["seq"] if row else 0, 0), _entry(row) if row else None
    except sqlite3.Error as error:
        losses.append(Loss(kind="bad_line", detail=f"entries cannot be read ({sqlite.reason(error)})"))


def entry(database: sqlite3.Connection, session_id: str, place: Place) -> Record:
    """The entry at a place again."""
    with contextlib.suppress(sqlite3.Error):
        found = sqlite.records(database, "transcript_events", "session_id = ? AND seq = ?", [session_id, place[0]])
        return next(filter(None, map(_entry, found)), Record())
    return {}


def _entry(row: Record) -> Record | None:
    """As JSON text, or packed (those over some size)."""
    words, packed = row.get("event_json"), row.get("event_zstd")
    if isinstance(packed, bytes):
        return parse(unpacked(packed, _MOST) or b"")
    return parse(words.encode("utf-8", "replace")) if isinstance(words, str) else None


def label(database: sqlite3.Connection, session_id: str) -> str | None:
    """What a session is called: by the user, else by the client."""
    with contextlib.suppress(sqlite3.Error):
        for row in sqlite.records(database, "session_nodes", "current_session_id = ?", [session_id]):
            return text(row.get("label")) or text(row.get("display_name"))
    return None


def chosen(database: sqlite3.Connection, path: Path, session_id: str | None) -> str:
    """The session named, or the one that was last used. Raises FormatError (another database), NoConversation."""
    try:
        found: list[Any] = [session_id] if session_id else [row["session_id"] for row in windows(database)]
        database.execute("SELECT session_id, seq, event_json FROM transcript_events LIMIT 0")
    except (sqlite3.Error, KeyError) as error:
        reason = sqlite.reason(error) if isinstance(error, sqlite3.Error) else str(error)
        raise FormatError(f"{path} is no database of OpenClaw ({reason})", "name its openclaw-agent.sqlite") from error
    if not found:
        raise NoConversation(f"{path} holds no such session", "see them with: session-migrator list --all")
    return str(found[0])
