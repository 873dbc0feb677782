"""Truncation: the latest units whole, one note in the place of all that came before."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, chain

from ..errors import Refused
from ..model import Message, Session, Text, goal, headline
from ..sequences import collect, weight
from ..tokens import Counter
from . import marks
from .protocol import Compressed, Elision
from .units import costs, units

# The share of the budget that the preview of the earliest message may take.
_PREVIEW_SHARE = 0.15
# An id that takes more tokens than any other: a vocabulary has hardly a word of it.
_LONGEST_ID = "9f8e7d6c5b"


class TruncationCompressor:
    """Keeps whole units from the latest back, a contiguous end of the conversation, with a note at the top
    that says how much was left out and how the conversation began. No dependencies, linear time."""

    def compress(self, session: Session, budget: int, counter: Counter) -> Compressed:
        """At most ``budget`` tokens by the counter's upper end. Raises Refused where the newest unit alone
        is larger."""
        whole = list(units(session.messages))
        preview = _preview(goal(session.messages) or "", int(budget * _PREVIEW_SHARE), counter)
        room = budget - counter.session(replace(session, messages=())).high
        taken = costs(session, reversed(whole), counter, until=budget)
        if len(taken) == len(whole) and sum(taken) <= room:
            return Compressed(session=session)
        note = _note(session, len(session.messages), sum(map(weight, session.messages)), preview, _LONGEST_ID)
        room -= counter.message(note).high
        kept = sum(1 for total in accumulate(taken) if total <= room)
        if not kept:
            raise Refused(
                f"the newest message alone takes {taken[0] if taken else 0:,} tokens, the room is {max(room, 0):,}",
                "choose a model with a larger window, or a larger --budget",
            )
        start = whole[len(whole) - kept].start
        elided = session.messages[:start]
        span = (0, start, None)
        name = marks.id_of(marks.original(elided, [span]))
        note = _note(session, start, sum(map(weight, elided)), preview, name)
        note = replace(note, timestamp=elided[0].timestamp)
        messages = collect(chain([note], session.messages[start:]))
        elisions = (Elision(id=name, spans=(span,)),)
        return Compressed(session=replace(session, messages=messages), elided=elided, elisions=elisions)


def _note(session: Session, count: int, size: int, preview: str, name: str) -> Message:
    """The note in the place of ``count`` messages with about ``size`` characters."""
    words = (
        f"[{count} earlier messages of this conversation (about {size:,} characters) were left out for want of room."
        f" All of it is kept at its source ({session.agent}, session {headline(session.id)}), and `session-migrator"
        f" recall {name}` in a shell, or the tool `recall` of the MCP server session-migrator, gives it back.]"
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
