"""The ladder: every part as long as it is worth, the newest whole, the oldest only what is pinned.

Each part of the conversation has a worth, and may be as long as one common factor times that; the factor is the
greatest with which all fits. What is worth little is shortened, what is worth less is left out, with a mark in its
place that says how to get it back. Lines that stand in the text twice are kept where they stand last. Pinned are the
first goal, the user's latest message, the state of the work (a note at the head) and, within a share, all that the
user said.

The few weights were chosen on real sessions of other authors than those reported (``docs/compression.md``).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import exp, log

from ..errors import Refused
from ..model import Message, Part, Session, Text
from ..sequences import View, collect
from ..tokens import Counter
from . import marks
from .head import note
from .plan import GAP, LEAST, Plan, Unit, Weights, pinned_places, planned
from .protocol import Compressed, Elision, Span
from .shortening import cut
from .units import costs

# A result that leaves less than this share of the budget free is good enough, and so is the best of so many.
_SLACK, _TRIES = 0.02, 10
_GREATEST = 1e12


class LadderCompressor:
    """Keeps what is worth most, newest first, and says with a mark in each place what was left out there. Nothing but
    the standard library, no LLM; from 2,000 tokens up it always finds a result."""

    def __init__(self, weights: Weights | None = None) -> None:
        self.weights = weights or Weights()

    def compress(self, session: Session, budget: int, counter: Counter) -> Compressed:
        """At most ``budget`` tokens by the counter's upper end. Raises Refused where not even the shortest form of
        goal and latest message goes into it (a budget of some hundred tokens)."""
        if _fits(session, budget, counter):
            return Compressed(session=session)
        for share in (1.0, 0.3, 0.0):
            said, state = self.weights.said * share, self.weights.state * share
            plan = planned(session, budget, counter, replace(self.weights, said=said, state=state))
            if result := _fitted(plan, budget):
                return result
        for share in (1.0, 0.5, 0.2):
            if result := _bare(plan, int(budget * share), budget):
                return result
        raise Refused(f"not even the goal goes into {budget:,} tokens", "choose a larger --budget")


def _fits(session: Session, budget: int, counter: Counter) -> bool:
    primer = counter.session(replace(session, messages=())).high
    ends = reversed(range(len(session.messages)))
    return primer + sum(costs(session, (range(end, end + 1) for end in ends), counter, budget)) <= budget


def _fitted(plan: Plan, budget: int) -> Compressed | None:
    """The result of the greatest factor that fits; None where none does. What the parts cost leads to a factor, and
    what the result is counted to puts the room right that they are given."""
    best: Compressed | None = None
    low, high, room = 0.0, 2.0 * budget, float(budget)
    for _ in range(_TRIES):
        factor = _factor(plan, room)
        if factor is None:
            low, room = room, (room + high) / 2
            continue
        result = _rendered(plan, factor)
        left = budget - plan.counter.session(result.session).high
        if left >= 0:
            low, best = room, result
            if left <= _SLACK * budget or factor == _GREATEST:
                break
        else:
            high = room
        aimed = room + left - _SLACK / 2 * budget
        room = aimed if low < aimed < high else (low + high) / 2
    return best


def _factor(plan: Plan, room: float) -> float | None:
    """The greatest factor with which the parts cost no more than the room; None where none does."""
    if _cost(plan, 0.0) > room:
        return None
    low, high = -log(_GREATEST), log(_GREATEST)
    if _cost(plan, _GREATEST) <= room:
        return _GREATEST
    for _ in range(45):
        middle = (low + high) / 2
        low, high = (middle, high) if _cost(plan, exp(middle)) <= room else (low, middle)
    return exp(low)


def _cost(plan: Plan, factor: float) -> float:
    """What a result takes, by the sizes of its parts (tokens)."""
    total = float(plan.state_room + 120)
    at = 0
    for unit in plan.units:
        if unit.is_shown(factor):
            total += GAP * (unit.places.start > at) + unit.frame
            total += sum(piece.cost(factor) for piece in unit.pieces)
            at = unit.places.stop
    return total + GAP * (at < len(plan.weights))


class _Marks:
    """The marks of a result in the making, and where in the session that lies which they stand for."""

    def __init__(self, messages: Sequence[Message], names: dict[tuple[Span, ...], str]) -> None:
        self._messages = messages
        self._names = names
        self._made: dict[str, tuple[Span, ...]] = {}
        self._spans: list[Span] = []

    def make(self, spans: Iterable[Span], name: str | None = None) -> str:
        """The id of what lies at these places."""
        spans = tuple(spans)
        name = name or self._names.get(spans) or marks.id_of(marks.original(self._messages, spans))
        self._names[spans] = name
        self._made.setdefault(name, spans)
        self._spans += spans
        return name

    def compressed(self, session: Session) -> Compressed:
        """The session with the messages that the marks stand for, which are at other places there."""
        places = sorted({place for start, stop, _ in self._spans for place in range(start, stop)})
        elisions = [
            Elision(
                id=name,
                spans=tuple((at := bisect_left(places, start), at + stop - start, part) for start, stop, part in made),
            )
            for name, made in self._made.items()
        ]
        return Compressed(session=session, elided=View(self._messages, places), elisions=tuple(elisions))


def _rendered(plan: Plan, factor: float) -> Compressed:
    """The session with that factor."""
    messages = plan.session.messages
    made = _Marks(messages, plan.names)
    reasoning: list[Span] = []
    shown: list[Message] = []
    at = 0
    for unit in plan.units:
        if unit.is_shown(factor):
            shown += _gap(plan, at, unit.places.start, made)
            shown += _shown(plan, unit, factor, made, reasoning)
            at = unit.places.stop
    shown += _gap(plan, at, len(messages), made)
    return _headed(plan, shown, made.make(reasoning) if reasoning else None, plan.state_room, made)


def _bare(plan: Plan, pins: int, budget: int) -> Compressed | None:
    """The goal and the latest message alone, each as one text; None where not even that fits."""
    messages = plan.session.messages
    made = _Marks(messages, plan.names)
    shown: list[Message] = []
    at = 0
    pinned = sorted(pinned_places(messages, range(len(messages))))
    for place in pinned:
        shown += _gap(plan, at, place, made)
        at = place + 1
        text = messages[place].text
        name = made.make([(place, at, None)])
        room = int(len(text) * pins / 4 / (1 + plan.counter.text(text).high))
        shown.append(replace(messages[place], parts=(Text(text=cut(text, room, name)),)))
    shown += _gap(plan, at, len(messages), made)
    result = _headed(plan, shown, None, 0, made)
    return result if plan.counter.session(result.session).high <= budget else None


def _headed(plan: Plan, shown: Sequence[Message], reasoning: str | None, room: int, made: _Marks) -> Compressed:
    """The result: the note, with that room for the state of the work, and what is shown behind it."""
    head = note(plan.session, plan.known, reasoning, room, plan.counter)
    head = replace(head, timestamp=plan.session.messages[0].timestamp)
    return made.compressed(replace(plan.session, messages=collect(chain([head], shown))))


def _gap(plan: Plan, start: int, stop: int, made: _Marks) -> Iterator[Message]:
    """The message in the place of those that are left out between two places."""
    if start < stop:
        tokens = int(sum(plan.weights[start:stop]) * plan.density)
        text = Text(text=marks.gap(stop - start, tokens, made.make([(start, stop, None)])))
        stamp = plan.session.messages[start].timestamp
        yield Message(role="user", parts=(text,), origin="summary", timestamp=stamp)


def _shown(plan: Plan, unit: Unit, factor: float, made: _Marks, reasoning: list[Span]) -> Iterator[Message]:
    """The messages of a unit, each part as long as the factor allows."""
    pieces = {(piece.message, piece.index): piece for piece in unit.pieces}
    for place in unit.places:
        message = plan.session.messages[place]
        parts: list[Part] = []
        for index, part in enumerate(message.parts):
            piece = pieces.get((place, index))
            if piece is None:
                reasoning.append((place, place + 1, index))
                continue
            fitting = piece.within(max(piece.limit(factor), LEAST))
            if fitting != part:
                made.make([(place, place + 1, index)], piece.name)
            parts.append(fitting)
        if parts:
            yield replace(message, parts=tuple(parts))
