"""Rows in a database that others write too: named, told from others, taken out again, and nothing else."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from session_migrator import Store, migrations
from session_migrator.agents import databases, sqlite
from session_migrator.agents.spec import Database, Rows, Written
from session_migrator.errors import WriteError

SCHEMA = """
CREATE TABLE project (id TEXT PRIMARY KEY, name TEXT);
CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT REFERENCES project(id) ON DELETE CASCADE);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT REFERENCES session(id) ON DELETE CASCADE, data TEXT);
CREATE TABLE migration (id TEXT);
INSERT INTO migration VALUES ('first');
"""
OURS = """
INSERT INTO project VALUES ('p', 'ours');
INSERT INTO session VALUES ('ours', 'p');
INSERT INTO message VALUES ('m1', 'ours', 'one'), ('m2', 'ours', 'two');
"""
THEIRS = """
INSERT INTO project VALUES ('q', 'theirs');
INSERT INTO session VALUES ('theirs', 'q');
INSERT INTO message VALUES ('m3', 'theirs', 'one');
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.db"


def run(path: Path, *scripts: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        for script in scripts:
            database.executescript(script)


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        return list(database.iterdump())


def rows(path: Path) -> tuple[Rows, ...]:
    named = (("message", "session_id", "ours"), ("session", "id", "ours"), ("project", "id", "p"))
    return tuple(
        Rows(database=str(path), table=table, column=column, value=value, shared=table == "project")
        for table, column, value in named
    )


def own(path: Path) -> list[Rows]:
    return [each for each in rows(path) if not each.shared]


def test_rows_are_taken_out_and_everything_else_stays(path: Path) -> None:
    run(path, SCHEMA, THEIRS)
    before = dump(path)
    run(path, OURS)
    databases.take_out(rows(path), ())
    assert dump(path) == before


def test_a_shared_row_that_another_has_come_to_use_stays_with_it(path: Path) -> None:
    run(path, SCHEMA, OURS, "INSERT INTO session VALUES ('later', 'p')")
    databases.take_out(rows(path), ())
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT id FROM session").fetchall() == [("later",)]
        assert database.execute("SELECT id FROM project").fetchall() == [("p",)]
        assert database.execute("SELECT id FROM message").fetchall() == []


@pytest.fixture
def empty(path: Path) -> Database:
    run(path, SCHEMA)
    digest = databases.digest(path, ())
    assert digest
    return Database(path=str(path), digest=digest)


def test_a_database_that_was_made_goes_with_the_rows(path: Path, empty: Database) -> None:
    run(path, OURS)
    databases.take_out(rows(path), [empty])
    assert not path.exists()
    databases.take_out(rows(path), [empty])
    assert not path.exists()


@pytest.mark.parametrize("more", [THEIRS, "INSERT INTO migration VALUES ('second')", "CREATE TABLE x (id)"])
def test_a_database_that_was_made_stays_with_what_has_come_since(path: Path, empty: Database, more: str) -> None:
    run(path, more)
    before = dump(path)
    run(path, OURS)
    databases.take_out(rows(path), [empty])
    assert dump(path) == before


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (THEIRS, True),
        ("UPDATE project SET name = 'x'", True),
        ("INSERT INTO message VALUES ('m9', 'ours', 'more')", False),
        ("UPDATE message SET data = 'x' WHERE id = 'm1'", False),
        ("DELETE FROM message WHERE id = 'm1'", False),
    ],
)
def test_a_digest_tells_whether_the_rows_are_what_they_were(path: Path, change: str, same: bool) -> None:
    run(path, SCHEMA, OURS)
    before = databases.digest(path, own(path))
    run(path, change)
    assert (databases.digest(path, own(path)) == before) is same


def test_rows_that_are_gone_have_no_digest(path: Path) -> None:
    assert databases.digest(path, own(path)) is None
    run(path, SCHEMA)
    assert databases.digest(path, own(path)) is None


def test_a_database_in_use_is_waited_for_and_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(path, SCHEMA, OURS)
    before = dump(path)
    monkeypatch.setattr(databases, "_SECONDS", 0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(WriteError, match="locked"):
            databases.take_out(rows(path), ())
        other.execute("ROLLBACK")
    assert dump(path) == before


def test_what_was_written_is_found_again_at_the_files_and_within_the_database(path: Path) -> None:
    written = Written(session_id="ours", paths=("/a",), rows=rows(path))
    assert written.places == ("/a", f"{path}/ours")


def test_rows_that_the_client_makes_of_the_others_are_no_sign_of_a_session_that_went_on(path: Path) -> None:
    run(path, SCHEMA, OURS)
    message, session, _ = rows(path)
    written = Written(session_id="ours", paths=(), rows=(message, replace(session, derived=True)))
    document = {"migration": "m", "written": written.to_dict()}
    migrations.record(Store().workspace(path.parent), migrations.Lineage(key="k", content="c"), document)
    (place,) = written.places
    assert migrations.untouched(Store(), [place]) == {place}
    run(path, "UPDATE session SET project_id = 'x' WHERE id = 'ours'")
    assert migrations.untouched(Store(), [place]) == {place}
    run(path, "UPDATE message SET data = 'x' WHERE id = 'm1'")
    assert migrations.untouched(Store(), [place]) == set()


def test_a_view_in_the_place_of_a_table_is_not_read(path: Path) -> None:
    """Its rows may have no end."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE one (id)")
        endless = "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id FROM n"
        database.execute(f"CREATE VIEW session AS {endless}")
        database.commit()
    with sqlite.copied(path) as copy:
        assert sqlite.records(copy, "one") == []
        with pytest.raises(sqlite3.Error):
            sqlite.records(copy, "session")
