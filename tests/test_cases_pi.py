"""Hostile pi files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cases import carry, case, pairs, words

from session_migrator import agents, read_session


@pytest.mark.parametrize("to", agents.AGENTS)
def test_38_a_tool_name_that_is_a_whole_command_becomes_a_valid_one_and_the_command_is_kept(
    to: str, project: Path
) -> None:
    source = case("38", "*/*.jsonl")
    ((call, _),) = pairs(read_session(source).messages)
    assert len(call.name) > 300
    ((kept, result),) = pairs(carry(source, project, to).session.messages)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", kept.name)
    assert call.name in dict(kept.arguments).values()  # type: ignore[arg-type]
    assert "no such tool" in words(result)
    assert result.is_error
