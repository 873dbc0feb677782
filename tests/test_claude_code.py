"""Claude Code's files: read as real clients wrote them, written in the form they resume."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from places import FIXTURES

from session_migrator import agents, migrate, read_session
from session_migrator.agents.claude_code import client, reader, writer
from session_migrator.comparison import comparable
from session_migrator.context_windows import Window
from session_migrator.errors import FormatError, NoConversation, WriteError
from session_migrator.exporter import from_messages
from session_migrator.model import Compaction, Image, Message, Session, Text, Thinking, ToolCall, ToolResult
from session_migrator.sequences import full_history

CLAUDE = FIXTURES / "claude-code"


def files(version: str) -> list[Path]:
    return sorted((CLAUDE / version / "projects" / "-home-user-project").glob("*.jsonl"))


def record(kind: str, uuid: str, parent: str | None, content: object, **more: object) -> dict[str, object]:
    message: dict[str, object] = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": more.pop("message_id", f"msg_{uuid}"), "model": more.pop("model", "claude-opus-5-5")}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": False, "message": message, **more}


def session_file(folder: Path, *records: dict[str, object]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "11111111-1111-4111-8111-111111111111.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in records), encoding="utf-8")
    return path


def texts(path: Path) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in reader.read(path).session.messages if m.text]


def test_blocks_of_one_answer_are_one_message_and_parallel_results_are_all_there() -> None:
    session = reader.read(files("2.1.332-tools-image-error-edit-resume-fork")[0]).session
    answer = next(m for m in session.messages if len(m.calls) == 2)
    assert [type(part) for part in answer.parts] == [Thinking, Text, ToolCall, ToolCall]
    results = session.messages[session.messages.index(answer) + 1]
    assert {r.call_id for r in results.results} == {c.id for c in answer.calls}
    failed = [r for m in session.messages for r in m.results if r.is_error]
    assert len(failed) == 2
    assert any(isinstance(part, Image) for m in session.messages for r in m.results for part in r.parts)


def test_a_fork_reads_on_its_own_branch_and_the_other_is_reported() -> None:
    path = files("2.1.332-tools-image-error-edit-resume-fork")[0]
    reading = reader.read(path)
    prompts = [m.text for m in reading.session.messages if m.role == "user" and m.origin == "human"]
    assert prompts[0] == "Please edit notes.txt"
    assert len(set(prompts)) == len(prompts)


@pytest.mark.parametrize("version", ["1.0.128", "2.1.30", "2.1.332-compaction"])
def test_after_a_compaction_the_summary_is_live_and_the_rest_earlier(version: str) -> None:
    path = next(path for path in files(version) if b"compact_boundary" in path.read_bytes())
    session = reader.read(path).session
    assert session.messages[0].origin == "summary"
    assert session.messages[0].parts[0].type == "compaction"
    assert session.earlier
    assert session.earlier[0].origin in ("human", "injected")


@pytest.mark.parametrize("named", ["u2", "was-never-written", None])
def test_before_a_compaction_is_what_it_names_or_the_last_message_before_it(tmp_path: Path, named: str | None) -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None}
    path = session_file(
        tmp_path, record("user", "u1", None, "Go."), record("assistant", "u2", "u1", "Done."),
        {"type": "progress", "uuid": "p", "parentUuid": "u2"}, {**boundary, "logicalParentUuid": named},
        record("user", "u3", "b", "A summary.", isCompactSummary=True), record("user", "u4", "u3", "Next."),
    )  # fmt: skip
    session = reader.read(path).session
    assert [message.text for message in session.earlier] == ["Go.", "Done."]
    assert [message.text for message in session.messages[1:]] == ["Next."]


@pytest.mark.parametrize(("anchor", "live"), [
    ("s", ["A summary.", "And?", "So.", "Next."]), ("b", ["And?", "So.", "A summary.", "Next."]),
])  # fmt: skip
def test_what_a_compaction_keeps_is_live_and_counts_once(anchor: str, live: list[str], tmp_path: Path) -> None:
    kept = {"preservedMessages": {"anchorUuid": anchor, "uuids": ["u3", "u4", "gone"]}}
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None, "isSidechain": False}
    path = session_file(
        tmp_path, record("user", "u1", None, "Go."), record("assistant", "u2", "u1", "Done."),
        record("user", "u3", "u2", "And?"), record("assistant", "u4", "u3", "So."),
        {**boundary, "logicalParentUuid": "u4", "compactMetadata": kept},
        record("user", "s", "b", "A summary.", isCompactSummary=True), record("user", "u5", "s", "Next."),
    )  # fmt: skip
    session = reader.read(path).session
    told = [part.summary if isinstance(part, Compaction) else m.text for m in session.messages for part in m.parts]
    assert told == live
    assert [message.text for message in session.earlier] == ["Go.", "Done.", "And?", "So."]
    assert [message.text for message in full_history(session).messages] == ["Go.", "Done.", "And?", "So.", "Next."]


def test_the_latest_messages_that_the_client_keeps_when_it_compacts_by_itself_are_live() -> None:
    """This is what 2.1.332 sent its model when it went on with the session."""
    (path,) = files("2.1.332-compaction-that-keeps")
    summary, *kept = reader.read(path).session.messages
    assert summary.origin == "summary"
    assert [(m.role, m.text) for m in kept] == [
        ("assistant", "Tokyo."),
        ("user", "And of Peru?"),
        ("assistant", "Lima."),
    ]
    told = [message.text for message in full_history(reader.read(path).session).messages]
    assert told[1::2] == ["Oslo.", "Tokyo.", "Lima."]
    assert told[4] == "And of Peru?"


def test_sub_agents_and_the_request_log_are_not_part_of_the_conversation() -> None:
    session = reader.read(files("2.1.332-subagent")[0]).session
    assert [m.role for m in session.messages if m.origin != "injected"] == ["user", "assistant", "tool", "assistant"]


def test_titles_come_from_the_user_then_the_client_then_the_first_prompt() -> None:
    titles = {info.id[:4]: info.title for info in reader.list_sessions(CLAUDE / "2.1.332-handwritten-then-tui")}
    assert titles["ed07"] == "My Title"
    assert titles["350b"] == "My Title"
    assert titles["13f9"] == "M1 plain full"


def test_a_session_was_last_written_when_its_user_spoke_though_no_model_has_answered_yet(tmp_path: Path) -> None:
    path = session_file(
        tmp_path / "projects" / "-p",
        record("user", "u1", None, "Hello", timestamp="2026-03-02T09:00:00.000Z"),
        record("assistant", "a1", "u1", [{"type": "text", "text": "Hi."}], timestamp="2026-03-02T09:00:01.000Z"),
        record("user", "u2", "a1", "Go on.", timestamp="2026-03-02T09:30:00.000Z"),
    )
    (info,) = reader.list_sessions(tmp_path)
    assert (info.path, info.model, info.updated_at) == (str(path), "claude-opus-5-5", "2026-03-02T09:30:00.000Z")


def test_a_rewind_leaves_the_given_up_branch_out_and_says_so(tmp_path: Path) -> None:
    path = session_file(
        tmp_path,
        record("user", "a", None, "one"),
        record("assistant", "b", "a", [{"type": "text", "text": "1"}]),
        record("user", "c", "b", "wrong way"),
        record("assistant", "d", "c", [{"type": "text", "text": "wrong"}]),
        record("user", "e", "b", "right way"),
        record("assistant", "f", "e", [{"type": "text", "text": "right"}]),
    )
    assert texts(path) == [("user", "one"), ("assistant", "1"), ("user", "right way"), ("assistant", "right")]
    assert [(loss.kind, loss.severity) for loss in reader.read(path).losses] == [("branch", "lossy")]


def test_a_reply_that_hangs_off_the_way_is_kept(tmp_path: Path) -> None:
    path = session_file(
        tmp_path,
        record("user", "a", None, "one"),
        record("assistant", "b", "a", [{"type": "text", "text": "1"}]),
        {"type": "system", "uuid": "s", "parentUuid": "a", "isSidechain": False},
        record("user", "c", "s", "two"),
    )
    assert texts(path) == [("user", "one"), ("assistant", "1"), ("user", "two")]


def test_a_parent_that_is_nowhere_is_bridged(tmp_path: Path) -> None:
    path = session_file(
        tmp_path,
        record("user", "a", None, "one"),
        record("assistant", "b", "a", [{"type": "text", "text": "1"}]),
        record("user", "c", "gone", "two"),
    )
    assert [text for _, text in texts(path)] == ["one", "1", "two"]
    assert [loss.kind for loss in reader.read(path).losses] == ["branch"]


def test_records_written_twice_count_once(tmp_path: Path) -> None:
    once = record("user", "a", None, "one")
    path = session_file(tmp_path, once, once, record("assistant", "b", "a", [{"type": "text", "text": "1"}]), once)
    assert [text for _, text in texts(path)] == ["one", "1"]


def test_the_clients_words_are_told_from_the_humans(tmp_path: Path) -> None:
    path = session_file(
        tmp_path,
        record("user", "a", None, "<command-name>/clear</command-name>"),
        record("user", "b", "a", "<system-reminder>x</system-reminder>", isMeta=True),
        record("user", "c", "b", "Go on."),
        record("assistant", "d", "c", [{"type": "text", "text": "API Error"}], model="<synthetic>"),
        record("user", "e", "d", [{"type": "text", "text": "<system-reminder>y</system-reminder>"},
                                  {"type": "text", "text": "Thanks."}]),
    )  # fmt: skip
    told = reader.read(path).session.messages
    assert [(m.origin, m.text) for m in told if m.origin == "human"] == [("human", "Go on."), ("human", "Thanks.")]
    assert all(m.role == "user" for m in told)


@pytest.mark.parametrize("content", [b"", b"{}\n", b'{"type":"summary","summary":"x","leafUuid":"y"}\n', b"\x00\xff\n"])
def test_files_without_a_conversation_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises((FormatError, NoConversation)):
        reader.read(path)


# --- the client's own rules


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/home/u/my.app_v1 2", "-home-u-my-app-v1-2"),
        ("/home/u/niño", "-home-u-ni-o"),
        ("/home/u/日本語", "-home-u----"),
        ("/home/u/😀", "-home-u---"),
    ],
)
def test_the_folder_of_a_project_is_its_path_with_dashes(folder: str, name: str) -> None:
    assert client.project_folder(Path("/h"), Path(folder)) == Path("/h/projects") / name


def test_a_long_path_is_cut_and_hashed() -> None:
    name = client.project_folder(Path("/h"), Path("/" + "a" * 300)).name
    assert name.startswith("-" + "a" * 199 + "-")
    assert name == client.project_folder(Path("/h"), Path("/" + "a" * 300)).name
    assert name != client.project_folder(Path("/h"), Path("/" + "a" * 301)).name


def test_a_link_to_a_folder_is_the_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    home = tmp_path / "home"
    assert client.project_folder(home, tmp_path / "link") == client.project_folder(home, tmp_path / "real")


@pytest.mark.parametrize(
    ("model", "context"),
    [
        ("claude-opus-5-5", 1_000_000),
        ("claude-haiku-4-5", 200_000),
        ("claude-haiku-4-5[1m]", 200_000),
        ("claude-sonnet-4-5-20250929", 200_000),
        ("claude-sonnet-4-6", 200_000),
        ("claude-sonnet-4-6[1m]", 1_000_000),
        ("claude-opus-4-6", 200_000),
        ("claude-opus-4-7", 1_000_000),
    ],
)
def test_the_client_gives_each_model_its_own_window(model: str, context: int) -> None:
    known = Window(context=1_000_000, max_output=64_000, source="table")
    seen = client.window(model, known, Path("/h"), Path("/p"))
    assert seen is not None
    assert (seen.context, seen.source) == (context, "client")


def test_the_client_compacts_before_its_window_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = Window(context=200_000, max_output=64_000, source="client")
    large = Window(context=1_000_000, max_output=128_000, source="client")
    assert client.trigger(small, tmp_path, tmp_path) == 167_000
    assert client.trigger(large, tmp_path, tmp_path) == 967_000
    monkeypatch.setenv("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "50000")
    assert client.trigger(large, tmp_path, tmp_path) == 67_000
    monkeypatch.setenv("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "50")
    assert client.trigger(large, tmp_path, tmp_path) == 40_000
    monkeypatch.setenv("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "²")
    assert client.trigger(large, tmp_path, tmp_path) == 67_000
    (tmp_path / "settings.json").write_text('{"autoCompactEnabled": false}', encoding="utf-8")
    assert client.trigger(large, tmp_path, tmp_path) is None


def test_the_model_is_the_one_the_client_would_start_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, project = tmp_path / "h", tmp_path / "p"
    (project / ".claude").mkdir(parents=True)
    home.mkdir()
    assert client.model(home, project, None)[0] == "claude-opus-5-5"
    (home / "settings.json").write_text('{"model": "haiku"}', encoding="utf-8")
    assert client.model(home, project, None) == ("claude-haiku-5-5", str(home / "settings.json"))
    (project / ".claude" / "settings.json").write_text('{"model": "sonnet[1m]"}', encoding="utf-8")
    assert client.model(home, project, None)[0] == "claude-sonnet-5-5[1m]"
    monkeypatch.setenv("ANTHROPIC_MODEL", "claude-opus-4-5")
    assert client.model(home, project, None) == ("claude-opus-4-5", "ANTHROPIC_MODEL")


# --- written


def sample() -> Session:
    """A lowered conversation with everything the writer can be given."""
    return Session(
        id="s", agent="codex", title="A name", git={"branch": "main"}, model="gpt-5.5",
        messages=(
            Message(role="user", parts=(Text(text="Grüße, 東京"),), timestamp="2026-03-02T09:00:00.000Z"),
            Message(
                role="assistant", timestamp="2026-03-02T09:00:01.000Z", model="gpt-5.5",
                parts=(
                    Text(text="I look."),
                    ToolCall(id="c1", name="Read", arguments={"file_path": "/a"}),
                    ToolCall(id="c2", name="Bash", arguments={"command": "false"}),
                ),
            ),
            Message(
                role="tool", timestamp="2026-03-02T09:00:02.000Z",
                parts=(
                    ToolResult(call_id="c1", parts=(Text(text="x"), Image(media_type="image/png", data="AAAA"))),
                    ToolResult(call_id="c2", parts=(Text(text="Exit code 1"),), is_error=True),
                ),
            ),
            Message(role="assistant", parts=(Text(text="Done\u2028now."),), timestamp="2026-03-02T09:00:03.000Z"),
        ),
    )  # fmt: skip


def test_what_is_written_reads_back_the_same(tmp_path: Path, project: Path) -> None:
    written = writer.write(sample(), tmp_path / "claude", project)
    session = reader.read(Path(written.paths[0])).session
    assert list(comparable(session.messages)) == list(comparable(sample().messages))
    assert (session.id, session.title, session.cwd) == (written.session_id, "A name", str(project))
    assert session.git == {"branch": "main"}
    assert [m.timestamp for m in session.messages] == [m.timestamp for m in sample().messages]
    assert [m.model for m in session.messages if m.role == "assistant"] == ["gpt-5.5", "gpt-5.5"]


def test_the_records_are_one_chain_of_the_golden_form() -> None:
    rows = list(writer.records(sample(), "11111111-1111-4111-8111-111111111111", "/p"))
    golden = FIXTURES / "golden" / "claude-code-written.jsonl"
    assert [json.dumps(row, ensure_ascii=False, sort_keys=True) for row in rows] == golden.read_text(
        encoding="utf-8"
    ).split("\n")[:-1]


def test_each_line_stays_a_line_for_readers_that_split_at_u2028(tmp_path: Path, project: Path) -> None:
    written = writer.write(sample(), tmp_path, project)
    data = Path(written.paths[0]).read_text(encoding="utf-8")
    assert [json.loads(line) for line in data.splitlines()] == [json.loads(line) for line in data.split("\n")[:-1]]
    assert "\u2028" not in data


def test_files_are_private(tmp_path: Path, project: Path) -> None:
    written = writer.write(sample(), tmp_path / "claude", project)
    assert stat.S_IMODE(Path(written.paths[0]).stat().st_mode) == 0o600


def test_the_resume_command_is_for_its_folder_its_home_and_the_model_that_was_named(project: Path) -> None:
    spec = agents.get("claude-code")
    default = spec.locate(None)
    assert spec.resume_command("ID", default, project, None) == f"cd '{project}' && claude --resume ID"
    other = spec.resume_command("ID", Path("/a b"), project, "claude-haiku-4-5")
    assert other == f"cd '{project}' && CLAUDE_CONFIG_DIR='/a b' claude --resume ID --model claude-haiku-4-5"


@pytest.mark.parametrize(
    ("recorded", "named"),
    [("claude-haiku-4-5", True), ("claude-opus-5-5-20260901", False), ("gpt-5.5", False), (None, False)],
)
def test_the_resume_command_names_the_model_where_the_client_would_take_the_recorded_one(
    tmp_path: Path, project: Path, recorded: str | None, named: bool
) -> None:
    (tmp_path / "claude").mkdir()
    (tmp_path / "claude" / "settings.json").write_text('{"model": "opus"}', encoding="utf-8")
    done = migrate(replace(sample(), model=recorded), "claude-code", into=project, home=tmp_path / "claude")
    assert done.target["resume"].endswith(" --model claude-opus-5-5") == named


def test_a_named_alias_is_the_model_it_stands_for(tmp_path: Path) -> None:
    assert client.model(tmp_path, tmp_path, "sonnet[1m]") == ("claude-sonnet-5-5[1m]", "named")


def test_without_a_name_the_first_prompt_is_the_title() -> None:
    untitled = replace(sample(), title=None)
    (title, *_) = writer.records(untitled, "s", "/p")
    assert title == {"type": "ai-title", "aiTitle": "Grüße, 東京", "sessionId": "s"}
    long = from_messages([{"role": "user", "content": "word " * 100}])
    assert len(next(iter(writer.records(long, "s", "/p")))["aiTitle"]) <= 80


def test_a_folder_that_cannot_be_written_leaves_nothing(tmp_path: Path, project: Path) -> None:
    blocked = tmp_path / "claude"
    blocked.write_text("a file, not a folder", encoding="utf-8")
    with pytest.raises(WriteError):
        writer.write(sample(), blocked, project)
    assert blocked.read_text(encoding="utf-8") == "a file, not a folder"


def test_the_stream_of_print_mode_is_read_as_one_conversation() -> None:
    session = read_session(CLAUDE / "stream-json-2.1.332.jsonl")
    assert (session.agent, session.cwd, session.model) == ("claude-code", "/home/user/project", "claude-opus-5-5")
    assert [[p.type for p in m.parts] for m in session.messages] == [["text", "tool_call"], ["tool_result"], ["text"]]
    assert session.messages[1].results[0].is_error
    assert session.id != "stream-json-2.1.332"


def test_a_result_that_was_moved_to_a_file_is_what_the_model_saw_of_it(tmp_path: Path) -> None:
    preview = "<persisted-output>\nOutput too large (223.5KB). Full output saved to: /h/tool-results/x.txt\n\nPreview"
    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    path = session_file(
        tmp_path,
        record("user", "a", None, "go"),
        record("assistant", "b", "a", [use]),
        record("user", "c", "b", [{"type": "tool_result", "tool_use_id": "t", "content": preview}]),
    )
    reading = reader.read(path)
    assert reading.session.messages[-1].results[0].parts == (Text(text=preview),)
    assert [(loss.kind, loss.severity) for loss in reading.losses] == [("file", "info")]
