"""Units: what a compressor never parts. One message, or a message with calls and their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..model import Message, Session
from ..tokens import Counter


def units(messages: Iterable[Message]) -> Iterator[range]:
    """The units of a lowered session in order, each as the places of its messages."""
    start, calls = 0, False
    place = -1
    for place, message in enumerate(messages):
        if place > start and not (message.role == "tool" and calls):
            yield range(start, place)
            start = place
        if place == start:
            calls = bool(message.calls)
    if place >= 0:
        yield range(start, place + 1)


def costs(session: Session, backwards: Iterable[range], counter: Counter, until: int) -> list[int]:
    """The tokens of units from the latest back, as long as their sum is not over ``until``: what lies beyond need not
    be counted."""
    found: list[int] = []
    total = 0
    for unit in backwards:
        if total > until:
            break
        found.append(sum(counter.message(session.messages[place]).high for place in unit))
        total += found[-1]
    return found
