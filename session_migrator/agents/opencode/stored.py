"""Where OpenCode and its forks keep a session: rows of a database (1.2 and later), files of the older storage, or a
document of ``export``. All three hold the same objects.

A session within a database is named by the database's path with the session's id behind it, as if it were a folder.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import FormatError, NoConversation, ReadError
from ...files import is_file
from ...losses import Loss
from .. import sqlite
from ..jsonl import Record, head, parse, rows, table

Exchange = tuple[Record, list[Record]]
"""A message and its parts."""


@dataclass(slots=True)
class Stored:
    """A session's own record, and its messages as the client orders them; what is damaged goes to ``losses``."""

    info: Record
    messages: Iterable[Exchange]
    losses: list[Loss]


@contextlib.contextmanager
def opened(path: Path) -> Generator[Stored]:
    """The session at a path. Raises ReadError, FormatError, NoConversation."""
    if is_file(path.parent):
        with _in_database(path.parent, path.name) as stored:
            yield stored
    elif head(path, len(sqlite.MAGIC)) == sqlite.MAGIC:
        with _in_database(path, None) as stored:
            yield stored
    else:
        yield _in_files(path)


# --- the database


@contextlib.contextmanager
def _in_database(path: Path, session_id: str | None) -> Generator[Stored]:
    """A session by id; without one the main session that was last used."""
    with sqlite.copied(path) as database:
        try:
            where = "id = ?" if session_id else "parent_id IS NULL AND ? IS NULL ORDER BY time_updated DESC LIMIT 1"
            found = sqlite.records(database, "session", where, [session_id])
        except sqlite3.Error as error:
            raise FormatError(
                f"{path} is no database of OpenCode ({sqlite.reason(error)})", "name its database (opencode.db)"
            ) from error
        if not found:
            raise NoConversation(f"{path} holds no such session", "see them with: session-migrator list --all")
        losses: list[Loss] = []
        session_id = str(found[0].get("id"))
        if _newer(database, session_id):
            detail = "the session also has messages of a newer format (session_message), which are not understood"
            losses.append(Loss(kind="unknown_record", detail=detail))
        yield Stored(session_info(found[0]), _rows(database, session_id, losses), losses)


def _newer(database: sqlite3.Connection, session_id: str) -> bool:
    """Whether there is anything in the table that 1.18 makes and leaves empty."""
    with contextlib.suppress(sqlite3.Error):
        return bool(sqlite.records(database, "session_message", "session_id = ? LIMIT 1", [session_id]))
    return False


def session_info(row: Record) -> Record:
    """A row of the table of sessions as the object that the other forms hold."""
    return {
        **{key: row.get(key) for key in ("id", "directory", "title", "version")},
        "projectID": row.get("project_id"),
        "parentID": row.get("parent_id"),
        "time": {"created": row.get("time_created"), "updated": row.get("time_updated")},
        "model": _object(row.get("model")) or {},
        "revert": _object(row.get("revert")) or {},
    }


def _rows(database: sqlite3.Connection, session_id: str, losses: list[Loss]) -> Iterator[Exchange]:
    for message in _row_objects(database, "message", "session_id = ? ORDER BY time_created, id", session_id, losses):
        parts = _row_objects(database, "part", "message_id = ? ORDER BY id", message["id"], losses)
        yield message, list(parts)


def _row_objects(
    database: sqlite3.Connection, name: str, where: str, value: str, losses: list[Loss]
) -> Iterator[Record]:
    """The objects of a table's rows, each with the id that stands beside it."""
    try:
        for row in sqlite.each(database, name, where, [value]):
            found = _object(row and row.get("data"))
            if row and found is not None:
                yield {**found, "id": str(row.get("id"))}
            else:
                losses.append(Loss(kind="bad_line", detail=f"a {name} that is damaged, or no JSON object, was skipped"))
    except sqlite3.Error as error:
        losses.append(Loss(kind="bad_line", detail=f"the table {name} cannot be read ({sqlite.reason(error)})"))


def _object(data: Any) -> Record | None:
    return parse(data.encode("utf-8", "replace")) if isinstance(data, str) else None


# --- files


def _in_files(path: Path) -> Stored:
    """A document of the ``export``, or a session's file in the older storage, whose messages lie beside it."""
    record = parse(head(path, -1).removeprefix(b"\xef\xbb\xbf"))
    if record is None:
        raise FormatError(f"{path} is no session of OpenCode", "name a session of storage/session or an export")
    losses: list[Loss] = []
    if isinstance(record.get("messages"), list):
        pairs = [(table(one.get("info")), list(map(table, rows(one.get("parts"))))) for one in
                 map(table, rows(record["messages"]))]  # fmt: skip
        return Stored(table(record.get("info")), pairs, losses)
    root = path.parents[2] if len(path.parents) > 2 else path.parent
    return Stored(record, _files(root, str(record.get("id") or path.stem), losses), losses)


def _files(root: Path, session_id: str, losses: list[Loss]) -> Iterator[Exchange]:
    messages = _file_objects(root / "message", session_id, losses)
    for message in sorted(messages, key=_order):
        parts = _file_objects(root / "part", str(message.get("id")), losses)
        yield message, sorted(parts, key=lambda part: str(part.get("id")))


def _order(message: Record) -> tuple[float, str]:
    created = table(message.get("time")).get("created")
    return created if isinstance(created, (int, float)) else 0, str(message.get("id"))


def _file_objects(folder: Path, name: str, losses: list[Loss]) -> Iterator[Record]:
    """The objects in a folder's files. The name comes out of a file: it is no path."""
    if not name or "/" in name or "\0" in name or name in (".", ".."):
        return
    try:
        paths = sorted((folder / name).glob("*.json"))
    except OSError:  # too long a name
        return
    for path in paths:
        found = None
        with contextlib.suppress(ReadError):
            found = parse(head(path, -1))
        if found is None:
            losses.append(Loss(kind="bad_line", detail=f"{path.name} is no JSON object and was skipped"))
        else:
            yield {"id": path.stem, **found}
