"""The index of a workspace: one SQLite file, a cache that can be made anew from what it was made of.

Each source (a session's file, the originals of a compression) is taken in as a whole, in one transaction, and only
where it has changed; so work that was broken off goes on where it was. The words lie in an FTS5 table without
content, the texts beside it, packed.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ..errors import ReadError, Refused
from ..files import make_folder
from ..model import Value
from .passages import Passage
from .words import terms

T = TypeVar("T")

NAME = "index.sqlite"
_SECONDS = 30.0  # how long another process that writes is waited for
_AT_ONCE = 500  # vectors in memory: so many stay in a processor's cache, three times as fast as many more
# Packed texts end with their sum (zlib's), by which those that are equal are looked up.
_EQUAL = "substr(q.text, -4) = substr(p.text, -4) AND q.text = p.text AND q.role = p.role"
_BESIDE = ("", "-wal", "-shm")
# Errors that say nothing of what is in the file: SQLITE_PERM, BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN.
_OF_THE_PLACE = frozenset((3, 5, 6, 7, 8, 10, 13, 14))
_ID = re.compile(r"[0-9a-f]{1,64}")
# What each form adds to the one before; a file of a later form is left alone.
_FORMS = (
    """
        CREATE TABLE sources (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL, agent TEXT NOT NULL,
            session TEXT NOT NULL, title TEXT);
        CREATE TABLE passages (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, source INTEGER NOT NULL, place INTEGER NOT NULL,
            turn INTEGER NOT NULL, role TEXT NOT NULL, time TEXT, text BLOB NOT NULL, tokens INTEGER NOT NULL);
        CREATE UNIQUE INDEX passage_by_place ON passages (source, place);
        CREATE INDEX passage_by_name ON passages (name);
        CREATE VIRTUAL TABLE words USING fts5 (text, parts, content = '', tokenize = 'porter unicode61');
    """,
    """
        CREATE TABLE vectors (passage INTEGER PRIMARY KEY, embedder TEXT NOT NULL, vector BLOB NOT NULL);
        CREATE INDEX vector_by_embedder ON vectors (embedder);
    """,
    # Of what compressions left out, turns were counted without what was kept, and all of it was taken in.
    """
        CREATE INDEX passage_by_sum ON passages (substr(text, -4));
        UPDATE sources SET stamp = '' WHERE name LIKE '%originals_%.jsonl.gz';
        UPDATE passages SET turn = 0 WHERE source IN (SELECT id FROM sources WHERE name LIKE '%originals_%.jsonl.gz');
    """,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Value):
    """What passages come from. ``name``: what it is known by (a path); ``stamp``: what changes when it changes;
    ``session``: the id there."""

    name: str
    stamp: str
    agent: str
    session: str
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Value):
    """A passage of the index: its ``id``, the source, and its place among that one's."""

    id: str
    source: Source
    place: int
    passage: Passage


class Index:
    """The passages of a workspace. Use ``opened``."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def close(self) -> None:
        self._database.close()

    def stamps(self) -> dict[str, str]:
        """The stamp of each source, by its name."""
        return dict(self._database.execute("SELECT name, stamp FROM sources"))

    def names(self, agent: str, session: str) -> list[str]:
        """The names of the sources that a session is known by."""
        rows = self._database.execute("SELECT name FROM sources WHERE agent = ? AND session = ?", (agent, session))
        return [name for (name,) in rows]

    def take_in(self, source: Source, passages: Iterable[Passage]) -> int:
        """Put the passages of a source in the place of those that are here of it; how many are new."""
        with self._transaction():
            known = self._known(source.name)
            self._database.execute(
                "INSERT INTO sources (name, stamp, agent, session, title) VALUES (?, ?, ?, ?, ?) ON CONFLICT (name)"
                " DO UPDATE SET stamp = excluded.stamp, agent = excluded.agent, session = excluded.session,"
                " title = excluded.title",
                (source.name, source.stamp, source.agent, source.session, source.title),
            )
            (key,) = self._database.execute("SELECT id FROM sources WHERE name = ?", (source.name,)).fetchone()
            new = 0
            for place, passage in enumerate(passages):
                name = passage.id(source.name, place)
                if known.pop(place, (0, ""))[1] == name:
                    continue
                self._remove(self._rows("source = ? AND place = ?", (key, place)))
                self._add(key, place, name, passage)
                new += 1
            for place in known:
                self._remove(self._rows("source = ? AND place = ?", (key, place)))
        return new

    def drop(self, name: str) -> None:
        """Forget a source."""
        with self._transaction():
            self._remove(self._rows("source = (SELECT id FROM sources WHERE name = ?)", (name,)))
            self._database.execute("DELETE FROM sources WHERE name = ?", (name,))

    def matches(self, question: str, where: str = "1", values: Sequence[Any] = ()) -> Iterator[tuple[int, int, float]]:
        """Source, place and score (BM25, more is better) of every passage that holds any of the words of an FTS5
        expression (``words.question``)."""
        if not question:
            return
        yield from self._database.execute(
            "SELECT p.source, p.place, -bm25(words) FROM words JOIN passages p ON p.id = words.rowid"
            f" JOIN sources s ON s.id = p.source WHERE words MATCH ? AND {where}",
            (question, *values),
        )

    def at(self, source: int, first: int, last: int) -> list[Found]:
        """The passages of a source at these places, both included, in order."""
        return self._found("p.source = ? AND p.place BETWEEN ? AND ? ORDER BY p.place", (source, first, last))

    def named(self, beginning: str) -> list[Found]:
        """The passages whose id begins so, five at most."""
        if not _ID.fullmatch(beginning):
            return []
        end = f"{beginning}\U0010ffff"
        return self._found("p.name >= ? AND p.name < ? ORDER BY p.name LIMIT 5", (beginning, end))

    def around(self, found: Found, before: int, after: int) -> list[Found]:
        """A passage with so many before and behind it in its source."""
        (key,) = self._database.execute("SELECT id FROM sources WHERE name = ?", (found.source.name,)).fetchone()
        return self.at(key, found.place - before, found.place + after)

    def size(self) -> int:
        """How many passages there are."""
        return int(self._database.execute("SELECT count(*) FROM passages").fetchone()[0])

    def vector_count(self, embedder: str) -> int:
        """How many passages have a vector of an embedder."""
        return int(self._database.execute("SELECT count(*) FROM vectors WHERE embedder = ?", (embedder,)).fetchone()[0])

    def without_vector(self, embedder: str, most: int) -> list[tuple[int, int]]:
        """Source and place of at most so many passages that have no vector of an embedder, of equal ones the first."""
        lacks = "NOT IN (SELECT passage FROM vectors WHERE embedder = ?)"
        return self._database.execute(
            f"SELECT source, place FROM passages p WHERE id {lacks} AND NOT EXISTS"
            f" (SELECT 1 FROM passages q WHERE {_EQUAL} AND q.id < p.id AND q.id {lacks}) ORDER BY id LIMIT ?",
            (embedder, embedder, most),
        ).fetchall()

    def add_vectors(self, embedder: str, vectors: Iterable[tuple[str, bytes]]) -> None:
        """Put vectors to passages, by the ids of these, and to all that are equal, in the place of those of another
        embedder."""
        with self._transaction():
            self._database.executemany(
                "INSERT OR REPLACE INTO vectors (passage, embedder, vector)"
                f" SELECT q.id, ?, ? FROM passages p JOIN passages q ON {_EQUAL} WHERE p.name = ?",
                [(embedder, vector, name) for name, vector in vectors],
            )

    def vectors(
        self, embedder: str, size: int, where: str = "1", values: Sequence[Any] = ()
    ) -> Iterator[tuple[list[int], bytes]]:
        """The vectors of an embedder that have so many bytes, of passages that meet a condition, some at a time: the
        keys of the passages, and the vectors behind each other."""
        among = "SELECT p.id FROM passages p JOIN sources s ON s.id = p.source WHERE"
        rows = self._database.execute(
            "SELECT passage, vector FROM vectors WHERE embedder = ? AND length(vector) = ?"
            + (f" AND passage IN ({among} {where})" if values else ""),
            (embedder, size, *values),
        )
        while some := rows.fetchmany(_AT_ONCE):
            yield [key for key, _ in some], b"".join(vector for _, vector in some)

    def places(self, keys: Sequence[int]) -> dict[int, tuple[int, int]]:
        """Source and place of passages by their keys."""
        marks = ", ".join("?" * len(keys))
        rows = self._database.execute(f"SELECT id, source, place FROM passages WHERE id IN ({marks})", keys)
        return {key: (source, place) for key, source, place in rows}

    def _known(self, name: str) -> dict[int, tuple[int, str]]:
        rows = self._database.execute(
            "SELECT place, id, name FROM passages WHERE source = (SELECT id FROM sources WHERE name = ?)", (name,)
        )
        return {place: (key, given) for place, key, given in rows}

    def _add(self, source: int, place: int, name: str, passage: Passage) -> None:
        cursor = self._database.execute(
            "INSERT INTO passages (name, source, place, turn, role, time, text, tokens)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (name, source, place, passage.turn, passage.role, passage.time, _packed(passage.text), passage.tokens),
        )
        self._database.execute(
            "INSERT INTO words (rowid, text, parts) VALUES (?, ?, ?)", (cursor.lastrowid, *_indexed(passage))
        )
        self._database.execute(
            "INSERT INTO vectors (passage, embedder, vector) SELECT p.id, v.embedder, v.vector FROM passages p"
            f" JOIN passages q ON {_EQUAL} JOIN vectors v ON v.passage = q.id WHERE p.id = ? LIMIT 1",
            (cursor.lastrowid,),
        )

    def _remove(self, rows: Iterable[tuple[int, Passage]]) -> None:
        """FTS5 without content is told what it is to forget."""
        for key, passage in rows:
            self._database.execute(
                "INSERT INTO words (words, rowid, text, parts) VALUES ('delete', ?, ?, ?)", (key, *_indexed(passage))
            )
            self._database.execute("DELETE FROM passages WHERE id = ?", (key,))
            self._database.execute("DELETE FROM vectors WHERE passage = ?", (key,))

    def _rows(self, where: str, values: Sequence[Any]) -> list[tuple[int, Passage]]:
        rows = self._database.execute(f"SELECT id, turn, role, time, text, tokens FROM passages WHERE {where}", values)
        return [(row[0], _passage(*row[1:])) for row in rows]

    def _found(self, where: str, values: Sequence[Any]) -> list[Found]:
        rows = self._database.execute(
            "SELECT p.name, p.place, s.name, s.stamp, s.agent, s.session, s.title, p.turn, p.role, p.time, p.text,"
            f" p.tokens FROM passages p JOIN sources s ON s.id = p.source WHERE {where}",
            values,
        )
        return [
            Found(
                id=row[0], place=row[1], passage=_passage(*row[7:]),
                source=Source(name=row[2], stamp=row[3], agent=row[4], session=row[5], title=row[6]),
            )
            for row in rows
        ]  # fmt: skip

    @contextlib.contextmanager
    def _transaction(self) -> Generator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")


@contextlib.contextmanager
def opened(path: Path) -> Generator[Index]:
    """The index in a file, made if it is not there. Raises Refused where it is of a later version, ReadError where it
    cannot be opened, sqlite3.DatabaseError where it is damaged (``repaired`` makes it anew)."""
    make_folder(path.parent)
    with contextlib.closing(_connected(path)) as database:
        yield Index(database)


def in_memory() -> Index:
    """An empty index that is nowhere else."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    _made(database)
    return Index(database)


def repaired(path: Path, work: Callable[[Index], T], tell: Callable[[str], None]) -> T:
    """What comes of work with the index in a file; if that is found damaged, it is made anew, ``tell`` is told, and
    the work begins again with it. Raises as ``opened``, and ReadError where the file stays locked or cannot be
    written."""
    try:
        for last in (False, True):
            try:
                with opened(path) as index:
                    return work(index)
            except sqlite3.DatabaseError as error:
                if last or getattr(error, "sqlite_errorcode", 0) & 0xFF in _OF_THE_PLACE:
                    raise
                tell(f"the index {path} was damaged ({error}); it is made anew")
                for suffix in _BESIDE:
                    path.with_name(path.name + suffix).unlink(missing_ok=True)
    except (sqlite3.Error, OSError) as error:
        raise ReadError(f"cannot use {path}: {error}", "check its permissions and the disk, or remove it") from error
    raise AssertionError("the second time it returns or raises")


def _connected(path: Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # whoever makes it, nobody else reads it
    database = sqlite3.connect(path, timeout=_SECONDS, isolation_level=None)
    try:
        form = _form(database)
        if form > len(_FORMS):
            raise Refused(f"{path} is of a later version of session-migrator", "update it, or move that file away")
        if form == 0:
            database.execute("PRAGMA journal_mode = WAL")
        if form < len(_FORMS):
            database.execute("BEGIN IMMEDIATE")
            _made(database)
            database.execute("COMMIT")
        database.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        database.close()
        raise
    return database


def _made(database: sqlite3.Connection) -> None:
    """What the file lacks of the present form; nothing where another process was first."""
    for statements in _FORMS[_form(database) :]:
        for statement in filter(str.strip, statements.split(";")):
            database.execute(statement)
    database.execute(f"PRAGMA user_version = {len(_FORMS)}")


def _form(database: sqlite3.Connection) -> int:
    form = int(database.execute("PRAGMA user_version").fetchone()[0])
    if form < 0:
        raise sqlite3.DatabaseError("its form has no number")
    return form


def _indexed(passage: Passage) -> tuple[str, str]:
    """What of a passage is found by words: who speaks and when, too."""
    return terms(f"{passage.role} {_day(passage.time)}\n{passage.text}")


_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
           "December")  # fmt: skip


def _day(time: str | None) -> str:
    """The day of a time as it is written and as it is said; empty where there is none."""
    year, month, day = (time or "")[:4], (time or "")[5:7], (time or "")[8:10]
    if not (year.isdigit() and month.isdigit() and day.isdigit() and 1 <= int(month) <= 12):
        return ""
    return f"{year}-{month}-{day} {int(day)} {_MONTHS[int(month) - 1]}"


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)


def _passage(turn: int, role: str, time: str | None, text: bytes, tokens: int) -> Passage:
    try:
        plain = zlib.decompress(text).decode("utf-8", "surrogatepass")
    except (zlib.error, ValueError, TypeError) as error:
        raise sqlite3.DatabaseError("a text in it is none") from error
    return Passage(turn=turn, role=role, time=time, text=plain, tokens=tokens)
