"""OpenCode: three forms of one session, what counts of it, and what is put into the database."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from places import FIXTURES, LONG, MODELS, content

from session_migrator import Store, agents, list_sessions, migrate, migrations, read_session
from session_migrator.agents.opencode import CLIENT, writer
from session_migrator.agents.opencode.rows import Fit, exchanges
from session_migrator.comparison import difference
from session_migrator.errors import FormatError, NoConversation, Refused, WriteError
from session_migrator.lowering import lower
from session_migrator.model import Image, Message, Session, Text, ToolCall, ToolResult
from session_migrator.sequences import full_history
from session_migrator.target import inspect

SPEC = agents.get("opencode")
HOMES = FIXTURES / "opencode"
EXPORT = HOMES / "export-1.18.33.json"
DATABASE = HOMES / "1.18.33" / "opencode.db"
MODEL = MODELS["opencode"]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def recorded(version: str) -> Path:
    (info,) = SPEC.list(HOMES / version)
    return Path(str(info.path))


def a_message(number: int, role: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    info = {"id": f"msg_{number:03}", "role": role, "time": {"created": 1_772_442_000_000 + number}, **more}
    return {"info": info, "parts": [{"id": f"prt_{number:03}{at}", **part} for at, part in enumerate(parts)]}


def says(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def a_document(path: Path, *messages: dict[str, Any], **info: Any) -> Path:
    path.write_text(json.dumps({"info": {"id": "ses_1", **info}, "messages": messages}), encoding="utf-8")
    return path


def texts(messages: Any) -> list[str]:
    return [part.text if isinstance(part, Text) else part.type for message in messages for part in message.parts]


# --- reading


@pytest.mark.parametrize("version", ["1.18.33", "1.1.65"])
def test_a_recorded_session_has_every_call_with_one_result(version: str) -> None:
    reading = SPEC.read(recorded(version))
    session = reading.session
    calls = [call for message in session.messages for call in message.calls]
    results = [result for message in session.messages for result in message.results]
    assert [call.id for call in calls] == [result.call_id for result in results]
    assert [call.name for call in calls] == ["bash", "read", "write", "read", "edit", "bash", "read"]
    assert [result.is_error for result in results] == [False, True, False, False, False, False, False]
    assert (session.title, session.cwd, session.model) == ("Stub title", "/home/user/project", "stub/stub-model")
    assert reading.losses == ()


def test_an_export_and_the_database_hold_the_same() -> None:
    assert difference(SPEC.read(recorded("1.18.33")).session.messages, read_session(EXPORT).messages) is None


def test_a_database_alone_is_its_last_session_and_stays_as_it_is() -> None:
    before = DATABASE.read_bytes()
    assert read_session(DATABASE).id == read_session(recorded("1.18.33")).id
    assert DATABASE.read_bytes() == before


def test_what_is_still_in_the_journal_is_read_too(tmp_path: Path) -> None:
    path = Path(shutil.copy(DATABASE, tmp_path / "opencode.db"))
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("UPDATE session SET title = 'Renamed'")
        database.commit()
        assert (tmp_path / "opencode.db-wal").stat().st_size > 0
        assert [info.title for info in SPEC.list(tmp_path)] == ["Renamed"]


def test_the_summary_of_a_compaction_stands_for_what_was_before_it_but_the_tail(tmp_path: Path) -> None:
    path = a_document(
        tmp_path / "x.json",
        a_message(1, "user", says("first")),
        a_message(2, "assistant", says("one"), finish="stop"),
        a_message(3, "user", says("second")),
        a_message(4, "assistant", says("two"), finish="stop"),
        a_message(5, "user", {"type": "compaction", "auto": True, "tail_start_id": "msg_003"}),
        a_message(6, "assistant", says("the summary"), finish="stop", summary=True, parentID="msg_005"),
        a_message(7, "user", says("third")),
    )
    session = read_session(path)
    assert texts(session.messages) == ["compaction", "second", "two", "third"]
    assert texts(session.earlier) == ["first", "one"]
    assert texts(full_history(session).messages) == ["first", "one", "second", "two", "third"]


def test_a_compaction_that_failed_hides_nothing(tmp_path: Path) -> None:
    path = a_document(
        tmp_path / "x.json",
        a_message(1, "user", says("first")),
        a_message(2, "user", {"type": "compaction"}),
        a_message(3, "assistant", says("half"), finish="stop", summary=True, parentID="msg_002", error={"name": "x"}),
    )
    assert texts(read_session(path).messages) == ["first", "half"]


def test_what_the_user_took_back_is_told(tmp_path: Path) -> None:
    messages = [a_message(number, "user", says(f"word {number}")) for number in range(4)]
    reading = SPEC.read(a_document(tmp_path / "x.json", *messages, revert={"messageID": "msg_002"}))
    assert texts(reading.session.messages) == ["word 0", "word 1"]
    assert [(loss.kind, loss.severity) for loss in reading.losses] == [("branch", "lossy")]


def test_what_the_client_put_in_and_what_it_leaves_out(tmp_path: Path) -> None:
    user = a_message(
        1, "user", says("look at @a.txt"), says("not for the model", ignored=True),
        says("contents of a.txt", synthetic=True), {"type": "file", "mime": "text/plain", "url": "file:///a.txt"},
        says("<system-reminder>be brief</system-reminder>", synthetic=True),
    )  # fmt: skip
    messages = SPEC.read(a_document(tmp_path / "x.json", user)).session.messages
    assert [(message.origin, texts([message])) for message in messages] == [
        ("human", ["look at @a.txt", "contents of a.txt"]),
        ("injected", ["<system-reminder>be brief</system-reminder>"]),
    ]


def test_a_newer_version_and_newer_rows_are_read_as_far_as_they_are_understood(tmp_path: Path) -> None:
    path = Path(shutil.copy(DATABASE, tmp_path / "opencode.db"))
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE session SET version = '2.0.0'")
        database.execute("INSERT INTO session_message SELECT 'm', id, 'x', 1, 0, 0, '{}' FROM session")
        database.execute(
            "INSERT INTO part SELECT 'prt_0', id, session_id, 0, 0, '{\"type\":\"new\"}' FROM message LIMIT 1"
        )
        database.commit()
    reading = SPEC.read(path)
    assert len(reading.session.messages) == 16
    said = " ".join(loss.detail for loss in reading.losses)
    assert "2.0.0" in said
    assert "session_message" in said
    _, losses = lower(reading.session, SPEC.capabilities)
    assert "new: not understood, not carried" in [loss.detail for loss in losses]


def test_one_bad_row_hides_no_other(tmp_path: Path) -> None:
    path = Path(shutil.copy(DATABASE, tmp_path / "opencode.db"))
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE part SET data = '{torn' WHERE id = (SELECT min(id) FROM part)")
        database.commit()
    reading = SPEC.read(path)
    assert len(reading.session.messages) == 15
    assert [loss.kind for loss in reading.losses] == ["bad_line"]


def test_another_database_and_another_file_are_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as database:
        database.execute("CREATE TABLE x (id)")
        database.commit()
    with pytest.raises(FormatError):
        SPEC.read(tmp_path / "other.db")
    with pytest.raises(NoConversation):
        SPEC.read(DATABASE / "ses_of_nobody")
    (tmp_path / "x.txt").write_text("x")
    with pytest.raises(FormatError):
        SPEC.read(tmp_path / "x.txt")


# --- writing


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data folder with a session of somebody else's."""
    folder = tmp_path / "data" / "opencode"
    folder.mkdir(parents=True)
    shutil.copy(DATABASE, folder)
    return folder


def rows(home: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(home / "opencode.db")) as database:
        return database.execute(query).fetchall()


def test_undo_takes_back_the_rows_and_nothing_else(home: Path, project: Path) -> None:
    before = content(home / "opencode.db")
    done = migrate(LONG, "opencode", MODEL, into=project, home=home)
    assert len(rows(home, "SELECT 1 FROM session")) == 2
    assert len(rows(home, "SELECT 1 FROM project")) == 2
    migrations.undo(Store(), str(done.migration))
    assert content(home / "opencode.db") == before


def test_a_project_that_another_session_has_come_to_use_stays(home: Path, project: Path) -> None:
    first = migrate(LONG, "opencode", MODEL, into=project, home=home)
    second = migrate(LONG, "opencode", MODEL, into=project, home=home, again=True)
    migrations.undo(Store(), str(first.migration))
    assert read_session(Path(second.target["paths"][0])).id == second.target["session_id"]
    assert rows(home, "SELECT id FROM project WHERE id = 'global'") == [("global",)]


def test_a_session_that_was_continued_stays(home: Path, project: Path) -> None:
    done = migrate(LONG, "opencode", MODEL, into=project, home=home)
    with closing(sqlite3.connect(home / "opencode.db")) as database:
        database.execute("UPDATE session SET time_updated = 5 WHERE id = ?", [done.target["session_id"]])
        database.commit()
    with pytest.raises(Refused, match="continued since"):
        migrations.undo(Store(), str(done.migration))


def test_a_home_without_a_database_gets_one_and_undo_takes_it_away(tmp_path: Path, project: Path) -> None:
    done = migrate(LONG, "opencode", MODEL, into=project, home=tmp_path / "opencode")
    (listed,) = list_sessions("opencode", project, tmp_path / "opencode")
    assert listed.id == done.target["session_id"]
    migrations.undo(Store(), str(done.migration))
    assert not (tmp_path / "opencode").exists()


def test_the_messages_are_of_the_targets_model_and_the_last_answer_tells_the_tokens(home: Path, project: Path) -> None:
    done = migrate(LONG, "opencode", MODEL, into=project, home=home)
    query = f"SELECT data FROM message WHERE session_id = '{done.target['session_id']}' ORDER BY time_created, id"
    messages = [json.loads(data) for (data,) in rows(home, query)]
    answers = [message for message in messages if message["role"] == "assistant"]
    assert {(message["providerID"], message["modelID"]) for message in answers} == {("stub", "gpt-5.5")}
    overhead = inspect("opencode", model=MODEL, folder=project).overhead
    sizes = [message["tokens"]["input"] for message in answers]
    assert sizes == [0] * (len(answers) - 1) + [overhead + done.tokens_after]


def test_a_project_has_the_id_that_the_client_gives_it(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    git = ["git", "-C", str(folder), "-c", "user.name=u", "-c", "user.email=u@example.com"]
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "Start"]):
        subprocess.run([*git, *command], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    migrate(LONG, "opencode", MODEL, into=folder, home=home)
    assert rows(home, f"SELECT worktree FROM project WHERE id = '{head}'") == [(str(folder),)]
    (folder / ".git" / "opencode").write_text("kept-id\n")
    migrate(LONG, "opencode", MODEL, into=folder, home=home, again=True)
    assert rows(home, "SELECT project_id FROM session ORDER BY time_updated DESC LIMIT 1") == [("kept-id",)]


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("git@GitHub.com:Some-One/My.Repo.git", "github.com/Some-One/My.Repo"),
        ("https://user:word@github.com:8443/Some-One/My.Repo.git/", "github.com/Some-One/My.Repo"),
        ("ssh://git@example.org/a/b", "example.org/a/b"),
        ("/srv/a.git", None),
        ("file:///srv/a.git", None),
    ],
)
def test_a_repository_with_a_remote_has_the_id_of_that(url: str, named: str | None, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    for command in (["init", "-q"], ["remote", "add", "origin", url]):
        subprocess.run(["git", "-C", str(folder), *command], check=True)
    expected = hashlib.sha1(f"git-remote:{named}".encode()).hexdigest() if named else "global"
    (folder / ".git" / "opencode").write_text("kept-id\n" if named else "")
    migrate(LONG, "opencode", MODEL, into=folder, home=home)
    assert rows(home, "SELECT project_id FROM session ORDER BY time_updated DESC LIMIT 1") == [(expected,)]
    older = home.parent / "older" / "opencode"
    older.mkdir(parents=True)
    shutil.copy(home / "opencode.db", older)
    with closing(sqlite3.connect(older / "opencode.db")) as database:
        database.execute("DROP TABLE project_directory")
        database.commit()
    migrate(LONG, "opencode", MODEL, into=folder, home=older)
    kept = "kept-id" if named else "global"
    assert rows(older, "SELECT project_id FROM session ORDER BY time_updated DESC LIMIT 1") == [(kept,)]


def test_an_image_of_a_failed_result_is_a_prompts_file_right_behind_it(home: Path, project: Path) -> None:
    picture = Image(media_type="image/png", data=PIXEL)
    told = (
        Message(role="user", parts=(Text(text="go"),)),
        Message(role="assistant", parts=(ToolCall(id="c", name="read", arguments={}),)),
        Message(role="tool", parts=(ToolResult(call_id="c", parts=(picture,), is_error=True),)),
    )
    done = migrate(Session(id="s", agent="x", messages=told), "opencode", MODEL, into=project, home=home)
    assert [(loss.kind, loss.severity) for loss in done.losses] == [("image", "info")]
    *_, result, behind = read_session(done.target["paths"][0]).messages
    assert [type(part) for part in result.results[0].parts] == [Text]
    assert behind.parts[1:] == (picture,)


# --- compressed in its own form


TOLD = (
    Message(role="user", parts=(Text(text="first"),), timestamp="2026-03-02T09:00:00.000Z"),
    Message(role="assistant", parts=(Text(text="one"),), timestamp="2026-03-02T09:01:00.000Z"),
    Message(role="user", parts=(Text(text="second"),), timestamp="2026-03-02T09:02:00.000Z"),
    Message(role="assistant", parts=(ToolCall(id="c", name="bash", arguments={}),)),
    Message(role="tool", parts=(ToolResult(call_id="c", parts=(Text(text="done"),)),)),
    Message(role="assistant", parts=(Text(text="two"),), timestamp="2026-03-02T09:03:00.000Z"),
)
NOTE = Message(role="user", parts=(Text(text="the note"),), origin="summary")
NOW = 1_796_000_000_000


def stored(*messages: Message) -> list[dict[str, Any]]:
    """What is written of these messages in the place of ``TOLD``."""
    session, _ = lower(Session(id="s", agent="x", messages=messages), SPEC.capabilities)
    told, _ = lower(Session(id="s", agent="x", messages=TOLD), SPEC.capabilities)
    fit = Fit(CLIENT, "stub", "gpt-5.5", 77, "/p", "/")
    pairs = exchanges(replace(session, earlier=told.messages), "ses_1", fit, NOW)
    return [{"info": info, "parts": parts} for info, parts in pairs]


def test_a_compaction_is_written_as_the_client_writes_its_own() -> None:
    written = stored(NOTE, *TOLD[2:])
    earlier, (wish, summary), after = written[:5], written[5:7], written[7:]
    assert [each["info"]["role"] for each in earlier] == ["user", "assistant", "user", "assistant", "assistant"]
    assert wish["info"]["role"] == "user"
    assert [(part["type"], part["auto"]) for part in wish["parts"]] == [("compaction", False)]
    told = {key: summary["info"][key] for key in ("role", "parentID", "summary", "mode", "agent", "finish")}
    assert told == {
        "role": "assistant", "parentID": wish["info"]["id"], "summary": True, "mode": "compaction",
        "agent": "compaction", "finish": "stop",
    }  # fmt: skip
    assert [part["text"] for part in summary["parts"]] == ["the note"]
    assert {each["info"]["time"]["created"] for each in (wish, summary, *after)} == {NOW}
    assert max(each["info"]["time"]["created"] for each in earlier) < NOW
    ids = [each["info"]["id"] for each in written]
    assert ids == sorted(set(ids))
    sizes = [each["info"]["tokens"]["input"] for each in written if each["info"]["role"] == "assistant"]
    assert sizes == [0, 0, 0, 0, 0, 77]


@pytest.mark.parametrize("first", ["text", "two texts", "image", "text and image"])
def test_any_first_message_can_stand_in_for_the_rest(first: str, tmp_path: Path) -> None:
    picture = Image(media_type="image/png", data=PIXEL)
    parts = {
        "text": (Text(text="a"),), "two texts": (Text(text="a"), Text(text="b")),
        "image": (picture, Text(text="b")), "text and image": (Text(text="a"), picture, Text(text="b")),
    }[first]  # fmt: skip
    messages = (Message(role="user", parts=parts), *TOLD[3:])
    session = read_session(a_document(tmp_path / "x.json", *stored(*messages)))
    assert difference(messages, session.messages) is None
    assert difference(TOLD, session.earlier) is None
    assert difference(TOLD, full_history(session).messages) is None


@pytest.mark.parametrize("kept", [None, "what stood in", "the turn"])
def test_when_the_client_compacts_once_more_nothing_counts_twice(kept: str | None, tmp_path: Path) -> None:
    """Whatever it keeps word for word."""
    written = stored(NOTE, *TOLD[2:])
    tail = {"what stood in": written[7]["info"]["id"], "the turn": "msg_x001"}.get(kept or "")
    after = [
        a_message(1, "user", says("third")),
        a_message(2, "assistant", says("three"), finish="stop"),
        a_message(3, "user", {"type": "compaction", "auto": True, "tail_start_id": tail}),
        a_message(4, "assistant", says("all"), finish="stop", summary=True, parentID="msg_x003"),
        a_message(5, "user", says("fourth")),
    ]
    for each in after:
        info = each["info"]
        info |= {"id": info["id"].replace("_0", "_x0"), "time": {"created": info["time"]["created"] + NOW}}
    before = read_session(a_document(tmp_path / "x.json", *written, *after[:2]))
    complete = [*TOLD, *before.messages[-2:]]
    assert texts(before.messages[-2:]) == ["third", "three"]
    assert difference(complete, full_history(before).messages) is None
    session = read_session(a_document(tmp_path / "x.json", *written, *after))
    live = {"what stood in": texts(before.messages)[1:], "the turn": ["third", "three"]}.get(kept or "", [])
    assert texts(session.messages) == ["compaction", *live, "fourth"]
    assert difference([*complete, session.messages[-1]], full_history(session).messages) is None


def test_a_whole_that_reads_back_otherwise_is_taken_back(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(home / "opencode.db")

    def without_an_answer(*given: Any) -> Any:
        pairs = list(exchanges(*given))
        return [pair for at, pair in enumerate(pairs) if at != 1]

    monkeypatch.setattr(writer, "exchanges", without_an_answer)
    with pytest.raises(WriteError, match="does not read back the same"):
        migrate(LONG, "opencode", MODEL, into=project, home=home, budget=4_000, native=True)
    assert content(home / "opencode.db") == before


# --- the target


def test_a_target_is_as_the_settings_have_it(own_home: Path, project: Path) -> None:
    settings = own_home / ".config" / "opencode" / "opencode.json"
    settings.parent.mkdir(parents=True)
    limit = {"context": 100_000, "output": 8_000}
    provider = {"mine": {"models": {"my-model": {"limit": limit}}}}
    settings.write_text('// mine\n{"model": "mine/my-model", "provider": ' + json.dumps(provider) + ",}")
    target = inspect("opencode", folder=project)
    assert (target.model, target.window.context, target.trigger) == ("mine/my-model", 100_000, 92_000)
    (project / "opencode.json").write_text(
        json.dumps({"provider": {"mine": {"models": {"my-model": {"limit": {"context": 60_000, "input": 50_000}}}}}})
    )
    target = inspect("opencode", folder=project)
    assert (target.window.context, target.window.max_input, target.trigger) == (60_000, 50_000, 42_000)
    provider["mine"]["models"]["gpt-5.5"] = {"limit": limit}
    settings.write_text(json.dumps({"provider": provider}))
    assert inspect("opencode", model="mine/gpt-5.5", folder=project).trigger == 92_000  # the table has a longer reply
    (project / "opencode.jsonc").write_text(
        '{"compaction": {"auto": false}, "mcp": {"files": {}, "x": {"enabled": false}}}'
    )
    target = inspect("opencode", folder=project)
    assert target.trigger is None
    assert SPEC.mcp_servers(own_home, project) == ("files",)
    assert SPEC.model(own_home, project, "my-model") == ("mine/my-model", "named")
    assert SPEC.model(own_home, project, "claude-opus-5-5") == ("anthropic/claude-opus-5-5", "named")


def test_of_the_instruction_files_the_first_kind_counts(own_home: Path, project: Path) -> None:
    assert SPEC.instructions(own_home, project) == ()
    (project / "CLAUDE.md").write_text("x")
    assert SPEC.instructions(own_home, project) == (project / "CLAUDE.md",)
    (project / "AGENTS.md").write_text("x")
    (project / "more.md").write_text("x")
    (project / "opencode.json").write_text('{"instructions": ["more.md", "https://example.com/x.md"]}')
    assert SPEC.instructions(own_home, project) == (project / "AGENTS.md", project / "more.md")
