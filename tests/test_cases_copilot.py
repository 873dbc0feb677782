"""Hostile Copilot CLI files: strings with line breaks of every kind in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import CASES, carry, human, pairs, told, words

from session_migrator import agents
from session_migrator.sessions import read

TORN = next(CASES.glob("05-*/session-state/*/events.jsonl"))
SEPARATORS = next(CASES.glob("06-*/session-state/*/events.jsonl"))


def test_05_an_event_may_lie_on_several_lines() -> None:
    reading = read(TORN)
    assert (reading.session.agent, reading.losses) == ("copilot", ())
    ((call, result),) = pairs(reading.session.messages)
    assert (call.name, words(result)) == ("view", "row one\nrow two\nrow three")
    assert told(reading.session.messages) == [("user", "Show the three rows."), ("assistant", "Three rows shown.")]


def test_06_lines_end_at_line_feeds_alone() -> None:
    reading = read(SEPARATORS)
    assert human(reading.session.messages) == ["left\u2028right\u2029end\x85nel"]
    assert reading.losses == ()


@pytest.mark.parametrize("to", agents.AGENTS)
def test_06_the_characters_are_carried(to: str, project: Path) -> None:
    carried = carry(SEPARATORS, project, to)
    assert human(carried.session.messages) == ["left\u2028right\u2029end\x85nel"]
    if to == "copilot":
        assert not any(character in carried.raw.decode("utf-8") for character in "\u2028\u2029\x85")
