"""A damaged database is read as far as it goes, and what is whole in it is not hidden."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mutations import FIXED, LISTED, VALUES, assert_carried, attempt, dumped, places, scratch
from places import FIXTURES

from session_migrator import agents, read_session

HELD = [(agents.get(agent), path) for agent, paths in LISTED.items() for path in paths if not path.is_file()]
"""Each recorded session that lies in a database."""
HOLDING = (("message", "data"), ("part", "data"), ("transcript_events", "event_json"))
"""The tables and columns with what was said."""
Damage = Callable[[st.DrawFn, sqlite3.Connection], None]


def copied(source: Path, folder: Path) -> Path:
    """The database of a recorded session copied to where its client would look for it, with a folder of its own for a
    home."""
    path = folder / source.name / source.parent.relative_to(FIXTURES)
    path.parent.mkdir(parents=True)
    return Path(shutil.copy(source.parent, path))


def home_of(copy: Path, folder: Path) -> Path:
    """That folder: the session's name, the agent and the version are above it."""
    return Path(folder, *copy.relative_to(folder).parts[:3])


def tables(database: sqlite3.Connection) -> list[str]:
    """Those that hold something, without the ones that SQLite itself makes for an index of words."""
    held = "SELECT name FROM pragma_table_list WHERE type = 'table' AND NOT wr AND schema = 'main' ORDER BY name"
    names = [(name,) for (name,) in database.execute(held).fetchall() if not name.startswith("sqlite_")]
    return [name for (name,) in names if database.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone()]


def columns(database: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]


def with_value(draw: st.DrawFn, database: sqlite3.Connection) -> None:
    """A cell replaced by any value: text, a number, bytes, JSON that is torn or something else."""
    table = draw(st.sampled_from(tables(database)))
    column = draw(st.sampled_from(columns(database, table)))
    value = draw(st.sampled_from(["", "{torn", "[]", "null", 5, -1, 1e300, b"\xff\0\xed", "\0"]))
    at = draw(st.integers(0, 40))
    where = f'rowid IN (SELECT rowid FROM "{table}" LIMIT 1 OFFSET {at})'
    database.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = ? WHERE {where}', [value])


def with_field(draw: st.DrawFn, database: sqlite3.Connection) -> None:
    """A field of an object in a cell replaced by any value."""
    table, column, rowid, record = draw(st.sampled_from(list(objects(database))))
    found = list(places(record))
    assume(found)
    container, key = found[draw(st.integers(0, len(found) - 1))]
    container[key] = draw(st.sampled_from(VALUES))
    database.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', [dumped(record).decode(), rowid])


def with_text_that_is_none(draw: st.DrawFn, database: sqlite3.Connection) -> None:
    table, column, rowid, _ = draw(st.sampled_from(list(objects(database))))
    database.execute(f'UPDATE "{table}" SET "{column}" = CAST(x\'7bff80\' AS TEXT) WHERE rowid = ?', [rowid])


def without_rows(draw: st.DrawFn, database: sqlite3.Connection) -> None:
    table = draw(st.sampled_from(tables(database)))
    database.execute(f'DELETE FROM "{table}" WHERE rowid % 3 = ?', [draw(st.integers(0, 2))])


def without_table(draw: st.DrawFn, database: sqlite3.Connection) -> None:
    database.execute(f'DROP TABLE "{draw(st.sampled_from(tables(database)))}"')


def without_column(draw: st.DrawFn, database: sqlite3.Connection) -> None:
    table = draw(st.sampled_from(tables(database)))
    column = draw(st.sampled_from(columns(database, table)))
    other = draw(st.sampled_from([f'"{column}" AS "{column}_2"', "5 AS new"]))
    kept = ", ".join([*(f'"{name}"' for name in columns(database, table) if name != column), other])
    database.execute(f'CREATE TABLE "_other" AS SELECT {kept} FROM "{table}"')
    database.execute(f'DROP TABLE "{table}"')
    database.execute(f'ALTER TABLE "_other" RENAME TO "{table}"')


def with_newer_schema(draw: st.DrawFn, database: sqlite3.Connection) -> None:  # noqa: ARG001
    database.execute("PRAGMA user_version = 4000")
    for table in tables(database):
        database.execute(f'ALTER TABLE "{table}" ADD COLUMN "of_a_newer_version" TEXT')
        database.execute(f'CREATE TABLE "{table}_2" (id TEXT)')


DAMAGES: list[Damage] = [
    with_value, with_field, with_text_that_is_none, without_rows, without_table, without_column, with_newer_schema,
]  # fmt: skip


def objects(database: sqlite3.Connection) -> Iterator[tuple[str, str, int, Any]]:
    """The cells that hold an object as JSON: table, column, row and the object."""
    for table in tables(database):
        for column in columns(database, table):
            for rowid, cell in database.execute(f'SELECT rowid, CAST("{column}" AS BLOB) FROM "{table}"').fetchall():
                if (cell or b"").startswith(b"{") and (record := parsed(cell)):
                    yield table, column, rowid, record


def parsed(cell: bytes) -> Any:
    try:
        return json.loads(cell)
    except ValueError:
        return None


def broken(draw: st.DrawFn, data: bytes) -> bytes:
    """The file cut off, or some of its bytes replaced: a page, or a few anywhere."""
    at = draw(st.integers(0, len(data) - 1))
    match draw(st.sampled_from(["cut", "page", "bytes"])):
        case "cut":
            return data[:at]
        case "page":
            start = at // 4096 * 4096
            return data[:start] + draw(st.sampled_from([b"\0", b"\xff", b"x{"])) * 2048 + data[start + 4096 :]
        case _:
            return data[:at] + draw(st.binary(min_size=1, max_size=8)) + data[at + 8 :]


class Content(bytes):
    """Bytes that are too many to be shown."""

    def __repr__(self) -> str:
        return f"<{len(self)} bytes>"


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, Path, Content]:
    """An agent, a session, and its database after up to three damages, perhaps broken too."""
    spec, path = draw(st.sampled_from(HELD))
    with scratch() as folder:
        copy = Path(shutil.copy(path.parent, folder / "copy.db"))
        with closing(sqlite3.connect(copy)) as database:
            for (trigger,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                database.execute(f'DROP TRIGGER "{trigger}"')  # one may name what is damaged
            for damage in draw(st.lists(st.sampled_from(DAMAGES), max_size=3, unique=True)):
                if list(objects(database)):
                    damage(draw, database)
            database.commit()
        data = copy.read_bytes()
    return spec.id, path, Content(broken(draw, data) if draw(st.booleans()) else data)


@settings(FIXED, max_examples=50)
@given(source=damaged())
def test_a_damaged_database_is_read_the_same_each_time_or_refused_and_what_is_read_can_be_carried(
    source: tuple[str, Path, Content],
) -> None:
    agent, recorded, data = source
    spec = agents.get(agent)
    with scratch() as folder:
        path = folder / recorded.parent.name
        path.write_bytes(data)
        ways = [(read, place) for read in (read_session, spec.read) for place in (path, path / recorded.name)]
        found = [attempt(read, place) for read, place in ways]
        assert [attempt(read, place) for read, place in ways] == found
        listed = list(spec.list(folder))
        assert path.read_bytes() == data
        for info in listed:
            attempt(spec.read, Path(str(info.path)))
        for session in filter(None, found):
            json.dumps(session.to_dict(), allow_nan=False, ensure_ascii=False).encode("utf-8")
        if session := next(filter(None, found), None):
            assert_carried(session, folder)


@pytest.mark.parametrize("value", [None, 5, "", [], {}, [None], {"type": []}], ids=str)
def test_a_field_of_another_type_costs_at_most_its_own_row(value: Any, tmp_path: Path) -> None:
    for spec, source in HELD:
        copy = copied(source, tmp_path)
        with closing(sqlite3.connect(copy)) as database:
            kinds: dict[tuple[Any, ...], tuple[str, str, int, Any, list[Any]]] = {}
            for table, column, rowid, record in objects(database):
                for keys in paths_in(record):
                    kind = (table, column, record.get("type"), *("[]" if isinstance(key, int) else key for key in keys))
                    kinds.setdefault(kind, (table, column, rowid, record, keys))
            assert len(kinds) > 50
            for table, column, rowid, record, keys in kinds.values():
                changed = json.loads(json.dumps(record))
                reduce(getitem, keys[:-1], changed)[keys[-1]] = value
                put = f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?'
                database.execute(put, [json.dumps(changed), rowid])
                database.commit()
                assert attempt(spec.read, copy / source.name), keys
                assert [info.id for info in spec.list(home_of(copy, tmp_path))] == [source.name]
                database.execute(put, [json.dumps(record), rowid])


def paths_in(value: Any) -> Iterator[list[Any]]:
    """The keys that lead to each place inside of a value."""
    if isinstance(value, (dict, list)):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield [key]
            yield from ([key, *rest] for rest in paths_in(value[key]))


@pytest.mark.parametrize("cell", ["{torn", "", "[]", 5, b"\xff{"], ids=str)
def test_a_row_that_is_torn_hides_no_other(cell: Any, tmp_path: Path) -> None:
    for spec, source in HELD:
        copy = copied(source, tmp_path)
        whole = said(spec.read(source).session)
        with closing(sqlite3.connect(copy)) as database:
            rows = [row for row in objects(database) if row[:2] in HOLDING]
            assert len(rows) > 10
            for table, column, rowid, record in rows:
                put = f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?'
                database.execute(put, [cell, rowid])
                database.commit()
                reading = spec.read(copy / source.name)
                assert [loss.kind for loss in reading.losses if loss.severity == "lossy"] == ["bad_line"]
                lost = whole - said(reading.session)
                assert len(lost) <= (2 if table == "part" else 4), record
                database.execute(put, [json.dumps(record), rowid])


def test_a_damaged_page_hides_no_row_of_another(tmp_path: Path) -> None:
    for spec, source in HELD:
        data, copy = source.parent.read_bytes(), copied(source, tmp_path)
        whole, size = said(spec.read(source).session), int.from_bytes(data[16:18], "big")
        for start in range(0, len(data), size):
            copy.write_bytes(data[:start] + b"\xff" * size + data[start + size :])
            session = attempt(spec.read, copy / source.name)
            assert len(list(spec.list(home_of(copy, tmp_path)))) <= 1
            if count := data[start : start + size].count(b'"type":"'):
                assert session
                assert len(whole - said(session)) <= max(4, count)


def said(session: Any) -> set[str]:
    """What a session says, part by part."""
    return {json.dumps(part.to_dict(), sort_keys=True) for message in session.messages for part in message.parts}
