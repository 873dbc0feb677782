"""Hostile WorkBuddy files: times in every unit."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import CASES, carry, human, pairs, told, words

from session_migrator import agents
from session_migrator.sessions import read

MIXED = next(CASES.glob("58-*/.workbuddy/projects/*/*.jsonl"))


def test_58_times_of_every_unit_are_of_one_morning() -> None:
    reading = read(MIXED)
    session = reading.session
    assert session.agent == "workbuddy"
    stamps = [str(message.timestamp) for message in session.messages]
    assert stamps == [f"2026-03-02T09:00:0{second}.000Z" for second in (0, 1, 3, 4)]
    assert (session.created_at, session.updated_at) == (stamps[0], stamps[-1])
    assert (session.title, session.cwd, reading.losses) == ("Crate count", "/home/dev/toy-shop", ())


@pytest.mark.parametrize("to", agents.AGENTS)
def test_58_turn_call_and_reply_are_carried(project: Path, to: str) -> None:
    carried = carry(MIXED, project, to, form="session")
    assert human(carried.session.messages) == ["How many crates?"]
    ((call, result),) = pairs(carried.session.messages)
    assert (call.name, call.arguments, words(result)) == ("Read", {"path": "crates.txt"}, "12")
    assert told(carried.session.messages)[-1] == ("assistant", "Twelve.")
