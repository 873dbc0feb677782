"""What OpenClaw alone does with a session: how one goes into its database and out again, and when it compacts."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import harness
import pytest
from conversations import ALL, PLAIN, picture
from going_on import PROMPT, Place, carry, make_place, numbered
from kinds import Setup, arguments, kind_of
from places import LONG

from session_migrator import Session, Store, agents, from_messages, migrate, migrations, read_session
from session_migrator.agents.openclaw import client
from session_migrator.errors import Refused
from session_migrator.model import FITTED, Message, Text, ToolCall, ToolResult
from session_migrator.target import inspect

MODEL = harness.VERSIONS["openclaw"]["model"]
KIND = kind_of("openclaw")


def listed(place: Place) -> dict[str, str]:
    """The titles of the sessions that the client lists, by id."""
    lines = harness.list_sessions(place.client, **place.where).splitlines()
    return dict(line.split(" ", 1) for line in lines)


def rows(place: Place) -> dict[str, list[str]]:
    """What is in the database, table by table; how its index of words lies in pages is its own."""
    with closing(sqlite3.connect(client.database(place.config, "main"))) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        own = [name for name in names if not name.endswith(("_fts_data", "_fts_idx", "sqlite_sequence"))]
        return {name: sorted(map(repr, database.execute(f'SELECT * FROM "{name}"'))) for name in own}


@pytest.mark.client("openclaw")
def test_a_session_goes_in_by_the_clients_import_and_out_again(tmp_path: Path) -> None:
    """Beside the client's own and another one, which then goes on."""
    place = make_place("openclaw", tmp_path / "client")
    harness.run_client("openclaw", [*KIND.start, "Hello."], script=[{"text": "Good day."}], **place.where)
    kept = carry(ALL["plain"].make(tmp_path), place)
    before, titles = rows(place), listed(place)
    assert len(titles) == 2
    carried = carry(LONG, place)
    assert carried.path.parent == client.database(place.config, "main")
    assert len(listed(place)) == 3
    assert [path for path in place.config.rglob("*") if carried.session_id in path.name] == []
    assert not (place.config / "session-sqlite-migration-runs").exists()
    migrations.undo(Store(), carried.done["migration"])
    assert rows(place) == before
    assert listed(place) == titles

    command = [*arguments(KIND.resume, model=MODEL), kept.session_id, PROMPT]
    run = harness.run_client("openclaw", command, script=[{"text": "step done"}], **place.where)
    (request,) = harness.main_requests("openclaw", run.requests)
    assert numbered(harness.conversation("openclaw", request)) == [*kept.history, ("user", "text", PROMPT, None)]
    with pytest.raises(Refused, match="continued since"):
        migrations.undo(Store(), kept.done["migration"])
    assert listed(place).keys() == titles.keys()


@pytest.mark.client("openclaw")
def test_what_lies_in_files_is_taken_up_by_the_command_that_is_told(tmp_path: Path) -> None:
    place = make_place("openclaw", tmp_path / "client")
    KIND.configure(Setup(client="openclaw", home=place.home, cwd=place.project, config_dir=place.config))
    done = migrate(LONG, "openclaw", MODEL, into=place.project, home=place.config)
    path = Path(done.target["paths"][0])
    written = read_session(path)
    (told,) = (warning for warning in done.warnings if "doctor" in warning)
    with harness.on_path("openclaw", place.home, client.HOME_VARIABLE):
        subprocess.run(told.partition(": ")[2], shell=True, capture_output=True, timeout=120, check=True)
    assert not path.exists()
    (info,) = agents.get("openclaw").list(place.config)
    assert info.id == done.target["session_id"]
    assert agents.get("openclaw").read(Path(str(info.path))).session.messages == written.messages
    with pytest.raises(Refused, match="taken the session up"):
        migrations.undo(Store(), str(done.migration))
    assert list(listed(place)) == [info.id]


@pytest.mark.parametrize(("over", "compacts"), [(-2_000, False), (1_000, True)])
@pytest.mark.client("openclaw")
def test_it_compacts_from_the_size_that_the_ledger_names(over: int, compacts: bool, tmp_path: Path) -> None:
    """By the tokens that the last answer tells of, and an estimate of what follows it."""
    place = make_place("openclaw", tmp_path / "client")
    KIND.configure(Setup(client="openclaw", home=place.home, cwd=place.project, config_dir=place.config))
    spec, where = agents.get("openclaw"), {"home": place.config, "folder": place.project}
    trigger = inspect("openclaw", model=MODEL, **where).trigger
    assert trigger == 400_000 - 20_000
    long = Message(role="user", parts=(Text(text="word " * 999),))
    told = (long, *from_messages(PLAIN).messages)
    session = Session(id="s", agent="x", messages=told, extra={FITTED: {"model": MODEL, "tokens": trigger + over}})
    assert spec.write
    with harness.on_path("openclaw", place.home, client.HOME_VARIABLE):
        session_id = str(spec.write(session, *where.values()).session_id)
    command = [*arguments(KIND.resume, model=MODEL), session_id, PROMPT]
    script = [{"match": "(?i)summar", "text": "All in short."}]
    run = harness.run_client("openclaw", command, script=script, **place.where)
    assert any("<conversation>" in json.dumps(request["body"]) for request in run.requests) is compacts


@pytest.mark.client("openclaw")
def test_of_a_long_result_it_sends_as_much_as_the_migration_tells(tmp_path: Path) -> None:
    place, size = make_place("openclaw", tmp_path / "client"), 70_000
    call = ToolCall(id="c", name="read", arguments={"path": "a"})
    result = ToolResult(call_id="c", parts=(Text(text="a line\n" * (size // 7)),))
    turn = (Message(role="assistant", parts=(call,)), Message(role="tool", parts=(result,)))
    carried = carry(Session(id="s", agent="x", messages=(*from_messages(PLAIN).messages[:1], *turn)), place)
    assert (
        "OpenClaw sends its model 64,000 characters of a tool's result at most; 1 are longer, and counted whole"
        in (carried.done["warnings"])
    )
    command = [*arguments(KIND.resume, model=MODEL), carried.session_id, PROMPT]
    run = harness.run_client("openclaw", command, script=[{"text": "ok"}], **place.where)
    (request,) = harness.main_requests("openclaw", run.requests)
    (sent,) = (text for _, kind, text, _ in harness.conversation("openclaw", request) if kind == "result")
    assert 63_000 < len(sent) <= 64_000


@pytest.mark.client("openclaw")
def test_of_the_images_it_sends_those_of_the_turns_that_the_migration_tells(tmp_path: Path) -> None:
    place = make_place("openclaw", tmp_path / "client")
    shown = picture(200)
    talk = [
        Message(role=role, parts=(Text(text=f"{role} {turn}"), *[shown] * (role == "user")))
        for turn in range(5)
        for role in ("user", "assistant")
    ]
    carried = carry(Session(id="s", agent="x", messages=tuple(talk)), place)
    note = "OpenClaw sends its model the images of the latest 3 turns alone; 2 stand before them"
    assert note in carried.done["warnings"]
    command = [*arguments(KIND.resume, model=MODEL), carried.session_id, PROMPT]
    run = harness.run_client("openclaw", command, script=[{"text": "ok"}], **place.where)
    (request,) = harness.main_requests("openclaw", run.requests)
    assert sum(kind == "image" for _, kind, *_ in harness.conversation("openclaw", request)) == 3
