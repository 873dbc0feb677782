"""OpenClaw's sessions as they are read: of an agent's database, and of its older files."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from places import FIXTURES, LONG

from session_migrator import read_session
from session_migrator.agents.openclaw import reader
from session_migrator.errors import FormatError, NoConversation, ReadError
from session_migrator.model import REPLACED, Session, Text

HOMES = FIXTURES / "openclaw"
DATABASE = next((HOMES / "2026.9.6").rglob("*.sqlite"))
ID = "6be4217e-2e36-407b-b3d6-5dd45a3bd1be"


def texts(session: Session) -> list[str]:
    return [part.text for message in session.messages for part in message.parts if isinstance(part, Text)]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return Path(shutil.copytree(HOMES / "2026.9.6", tmp_path / "state"))


def change(home: Path, *statements: tuple[str, list[Any]]) -> Path:
    (path,) = home.rglob("*.sqlite")
    with closing(sqlite3.connect(path)) as database:
        for statement, values in statements:
            database.execute(statement, values)
        database.commit()
    return path / ID


def put(seq: int, **entry: Any) -> tuple[str, list[Any]]:
    columns = "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?, ?, ?, 0)"
    return columns, [ID, seq, json.dumps(entry)]


@pytest.mark.parametrize("version", ["2026.9.6", "2026.6.11"])
def test_a_recorded_session_has_every_call_with_one_result(version: str) -> None:
    """One result of the newer one is packed with zstd."""
    (info,) = reader.list_sessions(HOMES / version)
    reading = reader.read(Path(str(info.path)))
    session = reading.session
    assert (session.id, session.agent, session.cwd) == (info.id, "openclaw", "/home/user/workspace")
    calls = [call for message in session.messages for call in message.calls]
    results = [result for message in session.messages for result in message.results]
    assert [(call.id, call.name) for call in calls] == [
        (result.call_id, name) for result, name in zip(results, ("exec", "read"), strict=True)
    ]
    assert [result.is_error for result in results] == [False, True]
    assert texts(session)[-2:] == ["I look.", "Both done."]
    assert (info.model, session.model, info.title) == ("stub/gpt-5.5", "stub/gpt-5.5", texts(session)[0])
    assert reading.losses == ()
    numbers = results[0].parts[0]
    assert isinstance(numbers, Text)
    assert numbers.text.startswith("1\n2\n3\n4\n5")


def test_a_database_alone_is_its_last_session_and_stays_as_it_is() -> None:
    before = DATABASE.read_bytes()
    assert reader.read(DATABASE).session.id == ID
    assert DATABASE.read_bytes() == before


def test_a_database_is_known_for_the_agents_it_is_of() -> None:
    """Though another agent, which is asked first, has databases too."""
    assert [read_session(path).agent for path in (DATABASE, DATABASE / ID)] == ["openclaw", "openclaw"]


def test_a_fresh_start_hides_what_was_before_it_and_an_entry_can_say_where_the_line_goes_on(home: Path) -> None:
    said = {"role": "user", "content": "Anew."}
    aside = {"role": "user", "content": "Beside it."}
    path = change(
        home,
        put(20, type="reset", id="r", parentId="745fc892-8fff-4b91-9335-24db9c9791ba"),
        put(21, type="message", id="a", parentId="r", message=said),
        put(22, type="message", id="b", parentId="a", message={"role": "user", "content": "Given up."}),
        put(23, type="leaf", id="l", parentId="b", targetId="a"),
        put(24, type="message", id="c", parentId="l", message={"role": "toolResult", "toolCallId": "x",
                                                               "content": {"type": "text", "text": "alone"}}),
        put(25, type="message", id="d", parentId="c", appendMode="side", message=aside),
    )  # fmt: skip
    reading = reader.read(path)
    assert texts(reading.session) == ["Anew."]
    (result,) = reading.session.messages[1].results
    assert result.parts == (Text(text="alone"),)
    assert len(reading.session.earlier) == 6
    assert (reading.session.extra or {})[REPLACED] == 0
    assert [loss.detail[:9] for loss in reading.losses] == ["2 entries"]


def test_a_session_has_the_name_that_the_user_gave_it_and_sub_agents_are_its_children(home: Path) -> None:
    key = f"agent:main:explicit:{ID}"
    window = "INSERT INTO session_windows (session_id, session_key, session_scope, created_at, updated_at, "
    window += "session_entry_provenance, acp_owned, parent_session_key) VALUES ('sub', 'k', 'x', 0, 9e12, 0, 0, ?)"
    event = "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES ('sub', 0, '{}', 0)"
    path = change(home, ("UPDATE session_nodes SET label = 'Counting'", []), (window, [key]), (event, []))
    assert [info.title for info in reader.list_sessions(home)] == ["Counting"]
    session = reader.read(path).session
    assert (session.title, session.children) == ("Counting", (str(path.parent / "sub"),))


@pytest.mark.parametrize("cell", ["{torn", "", "[]", 5, b"\xff{"], ids=str)
def test_a_row_that_is_torn_hides_no_other(cell: Any, home: Path) -> None:
    path = change(home, ("UPDATE transcript_events SET event_json = ? WHERE seq = 8", [cell]))
    reading = reader.read(path)
    assert texts(reading.session)[-1] == "Both done."
    assert {loss.kind for loss in reading.losses} >= {"bad_line"}
    packed = change(home, ("UPDATE transcript_events SET event_zstd = x'00ff' WHERE seq = 9", []))
    assert texts(reader.read(packed).session)[-1] == "Both done."


def test_without_the_library_that_unpacks_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    with pytest.raises(ReadError) as caught:
        reader.read(DATABASE)
    assert caught.value.remedy == "pip install zstandard"


def test_another_database_and_another_file_are_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as database:
        database.execute("CREATE TABLE x (id)")
        database.commit()
    with pytest.raises(FormatError):
        reader.read(tmp_path / "other.sqlite")
    with pytest.raises(NoConversation):
        reader.read(DATABASE / "nobody")
    with pytest.raises(FormatError):
        reader.read(LONG)
