"""Qwen Code: its own files of 0.15 and 0.24 are read as its model saw them; what is written is what it takes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from places import FIXTURES, LONG

from session_migrator import Store, agents, from_messages, list_sessions, migrate, migrations, read_session
from session_migrator.agents import jsonl
from session_migrator.agents.qwen import client
from session_migrator.errors import FormatError, NoConversation, UnknownModel
from session_migrator.lowering import lower
from session_migrator.model import REPLACED, Image, Message, Session, Text, Thinking, ToolCall, ToolResult
from session_migrator.sequences import full_history
from session_migrator.target import inspect

SPEC = agents.get("qwen")
HOMES = FIXTURES / "qwen"
MODEL = "gpt-5.5"
ID = "11111111-2222-4333-8444-555555555555"
URL = "https://example.org/a.png"


def recorded(version: str) -> Path:
    (info,) = SPEC.list(HOMES / version)
    return Path(str(info.path))


def a_file(path: Path, *records: dict[str, Any]) -> Path:
    """Records in one chain, where they do not say otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    common = {"sessionId": ID, "timestamp": "2026-03-02T09:00:00.000Z", "cwd": "/p", "version": "0.24.4"}
    lines = [
        json.dumps({"uuid": str(number), "parentUuid": str(number - 1) if number else None, **common, **record})
        for number, record in enumerate(records)
    ]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def says(parts: Any, kind: str = "user", **more: Any) -> dict[str, Any]:
    held = [{"text": parts}] if isinstance(parts, str) else parts
    return {"type": kind, "message": content(held, "model" if kind == "assistant" else "user"), **more}


def content(parts: Any, role: str = "user") -> dict[str, Any]:
    return {"role": role, "parts": [{"text": parts}] if isinstance(parts, str) else parts}


def notes(subtype: str, payload: Any = None, **more: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": subtype, "systemPayload": payload or {}, **more}


def calls(*ids: str) -> dict[str, Any]:
    return says([{"functionCall": {"id": call_id, "name": "f", "args": {}}} for call_id in ids], "assistant")


def answers(call_id: str, **response: Any) -> dict[str, Any]:
    return {"functionResponse": {"id": call_id, "name": "f", "response": response}}


def texts(messages: Sequence[Message]) -> list[tuple[str | None, str]]:
    return [(message.origin, message.text) for message in messages if message.text]


def words(path: Path) -> list[str]:
    return [text for _, text in texts(read_session(path).messages)]


# --- reading


@pytest.mark.parametrize("version", ["0.15.10", "0.24.4"])
def test_a_recorded_session_has_every_call_with_one_result(version: str) -> None:
    reading = SPEC.read(recorded(version))
    session = reading.session
    called = [call for message in session.messages for call in message.calls]
    results = [result for message in session.messages for result in message.results]
    assert [call.name for call in called] == [
        "list_directory", "read_file", "write_file", "read_file", "edit", "run_shell_command", "read_file",
    ]  # fmt: skip
    assert [result.call_id for result in results] == [call.id for call in called]
    newer = version == "0.24.4"  # which has no tool of the first name, and says of a command that it failed
    assert [result.is_error for result in results] == [newer, True, False, False, False, newer, False]
    assert [len(message.results) for message in session.messages if message.results][-1] == 2
    thoughts = [part for message in session.messages for part in message.parts if isinstance(part, Thinking)]
    assert thoughts == [Thinking(text="I should edit the file.")]
    assert (session.model, session.cwd, session.git) == ("stub-model", "/home/user/project", {"branch": "main"})
    assert session.created_at
    assert session.created_at < str(session.updated_at)
    assert reading.losses == ()


def test_a_session_that_was_gone_on_with_has_the_later_turn() -> None:
    told = texts(read_session(recorded("0.24.4")).messages)
    assert told[0] == ("human", "Please create hello.txt and change notes.")
    assert told[-2:] == [("human", "MARK-NEW go on"), ("model", "STUB-OK")]


def test_a_turn_that_was_rewound_is_left_out_and_told(tmp_path: Path) -> None:
    path = a_file(
        tmp_path / "s.jsonl", says("one"), says("two", "assistant"), notes("ui_telemetry"), says("three"),
        says("four", "assistant"), notes("rewind", {"truncatedCount": 1}, parentUuid="2"), says("five"),
    )  # fmt: skip
    reading = SPEC.read(path)
    assert words(path) == ["one", "two", "five"]
    assert [(loss.kind, loss.severity, loss.detail[:10]) for loss in reading.losses] == [
        ("branch", "lossy", "2 records ")
    ]


def test_what_lies_before_a_gap_is_joined_but_not_by_a_rewind(tmp_path: Path) -> None:
    """Since 0.24 the client itself leaves out what lies before it."""
    path = a_file(tmp_path / "s.jsonl", says("one"), says("two", "assistant"), says("three", parentUuid="lost"))
    reading = SPEC.read(path)
    assert words(path) == ["one", "two", "three"]
    assert [(loss.kind, loss.severity) for loss in reading.losses] == [("branch", "info")]
    rewind = notes("rewind", parentUuid="lost")
    path = a_file(tmp_path / "r.jsonl", says("one"), says("two", "assistant"), rewind, says("three"))
    assert words(path) == ["three"]
    path = a_file(tmp_path / "c.jsonl", says("one", parentUuid="1"), says("two", "assistant"))
    assert words(path) == ["one", "two"]


def test_the_records_of_one_id_are_one_message_and_the_same_line_twice_is_one(tmp_path: Path) -> None:
    first, second = (says(text, "assistant", uuid="a", parentUuid="0") for text in ("two ", "three"))
    path = a_file(tmp_path / "s.jsonl", says("one"), first, second, second, says("four", parentUuid="a"))
    reading = SPEC.read(path)
    assert [message.text for message in reading.session.messages] == ["one", "two \nthree", "four"]
    assert reading.losses == ()


def test_results_are_read_in_records_of_any_type(tmp_path: Path) -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    nested = answers("3", output="c")
    nested["functionResponse"]["parts"] = [image]
    failed = {"toolCallResult": {"callId": "4", "status": "cancelled"}}
    path = a_file(
        tmp_path / "s.jsonl", says("Go."), calls("1", "2", "3", "4"), says([answers("1", output="a")], "tool_result"),
        says([answers("2", error="b"), image]), says([nested], "assistant"),
        says([answers("4", output="d")], "tool_result", **failed), says("And?"),
    )  # fmt: skip
    *_, tool, user = read_session(path).messages
    held = Image(media_type="image/png", data="AAAA")
    assert [result.parts for result in tool.results] == [
        (Text(text="a"),), (Text(text="b"), held), (Text(text="c"), held), (Text(text="d"),),
    ]  # fmt: skip
    assert [result.is_error for result in tool.results] == [False, True, False, True]
    assert (user.role, user.text) == ("user", "And?")


def test_what_the_client_said_is_told_from_the_users_words(tmp_path: Path) -> None:
    mixed = [{"text": "<system-reminder>\nToday\n</system-reminder>"}, {"text": "Look."}]
    path = a_file(
        tmp_path / "s.jsonl", says(mixed), says("Done.", subtype="notification", provenance="system"),
        says("Every hour.", subtype="cron"), says("Quick.", subtype="mid_turn_user_message"),
    )  # fmt: skip
    assert texts(read_session(path).messages) == [
        ("injected", mixed[0]["text"]), ("human", "Look."), ("injected", "Done."), ("human", "Every hour."),
        ("human", "Quick."),
    ]  # fmt: skip


SUMMARY = content("<state_snapshot>\nshort\n</state_snapshot>\n\nResume the prior task.")
TAKEN_IN = content("Got it. Thanks for the additional context!", "model")


def compression(*contents: dict[str, Any], **more: Any) -> dict[str, Any]:
    info = {"originalTokenCount": 9, "newTokenCount": 1, "compressionStatus": 1}
    return notes("chat_compression", {"info": info, "compressedHistory": list(contents)}, **more)


def test_the_last_compression_stands_for_what_was_before(tmp_path: Path) -> None:
    kept = content("kept", "model")
    path = a_file(
        tmp_path / "s.jsonl", says("one"), says("two", "assistant"), compression(content("older")), says("three"),
        says("kept", "assistant"), compression(SUMMARY, TAKEN_IN, kept), says("four"), says("five", "assistant"),
    )  # fmt: skip
    session = read_session(path)
    assert [message.origin for message in session.messages] == ["summary", "summary", "model", "human", "model"]
    assert str(session.messages[0].parts[0].to_dict()["summary"]).startswith("<state_snapshot>")
    assert (session.extra or {})[REPLACED] == 3
    assert [text for _, text in texts(session.earlier)] == ["one", "two", "three", "kept"]
    told = [text for _, text in texts(full_history(session).messages)]
    assert told == ["one", "two", "three", "kept", "four", "five"]


def test_a_file_that_begins_with_a_compression_has_nothing_before_it(tmp_path: Path) -> None:
    path = a_file(tmp_path / "s.jsonl", compression(SUMMARY, TAKEN_IN, content("kept")), says("one", "assistant"))
    session = read_session(path)
    assert session.earlier == []
    assert [message.origin for message in full_history(session).messages] == ["summary", "summary", "human", "model"]
    again = compression(SUMMARY, TAKEN_IN)
    path = a_file(
        tmp_path / "t.jsonl", compression(SUMMARY, TAKEN_IN, content("kept")), says("one", "assistant"), again
    )
    assert [text for _, text in texts(read_session(path).earlier)] == ["kept", "one"]


def test_a_result_behind_a_compression_is_none_of_it(tmp_path: Path) -> None:
    called = calls("1", "2")["message"]
    first = content([answers("1", output="a")])
    path = a_file(
        tmp_path / "s.jsonl", says("Go."), says("Yes.", "assistant"), compression(SUMMARY, called, first),
        says([answers("2", output="b")], "tool_result"),
    )  # fmt: skip
    assert [len(message.results) for message in full_history(read_session(path)).messages] == [0, 0, 1]


@pytest.mark.parametrize("version", ["0.24.4", "0.15.10"])
def test_a_recorded_compression_stands_for_what_was_before_but_not_for_what_waited(version: str) -> None:
    """The newer one records the prompt before the compression that makes room for it, and does not hold it there; the
    older one holds it there with an answer that is recorded behind it once more."""
    session = read_session(recorded(f"{version}-compression"))
    told = texts(session.messages)
    assert told[-2:] == [("human", "How many notes?"), ("model", "Two.")]
    files = ["summary"] if version == "0.24.4" else []  # as they were then
    assert [message.origin for message in session.messages] == ["summary", "summary", *files, "human", "model"]
    complete = [text for _, text in texts(full_history(session).messages)]
    assert complete == ["Remember note one.", "Noted, one.", "Read the notes.", "One line.", "How many notes?", "Two."]


def test_what_waits_for_a_compression_is_live_and_stands_once(tmp_path: Path) -> None:
    result = [answers("1", output="a")]
    path = a_file(
        tmp_path / "s.jsonl", says("one"), calls("1"), says(result, "tool_result"), notes("ui_telemetry"),
        compression(SUMMARY, calls("1")["message"]), says("two", "assistant"), says("three"), says("four", "assistant"),
        says("five"), compression(SUMMARY, TAKEN_IN, content([{"text": "<system-reminder>"}, {"text": "five"}])),
        says("six", "assistant"),
    )  # fmt: skip
    session = read_session(path)
    assert [text for _, text in texts(session.messages)][-2:] == ["five", "six"]
    complete = full_history(session).messages
    assert [text for _, text in texts(complete)] == ["one", "two", "three", "four", "five", "six"]
    path.write_text("".join(path.read_text("utf-8").splitlines(keepends=True)[:6]), encoding="utf-8")
    session = read_session(path)
    assert [len(message.results) for message in session.messages] == [0, 0, 1, 0]
    assert [len(message.results) for message in full_history(session).messages] == [0, 0, 1, 0]


def test_what_is_not_known_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    path = a_file(
        tmp_path / "s.jsonl", says("one"), notes("plan_update"), {"type": "journal"}, says("two", "thought"),
        says([{"executableCode": {}}], "assistant"), notes("session_artifact_event", parentUuid=None),
    )  # fmt: skip
    path.write_text(path.read_text("utf-8") + "{torn\n", encoding="utf-8")
    reading = SPEC.read(path)
    assert [message.text for message in reading.session.messages] == ["one", "two", ""]
    details = " ".join(loss.detail for loss in reading.losses)
    assert all(name in details for name in ("plan_update", "journal", "thought", "line 7"))
    assert [part.type for part in reading.session.messages[-1].parts] == ["unknown"]


def test_another_file_is_refused_and_none_is_taken_for_another_agents(tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        SPEC.read(LONG)
    with pytest.raises(NoConversation):
        SPEC.read(a_file(tmp_path / "s.jsonl", says("<system-reminder>x</system-reminder>")))
    titled = a_file(tmp_path / "t.jsonl", says("one"), notes("custom_title", {"customTitle": "T"}))
    beside = a_file(tmp_path / "subagents" / "agent-1.jsonl", says("one", isSidechain=True))
    for path in (recorded("0.24.4"), recorded("0.15.10"), titled, beside):
        head = jsonl.head(path, 8192)
        assert [spec.id for spec in agents.all_agents() if spec.recognises(head)] == ["qwen"]
    assert read_session(titled).title == "T"
    assert words(beside) == ["one"]


def test_sub_agents_are_children_and_not_listed(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "-p"
    parent = a_file(project / "chats" / f"{ID}.jsonl", says("Go."), says("aside", isSidechain=True, parentUuid="0"))
    child = a_file(project / "subagents" / ID / "agent-1.jsonl", says("Look.", isSidechain=True))
    a_file(project / "chats" / "notes.jsonl", says("Go."))
    assert [info.path for info in SPEC.list(tmp_path)] == [str(parent)]
    assert read_session(parent).children == (str(child),)
    assert words(parent) == ["Go."]


def test_a_list_tells_title_times_and_model(tmp_path: Path) -> None:
    chats = tmp_path / "projects" / "-p" / "chats"
    long, last = says("x" * 200_000, "assistant"), says("Done.", "assistant", model="m", timestamp="2026-03-03")
    a_file(chats / f"{ID}.jsonl", says("Go."), long, notes("custom_title", {"customTitle": "T"}), last)
    (info,) = SPEC.list(tmp_path)
    assert (info.id, info.title, info.cwd, info.model) == (ID, "T", "/p", "m")
    assert (info.created_at, info.updated_at) == ("2026-03-02T09:00:00.000Z", "2026-03-03T00:00:00.000Z")


# --- writing


def written(session: Session, project: Path, home: Path) -> list[dict[str, Any]]:
    done = migrate(session, "qwen", MODEL, into=project, home=home)
    lines = Path(done.target["paths"][0]).read_bytes().splitlines()
    assert all(line == jsonl.dump(json.loads(line)).rstrip(b"\n") for line in lines)  # the client looks for bare text
    return [json.loads(line) for line in lines]


def test_records_are_one_chain_of_the_projects_own_folder(project: Path, tmp_path: Path) -> None:
    *records, title = written(read_session(LONG), project, tmp_path)
    assert records[0]["parentUuid"] is None
    chained = [*records, title]
    assert [record["parentUuid"] for record in chained[1:]] == [record["uuid"] for record in chained[:-1]]
    assert {record["cwd"] for record in chained} == {str(project.resolve())}
    assert (title["subtype"], title["systemPayload"]["titleSource"]) == ("custom_title", "auto")
    sized = [record for record in records if "usageMetadata" in record]
    assert sized == [next(record for record in reversed(records) if record["type"] == "assistant")]
    assert sized[0]["usageMetadata"]["promptTokenCount"] > 10_000


def test_the_results_of_an_answer_are_one_record_and_images_stand_behind_them(project: Path, tmp_path: Path) -> None:
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    image = Image(media_type="image/png", data=pixel)
    results = (
        ToolResult(call_id="1", parts=(Text(text="a.png"), image), is_error=True),
        ToolResult(call_id="2", parts=(Image(location=URL),)),
    )
    session = Session(id="x", agent="test", messages=(
        Message(role="user", parts=(Text(text="Go."),)),
        Message(role="assistant", parts=tuple(ToolCall(id=each, name="Read", arguments={}) for each in "12")),
        Message(role="tool", parts=results), Message(role="assistant", parts=(Text(text="Done."),)),
    ))  # fmt: skip
    tool = written(session, project, tmp_path)[2]
    assert tool["type"] == "tool_result"
    assert [next(iter(part)) for part in tool["message"]["parts"]] == [
        "functionResponse", "inlineData", "functionResponse", "fileData",
    ]  # fmt: skip
    assert [part["functionResponse"]["response"] for part in tool["message"]["parts"][::2]] == [
        {"error": "a.png"}, {"output": ""},
    ]  # fmt: skip
    assert tool["message"]["parts"][3]["fileData"] == {"mimeType": "image/*", "fileUri": URL}  # none without a type


def test_texts_of_an_answer_are_set_apart_since_the_client_joins_them() -> None:
    said = [Message(role="user", parts=(Text(text="Go."),))]
    for parts in ((Text(text="a"), Text(text="b\n")), (Thinking(text="c"), Text(text="d"))):
        said.append(Message(role="assistant", parts=parts))
    session = Session(id="x", agent="test", messages=(*said, *said))
    lowered, _ = lower(session, SPEC.capabilities)
    told = [[part.text for part in message.parts if isinstance(part, Text)] for message in lowered.messages]
    assert told == [["Go."], ["a\n\n", "b\n\n"], ["> [reasoning]\n> c\n\n", "d"]] * 2
    assert lower(lowered, SPEC.capabilities)[0].messages == lowered.messages


def test_a_migrated_session_is_listed_and_taken_back(project: Path, tmp_path: Path) -> None:
    done = migrate(LONG, "qwen", MODEL, into=project, home=tmp_path / "q")
    (info,) = list_sessions("qwen", project, tmp_path / "q")
    assert info.id == done.target["session_id"]
    migrations.undo(Store(), str(done.migration))
    assert not (tmp_path / "q").exists()


# --- the client


@pytest.mark.parametrize(("name", "folder"), [
    ("project", "project"), ("My_Project.v1", "My-Project-v1"), ("東京", "--"), ("😀", "--"),
])  # fmt: skip
def test_the_folder_of_a_project_is_named_as_the_client_names_it(name: str, folder: str, tmp_path: Path) -> None:
    assert client.project_folder(tmp_path, Path("/p") / name) == tmp_path / "projects" / f"-p-{folder}"


def test_sessions_are_where_the_variables_and_the_settings_say(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = own_home / ".qwen"
    assert SPEC.locate(None) == home
    assert client.projects(home) == home / "projects"
    home.mkdir()
    (home / "settings.json").write_text('{"advanced": {"runtimeOutputDir": "~/out"}}', encoding="utf-8")
    assert client.projects(home) == own_home / "out" / "projects"
    monkeypatch.setenv("QWEN_RUNTIME_DIR", str(tmp_path / "run"))
    assert client.projects(home) == tmp_path / "run" / "projects"
    assert client.projects(tmp_path) == tmp_path / "projects"
    monkeypatch.setenv("QWEN_HOME", str(tmp_path / "q"))
    assert SPEC.locate(None) == tmp_path / "q"
    command = SPEC.resume_command("ID", home, tmp_path, "m")
    assert command == f"cd {tmp_path} && QWEN_HOME={home} qwen --resume ID --model m"


def test_a_target_is_as_the_settings_have_it(own_home: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def target(model: str | None = None) -> Any:
        return inspect("qwen", model=model, folder=project)

    assert (target().model, target().window.context, target().trigger) == ("qwen3.7-max", 1_000_000, 850_000)
    assert target().instructions == 0
    assert (target(MODEL).window.context, target(MODEL).trigger) == (272_000, 231_200)
    assert target("gpt-4.1").trigger == 131_072 - 33_000
    assert target("coder-model").trigger == 850_000
    with pytest.raises(UnknownModel):
        target("gpt-77")
    monkeypatch.setenv("OPENAI_MODEL", MODEL)
    assert (target().model, target().why["model"]) == (MODEL, "OPENAI_MODEL")
    home = own_home / ".qwen"
    home.mkdir()
    own = {"id": "mine", "generationConfig": {"contextWindowSize": 50_000}}
    settings = {
        "model": {"name": "mine", "generationConfig": {"contextWindowSize": 150_000}},
        "modelProviders": {"openai": [own]}, "mcpServers": {"docs": {}}, "context": {"fileName": ["NOTES.md"]},
    }  # fmt: skip
    (home / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    (project / "NOTES.md").write_text("some rules", encoding="utf-8")
    found = target()
    assert (found.model, found.why["model"]) == ("mine", str(home / "settings.json"))
    assert (found.window.context, found.trigger) == (50_000, 17_000)
    assert target(MODEL).window.context == 150_000
    assert "NOTES.md" in found.why["instructions"]
    assert found.why["overhead"].endswith("not counted: docs")
    (project / ".qwen").mkdir()
    nearer = {"context": {"autoCompactThreshold": 0.3}}
    (project / ".qwen" / "settings.json").write_text(json.dumps(nearer), encoding="utf-8")
    assert target().trigger == 15_000
    (home / "settings.json").write_text("{", encoding="utf-8")
    monkeypatch.delenv("OPENAI_MODEL")
    assert "cannot be read" in target().why["model"]


def test_the_instructions_are_those_of_the_home_and_of_the_repository(own_home: Path, project: Path) -> None:
    inner = project / "a"
    (project / ".git").mkdir()
    home = own_home / ".qwen"
    paths = [
        home / "QWEN.md", project.parent / "QWEN.md", project / "QWEN.md", inner / "QWEN.md", project / "AGENTS.md",
        project / ".qwen" / "QWEN.local.md", project / ".qwen" / "rules" / "one.md",
        client.project_folder(home, project) / "memory" / "MEMORY.md",
    ]  # fmt: skip
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")
    assert list(client.instructions(home, inner)) == paths
    (project / ".git").rmdir()
    assert project / "AGENTS.md" in client.instructions(home, inner)


def test_a_compressed_session_says_how_large_it_is(project: Path, tmp_path: Path) -> None:
    done = migrate(LONG, "qwen", MODEL, into=project, home=tmp_path, budget=4_000, native=True)
    records = [json.loads(line) for line in Path(done.target["paths"][0]).read_bytes().splitlines()]
    (record,) = (record for record in records if record.get("subtype") == "chat_compression")
    info = record["systemPayload"]["info"]
    overhead = inspect("qwen", model=MODEL, home=tmp_path, folder=project).overhead
    assert 0 < info["newTokenCount"] - overhead <= 4_000
    assert not [record for record in records if "usageMetadata" in record]
    assert record["timestamp"] == records[records.index(record) - 1]["timestamp"]


def test_words_of_the_users_are_carried_as_they_are(project: Path, tmp_path: Path) -> None:
    told = [{"role": role, "content": text} for text in ("/about", "?", "@a.txt") for role in ("user", "assistant")]
    session = replace(from_messages(told), git={"branch": "main"})
    *records, _ = written(session, project, tmp_path)
    assert [record["message"]["parts"] for record in records] == [[{"text": one["content"]}] for one in told]
    assert {record["gitBranch"] for record in records} == {"main"}
