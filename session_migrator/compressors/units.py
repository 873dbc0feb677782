"""Units: what a compressor never parts. One message, or a message with calls and their results."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import Message


def units(messages: Sequence[Message]) -> list[tuple[Message, ...]]:
    """The messages of a lowered session in units, in order."""
    grouped: list[tuple[Message, ...]] = []
    for message in messages:
        if message.role == "tool" and grouped and grouped[-1][0].calls:
            grouped[-1] += (message,)
        else:
            grouped.append((message,))
    return grouped
