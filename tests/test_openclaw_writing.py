"""OpenClaw: what is written where its own command is not here, taken back, and what its settings say."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from places import LONG, MODELS

from session_migrator import Session, Store, agents, from_messages, list_sessions, migrate, migrations, read_session
from session_migrator.agents.openclaw import client
from session_migrator.comparison import difference
from session_migrator.context_windows import Window
from session_migrator.errors import Refused, WriteError
from session_migrator.lowering import lower
from session_migrator.model import Message, Text
from session_migrator.target import inspect

SPEC, MODEL = agents.get("openclaw"), MODELS["openclaw"]
THEIRS = {"agent:main:main": {"sessionId": "theirs", "updatedAt": 1}}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with sessions of others, of a version before the database."""
    place = tmp_path / "state" / "agents" / "main" / "sessions"
    place.mkdir(parents=True)
    (place / "sessions.json").write_text(json.dumps(THEIRS, indent=2), encoding="utf-8")
    (place / "theirs.jsonl").write_bytes(b"{}\n")
    return tmp_path / "state"


def files(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def index(home: Path) -> dict[str, Any]:
    return json.loads((home / "agents" / "main" / "sessions" / "sessions.json").read_text(encoding="utf-8"))


def test_a_session_stands_beside_the_others_and_undo_takes_it_out_to_the_byte(home: Path, project: Path) -> None:
    before = files(home)
    done = migrate(LONG, "openclaw", MODEL, into=project, home=home)
    session_id, (path,) = done.target["session_id"], done.target["paths"]
    key = f"agent:main:explicit:{session_id}"
    assert list(index(home)) == ["agent:main:main", key]
    entry = index(home)[key]
    assert (entry["sessionId"], entry["sessionFile"]) == (session_id, path)
    (info,) = list_sessions("openclaw", home=home)
    assert (info.id, info.title, info.cwd, info.path) == (session_id, entry["label"], str(project), path)
    lowered, _ = lower(read_session(LONG), SPEC.capabilities)
    assert difference(lowered.messages, SPEC.read(Path(path)).session.messages) is None
    assert {name: data for name, data in files(home).items() if name in before} != before
    migrations.undo(Store(), str(done.migration))
    assert files(home) == before


def test_only_the_users_messages_have_no_time_within(home: Path, project: Path) -> None:
    """Else the client puts it before each text; that of the entry is read."""
    done = migrate(LONG, "openclaw", MODEL, into=project, home=home)
    path = Path(done.target["paths"][0])
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    messages = [entry["message"] for entry in entries if entry["type"] == "message"]
    assert {message["role"] for message in messages if "timestamp" not in message} == {"user"}
    assert all("timestamp" in message for message in messages if message["role"] != "user")
    assert all(message.timestamp for message in SPEC.read(path).session.messages)


def test_a_last_message_of_the_users_is_not_the_end_of_the_file(home: Path, project: Path) -> None:
    """Behind it stands an answer that was broken off, which is read by nobody."""
    session = from_messages([{"role": "user", "content": "Hello?"}])
    (path,) = migrate(session, "openclaw", MODEL, into=project, home=home).target["paths"]
    *_, asked, broken_off = [json.loads(line) for line in Path(path).read_bytes().splitlines()]
    assert (asked["message"]["role"], asked["id"]) == ("user", broken_off["parentId"])
    assert (broken_off["message"]["content"], broken_off["message"]["stopReason"]) == ([], "aborted")
    assert [message.text for message in SPEC.read(Path(path)).session.messages] == ["Hello?"]


def test_a_session_of_which_nothing_is_a_humans_is_listed_by_its_first_words(home: Path, project: Path) -> None:
    summary = Message(role="user", parts=(Text(text="What was said before."),), origin="summary")
    migrate(Session(id="s", agent="x", messages=(summary,)), "openclaw", MODEL, into=project, home=home)
    *_, entry = index(home).values()
    assert entry["label"] == "What was said before."


def test_without_the_clients_command_the_user_is_told_it(home: Path, project: Path) -> None:
    done = migrate(LONG, "openclaw", MODEL, into=project, home=home)
    (told,) = (warning for warning in done.warnings if "doctor" in warning)
    assert told.endswith(f": OPENCLAW_STATE_DIR={home} openclaw doctor --session-sqlite import")
    resume = f"OPENCLAW_STATE_DIR={home} openclaw tui --local --session explicit:{done.target['session_id']}"
    assert done.target["resume"].endswith(f" && {resume}")


def test_what_the_client_has_taken_up_since_is_not_undone(home: Path, project: Path) -> None:
    done = migrate(LONG, "openclaw", MODEL, into=project, home=home)
    Path(done.target["paths"][0]).rename(home / "put-aside")
    with pytest.raises(Refused, match="taken the session up"):
        migrations.undo(Store(), str(done.migration))
    assert len(index(home)) == 2
    again = migrate(LONG, "openclaw", MODEL, into=project, home=home)
    assert again.migration != done.migration


def test_an_index_that_cannot_be_read_is_refused_and_nothing_is_left(home: Path, project: Path) -> None:
    (home / "agents" / "main" / "sessions" / "sessions.json").write_text("{torn", encoding="utf-8")
    before = files(home)
    with pytest.raises(WriteError, match="cannot be read as one JSON object"):
        migrate(LONG, "openclaw", MODEL, into=project, home=home)
    assert files(home) == before


def test_a_session_is_pinned_to_a_model_that_is_not_everyones(home: Path, project: Path) -> None:
    set_up(home, defaults={"model": "stub/gpt-5.5"})
    for model, pinned in ((MODEL, None), ("stub/gpt-4.1", "gpt-4.1")):
        done = migrate(LONG, "openclaw", model, into=project, home=home)
        entry = index(home)[f"agent:main:explicit:{done.target['session_id']}"]
        assert entry.get("modelOverride") == pinned


def test_a_title_is_one_line_of_the_index(home: Path, project: Path) -> None:
    session = replace(read_session(LONG), title="A  title\n" + "x" * 900)
    done = migrate(session, "openclaw", MODEL, into=project, home=home)
    label = index(home)[f"agent:main:explicit:{done.target['session_id']}"]["label"]
    assert (label[:9], len(label)) == ("A title x", 500)


def a_command(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command of the client's name on the PATH."""
    folder.mkdir()
    (folder / "openclaw").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / "openclaw").chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize("script", ["exit 1", "echo '{}'", "exit 3"])
def test_a_session_that_the_client_does_not_take_up_stays_in_its_file(
    script: str, tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_command(tmp_path / "bin", script, monkeypatch)
    home = tmp_path / "new"
    done = migrate(LONG, "openclaw", MODEL, into=project, home=home)
    assert Path(done.target["paths"][0]).is_file()
    assert any("doctor" in warning for warning in done.warnings)
    migrations.undo(Store(), str(done.migration))
    assert not home.exists()


def test_a_file_that_is_gone_without_being_taken_up_is_an_error(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_command(tmp_path / "bin", 'rm "$OPENCLAW_STATE_DIR"/agents/main/sessions/*.jsonl', monkeypatch)
    with pytest.raises(WriteError, match="does not read back"):
        migrate(LONG, "openclaw", MODEL, into=project, home=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_sessions_of_others_that_wait_are_not_taken_up_with_ours(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_command(home / "bin", 'touch "$OPENCLAW_STATE_DIR/asked"', monkeypatch)
    migrate(LONG, "openclaw", MODEL, into=project, home=home)
    assert not (home / "asked").exists()


# --- settings


def set_up(home: Path, **agents: Any) -> None:
    models = {"stub": {"models": [{"id": "m", "contextWindow": 200_000, "contextTokens": 100_000, "maxTokens": 9_000}]}}
    settings = {
        "models": {"providers": models},
        "agents": agents,
        "mcp": {"servers": {"a": {}, "b": {"enabled": False}}},
    }
    (home / "openclaw.json").write_text(json.dumps(settings) + " // a remark", encoding="utf-8")


def test_the_model_is_the_agents_then_everyones_then_the_default(home: Path, project: Path) -> None:
    assert client.model(home, project, None)[0] == "openai/gpt-6-astra"
    assert client.model(home, project, "claude-opus-5-5")[0] == "anthropic/claude-opus-5-5"
    set_up(home, defaults={"model": {"primary": "stub/x"}})
    assert client.model(home, project, None) == ("stub/x", str(home / "openclaw.json"))
    assert client.model(home, project, "m")[0] == "stub/m"
    set_up(home, defaults={"model": "stub/x"}, entries={"main": {"model": "m"}})
    assert client.model(home, project, None)[0] == "stub/m"


def test_the_agent_is_the_one_marked_or_the_first(home: Path, project: Path) -> None:
    assert client.agent(home) == "main"
    set_up(home, list=[{"id": "one"}, {"id": "two", "default": True}])
    assert client.agent(home) == "two"
    set_up(home, entries={"work": {}})
    done = migrate(LONG, "openclaw", MODEL, into=project, home=home)
    assert Path(done.target["paths"][0]).parent == home / "agents" / "work" / "sessions"
    assert not Path(done.target["paths"][0]).with_name("theirs.jsonl").exists()


def test_the_window_is_what_the_settings_let_it_use(home: Path, project: Path) -> None:
    known = Window(context=90_000, max_input=10_000, max_output=5_000, source="table")
    assert client.window("stub/m", None, home, project) is None
    assert client.window("stub/m", known, home, project) == replace(known, max_input=10_000)
    set_up(home)
    told = client.window("stub/m", None, home, project)
    assert told == Window(context=100_000, max_input=61_538, max_output=9_000, source="client")
    target = inspect("openclaw", model="stub/m", home=home, folder=project)
    assert (target.window, target.trigger) == (told, 80_000)


def test_it_compacts_by_what_it_keeps_free(home: Path, project: Path) -> None:
    assert client.trigger(Window(context=40_000, source="client"), home, project) == 30_000
    set_up(home, defaults={"compaction": {"enabled": False}})
    assert client.trigger(Window(context=40_000, source="client"), home, project) is None


def test_the_workspaces_files_go_into_the_first_request(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up(home, defaults={"workspace": str(project)})
    for name in ("AGENTS.md", "MEMORY.md", "notes.txt"):
        (project / name).write_text("x", encoding="utf-8")
    assert SPEC.instructions(home, home) == (project / "AGENTS.md", project / "MEMORY.md")
    monkeypatch.setenv("OPENCLAW_WORKSPACE_DIR", str(home))
    assert SPEC.instructions(home, project) == ()
    assert SPEC.mcp_servers(home, project) == ("a",)
