"""The count of the model's own vendor, asked of stubs on the loopback address that answer as the vendors do."""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from places import LONG, run
from stub_vendor import ANTHROPIC_BODY, CASES, CLAUDE, GEMINI_BODY, KEY, OPENAI_BODY, TALK, Case, Stub, setting

from session_migrator import decide, migrate, online, read_session, tokens
from session_migrator.agents import Capabilities
from session_migrator.errors import UsageError
from session_migrator.lowering import lower
from session_migrator.model import Message, Session, Text, Thinking, ToolResult
from session_migrator.target import inspect


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.counter)
def test_a_vendor_is_asked_in_its_own_shape_and_its_number_decides(
    case: Case, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.will_answer({case.number: 4321})
    monkeypatch.setenv(case.variable, KEY)
    decided = decide(TALK, case.model, count_online=True)
    (seen,) = stub.seen
    assert (seen.path, seen.body) == (case.path, case.body)
    assert case.headers.items() <= seen.headers.items()
    assert seen.headers["content-type"] == "application/json"
    assert (decided.mode, decided.low, decided.high, decided.tokens) == ("direct", 4321, 4321, 4321)
    assert decided.counter.to_dict() == {"name": case.counter, "method": "exact"}
    assert decided.ledger[-1].to_dict() == {"name": "session", "tokens": 4321, "why": case.why}


def test_the_key_for_gemini_is_its_own_before_googles(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.will_answer({"totalTokens": 10})
    setting(monkeypatch, GEMINI_API_KEY="own", GOOGLE_API_KEY="any")
    online.count(TALK, "gemini-2.5-pro")
    setting(monkeypatch, GEMINI_API_KEY=" ")
    online.count(TALK, "gemini-2.5-pro")
    assert [seen.headers["x-goog-api-key"] for seen in stub.seen] == ["own", "any"]


def test_every_text_of_a_recorded_session_is_sent(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.will_answer({"input_tokens": 4321, "totalTokens": 4321})
    lowered, _ = lower(read_session(LONG), Capabilities(thinking="text"))
    texts = [
        part.text
        for message in lowered.messages
        for outer in message.parts
        for part in (outer.parts if isinstance(outer, ToolResult) else (outer,))
        if isinstance(part, Text)
    ]
    assert len(texts) > 50
    for case in CASES:
        monkeypatch.setenv(case.variable, KEY)
        online.count(lowered, case.model)
        sent = json.dumps(stub.seen[-1].body)
        assert [text for text in texts if json.dumps(text)[1:-1] not in sent] == []


def test_what_the_system_says_stands_where_each_vendor_wants_it(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.will_answer({"input_tokens": 10, "totalTokens": 10})
    setting(monkeypatch, ANTHROPIC_API_KEY=KEY, GEMINI_API_KEY=KEY, OPENAI_API_KEY=KEY)
    session = Session(
        id="s", agent="codex", messages=(Message(role="system", parts=(Text(text="Be brief."),)), *TALK.messages)
    )
    for case in CASES:
        online.count(session, case.model)
    claude, gemini, gpt = (seen.body for seen in stub.seen)
    assert claude == {**ANTHROPIC_BODY, "system": [{"type": "text", "text": "Be brief."}]}
    request = {**GEMINI_BODY["generateContentRequest"], "systemInstruction": {"parts": [{"text": "Be brief."}]}}
    assert gemini == {"generateContentRequest": request}
    assert gpt["input"][0]["role"] == "system"
    assert gpt["input"][1:] == OPENAI_BODY["input"]


def test_for_claude_the_user_has_the_first_and_the_last_word(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.will_answer({"input_tokens": 10})
    setting(monkeypatch, **CLAUDE)
    dot = {"role": "user", "content": "."}
    one, answer = TALK.messages[0], TALK.messages[-1]
    for messages in ((one,), (answer,), (one, answer, one), ()):
        online.count(Session(id="s", agent="codex", messages=messages), "claude-opus-5")
    sent = [seen.body["messages"] for seen in stub.seen]
    assert [[message["role"] for message in messages] for messages in sent] == [
        ["user"], ["user", "assistant", "user"], ["user", "assistant", "user"], ["user"],
    ]  # fmt: skip
    assert (sent[1][0], sent[1][2]) == (dot, dot)
    assert dot not in sent[0] + sent[2]


@pytest.mark.parametrize(
    ("model", "thinking"),
    [("claude-opus-4-6", {"type": "enabled", "budget_tokens": 1024}), ("claude-opus-4-7", {"type": "adaptive"})],
)
def test_reasoning_that_claude_keeps_is_counted_with_reasoning_turned_on(
    model: str, thinking: dict[str, Any], stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.will_answer({"input_tokens": 10})
    setting(monkeypatch, **CLAUDE)
    thought = Message(
        role="assistant", parts=(Thinking(text="hm", signature="c2ln", provider="anthropic"), Text(text="Yes."))
    )
    online.count(Session(id="s", agent="codex", messages=(TALK.messages[0], thought)), model)
    online.count(TALK, model)
    reasoning, plain = (seen.body for seen in stub.seen)
    assert reasoning["thinking"] == thinking
    assert reasoning["messages"][1]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    assert "thinking" not in plain


# --- the decision


def test_a_session_goes_over_as_it_is_where_the_vendors_number_fits_and_the_bound_does_not(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, here: dict[str, Any]
) -> None:
    stub.will_answer({"input_tokens": 9_000})
    setting(monkeypatch, **CLAUDE)
    assert migrate(LONG, **here, budget=10_000, dry_run=True).mode == "compress"
    done = migrate(LONG, **here, budget=10_000, count_online=True)
    assert (done.mode, done.tokens_before, done.tokens_after) == ("direct", 9_000, 9_000)
    assert not any("bound" in warning or "online" in warning for warning in done.warnings)
    assert len(stub.seen) == 1


def test_what_does_not_fit_by_the_vendors_number_is_compressed_by_the_bound_made_here(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, here: dict[str, Any]
) -> None:
    stub.will_answer({"input_tokens": 12_000})
    setting(monkeypatch, **CLAUDE)
    done = migrate(LONG, **here, budget=10_000, count_online=True)
    assert (done.mode, done.tokens_before) == ("compress", 12_000)
    assert done.tokens_after <= 10_000
    name = tokens.counter("claude-opus-5").name
    assert f"tokens of what is kept are an upper bound, counted with {name}" in done.warnings
    assert len(stub.seen) == 1


def test_a_vendor_that_counts_more_than_the_bound_is_believed(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, here: dict[str, Any]
) -> None:
    budget = 100_000
    counted_here = migrate(LONG, **here, budget=budget, dry_run=True).tokens_before
    assert counted_here < budget
    stub.will_answer({"input_tokens": budget + 1})
    setting(monkeypatch, **CLAUDE)
    done = migrate(LONG, **here, budget=budget, count_online=True)
    assert done.mode == "compress"
    assert done.tokens_after < counted_here
    assert any("left out" in warning for warning in done.warnings)


def test_of_two_histories_each_is_counted(stub: Stub, monkeypatch: pytest.MonkeyPatch, here: dict[str, Any]) -> None:
    stub.will_answer({"input_tokens": 2_000_000})
    stub.will_answer({"input_tokens": 100})
    setting(monkeypatch, **CLAUDE)
    done = migrate(TALK, **here, history="auto", count_online=True)
    assert (done.mode, done.tokens_before) == ("direct", 100)
    assert ["before the compaction" in json.dumps(seen.body) for seen in stub.seen] == [True, False]


def test_a_vendor_that_fails_at_one_history_is_not_asked_for_the_other(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, here: dict[str, Any]
) -> None:
    stub.will_answer({}, 401)
    setting(monkeypatch, **CLAUDE)
    session = Session(id="s", agent="codex", messages=TALK.messages, earlier=read_session(LONG).messages)
    done = migrate(session, **here, history="auto", budget=3_000, count_online=True)
    assert done.mode == "direct"
    assert len(stub.seen) == 1
    assert sum("online" in warning for warning in done.warnings) == 1


def test_the_redacted_session_is_what_is_sent(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, here: dict[str, Any]
) -> None:
    stub.will_answer({"input_tokens": 10})
    setting(monkeypatch, **CLAUDE)
    secret = "ghp_" + secrets.token_hex(18)
    session = Session(id="s", agent="codex", messages=(Message(role="user", parts=(Text(text=f"Use {secret}."),)),))
    for redact in (True, None):
        migrate(session, **here, redact=redact, count_online=True, dry_run=True)
    redacted, plain = (json.dumps(seen.body) for seen in stub.seen)
    assert secret in plain
    assert secret not in redacted
    assert "[REDACTED:" in redacted


def test_of_a_long_result_only_what_the_client_sends_is_counted(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, project: Path
) -> None:
    setting(monkeypatch, OPENAI_API_KEY=KEY)
    stub.will_answer({"input_tokens": 5_000})
    said = ToolResult(call_id="call_1", parts=(Text(text="a line of a file\n" * 10_000),))
    talk = replace(TALK, messages=(*TALK.messages[:2], Message(role="tool", parts=(said,)), *TALK.messages[3:]))
    done = migrate(talk, "codex", "gpt-5.5", project, home=tmp_path / "codex", count_online=True)
    (output,) = (item["output"] for item in stub.seen[0].body["input"] if item["type"] == "function_call_output")
    assert 48_000 < len(json.dumps(output)) < 52_000
    assert "tokens truncated" in json.dumps(output)
    assert len(Path(done.target["paths"][0]).read_bytes()) > 170_000


def test_a_memory_is_not_counted_online(stub: Stub, monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    setting(monkeypatch, **CLAUDE)
    with pytest.raises(UsageError, match="a memory has a fixed size"):
        migrate(LONG, "workbuddy", into=project, count_online=True)
    assert stub.seen == []


# --- the command line


def test_every_agents_model_is_counted_by_its_own_vendor(stub: Stub) -> None:
    stub.will_answer({"input_tokens": 4321})
    done = run("decide", LONG, "--count-online", "--json", **CLAUDE)
    rows = {row["agent"]: row["counter"]["name"] for row in json.loads(done.stdout)}
    asked = {agent for agent, name in rows.items() if name == "anthropic count_tokens"}
    assert (rows["claude-code"], rows["codex"]) == ("anthropic count_tokens", "o200k_base")
    assert asked == {agent for agent in rows if "claude" in inspect(agent).model}
    notes = done.stderr.splitlines()
    assert len(notes) == len(rows) - len(asked)
    assert notes[0].endswith("are counted here, not online: OPENAI_API_KEY is not set")


def test_the_command_line_shows_whose_count_it_is(stub: Stub, here: dict[str, Any]) -> None:
    stub.will_answer({"input_tokens": 4321})
    done = run("decide", LONG, "--to", "claude-code", "--model", "claude-opus-5", "--count-online", **CLAUDE)
    assert "session            4,321  counted by Anthropic's count_tokens: exact" in done.stdout
    assert done.stderr == ""
    paths = [option for name in ("into", "home") for option in (f"--{name}", here[name])]
    migrating = ["migrate", LONG, "--to", "claude-code", "--model", "claude-opus-5", *paths]
    done = run(*migrating, "--count-online", **CLAUDE)
    assert "counted by Anthropic's count_tokens: exact" in done.stdout
    done = run(*migrating, "--count-online", "--again", ANTHROPIC_API_KEY="")
    assert done.returncode == 0
    assert done.stdout.count("not online: ANTHROPIC_API_KEY is not set") == 1
