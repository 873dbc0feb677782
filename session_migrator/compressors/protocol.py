"""What a compressor is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ..model import Message, Session, Value

if TYPE_CHECKING:
    from ..tokens import Counter

Span = tuple[int, int, int | None]
"""Whole messages from one place up to another (part None), or that part of the one at the first place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elision(Value):
    """What a mark in a compressed session stands for: its ``id``, and where in ``Compressed.elided`` that is."""

    id: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compressed(Value):
    """A session within its budget, the messages that are no longer in it as they were, in order, and what of them the
    marks in the session stand for; ``notes``: what is to be told of the compression; ``by``: the name of the compressor
    whose result it is, where that is not the one that was asked."""

    session: Session
    elided: Sequence[Message] = ()
    elisions: tuple[Elision, ...] = ()
    notes: tuple[str, ...] = ()
    by: str | None = None


class Compressor(Protocol):
    """Makes a lowered session fit: ``counter.session(result).high <= budget`` (tokens).

    Units stay whole and in order; a budget the session fits in changes nothing. Raises Refused where no
    result would be of use.
    """

    def compress(self, session: Session, budget: int, counter: Counter) -> Compressed:
        """Compress, without touching the session's files."""
        ...
