"""What Copilot CLI alone does with a session: its own import takes the same conversation and makes the same of it, and
it compacts from the size that the ledger names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import harness
import pytest
from conversations import ALL, PLAIN
from going_on import PROMPT, carry, make_place
from kinds import arguments, kind_of

from session_migrator import Session, agents, from_messages, read_session
from session_migrator.comparison import difference
from session_migrator.lowering import lower
from session_migrator.model import Message, Part, Text, ToolCall, ToolResult
from session_migrator.target import inspect

SPEC = agents.get("copilot")


def interchange(session: Session, cwd: str) -> Iterator[dict[str, Any]]:
    """A lowered session as the client's import takes it: what that has no place for is not in it."""
    stamp = "2026-03-02T09:00:00Z"
    yield {"type": "session", "version": 1, "externalId": "x", "createdAt": stamp, "workingDirectory": cwd}
    for number, message in enumerate(session.messages):
        common = {"id": f"m{number}", "timestamp": stamp}
        if message.role != "tool":
            texts = [{"type": "text", "text": part.text} for part in message.parts if isinstance(part, Text)]
            yield {
                "type": "message",
                **common,
                "role": message.role,
                "content": texts or [{"type": "text", "text": ""}],
            }
        for call in message.calls:
            yield {
                "type": "tool-call",
                "id": call.id,
                "timestamp": stamp,
                "name": call.name,
                "arguments": call.arguments,
            }
        for at, result in enumerate(message.results):
            words = "".join(part.text for part in result.parts if isinstance(part, Text))
            told = {"toolCallId": result.call_id, "success": not result.is_error}
            told |= {"error": {"message": words}} if result.is_error else {"content": words}
            yield {"type": "tool-result", "id": f"m{number}r{at}", "timestamp": stamp, **told}


@pytest.mark.parametrize("case", ["plain", "parallel calls", "errors"])
@pytest.mark.client("copilot")
def test_its_own_import_makes_of_a_conversation_what_we_write(case: str, tmp_path: Path) -> None:
    source = ALL[case].make(tmp_path)
    lowered, _ = lower(source if isinstance(source, Session) else read_session(source), SPEC.capabilities)
    home = tmp_path / "scratch"
    home.mkdir()
    project = harness.make_project(tmp_path / "project")
    document = tmp_path / "session.jsonl"
    records = interchange(lowered, str(project))
    document.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    command = ["sessions", "import", str(document), "--output", "json"]
    dry, done = (
        harness.run_alone("copilot", args, home=home, cwd=project) for args in ([*command, "--dry-run"], command)
    )
    assert (dry.returncode, json.loads(dry.stdout)["ok"]) == (0, True), dry.stdout + dry.stderr
    theirs = home / ".copilot" / "session-state" / json.loads(done.stdout)["sessionId"] / "events.jsonl"
    assert difference(renamed(lowered), renamed(read_session(theirs))) is None  # it gives calls ids of its own

    place = make_place("copilot", tmp_path / "client")
    ours = carry(source, place).path
    theirs_say, ours_say = shapes(theirs), shapes(ours)
    assert ours_say.keys() == theirs_say.keys()
    assert {kind: fields - theirs_say[kind] for kind, fields in ours_say.items() if fields - theirs_say[kind]} == {}


def renamed(session: Session) -> list[Message]:
    """The messages with numbers for the ids of calls."""
    calls = [call.id for message in session.messages for call in message.calls]

    def plain(part: Part) -> Part:
        if isinstance(part, ToolCall):
            return replace(part, id=str(calls.index(part.id)))
        return replace(part, call_id=str(calls.index(part.call_id))) if isinstance(part, ToolResult) else part

    return [replace(message, parts=tuple(map(plain, message.parts))) for message in session.messages]


def shapes(path: Path) -> dict[str, set[str]]:
    """The kinds of events in a log, with the names of what they hold."""
    found: dict[str, set[str]] = {}
    for event in map(json.loads, path.read_text(encoding="utf-8").split("\n")[:-1]):
        found.setdefault(event["type"], set()).update(event["data"])
    return found


@pytest.mark.client("copilot")
def test_it_sends_the_instruction_files_that_are_counted_each_once(tmp_path: Path) -> None:
    names = ["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".claude/CLAUDE.md", "CLAUDE.local.md"]
    names += [".github/copilot-instructions.md", ".github/AGENTS.md", ".github/instructions/a/b.instructions.md"]
    files = {f"{place}{name}": f"RULE of {place}{name}\n" for place in ("", "a/", "a/b/", "a/b/c/") for name in names}
    files |= {"a/AGENTS.md": files["AGENTS.md"], "a/b/CLAUDE.md": files["AGENTS.md"]}
    place = make_place("copilot", tmp_path / "client", files)
    own = {
        place.config / name: f"RULE of own {name}\n"
        for name in (*names, "copilot-instructions.md", "instructions/a.instructions.md")
    }
    for path, words in own.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(words, encoding="utf-8")
    where = {**place.where, "cwd": place.project / "a" / "b"}
    run = harness.run_client("copilot", [*kind_of("copilot").start[:1], PROMPT], **where)
    body = harness.main_requests("copilot", run.requests)[0]["body"]
    sent = [line for message in body["messages"] for line in message["content"].splitlines() if line.startswith("RULE")]
    counted = SPEC.instructions(place.config, where["cwd"])
    assert len(counted) > 10
    assert sorted(sent) == sorted(path.read_text(encoding="utf-8").strip() for path in counted)


@pytest.mark.parametrize(("reported", "compacts"), [(23_000, False), (25_000, True)])
@pytest.mark.client("copilot")
def test_it_compacts_from_the_size_that_the_ledger_names(
    reported: int, compacts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "30000", "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS": "2000"}
    for name, value in limits.items():
        monkeypatch.setenv(name, value)
    place = make_place("copilot", tmp_path / "client")
    carried = carry(from_messages(PLAIN), place)
    trigger = inspect("copilot", model=carried.model, home=place.config, folder=place.project).trigger
    assert trigger == 24_000
    command = [*arguments(kind_of("copilot").resume, model=carried.model), carried.session_id, PROMPT]
    call = {"name": "bash", "arguments": {"command": "echo one", "description": "says"}}
    script = [{"tools": [call], "usage": {"input": reported, "output": 10}}, {"text": "done"}]
    run = harness.run_client("copilot", command, script=script, env=limits, **place.where)
    assert run.returncode == 0, run.stderr
    told = carried.path.read_text(encoding="utf-8")
    assert ('"type":"session.compaction_start"' in told) is compacts
