"""pi: a tree of entries in four versions, what counts of it, and what is written."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from places import FIXTURES, LONG, MODELS

from session_migrator import agents, list_sessions, migrate, read_session
from session_migrator.agents.pi import client, entries, reader
from session_migrator.comparison import difference
from session_migrator.context_windows import Window
from session_migrator.errors import FormatError, NoConversation
from session_migrator.lowering import lower
from session_migrator.model import REPLACED, Image, Message, Session, Text, Thinking, ToolCall, ToolResult
from session_migrator.sequences import full_history
from session_migrator.target import inspect

SPEC = agents.get("pi")
HOMES = FIXTURES / "pi"
MODEL = MODELS["pi"]
HEADER = {"type": "session", "version": 3, "id": "s-1", "timestamp": "2026-03-02T09:00:00.000Z", "cwd": "/p"}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def recorded(version: str) -> Path:
    (info,) = reader.list_sessions(HOMES / version)
    return Path(str(info.path))


def entry(name: str, parent: str | None, kind: str = "message", /, **more: Any) -> dict[str, Any]:
    return {"type": kind, "id": name, "parentId": parent, "timestamp": "2026-03-02T09:00:01.000Z", **more}


def says(name: str, parent: str | None, words: str, role: str = "user", **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": words}]
    return entry(name, parent, message={"role": role, "content": content, **more})


def a_file(folder: Path, *rows: Any, header: dict[str, Any] | None = HEADER) -> Path:
    path = folder / "x.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in ([header] if header else []) + list(rows)]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def texts(messages: Any) -> list[str]:
    return [
        part.text if isinstance(part, Text) else getattr(part, "summary", part.type)
        for message in messages
        for part in message.parts
    ]


# --- reading


@pytest.mark.parametrize(("version", "count"), [("1.6.0", 14), ("0.74.2", 12)])
def test_a_recorded_session_has_every_call_with_one_result(version: str, count: int) -> None:
    reading = SPEC.read(recorded(version))
    session = reading.session
    calls = [call for message in session.messages for call in message.calls]
    results = [result for message in session.messages for result in message.results]
    assert [call.id for call in calls] == [result.call_id for result in results]
    assert [call.name for call in calls] == ["bash", "read", "write", "edit", "bash", "read"]
    assert [result.is_error for result in results] == [False, True, False, False, True, False]
    assert (session.cwd, session.model, len(session.messages)) == ("/home/user/project", "stub/stub-model", count)
    assert [part.text for message in session.messages for part in message.parts if isinstance(part, Thinking)] == [
        "I should edit the file."
    ]
    assert reading.losses == ()


def test_the_last_entry_is_the_leaf_and_other_branches_are_told(tmp_path: Path) -> None:
    rows = [
        says("a", None, "first"), says("b", "a", "one", "assistant"),
        says("c", "b", "given up"), says("d", "c", "too", "assistant"),
        entry("e", "b", "branch_summary", fromId="d", summary="what was tried"), says("f", "e", "second"),
        entry("g", "f", "label", targetId="a", label="here"),
    ]  # fmt: skip
    reading = SPEC.read(a_file(tmp_path, *rows))
    assert texts(reading.session.messages) == ["first", "one", "what was tried", "second"]
    (loss,) = reading.losses
    assert (loss.kind, loss.severity, loss.detail[:9]) == ("branch", "lossy", "2 entries")


def test_an_entry_with_the_id_of_another_one_is_told(tmp_path: Path) -> None:
    rows = [says("a", None, "one"), says("b", "a", "two", "assistant"), says("b", "a", "again", "assistant")]
    reading = SPEC.read(a_file(tmp_path, *rows, says("c", "b", "three")))
    assert texts(reading.session.messages) == ["one", "two", "three"]
    (loss,) = reading.losses
    assert (loss.severity, loss.detail[:9]) == ("lossy", "1 entries")


def test_a_compaction_stands_for_what_was_before_the_first_that_is_kept(tmp_path: Path) -> None:
    rows = [
        says("a", None, "first"), says("b", "a", "one", "assistant"),
        says("c", "b", "second"), says("d", "c", "two", "assistant"),
        entry("e", "d", "compaction", summary="in short", firstKeptEntryId="c", tokensBefore=5),
        says("f", "e", "third"),
    ]  # fmt: skip
    session = read_session(a_file(tmp_path, *rows))
    assert texts(session.messages) == ["in short", "second", "two", "third"]
    assert (session.messages[0].origin, (session.extra or {})[REPLACED]) == ("summary", 1)
    assert texts(session.earlier) == ["first", "one"]
    assert texts(full_history(session).messages) == ["first", "one", "second", "two", "third"]
    again = entry("g", "f", "compaction", summary="shorter", firstKeptEntryId="d", tokensBefore=5)
    session = read_session(a_file(tmp_path, *rows, again, says("h", "g", "fourth")))
    assert texts(session.messages) == ["shorter", "two", "third", "fourth"]
    assert texts(session.earlier) == ["first", "one", "second"]
    none = entry("i", "h", "compaction", summary="all", firstKeptEntryId="i", tokensBefore=5)
    session = read_session(a_file(tmp_path, *rows, again, says("h", "g", "fourth"), none))
    assert texts(session.messages) == ["all"]
    assert texts(session.earlier) == ["first", "one", "second", "two", "third", "fourth"]


def test_of_a_recorded_compaction_the_summary_and_what_was_kept_are_live() -> None:
    session = SPEC.read(recorded("1.6.0-compaction")).session
    summary, kept, *_, last = session.messages
    assert texts([summary])[0].endswith("Looked at notes.txt and the folder.\n\n<read-files>\nnotes.txt\n</read-files>")
    assert kept.text.startswith("It says hello.")
    assert last.text == "You are welcome."
    assert [message.role for message in session.earlier] == ["user", "assistant", "tool"]
    prompts = [message.text for message in full_history(session).messages if message.role == "user"]
    assert prompts == ["Read notes.txt, please.", "And what is in the folder?", "Thanks."]


def test_of_a_message_that_was_edited_counts_what_the_model_is_sent(tmp_path: Path) -> None:
    rows = [
        says("a", None, "first"), says("b", "a", "one", "assistant"), says("c", "b", "second"),
        says("d", "c", "two", "assistant"),
        entry("e", "d", "context_edit", targetId="a", replacement={"content": "first, but shorter"}),
        entry("f", "e", "context_edit", targetId="b", replacement=None),
        entry("g", "f", "context_edit", targetId="d", replacement={"content": [{"type": "text", "text": "2"}]}),
    ]  # fmt: skip
    reading = SPEC.read(a_file(tmp_path, *rows))
    assert texts(reading.session.messages) == ["first, but shorter", "second", "2"]
    assert [loss.severity for loss in reading.losses] == ["info", "info"]


def test_the_first_version_has_no_ids_and_keeps_by_place(tmp_path: Path) -> None:
    header = {"type": "session", "id": "s-1", "timestamp": "2025-11-20T23:33:50.805Z", "cwd": "/p", "modelId": "m",
              "provider": "v", "branchedFrom": "/x/2025-11-20T01-02-03-004Z_the-parent.jsonl"}  # fmt: skip
    rows = [says("", None, words) for words in ("first", "second", "third")]
    rows.append(entry("", None, "compaction", summary="in short", firstKeptEntryIndex=2, tokensBefore=5))
    for row in rows:
        del row["id"], row["parentId"]
    session = read_session(a_file(tmp_path, *rows, header=header))
    assert texts(session.messages) == ["in short", "second", "third"]
    assert texts(session.earlier) == ["first"]
    assert (session.id, session.model, session.parent_id) == ("s-1", "v/m", "the-parent")


def test_what_is_said_by_others_than_the_two(tmp_path: Path) -> None:
    shell = {"role": "bashExecution", "command": "ls", "output": "a.txt", "exitCode": 1}
    rows = [
        entry("a", None, message={"role": "system", "content": "", "sections": {"preamble": "You are"}}),
        says("b", "a", "go"),
        entry("c", "b", message=shell),
        entry("d", "c", message={**shell, "excludeFromContext": True}),
        entry("e", "d", "custom_message", customType="x", content="from an extension", display=True),
        says("f", "e", "from an older one", "hookMessage"),
        says("g", "f", "broken off", "assistant", stopReason="aborted"),
        says("h", "g", "what is this", "newRole"),
        entry("i", "h", "new_type", words="?"),
    ]
    reading = SPEC.read(a_file(tmp_path, *rows))
    assert [(message.origin, *texts([message])) for message in reading.session.messages] == [
        ("human", "go"),
        ("tool", "Ran `ls`\n```\na.txt\n```\n\nCommand exited with code 1"),
        ("tool", "from an extension"),
        ("tool", "from an older one"),
    ]
    assert sorted((loss.kind, loss.severity) for loss in reading.losses) == [
        ("branch", "lossy"), ("unknown_record", "info"), ("unknown_record", "lossy"), ("unknown_record", "lossy"),
    ]  # fmt: skip


def test_a_signature_of_anthropics_goes_along_and_another_apis_is_kept_aside(tmp_path: Path) -> None:
    def thinks(name: str, parent: str, api: str) -> dict[str, Any]:
        content = [{"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}]
        return entry(name, parent, message={"role": "assistant", "content": content, "api": api, "provider": "p"})

    rows = [says("a", None, "go"), thinks("b", "a", "anthropic-messages"), thinks("c", "b", "openai-responses")]
    _, one, other = read_session(a_file(tmp_path, *rows)).messages
    assert one.parts == (Thinking(text="hm", signature="sig", provider="anthropic"),)
    assert other.parts == (Thinking(text="hm", provider="p", meta={"pi": {"thinkingSignature": "sig"}}),)


def test_a_newer_version_is_read_as_far_as_it_is_understood_and_one_bad_line_hides_nothing(tmp_path: Path) -> None:
    odd = entry("b", "a", message={"role": "user", "content": [{"type": "hologram"}]})
    rows = [says("a", None, "first"), '{"type":"message","id', odd, says("c", "nowhere", "second")]
    reading = SPEC.read(a_file(tmp_path, *rows, header={**HEADER, "version": 9}))
    assert texts(reading.session.messages) == ["first", "unknown", "second"]
    assert [(loss.kind, loss.severity) for loss in reading.losses] == [
        ("bad_line", "lossy"), ("branch", "info"), ("unknown_record", "info"),
    ]  # fmt: skip
    assert "version 9" in reading.losses[2].detail


def test_another_file_and_one_without_a_conversation_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        SPEC.read(LONG)
    with pytest.raises(NoConversation):
        SPEC.read(a_file(tmp_path, entry("a", None, "session_info", name="x")))


def test_a_session_is_listed_by_its_last_name_or_by_the_first_words(tmp_path: Path) -> None:
    place = tmp_path / "sessions" / "--p--"
    place.mkdir(parents=True)
    named = [entry(name, None, "session_info", name=name) for name in ("one", "two")]
    path = a_file(place, named[0], says("a", None, "Look at this."), named[1])
    (row,) = list_sessions("pi", home=tmp_path)
    assert (row.id, row.title, row.cwd) == ("s-1", "two", "/p")
    a_file(place, says("a", None, "Look at this."))
    (row,) = list_sessions("pi", home=tmp_path)
    assert (row.title, row.path) == ("Look at this.", str(path))
    a_file(place, entry("a", None, "session_info", name="x"))
    assert not list(list_sessions("pi", home=tmp_path))


def test_a_folder_named_for_all_sessions_is_read_and_written(tmp_path: Path, project: Path) -> None:
    home, named = tmp_path / "home-of-pi", tmp_path / "all"
    home.mkdir()
    (home / "settings.json").write_text(json.dumps({"sessionDir": str(named)}))
    done = migrate(LONG, "pi", MODEL, into=project, home=home)
    assert Path(done.target["paths"][0]).parent == named
    assert [row.id for row in list_sessions("pi", project, home)] == [done.target["session_id"]]


MANY = 20_000
SHAPES = {
    "parents in a row": lambda at: says(str(at), str(at - 1) if at else None, "go"),
    "parents in a circle": lambda at: says(str(at), str((at + 1) % MANY), "go"),
    "parents that are nowhere": lambda at: says(str(at), "nowhere", "go"),
    "compactions": lambda at: entry(str(at), str(at - 1) if at else None, "compaction", summary="s",
                                    firstKeptEntryId=str(at // 2)),
    "edits": lambda at: entry(str(at), str(at - 1), "context_edit", targetId="0", replacement=None)
    if at else says("0", None, "go"),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_the_time_to_read_grows_with_the_size_of_the_file_and_no_faster(shape: str, tmp_path: Path) -> None:
    path = a_file(tmp_path, *map(SHAPES[shape], range(MANY)), says("last", str(MANY - 1), "done"))
    before = time.process_time()
    assert texts(SPEC.read(path).session.messages)[-1] == "done"
    assert time.process_time() - before < 20  # a tenth of it where it is linear


# --- writing


CALL = ToolCall(id="c", name="bash", arguments={})
TOLD = (
    Message(role="user", parts=(Text(text="first"),), timestamp="2026-03-02T09:00:00.000Z"),
    Message(role="assistant", parts=(Text(text="one"), Text(text="and"), CALL)),
    Message(role="tool", parts=(ToolResult(call_id="c", parts=(Text(text="x" * 40),), is_error=True),)),
    Message(role="assistant", parts=(Text(text="two"),), timestamp="2026-03-02T09:03:00.000Z"),
    Message(role="user", parts=(Text(text="y" * 400),)),
)
FIT = entries.Fit("stub", "gpt-5.5", 1_000)


def written(session: Session) -> list[dict[str, Any]]:
    return list(entries.entries(session, "s-1", "/p", FIT))


def test_entries_are_one_line_and_the_last_answer_tells_the_size() -> None:
    lowered, _ = lower(Session(id="s", agent="x", messages=TOLD, title="A  title\n"), SPEC.capabilities)
    header, *rows = written(lowered)
    assert {key: header[key] for key in ("type", "version", "id", "cwd")} == {
        "type": "session", "version": 3, "id": "s-1", "cwd": "/p",
    }  # fmt: skip
    assert [row["parentId"] for row in rows] == [None, *(row["id"] for row in rows[:-1])]
    assert [(row["type"], row.get("name") or row.get("modelId")) for row in rows[:2]] == [
        ("session_info", "A title"), ("model_change", "gpt-5.5"),
    ]  # fmt: skip
    messages = [row["message"] for row in rows[2:]]
    assert [message["role"] for message in messages] == [
        "user", "assistant", "assistant", "toolResult", "assistant", "user",
    ]  # fmt: skip
    answers = [message for message in messages if message["role"] == "assistant"]
    assert [message["stopReason"] for message in answers] == ["stop", "toolUse", "stop"]
    assert [message["usage"]["totalTokens"] for message in answers] == [0, 0, 1_000]
    assert (messages[3]["toolName"], messages[3]["isError"]) == ("bash", True)


@pytest.mark.parametrize("first", ["text", "two texts", "image", "text and image"])
def test_any_first_message_can_stand_in_for_the_rest(first: str, tmp_path: Path) -> None:
    picture = Image(media_type="image/png", data=PIXEL)
    parts = {
        "text": (Text(text="a"),), "two texts": (Text(text="a"), Text(text="b")),
        "image": (picture, Text(text="b")), "text and image": (Text(text="a"), picture, Text(text="b")),
    }[first]  # fmt: skip
    whole, _ = lower(Session(id="s", agent="x", messages=TOLD), SPEC.capabilities)
    messages = (Message(role="user", parts=parts, origin="summary"), *TOLD[3:])
    shorter, _ = lower(Session(id="s", agent="x", messages=messages), SPEC.capabilities)
    rows = written(replace(shorter, earlier=whole.messages))
    (compaction,) = [row for row in rows if row["type"] == "compaction"]
    assert compaction["firstKeptEntryId"] == compaction["id"]
    assert compaction["tokensBefore"] == 2 + 10 + 100 + 2 + 1
    session = read_session(a_file(tmp_path, *rows, header=None))
    assert difference(messages, session.messages) is None
    assert difference(whole.messages, session.earlier) is None
    assert difference(whole.messages, full_history(session).messages) is None
    more = says("more", rows[-1]["id"], "and now?")
    once_more = entry("again", "more", "compaction", summary="all", firstKeptEntryId=rows[-1]["id"], tokensBefore=1)
    session = read_session(a_file(tmp_path, *rows, more, once_more, header=None))
    assert texts(session.messages) == ["all", "y" * 400, "and now?"]
    assert texts(full_history(session).messages) == [*texts(whole.messages), "and now?"]


def test_an_image_that_is_an_address_alone_is_named(tmp_path: Path, project: Path) -> None:
    picture = Image(location="https://example.com/a.png")
    session = Session(id="s", agent="x", messages=(Message(role="user", parts=(Text(text="see"), picture)),))
    done = migrate(session, "pi", MODEL, into=project, home=tmp_path / "pi")
    (found,) = read_session(Path(done.target["paths"][0])).messages
    assert "https://example.com/a.png" in found.text
    assert [loss.kind for loss in done.losses] == ["image"]


# --- what its settings say


def settings(home: Path, name: str, **content: Any) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / name).write_text(json.dumps(content))


def test_the_model_of_the_settings_or_its_default(tmp_path: Path, project: Path) -> None:
    assert client.model(tmp_path, project, None) == ("anthropic/claude-opus-5-5", "default of pi 1.6.0")
    assert client.model(tmp_path, project, "gpt-5.5") == ("openai/gpt-5.5", "named")
    settings(tmp_path, "settings.json", defaultProvider="openai", defaultModel="gpt-5.5")
    assert client.model(tmp_path, project, None) == ("openai/gpt-5.5", str(tmp_path / "settings.json"))
    settings(project / ".pi", "settings.json", defaultModel="gpt-5.4")
    assert client.model(tmp_path, project, None)[0] == "openai/gpt-5.5"
    settings(tmp_path, "trust.json", **{str(project): True})
    assert client.model(tmp_path, project, None) == ("openai/gpt-5.4", str(project / ".pi" / "settings.json"))
    settings(tmp_path, "trust.json", **{str(project): False, str(project.parent): True})
    assert client.model(tmp_path, project, None)[0] == "openai/gpt-5.5"
    settings(tmp_path, "models.json", providers={"mine": {"models": [{"id": "gpt-5.5"}]}})
    assert client.model(tmp_path, project, "gpt-5.5") == ("mine/gpt-5.5", "named")


def test_the_windows_of_models_json_and_of_what_was_fetched_count(tmp_path: Path, project: Path) -> None:
    mine = {"id": "m", "contextWindow": 50_000, "maxTokens": 4_000}
    overrides = {"claude-opus-5-5": {"contextWindow": 300_000}}
    providers = {"mine": {"models": [mine, {"id": "plain"}]}, "anthropic": {"modelOverrides": overrides}}
    settings(tmp_path, "models.json", providers=providers)
    settings(tmp_path, "models-store.json", openrouter={"models": [{"id": "x/y", "contextWindow": 70_000}]})

    def window(name: str) -> tuple[int | None, int | None] | None:
        found = client.window(name, None, tmp_path, project)
        return found and (found.context, found.max_output)

    assert window("mine/m") == (50_000, 4_000)
    assert window("mine/plain") == (128_000, 16_384)
    assert window("anthropic/claude-opus-5-5") == (300_000, None)
    assert window("openrouter/x/y") == (70_000, None)
    assert window("openai/gpt-5.5") == (272_000, None)
    assert window("anthropic/claude-sonnet-5-5") is None
    target = inspect("pi", model="mine/m", home=tmp_path, folder=project)
    assert (target.window.context, target.trigger) == (50_000, 50_000 - 16_384)


def test_it_compacts_where_the_settings_say(tmp_path: Path, project: Path) -> None:
    seen = Window(context=200_000, source="client")
    assert client.trigger(seen, tmp_path, project) == 200_000 - 16_384
    settings(tmp_path, "settings.json", compaction={"reserveTokens": 1_000})
    assert client.trigger(seen, tmp_path, project) == 199_000
    settings(tmp_path, "settings.json", compaction={"reserveTokens": 1_000}, defaultProjectTrust="always")
    overrides = {"a/b": {"reserveTokens": 30_000}}
    settings(project / ".pi", "settings.json", compaction={"modelOverrides": overrides})
    assert client.trigger(seen, tmp_path, project) == 170_000
    settings(project / ".pi", "settings.json", compaction={"enabled": False})
    assert client.trigger(seen, tmp_path, project) is None


def test_one_instruction_file_a_folder_and_the_servers_that_are_on(tmp_path: Path) -> None:
    home, project = tmp_path / "agent", tmp_path / "a" / "b"
    for folder, names in {home: ["CLAUDE.md"], tmp_path / "a": ["AGENTS.md", "CLAUDE.md"],
                          project: ["AGENTS.override.md", "AGENTS.md"]}.items():  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            (folder / name).write_text("x")
    assert client.instructions(home, project) == (
        home / "CLAUDE.md", tmp_path / "a" / "AGENTS.md", project / "AGENTS.override.md",
    )  # fmt: skip
    settings(home, "mcp.json", mcpServers={"one": {"command": "x"}, "two": {"command": "y"}})
    settings(project / ".pi", "mcp.json", mcpServers={"two": {"enabled": False}, "three": {"url": "z"}})
    assert client.mcp_servers(home, project) == ("one", "two")
    settings(home, "trust.json", **{str(tmp_path): True})
    assert client.mcp_servers(home, project) == ("one", "three")
