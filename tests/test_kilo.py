"""Kilo CLI: what differs from OpenCode, whose tests ask the rest."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from places import FIXTURES, LONG, MODELS, content

from session_migrator import Store, agents, list_sessions, migrate, migrations, read_session
from session_migrator.comparison import difference
from session_migrator.target import inspect

SPEC, OPENCODE = agents.get("kilo"), agents.get("opencode")
HOME = FIXTURES / "kilo" / "7.7.9"
EXPORT = FIXTURES / "kilo" / "export-7.7.9.json"
OPENCODES = FIXTURES / "opencode"
MODEL = MODELS["kilo"]


def recorded(version: str) -> Path:
    (info,) = SPEC.list(FIXTURES / "kilo" / version)
    return Path(str(info.path))


@pytest.mark.parametrize("version", ["7.7.9", "7.0.33"])
def test_a_recorded_session_has_every_call_with_one_result(version: str) -> None:
    reading = SPEC.read(recorded(version))
    session = reading.session
    calls = [call for message in session.messages for call in message.calls]
    results = [result for message in session.messages for result in message.results]
    assert [call.id for call in calls] == [result.call_id for result in results]
    assert [call.name for call in calls] == ["bash", "read", "read", "bash"]
    assert [result.is_error for result in results] == [False, True, False, False]
    assert (session.agent, session.cwd, session.model) == ("kilo", "/home/user/project", "stub/gpt-5.5")
    assert reading.losses == ()


def test_whose_a_session_is_is_told_by_its_place_else_by_its_version(tmp_path: Path) -> None:
    theirs = OPENCODES / "1.18.33" / "opencode.db"
    assert {path.name: read_session(path).agent for path in (HOME / "kilo.db", EXPORT, theirs)} == {
        "kilo.db": "kilo", EXPORT.name: "kilo", "opencode.db": "opencode",
    }  # fmt: skip
    for source, agent in ((HOME / "kilo.db", "kilo"), (theirs, "opencode")):
        for reader in (SPEC, OPENCODE):
            assert reader.read(Path(shutil.copy(source, tmp_path / "copy.db"))).session.agent == agent
    channel = tmp_path / "kilo" / "opencode-dev.db"
    channel.parent.mkdir()
    shutil.copy(theirs, channel)
    (info,) = SPEC.list(tmp_path / "kilo")
    assert (info.agent, read_session(str(info.path)).agent) == ("kilo", "kilo")


def test_an_export_and_the_database_hold_the_same() -> None:
    assert difference(SPEC.read(recorded("7.7.9")).session.messages, read_session(EXPORT).messages) is None


def test_a_newer_version_is_told_and_read(tmp_path: Path) -> None:
    document = json.loads(EXPORT.read_text(encoding="utf-8"))
    document["info"]["version"] = "8.1.0"
    newer = tmp_path / "x.json"
    newer.write_text(json.dumps(document), encoding="utf-8")
    reading = SPEC.read(newer)
    assert reading.session.agent == "kilo"
    assert [loss.kind for loss in reading.losses] == ["unknown_record"]
    assert difference(reading.session.messages, read_session(EXPORT).messages) is None


def test_a_session_goes_into_its_database_and_out_again(tmp_path: Path, project: Path) -> None:
    home = tmp_path / "kilo"
    shutil.copytree(HOME, home)
    before = content(home / "kilo.db")
    done = migrate(LONG, "kilo", MODEL, into=project, home=home)
    assert done.target["paths"] == [str(home / "kilo.db" / done.target["session_id"])]
    with closing(sqlite3.connect(home / "kilo.db")) as database:
        (agent,) = database.execute("SELECT agent FROM session WHERE version = '7.7.9' AND title != ''").fetchone()
    assert agent == "code"
    migrations.undo(Store(), str(done.migration))
    assert content(home / "kilo.db") == before


def test_a_home_without_a_database_gets_one_of_its_own_and_undo_takes_it_away(tmp_path: Path, project: Path) -> None:
    done = migrate(LONG, "kilo", MODEL, into=project, home=tmp_path)
    with closing(sqlite3.connect(tmp_path / "kilo" / "kilo.db")) as database:
        assert database.execute("SELECT 1 FROM sqlite_master WHERE name = 'kilo_board'").fetchone()
    (listed,) = list_sessions("kilo", project, tmp_path)
    assert listed.id == done.target["session_id"]
    migrations.undo(Store(), str(done.migration))
    assert not (tmp_path / "kilo").exists()


def test_a_target_is_as_its_own_settings_have_it(
    own_home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = {"context": 100_000, "input": 90_000, "output": 8_000}
    provider = {"mine": {"models": {"my-model": {"limit": limit}}}}
    settings = own_home / ".config" / "kilo" / "kilo.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"model": "mine/my-model", "provider": provider}))
    (own_home / ".config" / "opencode").mkdir()
    (own_home / ".config" / "opencode" / "opencode.json").write_text('{"model": "theirs/other"}')
    target = inspect("kilo", folder=project)
    assert (target.model, target.window.context, target.trigger) == ("mine/my-model", 100_000, 82_000)
    (project / "opencode.json").write_text(json.dumps({"model": "mine/of-the-project"}))
    assert inspect("kilo", folder=project, window=50_000).model == "mine/of-the-project"
    monkeypatch.setenv("KILO_DB", "named.db")
    monkeypatch.setenv("OPENCODE_DB", "theirs.db")
    done = migrate(LONG, "kilo", MODEL, into=project)
    assert Path(done.target["paths"][0]).parent == own_home / ".local" / "share" / "kilo" / "named.db"


def test_rules_are_instructions_and_servers_of_older_files_count(own_home: Path, project: Path) -> None:
    files = {
        project / "AGENTS.md": "x", project / ".kilocode" / "rules" / "a.md": "x", project / ".kilocoderules": "x",
        own_home / ".kilo" / "rules" / "b.md": "x",
        project / ".kilocode" / "mcp.json": '{"mcpServers": {"old": {}, "off": {"disabled": true}}}',
        project / ".kilo" / "kilo.jsonc": '{"mcp": {"new": {}}} // mine',
    }  # fmt: skip
    for path, words in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(words)
    assert set(SPEC.instructions(own_home, project)) == set(list(files)[:4])
    assert SPEC.mcp_servers(own_home, project) == ("new", "old")
