"""What a compressor is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..model import Message, Session, Value
from ..tokens import Counter


@dataclass(frozen=True, slots=True, kw_only=True)
class Compressed(Value):
    """A session within its budget, and the messages that are no longer in it as they were."""

    session: Session
    elided: Sequence[Message] = ()


class Compressor(Protocol):
    """Makes a lowered session fit: ``counter.session(result).high <= budget`` (tokens).

    Units stay whole and in order; a budget the session fits in changes nothing. Raises Refused where no
    result would be of use.
    """

    def compress(self, session: Session, budget: int, counter: Counter) -> Compressed:
        """Compress, without touching disk or network."""
        ...
