"""Hostile conversations in the message arrays of APIs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cases import carry, case, pairs, words

from session_migrator import agents, exporter, from_messages, read_session
from session_migrator.lowering import lower

CLAUDE = agents.get("claude-code").capabilities


@pytest.mark.parametrize("shape", ["openai", "anthropic", "gemini"])
def test_34_encrypted_reasoning_is_in_no_array_for_another_provider(shape: str) -> None:
    sent = json.dumps(exporter.to_messages(read_session(case("34")), shape))
    assert "Answer B." in sent
    assert "gAAAA" not in sent
    assert "5ad4-not-ours" not in sent


def test_38_a_tool_name_that_is_a_whole_command_becomes_a_valid_one_and_the_command_is_kept(project: Path) -> None:
    lines = case("38", "*/*.jsonl").read_text(encoding="utf-8").splitlines()
    asked, called, answered = (json.loads(line)["message"] for line in lines[1:])
    call = called["content"][0]
    assert len(call["name"]) > 300
    array = [
        {"role": "user", "content": asked["content"]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": call["id"], "content": answered["content"], "is_error": True},
        ]},
    ]  # fmt: skip
    carried = carry(from_messages(array), project)
    ((kept, result),) = pairs(carried.session.messages)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", kept.name)
    assert call["name"] in kept.arguments.values()
    assert (words(result), result.is_error) == ("no such tool", True)


@pytest.mark.parametrize("shape", ["anthropic", "gemini"])
def test_40_the_array_of_a_strict_api_starts_with_the_user_and_no_text_is_lost(shape: str) -> None:
    lowered, _ = lower(read_session(case("40")), CLAUDE)
    array = exporter.to_messages(lowered, shape)
    roles = [item["role"] for item in array]
    assert roles[0] == "user"
    said = json.dumps(array)
    places = [said.index(text) for text in ("I was resumed.", "One.", "Two.", "policy reminder", "Three.", "Four.")]
    assert places == sorted(places)
