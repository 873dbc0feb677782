"""What OpenCode and its forks alone do with a session: how one goes into their database and out again, and when they
compact."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import harness
import pytest
from conversations import ALL, PLAIN
from going_on import NEWEST, PROMPT, Carried, Place, carry, each, go_on, make_place
from kinds import agent_of, arguments, kind_of
from places import LONG, asked, environment

from session_migrator import Store, agents, from_messages, migrations, read_session
from session_migrator.agents.opencode.client import HOME_VARIABLE
from session_migrator.comparison import difference
from session_migrator.errors import Refused
from session_migrator.lowering import lower
from session_migrator.model import FITTED
from session_migrator.target import inspect

CLIENTS = tuple(client for client in harness.CLIENTS if agents.get(agent_of(client)).home_variable == HOME_VARIABLE)
MODEL = harness.VERSIONS["opencode"]["model"]
HELLO = [("user", "text", "Hello.", None), ("assistant", "text", "Good day.", None)]


def run(place: Place, folder: Path, *arguments: str) -> str:
    """The command line with the client, which tells ``folder`` what it said, on its PATH, without a network."""
    (program,) = harness.command(place.client) or ()
    shim = folder / agents.get(place.agent).program
    shim.write_text(f'#!/bin/sh\n"{program}" "$@" >>"{folder}/said" 2>&1\n', encoding="utf-8")
    shim.chmod(0o700)
    env = environment(PATH=f"{folder}{os.pathsep}{os.environ['PATH']}", HOME=str(place.home))
    command = [*(harness.namespace() or ()), sys.executable, "-m", "session_migrator.cli", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=True).stdout


@each([client for client in CLIENTS if client in NEWEST])
def test_a_session_goes_in_by_the_clients_import_and_out_again(client: str, tmp_path: Path) -> None:
    place = make_place(client, tmp_path / "client")
    harness.list_sessions(client, **place.where)  # lays out the home
    database = place.config / client / f"{client}.db"

    def rows() -> list[str]:
        with closing(sqlite3.connect(database)) as opened:
            tables = ("session", "message", "part")
            return [str(row) for table in tables for row in opened.execute(f"SELECT * FROM {table}")]

    carry(ALL["plain"].make(tmp_path), place)
    before = rows()
    where = ["--into", str(place.project), "--home", str(place.config)]
    told = run(place, tmp_path, "migrate", str(LONG), "--to", client, "--model", MODEL, *where, "--json")
    done = json.loads(told)
    session_id = done["target"]["session_id"]
    assert f"Imported session: {session_id}" in (tmp_path / "said").read_text(encoding="utf-8")
    assert len(rows()) > len(before)
    assert session_id in harness.list_sessions(client, **place.where)
    run(place, tmp_path, "undo", done["migration"])
    assert rows() == before


@each([client for client in CLIENTS if agents.get(agent_of(client)).capabilities.native_compaction])
def test_a_compressed_session_goes_in_whole_by_the_clients_import(client: str, tmp_path: Path) -> None:
    place = make_place(client, tmp_path / "client")
    harness.list_sessions(client, **place.where)  # lays out the home
    question, budget = asked(place.agent, MODEL), 4_000
    plain = carry(LONG, make_place(client, tmp_path / "plain"), budget=budget - question)
    where = ["--into", str(place.project), "--home", str(place.config)]
    options = ["--model", MODEL, "--budget", str(budget), "--native", *where, "--json"]
    done = json.loads(run(place, tmp_path, "migrate", str(LONG), "--to", place.agent, *options))
    session_id = done["target"]["session_id"]
    assert f"Imported session: {session_id}" in (tmp_path / "said").read_text(encoding="utf-8")
    carried = Carried(done=done, history=plain.history, model=MODEL)
    whole, _ = lower(read_session(LONG), agents.get(place.agent).capabilities)
    assert difference(whole.messages, read_session(carried.path).earlier) is None
    go_on(place, carried)
    assert difference(whole.messages, read_session(carried.path).earlier) is None


def with_its_own(client: str, folder: Path) -> tuple[Place, Carried]:
    """A place with a session of the client's own, which said ``HELLO``, and a migrated one."""
    place = make_place(client, folder)
    harness.run_client(client, [*kind_of(client).start, "Hello."], script=[{"text": "Good day."}], **place.where)
    return place, carry(LONG, place)


def listed(place: Place) -> dict[str, str]:
    """The titles of the sessions that the client lists, by id."""
    rows = json.loads(harness.list_sessions(place.client, **place.where))
    return {row["id"]: row["title"] for row in rows}


@each(CLIENTS)
def test_after_undo_the_client_has_its_other_sessions_alone_and_goes_on_with_them(client: str, tmp_path: Path) -> None:
    place, carried = with_its_own(client, tmp_path / "client")
    before = listed(place)
    assert carried.session_id in before
    migrations.undo(Store(), carried.done["migration"])
    after = listed(place)
    assert after == {key: title for key, title in before.items() if key != carried.session_id}
    (own,) = after
    run = harness.run_client(client, [*arguments(kind_of(client).resume, model=MODEL), own, PROMPT], **place.where)
    (request,) = harness.main_requests(client, run.requests)
    assert harness.conversation(client, request) == [*HELLO, ("user", "text", PROMPT, None)]


@each(CLIENTS)
def test_in_a_repository_with_a_remote_it_lists_the_session_too(client: str, tmp_path: Path) -> None:
    place = make_place(client, tmp_path / "client")
    url = "git@GitHub.com:Some-One/My.Repo.git"
    subprocess.run(["git", "-C", str(place.project), "remote", "add", "origin", url], check=True)
    assert carry(ALL["plain"].make(tmp_path), place).session_id in listed(place)


@each(CLIENTS)
def test_a_session_that_the_client_went_on_with_is_not_undone(client: str, tmp_path: Path) -> None:
    place, carried = with_its_own(client, tmp_path / "client")
    go_on(place, carried)
    with pytest.raises(Refused, match="continued since"):
        migrations.undo(Store(), carried.done["migration"])
    assert carried.session_id in listed(place)


LIMITS = {
    "context less the reply": ({"context": 100_000, "output": 8_000}, {}, 92_000),
    "context less the longest reply it asks for": ({"context": 100_000, "output": 50_000}, {}, 68_000),
    "input less what is kept": ({"context": 100_000, "input": 80_000, "output": 8_000}, {}, 72_000),
    "input less what is reserved": (
        {"context": 100_000, "input": 80_000, "output": 8_000}, {"reserved": 5_000}, 75_000,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("short_of", "compacts"), [(1, False), (0, True)])
@pytest.mark.parametrize("limits", LIMITS)
@each([client for client in CLIENTS if client in NEWEST])
def test_it_compacts_from_the_size_that_the_ledger_names(
    client: str, limits: str, short_of: int, compacts: bool, tmp_path: Path
) -> None:
    """By the project's settings, and by the tokens that the last answer tells of."""
    limit, compaction, expected = LIMITS[limits]
    provider = {"stub": {"models": {MODEL.partition("/")[2]: {"limit": limit}}}}
    settings = json.dumps({"provider": provider, "compaction": compaction})
    place = make_place(client, tmp_path / "client", {f"{client}.json": settings})
    spec = agents.get(client)
    home = spec.locate(place.config)
    trigger = inspect(client, model=MODEL, home=home, folder=place.project).trigger
    assert trigger == expected
    session = replace(from_messages(PLAIN), extra={FITTED: {"model": MODEL, "tokens": trigger - short_of}})
    assert spec.write
    session_id = spec.write(session, home, place.project).session_id
    assert session_id
    command = [*arguments(kind_of(client).resume, model=MODEL), session_id, PROMPT]
    run = harness.run_client(client, command, script=[{"text": "ok"}], **place.where)
    first = run.requests[0]
    assert ("Here is the conversation so far" in json.dumps(first["body"])) is compacts
    assert (first in harness.main_requests(client, run.requests, PROMPT)) is not compacts
