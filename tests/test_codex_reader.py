"""Codex rollouts that real clients wrote, and damaged ones."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import zstandard
from places import FIXTURES

from session_migrator import agents, read_session
from session_migrator.agents.codex import files, reader
from session_migrator.errors import FormatError, NoConversation, ReadError
from session_migrator.model import Image, Text, Thinking, ToolCall, ToolResult

CODEX = FIXTURES / "codex"
TOOLS = CODEX / "0.171.0-tools-image-error-patch-resume-fork"


def rollouts(home: Path) -> list[Path]:
    return sorted(home.rglob("rollout-*.jsonl"))


def rollout(tmp_path: Path, *records: dict[str, object]) -> Path:
    """A rollout in a home of its own, with its header."""
    meta = {"id": "0198", "timestamp": "2026-03-02T09:00:00Z", "cwd": "/p", "originator": "t", "cli_version": "0.98.0"}
    path = tmp_path / "sessions" / "2026" / "rollout-2026-03-02T09-00-00-0198.jsonl"
    path.parent.mkdir(parents=True)
    lines = [{"timestamp": "2026-03-02T09:00:00Z", "type": "session_meta", "payload": meta}, *records]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def item(payload: dict[str, object]) -> dict[str, object]:
    return {"timestamp": "2026-03-02T09:00:01Z", "type": "response_item", "payload": payload}


def said(role: str, text: str) -> dict[str, object]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})


def call(call_id: str, **more: object) -> dict[str, object]:
    return item({"type": "function_call", "name": "exec_command", "arguments": "{}", "call_id": call_id, **more})


def output(call_id: str, value: object) -> dict[str, object]:
    return item({"type": "function_call_output", "call_id": call_id, "output": value})


@pytest.mark.parametrize("version", ["0.55.0", "0.98.0", "0.140.0"])
def test_the_same_short_session_reads_the_same_in_every_version(version: str) -> None:
    session = reader.read(rollouts(CODEX / version)[0]).session
    told = [(m.role, m.text) for m in session.messages if m.origin != "injected" and m.text]
    assert told == [
        ("user", "Old client prompt"),
        ("assistant", "I'll look."),
        ("assistant", "Done with old client."),
    ]
    results = [r for m in session.messages for r in m.results]
    assert [r.is_error for r in results] == [False, True]
    assert session.model == "gpt-5-codex"
    assert session.cwd == "/home/user/project"


def test_a_paginated_session_keeps_images_parallel_calls_errors_and_free_text_calls() -> None:
    session = reader.read(rollouts(TOOLS)[0]).session
    spoken = [m for m in session.messages if m.origin != "injected"]
    first, answer, *_ = spoken
    assert [type(part) for part in first.parts] == [Image, Text]
    assert first.text == "Please edit notes.txt"
    assert [type(part) for part in answer.parts] == [Thinking, Text, ToolCall]
    parallel = next(m for m in spoken if len(m.calls) == 2)
    results = spoken[spoken.index(parallel) + 1].results
    assert [r.call_id for r in results] == [c.id for c in parallel.calls]
    assert [r.is_error for r in results] == [True, False]
    patches = [c for m in spoken for c in m.calls if c.name == "apply_patch"]
    assert all(isinstance(c.arguments, str) and c.arguments.startswith("*** Begin Patch") for c in patches)
    assert [c.kind for c in patches] == ["edit", "edit"]
    shown = next(r for m in spoken for r in m.results if isinstance(r.parts[0], Image))
    assert shown.parts[0].media_type == "image/png"


def test_a_fork_by_pointer_begins_with_its_parents_part() -> None:
    parent, fork = (reader.read(path).session for path in rollouts(TOOLS))
    assert fork.messages[: len(parent.messages)] == parent.messages
    assert [m.text for m in fork.messages[len(parent.messages) :]] == ["Prompt in fork", "Fork answer."]
    assert fork.parent_id == parent.id != fork.id


def test_a_fork_whose_parent_is_missing_says_so(tmp_path: Path) -> None:
    lonely = tmp_path / "sessions" / rollouts(TOOLS)[1].name
    lonely.parent.mkdir()
    lonely.write_bytes(rollouts(TOOLS)[1].read_bytes())
    reading = reader.read(lonely)
    assert [(loss.kind, loss.severity) for loss in reading.losses] == [("branch", "lossy")]
    assert [m.text for m in reading.session.messages] == ["Prompt in fork", "Fork answer."]


def test_a_fork_of_a_fork_and_so_on_is_read_as_far_as_200_sessions_back(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "2026" / "03" / "02"
    folder.mkdir(parents=True)
    base: dict[str, object] | None = None
    paths: list[Path] = []
    for number in range(202):
        meta = {"id": f"0198-{number}", "cwd": "/p", "history_base": base}
        lines = [{"type": "session_meta", "payload": meta}, said("user", f"Prompt {number}")]
        paths.append(folder / f"rollout-2026-03-02T09-00-00-0198-{number}.jsonl")
        paths[-1].write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        base = {"thread_id": f"0198-{number}", "end_byte_offset": paths[-1].stat().st_size}
    for path, first, losses in ((paths[199], 0, 0), (paths[-1], 2, 1)):
        reading = reader.read(path)
        expected = [f"Prompt {number}" for number in range(first, paths.index(path) + 1)]
        assert [m.text for m in reading.session.messages] == expected
        assert [loss.kind for loss in reading.losses] == ["branch"] * losses


def test_after_a_compaction_the_replacement_is_live_and_the_rest_earlier() -> None:
    compacted = next(
        session
        for path in rollouts(CODEX / "0.171.0-subagent-and-compaction")
        if (session := reader.read(path).session).earlier
    )
    assert [m.origin for m in compacted.messages].count("summary") == 1
    assert any("ALPHA" in m.text for m in compacted.earlier)


def test_the_users_words_of_an_older_form_stay_theirs_when_a_newer_client_compacts(tmp_path: Path) -> None:
    """0.171 says of what it keeps of them that their kind is unknown."""

    def kept(text: str, kind: str) -> dict[str, object]:
        told = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": [kind]}}
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}], **told}

    replacement = [
        kept("Do this.", "unknown"), kept("<environment_context>\n</environment_context>", "unknown"),
        kept("# Rules", "agents_md.instructions"), kept("And that.", "user.text"), kept("All.", "compaction.summary"),
    ]  # fmt: skip
    payload = {"message": "All.", "replacement_history": replacement}
    path = rollout(tmp_path, {"timestamp": "2026-03-02T09:00:01Z", "type": "compacted", "payload": payload})
    origins = [message.origin for message in reader.read(path).session.messages]
    assert origins == [
        "human",
        "injected",
        "injected",
        "human",
        "summary",
    ]


def test_the_name_of_a_session_comes_from_the_index() -> None:
    named = reader.read(rollouts(CODEX / "0.171.0-handwritten-then-tui")[0]).session
    assert named.title == "typed next"
    infos = list(files.list_sessions(CODEX / "0.171.0-handwritten-then-tui"))
    assert [(info.id, info.title) for info in infos] == [(named.id, "typed next")]


def test_sub_agents_are_not_listed() -> None:
    titles = {info.title for info in files.list_sessions(CODEX / "0.171.0-subagent-and-compaction")}
    assert titles == {"Conversation to be compacted: ALPHA", "Launch a sub agent"}


def test_a_torn_last_line_costs_that_line_only(tmp_path: Path) -> None:
    path = rollout(tmp_path, said("user", "one"), said("assistant", "two"))
    path.write_bytes(path.read_bytes() + b'{"timestamp":"2026-03-02T09:00:02Z","type":"respo')
    reading = reader.read(path)
    assert [m.text for m in reading.session.messages] == ["one", "two"]
    assert [(loss.kind, "line 4" in loss.detail) for loss in reading.losses] == [("bad_line", True)]


def test_padding_of_nul_bytes_hides_nothing(tmp_path: Path) -> None:
    path = rollout(tmp_path, said("user", "one"))
    path.write_bytes(
        path.read_bytes() + b"\0" * 5000 + b"\n" + json.dumps(said("assistant", "two")).encode() + b"\0\0\n"
    )
    assert [m.text for m in reader.read(path).session.messages] == ["one", "two"]


def test_lone_surrogates_become_replacement_characters_and_pairs_stay(tmp_path: Path) -> None:
    path = rollout(tmp_path, said("user", "a \ud83d b \ud83d\ude00"))
    assert reader.read(path).session.messages[0].text == "a \ufffd b \U0001f600"


def test_an_answers_reasoning_text_and_calls_are_one_message(tmp_path: Path) -> None:
    path = rollout(
        tmp_path,
        said("user", "go"),
        item({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "x"}),
        said("assistant", "I look."),
        call("a"),
        call("b"),
        output("a", "1"),
        output("b", "2"),
        said("assistant", "Done."),
        said("assistant", "Really."),
    )
    told = reader.read(path).session.messages
    assert [[p.type for p in m.parts] for m in told] == [
        ["text"],
        ["thinking", "text", "tool_call", "tool_call"],
        ["tool_result", "tool_result"],
        ["text"],
        ["text"],
    ]


@pytest.mark.parametrize(
    ("value", "text", "failed"),
    [
        ("Process exited with code 0\nOutput:\nok", None, False),
        ("Wall time: 1\nProcess exited with code 2\nOutput:\nno", None, True),
        ('{"output":"made","metadata":{"exit_code":0}}', "made", False),
        ('{"output":"broke","metadata":{"exit_code":1}}', "broke", True),
        ({"output": "obj", "metadata": {"exit_code": 3}}, "obj", True),
        ("apply_patch verification failed: x", None, True),
        ("the text says Process exited with code 7 in passing", None, False),
        (None, "", False),
        (17, "17", False),
    ],
)
def test_outputs_of_every_form_are_read_and_failures_told(
    tmp_path: Path, value: object, text: str | None, failed: bool
) -> None:
    path = rollout(tmp_path, said("user", "go"), call("a"), output("a", value))
    result = reader.read(path).session.messages[-1].results[0]
    found = "".join(part.text for part in result.parts if isinstance(part, Text))
    assert (found, result.is_error) == (value if text is None else text, failed)


def test_the_clients_own_event_decides_whether_a_command_failed(tmp_path: Path) -> None:
    failed = {"type": "item_completed", "item": {"type": "CommandExecution", "id": "a", "status": "failed"}}
    path = rollout(
        tmp_path, said("user", "go"), call("a"), {"type": "event_msg", "payload": failed}, output("a", "no code here")
    )
    assert reader.read(path).session.messages[-1].results[0].is_error


def test_rolled_back_turns_are_gone(tmp_path: Path) -> None:
    rolled = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}
    path = rollout(
        tmp_path, said("user", "one"), said("assistant", "1"), said("user", "two"), said("assistant", "2"), rolled,
        said("user", "three"),
    )  # fmt: skip
    assert [m.text for m in reader.read(path).session.messages] == ["one", "1", "three"]


def test_what_the_client_put_in_is_told_from_the_humans_words(tmp_path: Path) -> None:
    path = rollout(
        tmp_path,
        said("developer", "<permissions instructions>\nx</permissions instructions>"),
        said("user", "# AGENTS.md instructions for /p\n\n<INSTRUCTIONS>x</INSTRUCTIONS>"),
        said("user", "<environment_context>\n<cwd>/p</cwd></environment_context>"),
        said("user", "Fix it."),
    )
    told = reader.read(path).session.messages
    assert [m.origin for m in told] == ["injected", "injected", "injected", "human"]
    assert [info.title for info in files.list_sessions(tmp_path)] == ["Fix it."]


def test_files_without_a_conversation_are_refused_with_the_reason(tmp_path: Path) -> None:
    path = rollout(tmp_path, said("user", "<environment_context>x</environment_context>"))
    with pytest.raises(NoConversation):
        reader.read(path)
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(NoConversation):
        reader.read(tmp_path / "empty.jsonl")
    (tmp_path / "other.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    with pytest.raises(FormatError):
        reader.read(tmp_path / "other.jsonl")
    with pytest.raises(ReadError):
        reader.read(tmp_path / "none.jsonl")


def test_reading_leaves_the_fixture_untouched_and_is_the_registrys() -> None:
    path = rollouts(TOOLS)[0]
    before = path.read_bytes()
    assert agents.get("codex").read is reader.read
    reader.read(path)
    assert path.read_bytes() == before


def test_unknown_items_are_kept_and_reported(tmp_path: Path) -> None:
    path = rollout(tmp_path, said("user", "go"), item({"type": "web_search_call", "id": "w"}), said("assistant", "ok"))
    reading = reader.read(path)
    assert [loss.kind for loss in reading.losses] == ["unknown_record"]
    assert reading.session.messages[1].parts[0].type == "unknown"


def test_results_hold_what_structured_outputs_hold(tmp_path: Path) -> None:
    parts = [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]
    path = rollout(tmp_path, said("user", "go"), call("a"), output("a", parts))
    (result,) = reader.read(path).session.messages[-1].results
    assert result == ToolResult(
        call_id="a", parts=(Text(text="see"), Image(media_type="image/png", data="AAAA")), is_error=False
    )


# --- the forms of every age


def test_the_bare_form_of_2025_reads_as_the_later_ones_do() -> None:
    (info,) = files.list_sessions(CODEX / "0.29.0")
    session = reader.read(Path(info.path or "")).session
    told = [(m.role, m.text) for m in session.messages if m.origin != "injected" and m.text]
    assert told == [
        ("user", "Old client prompt"),
        ("assistant", "I'll look."),
        ("assistant", "Done with old client."),
    ]
    assert [r.is_error for m in session.messages for r in m.results] == [False, True]
    assert session.messages[-2].results[0].parts[0].text.startswith("ls: cannot access")
    assert (info.cwd, session.cwd, info.title) == ("/home/user/project", "/home/user/project", "Old client prompt")
    assert session.git == {"commit_hash": "e3d7007a616a1d7badf916c65ee200bc5390695e", "branch": "main"}


def test_the_single_document_of_the_first_client_is_read_and_listed(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / "rollout-2025-04-20-abc.json"
    path.parent.mkdir()
    items = [said("user", "Hello")["payload"], said("assistant", "Hi.")["payload"]]
    header = {"timestamp": "2025-04-20T10:00:00.000Z", "id": "abc", "instructions": ""}
    path.write_text(json.dumps({"session": header, "items": items}, indent=1), encoding="utf-8")
    assert [m.text for m in read_session(path).messages] == ["Hello", "Hi."]
    assert [(info.id, info.title) for info in files.list_sessions(tmp_path)] == [("abc", "Hello")]


def test_the_stream_of_exec_json_is_read_with_its_commands(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes((FIXTURES / "codex" / "exec-json-0.171.0.jsonl").read_bytes())
    session = read_session(path)
    assert session.agent == "codex"
    assert [[p.type for p in m.parts] for m in session.messages] == [
        ["thinking", "text", "tool_call"],
        ["tool_result"],
        ["tool_call"],
        ["tool_result"],
        ["text"],
    ]
    assert [r.is_error for m in session.messages for r in m.results] == [True, False]


def test_a_file_with_events_only_is_read_from_them(tmp_path: Path) -> None:
    path = rollout(
        tmp_path,
        {"type": "event_msg", "payload": {"type": "user_message", "message": "Hello"}},
        {"type": "event_msg", "payload": {"type": "agent_message", "message": "Hi."}},
    )
    assert [(m.role, m.origin, m.text) for m in reader.read(path).session.messages] == [
        ("user", "human", "Hello"),
        ("assistant", "model", "Hi."),
    ]


@pytest.mark.parametrize("folder", ["sessions/2026/03/02", "archived_sessions"])
def test_packed_and_archived_sessions_are_listed_and_read(tmp_path: Path, folder: str) -> None:
    source = rollouts(CODEX / "0.140.0")[0]
    packed = tmp_path / folder / f"{source.name}.zst"
    packed.parent.mkdir(parents=True)
    packed.write_bytes(zstandard.ZstdCompressor().compress(source.read_bytes()))
    (info,) = files.list_sessions(tmp_path)
    assert info.title == "Old client prompt"
    assert read_session(packed).messages == reader.read(source).session.messages
    packed.write_bytes(b"not zstd")
    with pytest.raises(ReadError):
        reader.read(packed)


def test_a_copied_fork_is_named_by_its_first_header(tmp_path: Path) -> None:
    parent = {"type": "session_meta", "payload": {"id": "parent", "timestamp": "2026-03-01T09:00:00Z", "cwd": "/other"}}
    path = rollout(tmp_path, {"timestamp": "2026-03-02T09:00:00Z", **parent}, said("user", "one"))
    session = reader.read(path).session
    assert (session.id, session.cwd) == ("0198", "/p")


def test_a_name_in_the_clients_database_is_the_title_until_the_index_says_another(tmp_path: Path) -> None:
    rollout(tmp_path, said("user", "one"))
    with closing(sqlite3.connect(tmp_path / "state_5.sqlite")) as database:
        database.executescript((FIXTURES / "codex" / "state_5.schema.sql").read_text(encoding="utf-8"))
        columns = "id, rollout_path, created_at, updated_at, source, model_provider, cwd, title, sandbox_policy"
        values = "'0198', 'x', 1, 1, 'cli', 'p', '/p', 'one', '{}', 'never', 'The name'"
        database.execute(f"INSERT INTO threads ({columns}, approval_mode, name) VALUES ({values})")
        database.commit()
    before = (tmp_path / "state_5.sqlite").read_bytes()
    assert [info.title for info in files.list_sessions(tmp_path)] == ["The name"]
    (tmp_path / "session_index.jsonl").write_text('{"id": "0198", "thread_name": "Newer"}\n', encoding="utf-8")
    assert [info.title for info in files.list_sessions(tmp_path)] == ["Newer"]
    assert (tmp_path / "state_5.sqlite").read_bytes() == before


def test_a_damaged_database_hides_no_session(tmp_path: Path) -> None:
    rollout(tmp_path, said("user", "one"))
    (tmp_path / "state_5.sqlite").write_bytes(b"SQLite format 3\0 and then nothing")
    assert [info.title for info in files.list_sessions(tmp_path)] == ["one"]
