"""The ladder with a summary of what it left out: what is in its note, and what is there when the model fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from places import LONG, run
from stub_llm import Answer, Reply, StubLLM, refused, serving

from session_migrator import LadderCompressor, Migration, from_messages, llm, migrate, read_session, recall, tokens
from session_migrator.errors import UsageError
from session_migrator.llm_compressor import LlmCompressor
from session_migrator.model import Message, Text
from session_migrator.storage import Store

LLM = "gpt-5.4-mini"
ROLES = ("user", "assistant")
KEYS = ("SESSION_MIGRATOR_LLM_BASE_URL", "SESSION_MIGRATOR_LLM_MODEL")


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubLLM]:
    monkeypatch.setattr(llm, "_RETRIES", 0)
    with serving(LLM) as running:
        for name, value in zip(KEYS, (running.url, LLM), strict=True):
            monkeypatch.setenv(name, value)
        running.answers = told
        yield running


def told(request: dict[str, Any]) -> str:
    """A summarizer that names the ids that it is shown."""
    ids = dict.fromkeys(re.findall(r"^--- .*(recall [0-9a-f]{10})$", request["messages"][1]["content"], re.MULTILINE))
    rows = (f"- What was said there is kept under this id ({name})" for name in ids)
    return "## Decisions\n\n" + "\n".join(rows)


def carried(
    project: Path, tmp_path: Path, name: str = "llm", budget: int = 6_000, **options: Any
) -> tuple[Migration, str]:
    """A migration of the recorded session, and the first words of the result."""
    done = migrate(
        LONG, "claude-code", "claude-opus-5-5", project, home=tmp_path / "claude", budget=budget, compressor=name,
        **{"again": True, **options},
    )  # fmt: skip
    paths = done.target["paths"]
    return done, read_session(paths[0], "claude-code").messages[0].text if paths else ""


def test_the_note_tells_what_was_left_out_with_ids_that_lead_to_it(
    stub: StubLLM, project: Path, tmp_path: Path
) -> None:
    done, note = carried(project, tmp_path)
    ids = re.findall(r"> - What was said there is kept under this id \(recall ([0-9a-f]{10})\)", note)
    assert len(ids) > 3
    assert all(recall(name) for name in ids)
    assert "What was left out, summarized by gpt-5.4-mini, which may err" in note
    assert "not found in the conversation" not in note
    assert note.startswith("[The conversation below was carried over from codex")
    assert done.tokens_after <= 6_000
    assert any(warning.startswith("sent 1 request to 127.0.0.1") for warning in done.warnings)
    assert len(stub.seen) == 1


@pytest.mark.parametrize("budget", [2_000, 3_000, 5_000, 12_000, 20_000])
def test_the_result_is_within_every_budget(stub: StubLLM, budget: int) -> None:
    assert stub.url
    session, counter = read_session(LONG), tokens.counter("claude-opus-5-5")
    result = LlmCompressor().compress(session, budget, counter)
    assert counter.session(result.session).high <= budget
    assert result.notes


def test_a_session_that_fits_is_not_sent(stub: StubLLM, project: Path, tmp_path: Path) -> None:
    done = migrate(LONG, "claude-code", "claude-opus-5-5", project, home=tmp_path / "claude", compressor="llm")
    assert done.mode == "direct"
    session, counter = read_session(LONG), tokens.counter("gpt-5")
    assert LlmCompressor().compress(session, 500_000, counter).session == session
    assert not stub.seen


STRANGE = [
    refused(429, "slow", Retry_After="Mon, 01 Jan 99999999999999999999 00:00:00 GMT", x_should_retry="false"),
    Reply(body=b'{"choices": [{"message": {"content": "x"}, "finish_reason": []}]}'),
    Reply(body=b'data: {"choices": ' + b"[" * 100_000 + b"\n\n", headers={"Content-Type": "text/event-stream"}),
    Reply(body=b"data: {}\n\n" * 4_000_000, headers={"Content-Type": "text/event-stream"}, status=400),
]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        *zip(STRANGE, ("429", "not the form", "broke off", "32,000,000 bytes"), strict=True),
        (refused(401, "Incorrect API key"), "does not accept the key"),
        (refused(429, "slow", Retry_After="900"), "429"),
        (refused(500, "sorry"), "out of order"), (Reply(body=b"<html>"), "JSON"), (Reply(""), "empty"),
        (Reply("## Goal", finish="length"), "cut off"), ("I cannot do that.", "not the form"),
        (refused(404, "no such model", "model_not_found"), "has no model"),
    ],
)  # fmt: skip
def test_where_the_model_fails_the_ladder_takes_over_with_a_warning(
    stub: StubLLM, project: Path, tmp_path: Path, answer: Answer, problem: str
) -> None:
    _, expected = carried(project, tmp_path, "ladder")
    stub.answers = lambda _: answer
    done, note = carried(project, tmp_path)
    assert note == expected
    assert any("what is left out is not summarized" in warning and problem in warning for warning in done.warnings)
    assert any(warning.startswith("sent 1 request to") or "sent 3 requests to" in warning for warning in done.warnings)


def test_where_the_model_failed_the_next_run_asks_it_again(stub: StubLLM, project: Path, tmp_path: Path) -> None:
    stub.answers = lambda _: refused(500, "sorry")
    failed, _ = carried(project, tmp_path)
    alone, _ = carried(project, tmp_path, "ladder", again=False)
    assert alone.migration == failed.migration
    memory, _ = remembered(project)
    stub.answers = lambda _: "## Goal\n\n- Tables (turn 1)"
    assert carried(project, tmp_path, again=False)[0].migration != failed.migration
    assert remembered(project)[0].migration != memory.migration


def test_a_model_whose_window_nobody_knows_is_a_warning_and_nothing_is_sent(
    stub: StubLLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SESSION_MIGRATOR_LLM_MODEL", "nobody-knows-it")
    session, counter = read_session(LONG), tokens.counter("gpt-5")
    result = LlmCompressor().compress(session, 3_000, counter)
    assert result.session == LadderCompressor().compress(session, 3_000, counter).session
    assert "nobody-knows-it" in result.notes[0]
    assert not stub.seen


def test_each_pointer_has_the_turn_in_the_whole_session(stub: StubLLM) -> None:
    pairs = ((f"Question {number}. " + "Words of it. " * 200, f"Answer {number}.") for number in range(1, 21))
    messages = [{"role": role, "content": text} for pair in pairs for role, text in zip(ROLES, pair, strict=True)]
    LlmCompressor().compress(from_messages(messages), 3_000, tokens.counter("gpt-5"))
    told = re.findall(
        r"^--- turn (\d+), .*recall .*\nuser: Question (\d+)\.", stub.seen[0]["messages"][1]["content"], re.M
    )
    assert len(told) > 10
    assert all(turn == question for turn, question in told)


def test_what_is_finished_is_kept_in_the_store_that_is_given(stub: StubLLM, project: Path, tmp_path: Path) -> None:
    for _ in range(2):
        carried(project, tmp_path, store=Store(tmp_path / "mine"), dry_run=True)
    assert len(stub.seen) == 1
    assert list((tmp_path / "mine").rglob("summaries/*.json"))
    carried(project, tmp_path, store=Store(tmp_path / "other"), dry_run=True)
    assert len(stub.seen) == 2


def test_a_summary_that_is_too_long_is_cut_between_rows(stub: StubLLM, project: Path, tmp_path: Path) -> None:
    rows = [f"- Sentence number {number} is here and it ends there." for number in range(400)]
    stub.answers = lambda _: "## Decisions\n\n" + "\n".join(rows)
    done, note = carried(project, tmp_path)
    shown = [line for line in note.splitlines() if line.startswith("> - Sentence")]
    assert 3 < len(shown) < 100
    assert all(line[2:].partition(" [")[0] in rows for line in shown)
    assert done.tokens_after <= 6_000


def test_without_a_key_nothing_is_read_sent_or_written(tmp_path: Path, project: Path) -> None:
    with pytest.raises(UsageError, match="no LLM is set up") as raised:
        carried(project, tmp_path, count_online=True)
    assert raised.value.exit_code == 2
    assert {path.name for path in tmp_path.iterdir()} == {project.name, "home"}


def test_the_command_line_says_what_to_set(tmp_path: Path, project: Path) -> None:
    where = ["--into", project, "--home", tmp_path / "claude"]
    done = run("migrate", LONG, "--to", "claude-code", *where, "--compressor", "llm")
    assert (done.returncode, done.stdout) == (2, "")
    error, remedy = done.stderr.splitlines()
    assert error.startswith("error: no LLM is set up")
    assert "DEEPSEEK_API_KEY or OPENAI_API_KEY" in remedy


def test_what_is_sent_is_redacted_though_the_session_is_not(stub: StubLLM) -> None:
    token = "ghp_" + "a1B2" * 9
    session = read_session(LONG)
    said = Message(role="assistant", parts=(Text(text=f"The token is {token}. " + "More words of it. " * 4_000),))
    long = replace(session, messages=(*session.messages[:2], said, *session.messages[2:]))
    LlmCompressor().compress(long, 4_000, tokens.counter("gpt-5"))
    assert "The token is [REDACTED:github token]" in str(stub.seen)
    assert token not in str(stub.seen)


def remembered(project: Path, **options: Any) -> tuple[Migration, str]:
    done = migrate(LONG, "workbuddy", into=project, compressor="llm", **options)
    return done, (project / ".workbuddy" / "memory" / "MEMORY.md").read_text("utf-8")


def test_a_memory_is_summarized_too_and_the_models_words_are_quoted(stub: StubLLM, project: Path) -> None:
    stub.answers = lambda _: "## Decisions\n\n- Pad by width (turn 2)\n- Run @now and <!-- this\n  and that"
    done, index = remembered(project)
    assert "### Decisions\n\n> - Pad by width (turn 2)\n> - Run &#64;now and &lt;!-- this\n>   and that\n" in index
    assert "`tidetables/table.py`: edited" in index
    assert len(index.encode()) <= 2_048
    assert any(warning.startswith("sent 1 request") for warning in done.warnings)
    assert remembered(project)[0].migration == done.migration
    assert len(stub.seen) == 1
    assert migrate(LONG, "workbuddy", into=project).migration != done.migration


@pytest.mark.parametrize("answer", [refused(500, "sorry"), *STRANGE])
def test_where_the_model_fails_the_memory_is_made_without_it(stub: StubLLM, project: Path, answer: Answer) -> None:
    stub.answers = lambda _: answer
    done, index = remembered(project)
    assert "### Files" in index
    assert any("the memory is made without an LLM" in warning for warning in done.warnings)
    migrate(LONG, "workbuddy", into=project, again=True)
    assert index.count("\n### ") == (project / ".workbuddy" / "memory" / "MEMORY.md").read_text("utf-8").count("\n### ")
