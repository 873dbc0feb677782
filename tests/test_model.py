"""What every agent's files are read into: titles, and times in one form."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_migrator import Session, timestamps
from session_migrator.model import Message, Text, title_of


def said(role: str, text: str, origin: str | None = None) -> Message:
    return Message(role=role, parts=(Text(text=text),), origin=origin)


SUMMARY = said("user", "What was said before: ...", "summary")
ASKED, GOES_ON = said("user", "Mend the\n parser. " + "It fails. " * 20, "human"), said("user", "Go on.", "human")


@pytest.mark.parametrize(
    ("title", "earlier", "messages", "expected"),
    [
        ("Parser", [ASKED], [GOES_ON], "Parser"),
        (None, [], [SUMMARY, said("assistant", "Yes."), GOES_ON], "Go on."),
        (None, [ASKED], [SUMMARY, GOES_ON], "Mend the parser. " + "It fails. " * 6 + "It…"),
        (None, [SUMMARY], [GOES_ON], "Go on."),
        (None, [], [SUMMARY], None),
    ],
)
def test_a_session_is_called_by_its_title_or_by_what_was_asked_first(
    title: str | None, earlier: list[Message], messages: list[Message], expected: str | None
) -> None:
    session = Session(id="s", agent="chat", title=title, earlier=tuple(earlier), messages=tuple(messages))
    assert title_of(session) == expected


@given(st.datetimes(datetime(1974, 1, 1), datetime(2100, 1, 1)))
def test_a_time_in_milliseconds_is_the_same_time(moment: datetime) -> None:
    rendered = timestamps.parse(moment.isoformat())
    assert rendered
    assert timestamps.parse(timestamps.to_milliseconds(rendered)) == rendered
