"""Truncation: the latest units whole, one note in the place of all that came before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import accumulate, chain

from ..errors import Refused
from ..model import Message, Session, Text, goal, headline
from ..sequences import collect, weight
from ..tokens import Counter
from .protocol import Compressed
from .units import units

# The share of the budget that the preview of the earliest message may take.
_PREVIEW_SHARE = 0.15


class TruncationCompressor:
    """Keeps whole units from the latest back, a contiguous end of the conversation, with a note at the top
    that says how much was left out and how the conversation began. No dependencies, linear time."""

    def compress(self, session: Session, budget: int, counter: Counter) -> Compressed:
        """At most ``budget`` tokens by the counter's upper end. Raises Refused where the newest unit alone
        is larger."""
        whole = list(units(session.messages))
        preview = _preview(goal(session.messages) or "", int(budget * _PREVIEW_SHARE), counter)
        note = _note(session, len(session.messages), sum(map(weight, session.messages)), preview)
        framing = counter.session(replace(session, messages=())).high
        room = budget - framing - counter.message(note).high
        costs = _costs(session, reversed(whole), counter, until=budget)
        if len(costs) == len(whole) and framing + sum(costs) <= budget:
            return Compressed(session=session)
        kept = sum(1 for total in accumulate(costs) if total <= room)
        if not kept:
            raise Refused(
                f"the newest message alone takes {costs[0] if costs else 0:,} tokens, the room is {max(room, 0):,}",
                "choose a model with a larger window, or a larger --budget",
            )
        start = whole[len(whole) - kept].start
        elided = session.messages[:start]
        note = _note(session, start, sum(map(weight, elided)), preview)
        note = replace(note, timestamp=elided[0].timestamp)
        messages = collect(chain([note], session.messages[start:]))
        return Compressed(session=replace(session, messages=messages), elided=elided)


def _costs(session: Session, backwards: Iterable[range], counter: Counter, until: int) -> list[int]:
    """The tokens of the units from the latest back, as long as their sum is not over ``until``: what lies beyond need
    not be counted."""
    costs: list[int] = []
    total = 0
    for unit in backwards:
        if total > until:
            break
        costs.append(sum(counter.message(session.messages[place]).high for place in unit))
        total += costs[-1]
    return costs


def _note(session: Session, count: int, size: int, preview: str) -> Message:
    """The note in the place of ``count`` messages with about ``size`` characters."""
    words = (
        f"[{count} earlier messages of this conversation (about {size:,} characters) were left out for want of room."
        f" All of it is kept at its source: {session.agent}, session {headline(session.id)}.]"
    )
    if preview:
        words += f"\nThe conversation began with:\n{preview}"
    return Message(role="user", parts=(Text(text=words),), origin="summary")


def _preview(words: str, limit: int, counter: Counter) -> str:
    """The beginning of a text, quoted, within a limit of tokens; a mark where it is cut."""

    def quoted(length: int) -> str:
        cut = words if length >= len(words) else words[:length].rstrip() + " […]"
        return "\n".join(f"> {line}" for line in cut.splitlines())

    low, high = 0, min(len(words), limit * 8)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.text(quoted(middle)).high <= limit:
            low = middle
        else:
            high = middle - 1
    return quoted(low) if low else ""
