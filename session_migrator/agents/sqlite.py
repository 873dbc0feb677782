"""Reading a client's database without touching it: from a copy, and with no trust in its schema."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import ReadError

MAGIC = b"SQLite format 3\0"
"""How every database begins."""
_BESIDE = ("", "-wal")  # the journal holds what is not yet in the file


class _Connection(sqlite3.Connection):
    """What sqlite3 says of a damaged schema may hold what is no UTF-8, and then it fails to say it."""

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        try:
            return super().execute(*arguments)
        except UnicodeDecodeError as error:
            raise sqlite3.DatabaseError("malformed database schema") from error


@contextlib.contextmanager
def copied(path: Path) -> Generator[sqlite3.Connection]:
    """A connection to a copy of a database as it stands now, its journal with it. Text that is no UTF-8 is read with
    U+FFFD in its place. Raises ReadError where it cannot be copied; what is wrong inside is sqlite3's error."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.sqlite"
        try:
            for suffix in _BESIDE:
                source = path.with_name(path.name + suffix)
                if source.exists():
                    shutil.copyfile(source, f"{copy}{suffix}")
        except OSError as error:
            raise ReadError(f"cannot read {path}: {error.strerror}", "check the path and its permissions") from error
        with contextlib.closing(sqlite3.connect(copy, factory=_Connection)) as database:
            database.text_factory = _text
            database.set_authorizer(_no_views)
            yield database


def _no_views(action: int, first: str | None, second: str | None, schema: str | None, inner: str | None) -> int:  # noqa: ARG001
    """Nothing is read through a view (``inner``) or a trigger: what stands in one may have no end."""
    return sqlite3.SQLITE_DENY if inner else sqlite3.SQLITE_OK


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def reason(error: sqlite3.Error) -> str:
    """What sqlite3 says, on one line: of a damaged schema it quotes the text."""
    return " ".join(str(error).split())


def records(database: sqlite3.Connection, table: str, where: str = "1", values: Sequence[Any] = ()) -> list[Any]:
    """The rows of a table that fit, each a dict by column; ``table`` and ``where`` are of our own making."""
    cursor = database.execute(f"SELECT * FROM {table} WHERE {where}", values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def each(
    database: sqlite3.Connection, table: str, where: str, values: Sequence[Any] = ()
) -> Iterator[dict[str, Any] | None]:
    """The same one by one, so that damage costs no more than the rows it hit: None in the place of each. Raises
    sqlite3.Error where not even their places can be told."""
    for (place,) in database.execute(f"SELECT rowid FROM {table} WHERE {where}", values).fetchall():
        try:
            yield from records(database, table, "rowid = ?", [place])
        except sqlite3.Error:
            yield None


def select(path: Path, table: str, columns: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a table with these columns; none where the file, the table or a column is not as expected.
    ``table`` and ``columns`` are names of our own, never a user's."""
    with contextlib.suppress(ReadError, sqlite3.Error), copied(path) as database:
        found = database.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
        return [dict(zip(columns, row, strict=True)) for row in found]
    return []
