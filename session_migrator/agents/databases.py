"""Rows of ours in databases that others write too: what they say, and taking them out again."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..errors import ReadError, WriteError
from . import sqlite
from .spec import Database, Rows

_SECONDS = 10
"""How long a database that another program writes to is waited for."""
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"


def digest(path: Path, rows: Sequence[Rows]) -> str | None:
    """The sha256 of the rows in a database, None where none of them is there. Without ``rows``: of all there is."""
    with contextlib.suppress(sqlite3.Error, ReadError), sqlite.copied(path) as database:
        return content(database, rows)
    return None


def content(database: sqlite3.Connection, rows: Sequence[Rows] = ()) -> str | None:
    """The same over an open connection. Raises sqlite3.Error."""
    found, any_row = hashlib.sha256(), False
    asked = [(each.table, f" WHERE {_name(each.column)} = ?", [each.value]) for each in rows]
    for table, where, values in asked or [(name, "", []) for (name,) in database.execute(_TABLES).fetchall()]:
        found.update(table.encode())
        for line in sorted(map(repr, database.execute(f"SELECT * FROM {_name(table)}{where}", values))):
            any_row = True
            found.update(line.encode("utf-8", "surrogatepass"))
    return found.hexdigest() if any_row or not rows else None


def take_out(rows: Iterable[Rows], made: Iterable[Database]) -> None:
    """Delete rows, those of each database at once, and then the databases that were made for them and hold nothing
    more than they did. Every other row stays. Raises WriteError."""
    rows, by_path = tuple(rows), {database.path: database for database in made}
    for path in dict.fromkeys((*(each.database for each in rows), *by_path)):
        if not Path(path).exists():
            continue
        try:
            with contextlib.closing(sqlite3.connect(path, timeout=_SECONDS, isolation_level=None)) as database:
                database.execute("PRAGMA foreign_keys = OFF")  # nothing goes along
                database.execute("BEGIN IMMEDIATE")
                for each in rows:
                    if each.database == path and not (each.shared and _is_used(database, each)):
                        values = [each.value]
                        database.execute(f"DELETE FROM {_name(each.table)} WHERE {_name(each.column)} = ?", values)
                is_bare = path in by_path and content(database) == by_path[path].digest
                database.execute("COMMIT")
        except sqlite3.Error as error:
            raise WriteError(f"cannot take rows out of {path}: {error}", "close its client and try again") from error
        if is_bare:
            for suffix in ("", "-wal", "-shm"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)


def _is_used(database: sqlite3.Connection, row: Rows) -> bool:
    """Whether any row refers to this one by a foreign key."""
    for (table,) in database.execute(_TABLES).fetchall():
        for key in database.execute(f"PRAGMA foreign_key_list({_name(table)})").fetchall():
            _, _, target, here, there, *_ = key
            if target == row.table and there in (None, row.column):
                query = f"SELECT 1 FROM {_name(table)} WHERE {_name(here)} = ? LIMIT 1"
                if database.execute(query, [row.value]).fetchone():
                    return True
    return False


def _name(word: str) -> str:
    """A table or a column, quoted."""
    return '"' + word.replace('"', '""') + '"'
