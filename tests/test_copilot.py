"""Copilot CLI: what counts of its events, old and new, and what is written."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from places import FIXTURES, LONG, MODELS

from session_migrator import Store, agents, list_sessions, migrate, migrations, read_session
from session_migrator.errors import FormatError, NoConversation, Refused
from session_migrator.model import Image, Message, Session, Text, Thinking, ToolCall, ToolResult, Unknown
from session_migrator.sequences import full_history
from session_migrator.target import inspect

SPEC = agents.get("copilot")
HOME = FIXTURES / "copilot" / "1.0.102"
MODEL = MODELS["copilot"]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def recorded(start: str) -> Path:
    (path,) = HOME.glob(f"session-state/{start}*/events.jsonl")
    return path


TOOLS, COMPACTED = recorded("5b87ce5f"), recorded("f120df61")


def an_event(kind: str, at: int = 0, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": f"e{at}", "timestamp": f"2026-03-02T09:00:{at:02}.000Z", "parentId": None}


def a_log(path: Path, *events: dict[str, Any]) -> Path:
    start = an_event("session.start", sessionId="s", version=1, copilotVersion="1.0.24", context={"cwd": "/p"})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(event) + "\n" for event in (start, *events)), encoding="utf-8")
    return path


def texts(messages: Any) -> list[str]:
    return [part.text if isinstance(part, Text) else part.type for message in messages for part in message.parts]


# --- reading


def test_a_recorded_session_has_every_call_with_one_result_and_its_image() -> None:
    reading = SPEC.read(TOOLS)
    session = reading.session
    calls = [call for message in session.messages for call in message.calls]
    results = [result for message in session.messages for result in message.results]
    assert [call.id for call in calls] == [result.call_id for result in results]
    assert [call.name for call in calls] == ["bash", "view", "view", "bash"]
    assert [result.is_error for result in results] == [False, True, False, False]
    assert [type(part).__name__ for part in results[2].parts] == ["Text", "Image"]
    assert results[2].parts[1].data.startswith("iVBOR")  # type: ignore[union-attr]
    (thought,) = (part for message in session.messages for part in message.parts if isinstance(part, Thinking))
    assert thought.text == "A short thought."
    assert (session.title, session.cwd, session.model) == ("Look around.", "/home/user/project", "gpt-5.5")
    assert reading.losses == ()


def test_the_summary_of_a_compaction_stands_for_what_was_before_its_start() -> None:
    """As the client sends it: with what the user had said; what came while it was made stays."""
    session = SPEC.read(COMPACTED).session
    first, *rest = session.messages
    (summary,) = first.parts
    assert first.origin == "summary"
    assert "<user_message>\nSecond question.\n</user_message>" in summary.summary  # type: ignore[union-attr]
    assert summary.summary.endswith("<overview>THE SUMMARY</overview>")  # type: ignore[union-attr]
    assert [call.arguments["command"][-3:] for message in rest for call in message.calls] == ["hi2", "hi3"]  # type: ignore[index]
    assert [message.text for message in session.earlier if message.role == "user"] == [
        "First question.", "Second question.",
    ]  # fmt: skip
    whole = full_history(session).messages
    assert [message.text for message in whole if message.origin == "human"] == [
        "First question.", "Second question.", "Third question.",
    ]  # fmt: skip


def test_what_was_taken_back_is_told(tmp_path: Path) -> None:
    said = [an_event("user.message", number, content=f"word {number}") for number in range(4)]
    rewind = an_event("session.snapshot_rewind", 5, upToEventId="e2", eventsRemoved=2)
    reading = SPEC.read(a_log(tmp_path / "events.jsonl", *said, rewind))
    assert texts(reading.session.messages) == ["word 0", "word 1"]
    assert [(loss.kind, loss.severity) for loss in reading.losses] == [("branch", "lossy")]
    named = an_event("session.snapshot_rewind", 5, upToEventId="e1", eventIds=["e1"], eventsRemoved=1)
    assert texts(read_session(a_log(tmp_path / "events.jsonl", *said, named)).messages) == [
        "word 0",
        "word 2",
        "word 3",
    ]
    clear = an_event("session.context_cleared", 5, messagesCleared=4)
    reading = SPEC.read(a_log(tmp_path / "events.jsonl", *said, clear, an_event("user.message", 6, content="anew")))
    assert texts(reading.session.messages) == ["anew"]


@pytest.mark.parametrize(
    ("rewind", "left"),
    [("y", []), ("e2", ["SUM"]), ("e3", ["SUM", "word 2"]), ("e9", ["SUM", "word 2", "word 3"])],
)
def test_a_rewind_behind_a_compaction_takes_back_what_is_there(tmp_path: Path, rewind: str, left: list[str]) -> None:
    said = [an_event("user.message", number, content=f"word {number}") for number in range(4)]
    summary = {**an_event("session.compaction_complete", 8, success=True, summaryContent="SUM"), "id": "y"}
    start, back = an_event("session.compaction_start", 7), an_event("session.snapshot_rewind", 9, upToEventId=rewind)
    events = (*said[:2], start, *said[2:], summary, back, an_event("user.message", 10, content="on"))
    messages = SPEC.read(a_log(tmp_path / "events.jsonl", *events)).session.messages
    assert [message.text.rpartition("\n")[2] or "SUM" for message in messages] == [*left, "on"]


def test_older_reasoning_and_answers_in_pieces_are_one_message(tmp_path: Path) -> None:
    request = {"toolCallId": "c", "name": "bash", "arguments": {"command": "ls"}}
    path = a_log(
        tmp_path / "events.jsonl",
        an_event("user.message", 1, content="go"),
        an_event("assistant.reasoning", 2, content="a thought", reasoningId="r"),
        an_event("assistant.message", 3, content="one", apiCallId="a", toolRequests=[]),
        an_event("assistant.message", 4, content="", apiCallId="a", toolRequests=[request]),
        an_event("tool.execution_complete", 5, toolCallId="c", success=False, error={"message": "denied"}),
    )
    _, answer, result = read_session(path).messages
    assert [part.type for part in answer.parts] == ["thinking", "text", "tool_call"]
    assert (result.results[0].is_error, texts([result])) == (True, ["tool_result"])


def test_what_is_not_the_humans_and_what_is_a_sub_agents_is_told_apart(tmp_path: Path) -> None:
    blob = {"type": "blob", "data": PIXEL, "mimeType": "image/png"}
    lines_of = {"type": "selection", "filePath": "/p/a.py", "text": "x = 1"}
    path = a_log(
        tmp_path / "events.jsonl",
        an_event("user.message", 1, content="look", attachments=[blob, lines_of, {"type": "file", "path": "/p/b.py"}]),
        an_event("user.message", 2, content="a skill", source="skill-pdf"),
        {**an_event("assistant.message", 3, content="inner"), "agentId": "sub"},
        an_event("assistant.message", 4, content="inner too", parentToolCallId="c"),
        an_event("system.notification", 5, content="a task is done"),
    )
    reading = SPEC.read(path)
    assert [(message.origin, texts([message])) for message in reading.session.messages] == [
        ("human", ["look", "image", "/p/a.py:\nx = 1", "file"]),
        ("injected", ["a skill"]),
        ("injected", ["a task is done"]),
    ]
    assert [loss.kind for loss in reading.losses] == ["child_session"]


def test_one_bad_line_a_new_event_and_a_newer_version_hide_nothing(tmp_path: Path) -> None:
    path = a_log(tmp_path / "events.jsonl", an_event("user.message", 1, content="one"), an_event("new.kind", 2, x=1))
    whole = path.read_text().replace('"version": 1', '"version": 7')
    path.write_text(whole + '{"type": "user.message", torn\n' + json.dumps(an_event("user.message", 3, content="two")))
    reading = SPEC.read(path)
    assert texts(reading.session.messages) == ["one", "two"]
    assert sorted(loss.kind for loss in reading.losses) == ["bad_line", "unknown_record", "unknown_record"]


def test_events_that_lie_on_several_lines_each_are_found_in_a_row(tmp_path: Path) -> None:
    """With strings that break the line as they are, as 1.0.24 wrote them; a line that is none stays one bad line."""
    torn = [json.dumps(an_event("user.message", number, content=f"{number}\nmore")) for number in (1, 2, 3)]
    first, second, third = (line.replace("\\n", "\n") for line in torn)
    path = a_log(tmp_path / "events.jsonl")
    path.write_text("\n".join([path.read_text().rstrip("\n"), first, second, '{"type": "torn', third, ""]))
    reading = SPEC.read(path)
    assert texts(reading.session.messages) == ["1\nmore", "2\nmore", "3\nmore"]
    assert [loss.kind for loss in reading.losses] == ["bad_line"]


def test_a_text_that_is_none_is_told(tmp_path: Path) -> None:
    path = a_log(
        tmp_path / "events.jsonl", an_event("user.message", 1, content=["lost"]),
        an_event("user.message", 2, content="look"), an_event("assistant.message", 3, content={"t": 1}),
    )  # fmt: skip
    messages = SPEC.read(path).session.messages
    assert [type(part) for message in messages for part in message.parts] == [Unknown, Text, Unknown]


def test_a_log_of_2025_lies_alone(tmp_path: Path) -> None:
    a_log(tmp_path / "session-state" / "s.jsonl", an_event("user.message", 1, content="the first words"))
    (info,) = list_sessions("copilot", home=tmp_path)
    assert (info.id, info.title, info.cwd) == ("s", "the first words", "/p")
    a_log(tmp_path / "session-state" / "s.jsonl", an_event("user.message", 1, content="a long one " * 9_000))
    (info,) = list_sessions("copilot", home=tmp_path)
    assert str(info.title).startswith("a long one a long one")
    with pytest.raises(NoConversation):
        SPEC.read(a_log(tmp_path / "empty.jsonl"))
    (tmp_path / "x.jsonl").write_text('{"type": "other"}\n')
    with pytest.raises(FormatError):
        SPEC.read(tmp_path / "x.jsonl")


# --- writing


def test_undo_takes_back_what_was_written_and_nothing_else(tmp_path: Path, project: Path) -> None:
    done = migrate(LONG, "copilot", MODEL, into=project, home=tmp_path / "copilot")
    (info,) = list_sessions("copilot", project, tmp_path / "copilot")
    assert (info.id, info.path) == (done.target["session_id"], done.target["paths"][0])
    migrations.undo(Store(), str(done.migration))
    assert not (tmp_path / "copilot").exists()


def test_a_session_that_was_continued_stays(tmp_path: Path, project: Path) -> None:
    done = migrate(LONG, "copilot", MODEL, into=project, home=tmp_path)
    with Path(done.target["paths"][0]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(an_event("session.resume")) + "\n")
    with pytest.raises(Refused, match="continued since"):
        migrations.undo(Store(), str(done.migration))


def test_a_line_of_many_spaces_in_the_file_beside_a_log_is_read_in_linear_time(tmp_path: Path) -> None:
    path = a_log(tmp_path / "session-state" / "s" / "events.jsonl", an_event("user.message", 1, content="one"))
    path.with_name("workspace.yaml").write_text(f"name: a{' ' * 60_000}b\ncwd: /p\n")
    start = time.process_time()
    assert str(SPEC.read(path).session.title).endswith("b")
    assert time.process_time() - start < 5  # quadratic: a quarter of a minute


def test_a_title_and_a_folder_of_any_characters_are_read_back(tmp_path: Path, project: Path) -> None:
    told = (Message(role="user", parts=(Text(text="go"),)), Message(role="assistant", parts=(Text(text="done"),)))
    session = Session(id="s", agent="x", title="A: \"title\" # 'of' é", messages=told)
    done = migrate(session, "copilot", MODEL, into=project, home=tmp_path)
    found = read_session(done.target["paths"][0])
    assert (found.title, found.cwd) == (session.title, str(project))
    (tmp_path / "session-state" / str(found.id) / "workspace.yaml").write_text(
        "name: 'It''s one'\nsummary: |-\n  more\n"
    )
    assert read_session(done.target["paths"][0]).title == "It's one"


def test_an_image_of_a_result_is_a_prompts_attachment_right_behind_it(tmp_path: Path, project: Path) -> None:
    picture, linked = Image(media_type="image/png", data=PIXEL), Image(location="https://example.com/a.png")
    told = (
        Message(role="user", parts=(picture, Text(text="go"), linked)),
        Message(role="assistant", parts=(ToolCall(id="c", name="read", arguments={}),)),
        Message(role="tool", parts=(ToolResult(call_id="c", parts=(picture,)),)),
        Message(role="assistant", parts=(Text(text="done"),)),
    )
    done = migrate(Session(id="s", agent="x", messages=told), "copilot", MODEL, into=project, home=tmp_path)
    assert [(loss.kind, loss.severity) for loss in done.losses] == [("image", "lossy"), ("image", "info")]
    path = Path(done.target["paths"][0])
    events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    said = [event["data"] for event in events if event["type"] == "user.message"]
    attached = [{"type": "blob", "data": PIXEL, "mimeType": "image/png"}]
    assert said[-1] == {"content": "[Image that the call of read returned (c)]", "attachments": attached}
    messages = read_session(path).messages
    assert [message.role for message in messages[-4:]] == ["assistant", "tool", "user", "assistant"]
    assert messages[-2].parts[1] == picture


# --- the target


def test_a_target_is_as_the_variables_and_settings_have_it(
    own_home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = inspect("copilot", folder=project)
    assert target.why["model"].startswith("default of Copilot CLI")
    assert (target.window.max_input, target.trigger) == (168_000, 134_400)  # as GitHub serves it
    home = own_home / ".copilot"
    home.mkdir()
    (home / "settings.json").write_text('{"model": "gpt-5.5"} // mine')
    assert inspect("copilot", folder=project).model == "gpt-5.5"
    monkeypatch.setenv("COPILOT_MODEL", "gpt-4.1")
    monkeypatch.setenv("COPILOT_PROVIDER_MAX_PROMPT_TOKENS", "50000")
    monkeypatch.setenv("COPILOT_PROVIDER_MAX_OUTPUT_TOKENS", "8000")
    target = inspect("copilot", folder=project)
    assert (target.model, target.window.max_input, target.trigger) == ("gpt-4.1", 50_000, 40_000)
    assert target.window.context == 58_000


def test_instruction_files_and_servers_of_home_repository_and_project(own_home: Path, project: Path) -> None:
    (project / ".git").mkdir()
    between, inner = project / "one", project / "one" / "two"
    sent = [
        own_home / "copilot-instructions.md", project / ".github" / "copilot-instructions.md", project / "AGENTS.md",
        between / "GEMINI.md", between / ".claude" / "CLAUDE.md", inner / "CLAUDE.md",
        own_home / "instructions" / "all.instructions.md",
        project / ".github" / "instructions" / "a" / "py.instructions.md",
        inner / ".github" / "instructions" / "py.instructions.md",
    ]  # fmt: skip
    others = [
        project / ".claude" / "CLAUDE.md", inner / ".claude" / "CLAUDE.md", own_home / "AGENTS.md",
        between / ".github" / "instructions" / "py.instructions.md", inner / "deeper" / "AGENTS.md",
    ]  # fmt: skip
    files = {path: str(path) for path in (*sent, *others)} | {
        project / "CLAUDE.md": str(sent[2]), inner / "GEMINI.md": str(sent[2]),  # as another one
        own_home / "mcp-config.json": '{"mcpServers": {"own": {}}}',
        project / ".mcp.json": '{"mcpServers": {"files": {}}}',
    }  # fmt: skip
    for path, words in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(words)
    assert sorted(SPEC.instructions(own_home, inner)) == sorted(sent)
    assert SPEC.mcp_servers(own_home, inner) == ("own", "files")
