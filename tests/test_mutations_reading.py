"""Damaged files are read as far as they go, and never hide anything else."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import (
    CLAUDE_FILES,
    CODEX_FILES,
    FIXED,
    LISTED,
    SOURCES,
    Lines,
    all_text,
    assert_carried,
    attempt,
    claude_line,
    codex_lines,
    codex_says,
    damaged,
    dumped,
    nested,
    records,
    scratch,
)
from places import LONG

from session_migrator import agents, list_sessions, read_session

# --- reading


@settings(FIXED, max_examples=250)
@given(file=damaged())
def test_a_damaged_file_is_read_the_same_each_time_or_refused_and_what_is_read_can_be_carried(
    file: tuple[str, bytes],
) -> None:
    name, data = file
    with scratch() as folder:
        path = folder / "sessions" / name
        path.parent.mkdir()
        path.write_bytes(data)
        found = [attempt(read, path) for read in (read_session, *(spec.read for spec in agents.all_agents()))]
        again = [attempt(read, path) for read in (read_session, *(spec.read for spec in agents.all_agents()))]
        assert again == found
        assert path.read_bytes() == data
        for session in filter(None, found):
            json.dumps(session.to_dict(), allow_nan=False, ensure_ascii=False).encode("utf-8")
        for session in {id(session.messages): session for session in found if session}.values():
            assert_carried(session, folder)


KEYS = {
    "type", "payload", "content", "role", "message", "id", "call_id", "output", "arguments", "input", "text", "uuid",
    "parentUuid", "timestamp", "model", "item", "status", "replacement_history", "history_base", "thread_id", "cwd",
    "git", "source", "tool_use_id", "summary", "isCompactSummary", "isMeta", "subtype", "session_id", "num_turns",
    "logicalParentUuid", "end_byte_offset", "image_url", "data", "internal_chat_message_metadata_passthrough", "url",
    "content_item_kinds", "is_error", "thinking", "signature", "name", "metadata", "exit_code", "customTitle",
    "sessionId", "projectHash", "startTime", "lastUpdated", "kind", "$set", "messages", "toolCalls", "args", "result",
    "functionCall", "functionResponse", "response", "thoughts", "subject", "inlineData", "mimeType", "parts",
    "systemPayload", "compressedHistory", "toolCallResult", "callId", "parentId", "version", "provider", "modelId",
    "toolCallId", "isError", "stopReason", "api", "thinkingSignature", "firstKeptEntryId",
}  # fmt: skip


@cache
def fields() -> dict[tuple[Any, ...], tuple[Path, int, list[Any]]]:
    """The fields that a reader looks at, by kind of record: one place of each, as file, line and keys."""
    found: dict[tuple[Any, ...], tuple[Path, int, list[Any]]] = {}

    def note(value: Any, keys: list[Any], path: Path, at: int, kind: Any) -> None:
        if keys and keys[-1] in KEYS:
            found.setdefault((kind, *("[]" if isinstance(key, int) else key for key in keys)), (path, at, keys))
        if isinstance(value, (dict, list)):
            for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
                note(inner, [*keys, key], path, at, kind)

    for path in SOURCES:
        for at, record in enumerate(records(path.read_bytes().splitlines())):
            if path.stat().st_size < 50_000 and isinstance(record, dict):
                payload = record.get("payload")
                note(record, [], path, at, (record.get("type"), isinstance(payload, dict) and payload.get("type")))
    return found


@pytest.mark.parametrize(
    "value", [None, 5, "", [], {}, [None], [[]], nested(50), {"type": []}], ids=lambda value: str(value)[:20]
)
def test_a_field_of_another_type_costs_at_most_its_own_record(value: Any) -> None:
    with scratch() as folder:
        for path, at, keys in fields().values():
            lines = path.read_bytes().splitlines()
            (record,) = records(lines[at : at + 1])
            holder = reduce(getitem, keys[:-1], record)
            holder[keys[-1]] = value
            changed = folder / path.name
            changed.write_bytes(b"\n".join((*lines[:at], dumped(record), *lines[at + 1 :], b"")))
            for spec in agents.all_agents():
                attempt(spec.read, changed)


@settings(FIXED, max_examples=60)
@given(file=damaged())
def test_a_damaged_file_in_a_home_never_hides_the_others(file: tuple[str, bytes]) -> None:
    _, data = file
    with scratch() as folder:
        for home, place, whole in (
            ("codex", "sessions/rollout-{}.jsonl", CODEX_FILES[0]),
            ("claude-code", "projects/-p/{}.jsonl", CLAUDE_FILES[0]),
            ("gemini", ".gemini/tmp/p/chats/session-{}.jsonl", LISTED["gemini"][-1]),
        ):
            for name, content in (("damaged", data), ("whole", whole.read_bytes())):
                path = folder / home / place.format(name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            rows = list(list_sessions(home, home=folder / home))
            assert any(str(row.path).endswith("whole.jsonl") for row in rows) or home == "claude-code"
            assert list(list_sessions(home, folder, folder / home)) == []


def words_of(line: bytes) -> list[str]:
    """What a line of a session file says: the text of a message of the human's or the model's."""
    (record,) = records([line])
    if not isinstance(record, dict) or record.get("isSidechain"):
        return []
    message = record.get("message") or record.get("payload") or record
    if record.get("type", "response_item") not in ("response_item", "message", "user", "assistant"):
        return []
    content = message.get("content", message.get("parts")) if isinstance(message, dict) else None
    blocks = [{"text": content}] if isinstance(content, str) else content or []
    return [block["text"].strip() for block in blocks if isinstance(block, dict) and block.get("text")]


LINEAR = [
    *(path for path in CODEX_FILES if path.parts[-6] in ("0.29.0", "0.55.0", "0.98.0", "0.140.0")),
    *(path for path in CLAUDE_FILES if "handwritten" in str(path) or "2.0.76" in str(path)),
    *LISTED["qwen"],
    LONG,
]


@cache
def telling(path: Path) -> list[int]:
    """The lines of a file that are a session each by themselves, with its header."""
    lines = path.read_bytes().splitlines()
    with scratch() as folder:
        alone = folder / path.name
        found: list[int] = []
        for number, line in enumerate(lines):
            alone.write_bytes(b"\n".join((lines[0], line, b"")))
            if number and words_of(line) and attempt(read_session, alone):
                found.append(number)
    return found


@settings(FIXED, max_examples=80)
@given(data=st.data(), path=st.sampled_from([path for path in LINEAR if telling(path)]))
def test_what_an_untouched_line_says_is_still_there(data: st.DataObject, path: Path) -> None:
    lines = path.read_bytes().splitlines()
    kept = data.draw(st.sampled_from(telling(path)))
    changed: Lines = [lines[0]]
    for number, line in enumerate(lines[1:], start=1):
        odds = data.draw(st.integers(0, 9)) if number != kept and len(lines) < 60 else (number * kept) % 10
        if number == kept or odds > 3:
            changed.append(line)
        else:
            changed += ([], [line, line], [line[: len(line) // 2]], [b"\0" * 64, line])[odds]
    with scratch() as folder:
        damaged_path = folder / path.name
        damaged_path.write_bytes(b"\n".join((*changed, b"")))
        text = all_text(read_session(damaged_path))
    for words in words_of(lines[kept]):
        assert words in text or "<image name=" in words or words == "</image>"


MANY = 20_000
REASONING = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
ROLLED_BACK = json.dumps({"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}).encode()
GEMINI_HEADER = dumped({"sessionId": "s", "projectHash": "h"})
LONG_FILES: dict[str, Callable[[], list[bytes]]] = {
    "Codex reasoning without an answer": lambda: [*codex_lines(codex_says("go"), *[REASONING] * MANY)],
    "Codex context that never ends": lambda: [
        *codex_lines(codex_says("<environment_context>" * MANY), codex_says("go"))
    ],
    "Codex rollbacks": lambda: [*codex_lines(*[codex_says("a"), codex_says("b", "assistant")] * MANY),
                                *[ROLLED_BACK] * (MANY // 2)],
    "Codex brackets": lambda: [*codex_lines(codex_says("[{" * MANY * 10))],
    "Claude Code reminders that never end": lambda: [claude_line("a", None, "Go. " + "<system-reminder>" * MANY)],
    "Claude Code blanks before a reminder": lambda: [
        claude_line("a", None, "Go. " + " " * MANY * 5 + "<system-reminder>")
    ],
    "Claude Code compactions": lambda: [
        line for number in range(MANY // 2) for line in (
            claude_line(f"b{number}", None, "", "system", subtype="compact_boundary",
                        logicalParentUuid=f"u{number - 1}"),
            claude_line(f"u{number}", f"b{number}", "summary", isCompactSummary=True),
        )
    ],
    "Claude Code parents in a row": lambda: [
        claude_line(str(number), str(number - 1) if number else None, "go") for number in range(MANY)
    ],
    "Claude Code parents in a circle": lambda: [
        claude_line(str(number), str((number + 1) % MANY), "go") for number in range(MANY)
    ],
    "Gemini CLI rewinds": lambda: [
        GEMINI_HEADER,
        *[dumped({"id": str(number), "type": "user", "content": "go"}) for number in range(MANY)],
        *[dumped({"$rewindTo": str(MANY - number)}) for number in range(1, MANY)],
    ],
    "Qwen Code records of one id": lambda: [
        dumped({"uuid": "a", "parentUuid": None, "type": "user", "message": {"parts": [{"text": str(number)}]}})
        for number in range(MANY)
    ],
    "NUL bytes": lambda: [*codex_lines(codex_says("go")), *[b"\0" * 100] * MANY],
}  # fmt: skip


@pytest.mark.parametrize("shape", LONG_FILES)
def test_the_time_to_read_grows_with_the_size_of_the_file_and_no_faster(shape: str, tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(b"\n".join((*LONG_FILES[shape](), b"")))
    before = time.process_time()
    attempt(read_session, path)
    assert time.process_time() - before < 20  # a tenth of it where it is linear, ten times as much where it is not
