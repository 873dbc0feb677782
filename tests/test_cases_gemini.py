"""Hostile Gemini CLI files: whole histories in one line, rewinds, calls without results."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import CASES, carry, pairs, told, words

from session_migrator import agents, list_sessions, migrate
from session_migrator.errors import UsageError
from session_migrator.sessions import read

SET = next(CASES.glob("22-*/tmp/*/chats/*"))
LEGACY = next(CASES.glob("23-*/tmp/*/chats/*"))


def test_22_a_line_may_hold_all_messages_and_take_some_back() -> None:
    reading = read(SET)
    assert told(reading.session.messages) == [
        ("user", "Draw a cat."),
        ("assistant", "=^.^="),
        ("user", "Draw a bird."),
        ("assistant", "(bird)"),
    ]
    (loss,) = reading.losses
    assert (loss.kind, loss.severity) == ("branch", "lossy")
    assert loss.detail.startswith("2 messages")
    assert reading.session.cwd == "/home/dev/toy-shop"


def test_22_the_clients_context_is_no_title(tmp_path: Path) -> None:
    chats = tmp_path / ".gemini" / "tmp" / "toy-shop" / "chats"
    chats.mkdir(parents=True)
    context, history = SET.read_bytes().splitlines()[1:3]
    (chats / SET.name).write_bytes(SET.read_bytes().replace(history, context))
    (row,) = list_sessions("gemini", home=tmp_path)
    assert row.title == "Draw a dog."


@pytest.mark.parametrize("to", agents.AGENTS)
def test_23_a_cancelled_call_has_a_result_too(project: Path, to: str) -> None:
    carried = carry(LEGACY, project, to)
    (listed, output), (read_file, cancelled) = pairs(carried.session.messages)
    assert (listed.name, words(output), output.is_error) == ("list_directory", "a.txt", False)
    assert read_file.name == "read_file"
    assert "cancelled" in words(cancelled)
    assert cancelled.is_error
    assert told(carried.session.messages)[-1] == ("user", "Stop there.")
    assert "Request cancelled." not in repr(list(carried.session.messages))


def test_23_a_session_of_a_folder_that_only_a_digest_names_needs_one(tmp_path: Path) -> None:
    assert read(LEGACY).session.cwd is None
    with pytest.raises(UsageError):
        migrate(LEGACY, "gemini", "gemini-2.5-pro", home=tmp_path)
