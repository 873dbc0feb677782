"""Gemini CLI: its own files of 0.10 to 0.61 are read as its model saw them; what is written is what it takes."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from places import FIXTURES, LONG

from session_migrator import Store, agents, from_messages, list_sessions, migrate, migrations, read_session, timestamps
from session_migrator.agents.gemini import client
from session_migrator.errors import FormatError, NoConversation, WriteError
from session_migrator.lowering import USER_NOTE, lower
from session_migrator.model import Image, Message, Session, Text, Thinking, ToolCall, ToolResult
from session_migrator.sequences import full_history
from session_migrator.target import inspect

SPEC = agents.get("gemini")
HOMES = FIXTURES / "gemini"
HEADER = {
    "sessionId": "s",
    "projectHash": "h",
    "startTime": "2026-03-02T09:00:00Z",
    "lastUpdated": "2026-03-02T09:00:00Z",
}
MODEL = "gemini-2.5-pro"


def recorded(version: str) -> Path:
    (info,) = SPEC.list(HOMES / version)
    return Path(str(info.path))


def a_log(path: Path, *lines: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in (HEADER, *lines)), encoding="utf-8")
    return path


def says(message_id: str, content: Any, kind: str = "user", **more: Any) -> dict[str, Any]:
    return {"id": message_id, "timestamp": "2026-03-02T09:00:01Z", "type": kind, "content": content, **more}


def answers(call_id: str, output: Any) -> dict[str, Any]:
    return {"functionResponse": {"id": call_id, "name": "read_file", "response": output}}


def texts(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages if message.origin != "injected"]


# --- reading


@pytest.mark.parametrize("version", ["0.25.0", "0.40.0", "0.61.0"])
def test_a_recorded_session_has_every_call_with_one_result(version: str) -> None:
    session = read_session(recorded(version))
    calls = [call for message in session.messages for call in message.calls]
    results = [result for message in session.messages for result in message.results]
    assert [call.name for call in calls] == [
        "list_directory", "read_file", "write_file", "replace", "run_shell_command", "read_file",
    ]  # fmt: skip
    assert [result.call_id for result in results] == [call.id for call in calls]
    assert [result.is_error for result in results] == [False, True, False, False, False, False]
    assert "does-not-exist.txt" in str(results[1].parts)
    assert texts(session.messages)[0] == "Please create hello.txt and change notes."
    assert "All done: created hello.txt and changed notes.txt." in texts(session.messages)
    thoughts = [part for message in session.messages for part in message.parts if isinstance(part, Thinking)]
    assert [thought.text for thought in thoughts] == ["**Planning** I should edit the file."]
    assert session.model == MODEL
    assert session.created_at
    assert session.created_at < str(session.updated_at)


def test_a_resumed_session_goes_on_after_what_it_was_before() -> None:
    session = read_session(recorded("0.61.0"))
    assert texts(session.messages)[-2:] == ["MARK-NEW go on", "STUB-OK"]
    assert session.messages[0].origin == "injected"
    assert session.cwd == "/home/user/project"


def test_the_oldest_form_is_read_too() -> None:
    session = read_session(recorded("0.10.0"))
    assert len(session.messages[1].calls) == 2
    assert session.cwd is None


@pytest.mark.parametrize("version", ["0.10.0", "0.25.0"])
def test_the_folder_of_an_older_session_is_found_by_its_digest(version: str, tmp_path: Path) -> None:
    folder = "/home/user/project"
    chats = tmp_path / "tmp" / client.project_hash(folder) / "chats"
    chats.mkdir(parents=True)
    (chats / recorded(version).name).write_bytes(recorded(version).read_bytes())
    (tmp_path / "projects.json").write_text(json.dumps({"projects": {folder: "project"}}), encoding="utf-8")
    assert [info.cwd for info in SPEC.list(tmp_path)] == [folder]


def test_a_copy_without_a_conversation_is_not_listed_and_refused(tmp_path: Path) -> None:
    context = says("c", [{"text": "<session_context>\n- **Workspace Directories:**\n  - /p\n</session_context>"}])
    empty = a_log(tmp_path / "tmp" / "p" / "chats" / "session-2.jsonl", {"$set": {"messages": [context]}})
    whole = a_log(tmp_path / "tmp" / "p" / "chats" / "session-1.jsonl", says("m", "Go."))
    os.utime(whole, (1, 1))
    assert [info.path for info in SPEC.list(tmp_path)] == [str(whole)]
    with pytest.raises(NoConversation):
        SPEC.read(empty)


def test_of_two_files_of_one_session_the_later_one_is_listed(tmp_path: Path) -> None:
    chats = tmp_path / "tmp" / "p" / "chats"
    older, newer = (a_log(chats / f"session-{name}.jsonl", says("m", name)) for name in ("older", "newer"))
    os.utime(older, (1, 1))
    assert [info.path for info in SPEC.list(tmp_path)] == [str(newer)]


def test_sub_agents_are_children_and_not_listed(tmp_path: Path) -> None:
    chats = tmp_path / "tmp" / "p" / "chats"
    parent = a_log(chats / "session-1.jsonl", says("m", "Go."))
    child = a_log(chats / "s" / "child.jsonl", {"$set": {"kind": "subagent"}}, says("m", "Look."))
    a_log(chats / "session-2.jsonl", {"$set": {"kind": "subagent", "sessionId": "t"}}, says("m", "Look."))
    assert read_session(parent).children == (str(child),)
    assert read_session(child).parent_id == "s"
    assert [info.path for info in SPEC.list(tmp_path)] == [str(parent)]


def test_a_message_of_the_same_id_stands_in_the_place_of_the_first(tmp_path: Path) -> None:
    path = a_log(tmp_path / "a.jsonl", says("a", "one"), says("b", "two", "gemini"), says("a", "three"))
    assert texts(read_session(path).messages) == ["three", "two"]


def test_results_that_are_stored_twice_count_once_and_different_ones_stay(tmp_path: Path) -> None:
    both = [answers("1", {"output": "x"}), answers("2", {"error": "y"})]
    calls = [{"id": call_id, "name": "read_file", "args": {}, "result": both} for call_id in ("1", "2")]
    path = a_log(
        tmp_path / "a.jsonl", says("a", "Go."), says("b", "", "gemini", toolCalls=calls), says("b_response", both),
        says("c", both), says("d", [answers("1", {"output": "another"})]),
    )  # fmt: skip
    results = [result for message in read_session(path).messages for result in message.results]
    assert [(result.call_id, result.is_error) for result in results] == [("1", False), ("2", True), ("1", False)]


def test_calls_without_ids_are_paired_by_name_and_order(tmp_path: Path) -> None:
    calls = [{"functionCall": {"name": name, "args": {}}} for name in ("read_file", "read_file", "ls")]
    outputs = [
        {"functionResponse": {"name": name, "response": {"output": "same"}}}
        for name in ("ls", "read_file", "read_file")
    ]
    path = a_log(tmp_path / "a.jsonl", says("a", "Go."), says("b", calls, "gemini"), says("c", outputs))
    _, call, result = read_session(path).messages
    assert sorted(one.call_id for one in result.results) == sorted(one.id for one in call.calls)
    assert len({one.id for one in call.calls}) == 3


def test_images_behind_a_result_are_its_own_and_others_the_users(tmp_path: Path) -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    nested = {"functionResponse": {"id": "2", "name": "f", "response": {}, "parts": [image]}}
    calls = [{"functionCall": {"id": call_id, "name": "f", "args": {}}} for call_id in ("1", "2")]
    path = a_log(
        tmp_path / "a.jsonl", says("a", [image, {"text": "What is it?"}]), says("b", calls, "gemini"),
        says("c", [answers("1", {"output": "a.png"}), image, nested]),
    )  # fmt: skip
    user, _, tool = read_session(path).messages
    held = Image(media_type="image/png", data="AAAA")
    assert user.parts[0] == held
    assert [result.parts for result in tool.results] == [(Text(text="a.png"), held), (held,)]


def test_what_is_not_known_is_named(tmp_path: Path) -> None:
    path = a_log(
        tmp_path / "a.jsonl", {"$set": {"version": 7}}, {"$patch": {}}, says("a", "Go."), says("b", "?", "plan"),
        says("c", [{"executableCode": {}}], "gemini"),
    )  # fmt: skip
    reading = SPEC.read(path)
    details = " ".join(loss.detail for loss in reading.losses)
    assert {loss.kind for loss in reading.losses} == {"unknown_record"}
    assert all(word in details for word in ("version 7", "$patch", "plan"))
    assert [part.type for message in reading.session.messages for part in message.parts] == ["text", "unknown"]


def test_a_rewind_to_nowhere_takes_nothing_back(tmp_path: Path) -> None:
    reading = SPEC.read(a_log(tmp_path / "a.jsonl", says("a", "Go."), {"$rewindTo": "b"}))
    assert texts(reading.session.messages) == ["Go."]
    assert [loss.kind for loss in reading.losses] == ["branch"]


def test_a_document_that_is_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    data = recorded("0.25.0").read_bytes()
    path = tmp_path / "session-cut.json"
    path.write_bytes(data[: data.index(b"write_file")])
    reading = SPEC.read(path)
    assert len(reading.session.messages) == 3
    assert [loss.kind for loss in reading.losses] == ["bad_line"]
    assert reading.session.id == read_session(recorded("0.25.0")).id


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{\n "a": 1\n}', encoding="utf-8")
    with pytest.raises(FormatError):
        SPEC.read(tmp_path / "a.json")
    with pytest.raises(FormatError):
        SPEC.read(LONG)


def test_a_list_tells_title_and_times(tmp_path: Path) -> None:
    long = says("b", "x" * 200_000, "gemini")
    chats = tmp_path / "tmp" / "p" / "chats"
    last = says("c", "Done.", "gemini", model="gemini-3-pro")
    a_log(
        chats / "session-1.jsonl", says("a", "Go."), long, last, {"$set": {"summary": "T", "lastUpdated": "2026-03-03"}}
    )
    (info,) = SPEC.list(tmp_path)
    assert (info.title, info.updated_at, info.model) == ("T", "2026-03-03T00:00:00.000Z", "gemini-3-pro")


def test_a_log_that_begins_with_a_very_long_line_is_listed_too(tmp_path: Path) -> None:
    history = [says("a", "Go on. " * 20_000), says("b", "Yes.", "gemini", model=MODEL)]
    a_log(tmp_path / "tmp" / "p" / "chats" / "session-1.jsonl", {"$set": {"messages": history}})
    (info,) = SPEC.list(tmp_path)
    assert str(info.title).startswith("Go on.")
    assert info.model == MODEL


def test_what_the_client_compressed_stands_before_its_summary() -> None:
    session = read_session(recorded("0.61.0-compression"))
    assert [message.origin for message in session.messages] == [
        "injected", "summary", "summary", "human", "model", "human", "model",
    ]  # fmt: skip
    assert texts(session.earlier)[1:] == ["Noted, one.", "Read the notes.", "", "", "One line."]
    assert len(session.earlier[3].calls) == len(session.earlier[4].results) == 1
    whole = full_history(session)
    assert texts(whole.messages)[-4:] == ["Remember note two.", "Noted, two.", "How many notes?", "Two."]
    assert not any(message.origin in ("summary", "injected") for message in whole.messages)


# --- writing


def written(session: Session, project: Path, home: Path) -> list[dict[str, Any]]:
    done = migrate(session, "gemini", MODEL, into=project, home=home)
    return [json.loads(line) for line in Path(done.target["paths"][0]).read_text("utf-8").splitlines()]


@pytest.mark.parametrize("words", ["/srv/app fails", "?", " \n/a", "\ufeff", "<session_context>", "<hook_context>x"])
def test_no_text_of_the_users_begins_as_the_client_would_leave_it_out(
    words: str, project: Path, tmp_path: Path
) -> None:
    session = from_messages([{"role": "user", "content": words}, {"role": "assistant", "content": "/yes"}])
    *_, user, model = written(session, project, tmp_path)
    assert user["content"] == [{"text": f"{USER_NOTE}\n{words}"}]
    assert model["content"] == [{"text": "/yes"}]


def test_results_stand_in_one_message_after_their_calls_and_nowhere_else(project: Path, tmp_path: Path) -> None:
    calls = tuple(ToolCall(id=str(number), name="Bash", arguments={"n": number}) for number in (1, 2))
    parts = (Text(text="a"), Text(text="b"))
    results = (ToolResult(call_id="1", parts=parts), ToolResult(call_id="2", parts=(), is_error=True))
    session = Session(id="x", agent="test", messages=(
        Message(role="user", parts=(Text(text="Go."),)), Message(role="assistant", parts=calls),
        Message(role="tool", parts=results), Message(role="assistant", parts=(Text(text="Done."),)),
    ))  # fmt: skip
    model, tool, _ = written(session, project, tmp_path)[-3:]
    assert "toolCalls" not in model
    assert [part["functionCall"]["id"] for part in model["content"]] == ["1", "2"]
    assert [part["functionResponse"]["response"] for part in tool["content"]] == [{"output": "a\nb"}, {"error": ""}]


def test_an_old_session_is_of_today_so_that_the_client_does_not_delete_it(project: Path, tmp_path: Path) -> None:
    old = "2020-01-02T03:04:05.000Z"
    session = replace(from_messages([{"role": "user", "content": "Go."}]), created_at=old, updated_at=old)
    before = timestamps.now()
    header = written(session, project, tmp_path)[0]
    assert before <= header["lastUpdated"] <= timestamps.now()
    assert before <= header["startTime"] <= timestamps.now()


def test_the_summary_of_a_compression_stands_for_what_was_before(tmp_path: Path) -> None:
    told = [says(f"m{number}", f"word {number}", "gemini" if number % 2 else "user") for number in range(4)]
    kept = [{**message, "id": f"kept {message['id']}"} for message in told[2:]]
    summary = says("s", [{"text": "<state_snapshot>\nshort\n</state_snapshot>"}])
    taken_in = says("t", [{"text": "Got it. Thanks for the additional context!"}], "gemini")
    path = a_log(tmp_path / "a.jsonl", *told, {"$set": {"messages": [summary, taken_in, *kept]}})
    session = read_session(path)
    assert [message.origin for message in session.messages] == ["summary", "summary", "human", "model"]
    assert texts(session.earlier) == ["word 0", "word 1"]
    assert texts(full_history(session).messages) == [f"word {number}" for number in range(4)]


# --- the client


@pytest.mark.parametrize(("name", "slug"), [
    ("project", "project"), ("My Project.v1_2", "my-project-v1-2"), ("--a--", "a"), ("東京", "project"),
    ("my pröject v1.2 (東京)", "my-pr-ject-v1-2"),
])  # fmt: skip
def test_the_folder_of_a_project_is_named_as_the_client_names_it(name: str, slug: str, tmp_path: Path) -> None:
    assert client.slug_of(tmp_path / ".gemini", tmp_path / name) == slug


def test_the_folder_of_a_project_is_the_one_that_is_registered_or_marked(tmp_path: Path) -> None:
    home, project = tmp_path / ".gemini", (tmp_path / "toy").resolve()

    def mark(base: str, slug: str, owner: str) -> None:
        (home / base / slug).mkdir(parents=True)
        (home / base / slug / client.MARKER).write_text(owner, encoding="utf-8")

    mark("tmp", "toy", "/another/toy")
    assert client.slug_of(home, project) == "toy-1"
    (home / "projects.json").write_text(json.dumps({"projects": {"/b/toy": "toy-1"}}), encoding="utf-8")
    assert client.slug_of(home, project) == "toy-2"
    mark("history", "elsewhere", str(project))
    assert client.slug_of(home, project) == "elsewhere"
    (home / "projects.json").write_text(json.dumps({"projects": {str(project): "mine"}}), encoding="utf-8")
    assert client.slug_of(home, project) == "mine"
    mark("history", "mine", "/another")
    assert client.slug_of(home, project) == "elsewhere"


def test_the_home_is_the_folder_in_the_one_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert SPEC.locate(None) == Path.home() / ".gemini"
    assert SPEC.locate(tmp_path) == SPEC.locate(tmp_path / ".gemini") == tmp_path / ".gemini"
    monkeypatch.setenv("GEMINI_CLI_HOME", str(tmp_path))
    assert SPEC.locate(None) == tmp_path / ".gemini"
    monkeypatch.delenv("GEMINI_CLI_HOME")
    command = SPEC.resume_command("ID", tmp_path / ".gemini", tmp_path, None)
    assert command == f"cd {tmp_path} && GEMINI_CLI_HOME={tmp_path} gemini --resume ID"


def test_a_target_is_as_the_settings_have_it(own_home: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def target() -> Any:
        return inspect("gemini", folder=project)

    assert target().model == "gemini-3-pro-preview"
    assert target().trigger == 524_288
    assert target().instructions == 0
    (own_home / ".gemini").mkdir()
    settings = own_home / ".gemini" / "settings.json"
    settings.write_text(
        '{"model": {"name": "flash", "compressionThreshold": 0.7}, // words\n'
        ' "context": {"fileName": ["NOTES.md"]}, "mcpServers": {"docs": {}}}', encoding="utf-8",
    )  # fmt: skip
    (project / "NOTES.md").write_text("some rules", encoding="utf-8")
    found = target()
    assert (found.model, found.why["model"]) == ("gemini-3-flash-preview", str(settings))
    assert found.trigger == int(1_048_576 * 0.7)
    assert "NOTES.md" in found.why["instructions"]
    assert found.why["overhead"].endswith("not counted: docs")
    (project / ".gemini").mkdir()
    (project / ".gemini" / "settings.json").write_text('{"model": {"name": "gemini-2.5-flash"}}', encoding="utf-8")
    assert target().model == "gemini-2.5-flash"
    monkeypatch.setenv("GEMINI_MODEL", MODEL)
    assert (target().model, target().why["model"]) == (MODEL, "GEMINI_MODEL")
    settings.write_text("{", encoding="utf-8")
    monkeypatch.delenv("GEMINI_MODEL")
    (project / ".gemini" / "settings.json").unlink()
    assert "cannot be read" in target().why["model"]


def test_a_picture_that_gemini_does_not_take_is_told() -> None:
    gif = Image(media_type="image/gif", data="R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
    session = Session(id="x", agent="test", messages=(Message(role="user", parts=(gif,)),))
    lowered, losses = lower(session, SPEC.capabilities)
    assert "image/gif" in lowered.messages[0].text
    assert [loss.kind for loss in losses] == ["image"]


def test_a_migrated_session_is_listed(project: Path, tmp_path: Path) -> None:
    done = migrate(LONG, "gemini", MODEL, into=project, home=tmp_path / "home")
    (info,) = list_sessions("gemini", project, tmp_path / "home")
    assert info.id == done.target["session_id"]


def test_the_folder_is_marked_so_that_no_other_project_of_its_name_takes_it(tmp_path: Path) -> None:
    for place in ("one", "two"):
        (tmp_path / place / "toy").mkdir(parents=True)
        migrate(LONG, "gemini", MODEL, into=tmp_path / place / "toy", home=tmp_path / "home")
    assert sorted(path.name for path in (tmp_path / "home" / ".gemini" / "tmp").iterdir()) == ["toy", "toy-1"]


def test_nothing_is_written_where_older_sessions_are_still_to_be_taken_over(project: Path, tmp_path: Path) -> None:
    """The client copies them when it starts, but only into a folder that holds nothing yet."""
    older = tmp_path / ".gemini" / "tmp" / client.project_hash(str(project.resolve())) / "chats"
    older.mkdir(parents=True)
    with pytest.raises(WriteError) as caught:
        migrate(LONG, "gemini", MODEL, into=project, home=tmp_path)
    assert "start gemini" in str(caught.value.remedy)
    slug = client.slug_of(tmp_path / ".gemini", project)
    (tmp_path / ".gemini" / "tmp" / slug / "chats").mkdir(parents=True)
    assert migrate(LONG, "gemini", MODEL, into=project, home=tmp_path).mode == "direct"


def test_undo_takes_the_mark_back_with_the_session(project: Path, tmp_path: Path) -> None:
    done = migrate(LONG, "gemini", MODEL, into=project, home=tmp_path / "home")
    again = migrate(LONG, "gemini", MODEL, into=project, home=tmp_path / "home", again=True)
    assert [len(one.target["paths"]) for one in (done, again)] == [2, 1]
    for one in (again, done):
        migrations.undo(Store(), str(one.migration))
    assert not (tmp_path / "home" / ".gemini").exists()
