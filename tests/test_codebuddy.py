"""CodeBuddy Code and WorkBuddy: files of the core (2.163.0, 2.97.0) are read as its model saw them; what is written is
what it takes. WorkBuddy's own files are wrapped as its host does it; the desktop application itself was never run."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from places import FIXTURES, LONG

from session_migrator import Store, agents, from_messages, list_sessions, migrate, migrations, read_session
from session_migrator.agents import jsonl
from session_migrator.agents.codebuddy import client
from session_migrator.errors import FormatError, NoConversation
from session_migrator.model import Image, Message, Session, Text, Thinking, ToolCall, ToolResult
from session_migrator.sequences import full_history
from session_migrator.target import inspect

SPEC, WORK = agents.get("codebuddy"), agents.get("workbuddy")
HOME = FIXTURES / "codebuddy" / "2.163.0"
MODEL = "glm-4.6"
URL = "https://example.org/a.png"


def recorded(start: str) -> Path:
    (path,) = HOME.glob(f"projects/*/{start}*.jsonl")
    return path


TOOLS, COMPACTED = recorded("01a22984"), recorded("01a22987")
OLDER = next((FIXTURES / "codebuddy" / "2.97.0").rglob("*.jsonl"))
WRAPPED = next((FIXTURES / "workbuddy").rglob("*.jsonl"))


def a_file(path: Path, *records: dict[str, Any]) -> Path:
    """Records in one chain, where they do not say otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    for number, record in enumerate(records):
        above = {"parentId": str(number - 1)} if number else {}
        whole = {"id": str(number), "timestamp": 1_772_442_000_000, "sessionId": "s", "cwd": "/p", **above, **record}
        lines.append(json.dumps({key: value for key, value in whole.items() if value is not None}) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


def says(text: Any, role: str = "user", **more: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}] if isinstance(text, str) else text
    return {"type": "message", "role": role, "content": content, **more}


def calls(call_id: str) -> dict[str, Any]:
    return {"type": "function_call", "callId": call_id, "name": "Read", "arguments": '{"file_path": "a"}'}


def answers(call_id: str, output: Any, **more: Any) -> dict[str, Any]:
    return {"type": "function_call_result", "callId": call_id, "name": "Read", "output": output, **more}


def texts(messages: Sequence[Message]) -> list[tuple[str | None, str]]:
    return [(message.origin, message.text) for message in messages if message.text]


# --- reading


def test_a_recorded_session_has_every_call_with_one_result() -> None:
    reading = SPEC.read(TOOLS)
    messages = reading.session.messages
    called = [call for message in messages for call in message.calls]
    results = [result for message in messages for result in message.results]
    assert [call.name for call in called] == ["Bash", "Read", "Read", "Read", "Edit", "Bash"]
    assert [result.call_id for result in results] == [call.id for call in called]
    assert [result.is_error for result in results] == [True, True, False, False, False, False]
    assert [part.type for part in messages[1].parts] == ["thinking", "text", "tool_call", "tool_call"]
    assert messages[1].parts[0] == Thinking(text="first look")
    assert (messages[1].model, reading.session.cwd) == (MODEL, "/home/user/project")
    assert texts(messages)[-2:] == [("human", "And again, please."), ("model", "Again.")]
    assert [loss.kind for loss in reading.losses] == ["file"]  # a long result that its client had moved out


def test_an_image_that_the_client_keeps_in_its_home_is_read_from_there(tmp_path: Path) -> None:
    (image,) = [part for message in read_session(TOOLS).messages for result in message.results for part in result.parts
                if isinstance(part, Image)]  # fmt: skip
    assert image.media_type == "image/png"
    assert str(image.data).startswith("iVBORw0KGgo")
    apart = tmp_path / TOOLS.name
    apart.write_bytes(TOOLS.read_bytes())
    without = [part for message in read_session(apart).messages for result in message.results for part in result.parts]
    assert [part.data for part in without if isinstance(part, Image)] == [None]


def test_the_summary_of_a_compaction_stands_for_what_was_before() -> None:
    session = read_session(COMPACTED)
    assert [message.origin for message in session.messages] == ["summary", "injected", "model", "human", "model"]
    assert session.messages[0].parts[0].to_dict()["summary"] == "The notes hold alpha and beta."
    assert texts(session.earlier) == [
        ("human", "Look at the notes."),
        ("model", "Two words: alpha and beta."),
        ("human", "Go on, please, 1."),
    ]
    told = texts(full_history(session).messages)
    assert [words for origin, words in told if origin == "human"] == [
        "Look at the notes.", "Go on, please, 1.", "Go on, please, 2.",
    ]  # fmt: skip


def test_words_are_taken_out_of_what_workbuddy_puts_around_them() -> None:
    session = read_session(WRAPPED)
    assert session.agent == "workbuddy"
    said = texts(session.messages)
    assert [words for origin, words in said if origin == "human"] == [
        "MIGRATED: the code word is MANGO-77", "What was the code word?",
    ]  # fmt: skip
    assert "system-reminder" in said[0][1]
    assert said[0][0] == "injected"


@pytest.mark.parametrize(("words", "human"), [
    ("plain <user_query>x</user_query>", ["plain <user_query>x</user_query>"]),
    ("<user_query> as it is \n</user_query>", [" as it is \n"]),
    ("<system-reminder>a</system-reminder>\n<user_query>b</user_query>", ["b"]),
    ("<system-reminder role=\"x\">a</system-reminder> b", ["b"]),
    ("<system-reminder>never closed", []),
    ("<task-notification>done</task-notification>", []),
])  # fmt: skip
def test_the_clients_words_are_told_from_the_users(words: str, human: list[str], tmp_path: Path) -> None:
    path = a_file(tmp_path / "s.jsonl", says("Go."), says(words), says("Yes.", "assistant"))
    found = [text for origin, text in texts(read_session(path).messages) if origin == "human"]
    assert found == ["Go.", *human]


def test_a_turn_that_was_rewound_is_left_out_and_told(tmp_path: Path) -> None:
    path = a_file(
        tmp_path / "s.jsonl", says("one"), says("two", "assistant"), says("three"), says("four", "assistant"),
        says("five", parentId="1"),
    )  # fmt: skip
    reading = SPEC.read(path)
    assert [words for _, words in texts(reading.session.messages)] == ["one", "two", "five"]
    assert [(loss.kind, loss.severity) for loss in reading.losses] == [("branch", "lossy")]
    pending = path.read_text("utf-8") + json.dumps({"type": "resend-fork-notice", "id": "n", "parentId": "1"}) + "\n"
    path.write_text(pending, encoding="utf-8")
    assert [words for _, words in texts(read_session(path).messages)] == ["one", "two"]


def test_a_missing_parent_is_bridged_and_a_circle_ends(tmp_path: Path) -> None:
    path = a_file(tmp_path / "s.jsonl", says("one"), says("two", "assistant", parentId="nowhere"))
    reading = SPEC.read(path)
    assert [words for _, words in texts(reading.session.messages)] == ["one", "two"]
    assert [(loss.kind, loss.severity) for loss in reading.losses] == [("branch", "info")]
    path = a_file(tmp_path / "c.jsonl", says("one", parentId="1"), says("two", "assistant"))
    assert [words for _, words in texts(read_session(path).messages)] == ["one", "two"]


def test_records_without_parents_follow_each_other(tmp_path: Path) -> None:
    path = a_file(tmp_path / "s.jsonl", says("one"), says("two", "assistant", parentId=None, id=None))
    assert [words for _, words in texts(read_session(path).messages)] == ["one", "two"]


def test_what_is_encrypted_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    sealed = {"suite": "A", "keyId": "k", "nonce": "n", "authTag": "t", "ciphertext": "c"}
    path = a_file(
        tmp_path / "s.jsonl", says("one"), says([sealed, {"type": "output_text", "text": "two"}], "assistant"),
        calls("1"), answers("1", sealed), {**sealed, "type": "message", "role": "user"}, says("three", parentId="3"),
    )  # fmt: skip
    reading = SPEC.read(path)
    assert [words for _, words in texts(reading.session.messages)] == ["one", "two", "three"]
    assert [loss.detail for loss in reading.losses] == ["an encrypted record cannot be read and is not carried"]
    unknown = [part for message in reading.session.messages for part in message.parts if part.type == "unknown"]
    assert [part.to_dict()["kind"] for part in unknown] == ["encrypted content"]
    (result,) = reading.session.messages[2].results
    assert [part.to_dict()["kind"] for part in result.parts] == ["encrypted content"]


def test_an_unknown_type_and_a_newer_version_are_named(tmp_path: Path) -> None:
    path = a_file(tmp_path / "s.jsonl", says("one", version=7), {"type": "plan-update"}, says("two", parentId="0"))
    reading = SPEC.read(path)
    assert [words for _, words in texts(reading.session.messages)] == ["one", "two"]
    details = " ".join(loss.detail for loss in reading.losses)
    assert "version that is not known (7)" in details
    assert "plan-update" in details


def test_the_clients_own_words_in_the_models_place_are_not_the_models(tmp_path: Path) -> None:
    failed = says("502", "assistant", providerData={"skipRun": True, "error": {"message": "x"}})
    path = a_file(tmp_path / "s.jsonl", says("one"), failed, says("two"), says("three", "assistant"))
    assert texts(read_session(path).messages)[1] == ("injected", "502")


def test_results_of_every_form_are_read(tmp_path: Path) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    path = a_file(
        tmp_path / "s.jsonl", says("Go."), *map(calls, "1234"),
        answers("1", "a"), answers("2", [{"type": "text", "text": "b"}]),
        answers("3", {"type": "text", "text": json.dumps([{"type": "text", "text": "c"}, image])}),
        answers("4", {"type": "text", "text": '[{"type": "text"}, 1]'}, status="incomplete"),
    )  # fmt: skip
    tool = read_session(path).messages[-1]
    assert [result.parts for result in tool.results] == [
        (Text(text="a"),), (Text(text="b"),), (Text(text="c"), Image(media_type="image/png", data="AAAA")),
        (Text(text='[{"type": "text"}, 1]'),),
    ]  # fmt: skip
    assert [result.is_error for result in tool.results] == [False, False, False, True]


def test_another_file_is_refused_and_none_is_taken_for_another_agents(tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        SPEC.read(LONG)
    with pytest.raises(NoConversation):
        SPEC.read(a_file(tmp_path / "s.jsonl", says("<system-reminder>x</system-reminder>")))
    titled = a_file(
        tmp_path / "t.jsonl", says("one"), says("two", "assistant"), {"type": "ai-title", "aiTitle": "T"},
    )  # fmt: skip
    for path in (TOOLS, COMPACTED, WRAPPED, titled):
        head = jsonl.head(path, 8192)
        assert [spec.id for spec in agents.all_agents() if spec.recognises(head)] == ["codebuddy", "workbuddy"]
    assert read_session(titled).title == "T"


def test_a_list_tells_title_times_and_model(tmp_path: Path) -> None:
    rows = {info.id: info for info in SPEC.list(HOME)}
    assert len(rows) == 3
    row = rows[TOOLS.stem]
    assert (row.title, row.cwd, row.model) == ("Change the notes, please.", "/home/user/project", MODEL)
    assert (row.created_at, row.updated_at) == ("2026-11-29T22:54:10.138Z", "2026-11-29T22:54:19.502Z")
    path = tmp_path / "projects" / "p" / "s.jsonl"
    a_file(path, says("Go."), says("x" * 200_000, "assistant"), {"type": "custom-title", "customTitle": "Mine"})
    (info,) = SPEC.list(tmp_path)
    assert info.title == "Mine"


def test_the_parts_of_an_answer_share_an_id_in_older_files() -> None:
    reading = SPEC.read(OLDER)
    assert reading.losses == ()
    messages = reading.session.messages
    assert [(message.role, len(message.calls), len(message.results)) for message in messages] == [
        ("user", 0, 0), ("assistant", 2, 0), ("tool", 0, 2), ("assistant", 1, 0), ("tool", 0, 1), ("assistant", 0, 0),
        ("user", 0, 0), ("assistant", 2, 0), ("tool", 0, 2), ("assistant", 0, 0),
    ]  # fmt: skip
    said = messages[1]
    assert [part.type for part in said.parts] == ["thinking", "text", "tool_call", "tool_call"]
    assert isinstance(messages[4].results[0].parts[0], Image)


# --- writing


def written(session: Session, project: Path, home: Path, to: str = "codebuddy") -> list[dict[str, Any]]:
    done = migrate(session, to, MODEL, into=project, home=home, form="session")
    return [json.loads(line) for line in Path(done.target["paths"][0]).read_text("utf-8").splitlines()]


def test_records_are_one_chain_with_times_in_milliseconds(project: Path, tmp_path: Path) -> None:
    *records, title = written(read_session(LONG), project, tmp_path)
    assert "parentId" not in records[0]
    assert [record["parentId"] for record in records[1:]] == [record["id"] for record in records[:-1]]
    assert all(isinstance(record["timestamp"], int) and record["timestamp"] > 1e12 for record in records)
    assert {record["cwd"] for record in records} == {str(project.resolve())}
    assert title["type"] in ("custom-title", "ai-title")


def test_words_of_the_user_are_marked_as_theirs(project: Path, tmp_path: Path) -> None:
    words = ["<system-reminder>mine</system-reminder>", "/compact", " <user_query>x</user_query>\n"]
    told = [{"role": role, "content": text} for text in words for role in ("user", "assistant")]
    users = [record for record in written(from_messages(told), project, tmp_path) if record.get("role") == "user"]
    assert [record["content"][0]["text"] for record in users] == [f"<user_query>{text}</user_query>" for text in words]


def test_a_result_with_images_is_an_array_in_the_text(project: Path, tmp_path: Path) -> None:
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    parts = (Text(text="a.png"), Image(media_type="image/png", data=pixel))
    session = Session(id="x", agent="test", messages=(
        Message(role="user", parts=(Text(text="Go."),)),
        Message(role="assistant", parts=(ToolCall(id="1", name="Read", arguments={}),)),
        Message(role="tool", parts=(ToolResult(call_id="1", parts=parts, is_error=True),)),
    ))  # fmt: skip
    result = written(session, project, tmp_path)[2]
    address = f"data:image/png;base64,{pixel}"
    held = [{"type": "text", "text": "a.png"}, {"type": "image_url", "image_url": {"url": address}}]
    assert json.loads(result["output"]["text"]) == held
    assert result["providerData"]["toolResult"]["rawResponse"]["is_error"] is True


def test_a_migrated_session_is_listed_and_taken_back(project: Path, tmp_path: Path) -> None:
    done = migrate(LONG, "codebuddy", MODEL, into=project, home=tmp_path / "cb")
    (info,) = list_sessions("codebuddy", project, tmp_path / "cb")
    assert info.id == done.target["session_id"]
    migrations.undo(Store(), str(done.migration))
    assert not (tmp_path / "cb").exists()


def test_workbuddy_gets_a_memory_unless_a_session_is_asked_for(project: Path, own_home: Path) -> None:
    done = migrate(LONG, "workbuddy", MODEL, into=project)
    assert done.mode == "memory"
    assert (project / ".workbuddy" / "memory" / "MEMORY.md").is_file()
    home = own_home / ".workbuddy"
    home.mkdir()
    with sqlite3.connect(home / "workbuddy.db") as database:
        database.execute("CREATE TABLE sessions (id TEXT)")
    before = (home / "workbuddy.db").read_bytes()
    done = migrate(LONG, "workbuddy", MODEL, into=project, form="session")
    assert Path(done.target["paths"][0]).is_relative_to(home / "projects")
    assert read_session(done.target["paths"][0]).agent == "workbuddy"
    assert f"CODEBUDDY_CONFIG_DIR={home} codebuddy --resume" in done.target["resume"]
    assert (home / "workbuddy.db").read_bytes() == before
    assert sorted(path.name for path in home.iterdir()) == ["projects", "workbuddy.db"]


def test_a_memory_is_told_of_that_has_more_lines_than_are_read(project: Path, own_home: Path) -> None:
    index = client.memory_folder(own_home / ".codebuddy", project) / "MEMORY.md"
    index.parent.mkdir(parents=True)
    index.write_text("- A note.\n" * 190, encoding="utf-8")
    done = migrate(LONG, "codebuddy", into=project, form="memory")
    assert any("lines, and CodeBuddy Code reads 200" in warning for warning in done.warnings)
    assert not any("bytes, and CodeBuddy" in warning for warning in done.warnings)


def test_the_memory_of_codebuddy_lies_in_its_home(project: Path, own_home: Path) -> None:
    done = migrate(LONG, "codebuddy", into=project, form="memory")
    place = client.memory_folder(own_home / ".codebuddy", project)
    assert "MEMORY.md" in [path.name for path in place.iterdir()]
    assert all(Path(path).is_relative_to(place) for path in done.target["paths"])
    assert not list(project.iterdir())
    migrations.undo(Store(), str(done.migration))
    assert not (own_home / ".codebuddy").exists()


def test_an_image_in_an_answer_is_told_of(project: Path, tmp_path: Path) -> None:
    """Its requests have images in a user's message alone."""
    said = [Message(role="user", parts=(Text(text="Draw."),)), Message(role="assistant", parts=(Image(location=URL),))]
    session = Session(id="s", agent="chat", messages=said)
    done = migrate(session, "codebuddy", MODEL, into=project, home=tmp_path / "cb")
    assert [loss.kind for loss in done.losses] == ["image"]
    assert URL in read_session(done.target["paths"][0]).messages[1].text


def test_a_long_session_is_resumed_with_room_for_all_of_it(project: Path, tmp_path: Path) -> None:
    """The client loads the last 1,000 records, where no variable says how many (2.163.0)."""
    chat = [{"role": role, "content": "a"} for _ in range(300) for role in ("user", "assistant")]
    done = migrate(from_messages(chat), "codebuddy", MODEL, into=project, home=tmp_path / "long")
    assert "CODEBUDDY_SESSION_MAX_ITEMS=1202 codebuddy --resume" in done.target["resume"]
    assert any("CODEBUDDY_SESSION_MAX_ITEMS=1202" in warning for warning in done.warnings)
    done = migrate(from_messages(chat[:400]), "codebuddy", MODEL, into=project, home=tmp_path / "short")
    assert "CODEBUDDY_SESSION_MAX_ITEMS" not in done.target["resume"]
    assert not any("CODEBUDDY_SESSION_MAX_ITEMS" in warning for warning in done.warnings)


# --- the client


@pytest.mark.parametrize(("path", "name"), [
    ("/x/w/we.ird päth_x", "x-w-we.ird päth_x"), ("/a/東京/b c", "a-東京-b c"), ("/-a-//b:c\\d-", "a-b-c-d"),
])  # fmt: skip
def test_the_folder_of_a_project_is_named_as_the_client_names_it(path: str, name: str, tmp_path: Path) -> None:
    assert client.project_folder(tmp_path, Path(path)) == tmp_path / "projects" / name


def test_a_long_path_is_cut_and_told_by_a_hash(tmp_path: Path) -> None:
    """As 2.163.0 named such a folder."""
    parts = ["/srv/project", *(f"{'東京' * 12}-lång {number}" for number in range(4))]
    found = client.project_folder(tmp_path, Path("/".join(parts))).name
    assert found == f"srv-project-{'東京' * 12}-lång 0-{'東京' * 12}-lång 1-東京-1vk1vyi"


def test_a_target_is_as_the_settings_have_it(own_home: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def target(model: str | None = None) -> Any:
        return inspect("codebuddy", model=model, folder=project)

    assert target().model == "default-model"
    assert target().trigger == int(176_000 * 0.92)
    home = own_home / ".codebuddy"
    home.mkdir()
    own = {"id": "mine", "maxInputTokens": 50_000, "maxOutputTokens": 4_000}
    listed = {"models": [own, 7], "availableModels": ["mine"]}
    (home / "models.json").write_text(json.dumps(listed), encoding="utf-8")
    assert (target().model, target().why["model"]) == ("mine", f"availableModels of {home / 'models.json'}")
    (home / "settings.json").write_text('{"model": "mine"}', encoding="utf-8")
    (home / ".mcp.json").write_text('{"mcpServers": {"docs": {}}}', encoding="utf-8")
    (project / "AGENTS.md").write_text("some rules", encoding="utf-8")
    found = target()
    assert (found.model, found.why["model"]) == ("mine", str(home / "settings.json"))
    assert (found.window.context, found.window.max_output, found.trigger) == (50_000, 4_000, 46_000)
    assert "AGENTS.md" in found.why["instructions"]
    assert found.why["overhead"].endswith("not counted: docs")
    (project / ".codebuddy").mkdir()
    nearer = {"models": [own | {"maxInputTokens": 60_000}]}
    (project / ".codebuddy" / "models.json").write_text(json.dumps(nearer), encoding="utf-8")
    assert target().window.context == 60_000
    (project / "CODEBUDDY.md").write_text("other rules", encoding="utf-8")
    assert "AGENTS.md" not in target().why["instructions"]
    monkeypatch.setenv("CODEBUDDY_MODEL", "glm-5.2")
    monkeypatch.setenv("CODEBUDDY_AUTO_COMPACT_WINDOW", "50000")
    monkeypatch.setenv("CODEBUDDY_AUTOCOMPACT_PCT_OVERRIDE", "50")
    assert (target().model, target().trigger) == ("glm-5.2", 25_000)
    (home / "settings.json").write_text('{"autoCompactEnabled": false}', encoding="utf-8")
    assert target().trigger is None


def test_what_is_in_a_home_that_both_were_given_is_listed_once(
    own_home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As WorkBuddy's core has it, and an MCP server that it starts."""
    migrate(LONG, "workbuddy", MODEL, into=project, form="session")
    monkeypatch.setenv("CODEBUDDY_CONFIG_DIR", str(own_home / ".workbuddy"))
    (info,) = list_sessions(cwd=project)
    assert info.agent == "workbuddy"


def test_each_home_is_named_by_a_variable_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (SPEC.locate(None).name, WORK.locate(None).name) == (".codebuddy", ".workbuddy")
    monkeypatch.setenv("CODEBUDDY_CONFIG_DIR", str(tmp_path / "c"))
    monkeypatch.setenv("WORKBUDDY_CONFIG_DIR", str(tmp_path / "w"))
    assert (SPEC.locate(None), WORK.locate(None)) == (tmp_path / "c", tmp_path / "w")
    command = SPEC.resume_command("ID", tmp_path / "c", tmp_path, None)
    assert command == f"cd {tmp_path} && codebuddy --resume ID"
    command = WORK.resume_command("ID", tmp_path / "w", tmp_path, "m")
    assert command == f"cd {tmp_path} && CODEBUDDY_CONFIG_DIR={tmp_path / 'w'} codebuddy --resume ID --model m"
