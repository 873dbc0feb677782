"""The ladder: every part as long as it is worth, the newest whole, the oldest only what is pinned.

Each part of the conversation has a worth, and may be as long as one common factor times that; the factor is the
greatest with which all fits. What is worth little is shortened, what is worth less is left out, with a mark in its
place that says how to get it back. Lines that stand in the text twice are kept where they stand last. Pinned are the
first goal, the user's latest message, the state of the work (a note at the head) and, within a share, all that the
user said.

The few weights were chosen on real sessions of other authors than those reported (``docs/compression.md``).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from math import exp, log

from ..errors import Refused
from ..ledger import Ledger, is_prompt, ledger, touched
from ..lowering import is_reasoning
from ..model import Image, Message, Part, Session, Text, ToolCall
from ..sequences import View, collect, weight
from ..tokens import Counter, content
from . import marks
from .head import note
from .protocol import Compressed, Elision, Span
from .shortening import cut, level, lines, shortened, without_repeats
from .units import costs, units


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What a part is worth by its distance from the end, and what is pinned, all as shares of the budget.

    ``reach``: the distance at which worth has fallen to a half; ``steepness``: how suddenly it falls there. ``stale``:
    the factor of a read whose file was read or edited again later; ``edited``: of a result that shows a file which the
    session edited. ``said``: the share for what the user said before the latest message; ``state``: for the note's
    files, plan and failures; ``pinned``: for goal and latest message together. ``each``: what one of the messages in
    ``said`` may have at most (people paste logs).
    """

    reach: float = 0.7
    steepness: float = 32.0
    stale: float = 0.33
    edited: float = 2.0
    said: float = 0.35
    each: float = 0.03
    state: float = 0.12
    pinned: float = 0.5


# Tokens: a part that would get less is left out; about what a mark takes; what a gap's message takes.
_LEAST, _MARK, _GAP = 75, 35, 40
# A result that leaves less than this share of the budget free is good enough, and so is the best of so many.
_SLACK, _TRIES = 0.02, 10
# A unit larger than this share of the budget will be shortened, and counts as far as it takes the others away.
_GIANT = 0.25
_GREATEST = 1e12


@dataclass(slots=True, eq=False)
class _Piece:
    """A part of a message, and where that is: its ``size`` (tokens) without what is repeated later, its ``worth``, the
    ``name`` of the original, and the tokens that it has however little it is worth (``floor``)."""

    message: int
    index: int
    part: Part
    size: int
    worth: float
    name: str
    floor: int = 0

    def limit(self, factor: float) -> float:
        return max(self.floor, factor * self.worth)

    def cost(self, factor: float) -> float:
        limit = max(self.limit(factor), _LEAST)
        return self.size if self.size <= limit + _MARK else _MARK if isinstance(self.part, Image) else limit + _MARK

    def within(self, limit: float) -> Part:
        """The part within so many tokens."""
        if self.size <= limit + _MARK:
            return self.part
        return shortened(self.part, int(limit * len(marks.text_of(self.part)) / self.size), self.name)


@dataclass(slots=True, eq=False)
class _Unit:
    """A unit that may be shown: its places, its pieces (reasoning is none), the tokens of its framing."""

    places: range
    pieces: list[_Piece]
    frame: int

    def is_shown(self, factor: float) -> bool:
        return any(
            piece.floor or piece.limit(factor) >= min(piece.size, _LEAST)
            for piece in self.pieces
            if not isinstance(piece.part, ToolCall)
        )


@dataclass(slots=True, kw_only=True)
class _Plan:
    """Everything that a factor decides upon: the units in order, the note, and what is known of all messages."""

    session: Session
    counter: Counter
    units: list[_Unit]
    known: Ledger
    state_room: int
    weights: array[int]
    density: float
    names: dict[tuple[Span, ...], str]


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
        for share in (1.0, 0.5, 0.2):
            plan = _planned(session, int(budget * share), budget, counter, self.weights)
            if result := _fitted(plan, budget) or _bare(plan, int(budget * share), budget):
                return result
        raise Refused(f"not even the goal goes into {budget:,} tokens", "choose a larger --budget")


def _fits(session: Session, budget: int, counter: Counter) -> bool:
    primer = counter.session(replace(session, messages=())).high
    ends = reversed(range(len(session.messages)))
    return primer + sum(costs(session, (range(end, end + 1) for end in ends), counter, budget)) <= budget


def _planned(session: Session, pins: int, budget: int, counter: Counter, weights: Weights) -> _Plan:
    """The plan of a session; what is pinned is measured by ``pins``, all else by the budget (tokens)."""
    heard: list[int] = []
    sizes = array("q")

    def noted() -> Iterator[Message]:
        for place, message in enumerate(session.messages):
            sizes.append(weight(message))
            if message.role == "user" and message.origin in ("human", "summary", None):
                heard.append(place)
            yield message

    whole = list(units(noted()))
    known = ledger(session.messages)
    seen: set[str] = set()
    recent = _recent(session, whole, known, budget, counter, weights, seen)
    inside = recent[0].places.start if recent else len(sizes)
    older = [_unit(session, range(place, place + 1), counter, seen, 0.0) for place in heard[::-1] if place < inside]
    plan = _Plan(
        session=session, counter=counter, units=[*older[::-1], *recent], known=known,
        state_room=int(pins * weights.state), weights=sizes, density=_density(recent, sizes), names={},
    )  # fmt: skip
    _pin(plan, set(heard), pins, weights)
    return plan


def _recent(
    session: Session,
    whole: Sequence[range],
    known: Ledger,
    budget: int,
    counter: Counter,
    weights: Weights,
    seen: set[str],
) -> list[_Unit]:
    """The units at the end, as far back as worth goes, each part without the lines that stand further on too."""
    edited = {path for path, use in known.files.items() if use.edits}
    reach, giant = weights.reach * budget, int(_GIANT * budget)
    found: list[_Unit] = []
    later: set[str] = set()
    distance = 0
    for places in reversed(whole):
        if distance > 2 * reach:
            break
        fallen = 1 / (1 + (distance / reach) ** weights.steepness)
        unit = _unit(session, places, counter, seen, fallen)
        calls = {call.id: call for place in places for call in session.messages[place].calls}
        files = {name: {path for path, _ in touched(call)} for name, call in calls.items()}
        for piece in unit.pieces:
            call_id = getattr(piece.part, "call_id", None)
            shown = files.get(call_id, set[str]()) if call_id else set[str]()
            if shown & edited:
                piece.worth *= weights.edited
            if shown and calls[str(call_id)].kind == "read" and shown <= later:
                piece.worth *= weights.stale
        later |= set[str]().union(*files.values())
        found.append(unit)
        distance += unit.frame + min(sum(piece.size for piece in unit.pieces if piece.worth), giant)
    return found[::-1]


def _unit(session: Session, places: range, counter: Counter, seen: set[str], worth: float) -> _Unit:
    """A unit with its parts sized, without the lines that were seen; its own lines are then seen."""
    pieces: list[_Piece] = []
    frame = 0
    for place in reversed(places):
        message = session.messages[place]
        frame += content.items(message) * counter.frame[1]
        for index in reversed(range(len(message.parts))):
            part = message.parts[index]
            if is_reasoning(message, part):
                continue
            name = marks.id_of([marks.text_of(part).encode("utf-8", "surrogatepass")])
            fresh = without_repeats(part, seen, name)
            seen.update(lines(part))
            own = 0.0 if message.origin == "injected" else worth
            pieces.append(_Piece(place, index, fresh, counter.part(fresh).high, own, name))
    return _Unit(places, pieces[::-1], frame)


def _density(recent: Iterable[_Unit], sizes: Sequence[int]) -> float:
    """Tokens per byte of weight, by the units that were counted."""
    tokens = sum(piece.size for unit in recent for piece in unit.pieces)
    bytes_ = sum(sizes[place] for unit in recent for place in unit.places)
    return tokens / bytes_ if bytes_ else 0.25


def _pin(plan: _Plan, heard: set[int], pins: int, weights: Weights) -> None:
    """Set what goal and latest message have at least, and the other words of the user's (and summaries of what was
    before), of which the newest are kept where not even all their beginnings go into the share."""
    pinned = _pinned(plan.session.messages, sorted(heard))
    said = [unit for unit in plan.units if unit.places.start in heard and unit.places.start not in pinned]
    first = [unit for unit in plan.units if unit.places.start in pinned]
    _raise_floors(first, int(pins * weights.pinned), pins)
    room, kept = pins * weights.said, list[_Unit]()
    for unit in reversed(said):
        room -= _GAP + unit.frame + sum(min(piece.size, _LEAST) for piece in unit.pieces)
        if room < 0:
            break
        kept.append(unit)
    beginnings = sum(min(piece.size, _LEAST) for unit in kept for piece in unit.pieces)
    _raise_floors(kept, beginnings + max(0, int(room)), max(_LEAST, int(pins * weights.each)))


def _pinned(messages: Sequence[Message], places: Iterable[int]) -> set[int]:
    """Of these places that of the first goal and that of the user's latest message."""
    prompts = [place for place in places if is_prompt(messages[place])]
    spoken = (place for place in prompts if messages[place].text.strip())
    return {*islice(spoken, 1), *prompts[-1:]}


def _raise_floors(chosen: Iterable[_Unit], room: int, each: int) -> None:
    pieces = [piece for unit in chosen for piece in unit.pieces]
    most = min(each, level((piece.size for piece in pieces), room))
    for piece in pieces:
        piece.floor = max(1, min(piece.size, most))


def _fitted(plan: _Plan, budget: int) -> Compressed | None:
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


def _factor(plan: _Plan, room: float) -> float | None:
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


def _cost(plan: _Plan, factor: float) -> float:
    """What a result takes, by the sizes of its parts (tokens)."""
    total = float(plan.state_room + 120)
    at = 0
    for unit in plan.units:
        if unit.is_shown(factor):
            total += _GAP * (unit.places.start > at) + unit.frame
            total += sum(piece.cost(factor) for piece in unit.pieces)
            at = unit.places.stop
    return total + _GAP * (at < len(plan.weights))


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


def _rendered(plan: _Plan, factor: float) -> Compressed:
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
    head = note(plan.session, plan.known, made.make(reasoning) if reasoning else None, plan.state_room, plan.counter)
    head = replace(head, timestamp=messages[0].timestamp)
    return made.compressed(replace(plan.session, messages=collect(chain([head], shown))))


def _bare(plan: _Plan, pins: int, budget: int) -> Compressed | None:
    """The goal and the latest message alone, each as one text; None where not even that fits."""
    messages = plan.session.messages
    made = _Marks(messages, plan.names)
    shown: list[Message] = []
    at = 0
    pinned = sorted(_pinned(messages, range(len(messages))))
    for place in pinned:
        shown += _gap(plan, at, place, made)
        at = place + 1
        text = messages[place].text
        name = made.make([(place, at, None)])
        room = int(len(text) * pins / 4 / (1 + plan.counter.text(text).high))
        shown.append(replace(messages[place], parts=(Text(text=cut(text, room, name)),)))
    shown += _gap(plan, at, len(messages), made)
    head = note(plan.session, plan.known, None, 0, plan.counter)
    result = made.compressed(replace(plan.session, messages=collect(chain([head], shown))))
    return result if plan.counter.session(result.session).high <= budget else None


def _gap(plan: _Plan, start: int, stop: int, made: _Marks) -> Iterator[Message]:
    """The message in the place of those that are left out between two places."""
    if start < stop:
        tokens = int(sum(plan.weights[start:stop]) * plan.density)
        text = Text(text=marks.gap(stop - start, tokens, made.make([(start, stop, None)])))
        stamp = plan.session.messages[start].timestamp
        yield Message(role="user", parts=(text,), origin="summary", timestamp=stamp)


def _shown(plan: _Plan, unit: _Unit, factor: float, made: _Marks, reasoning: list[Span]) -> Iterator[Message]:
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
            fitting = piece.within(max(piece.limit(factor), _LEAST))
            if fitting != part:
                made.make([(place, place + 1, index)], piece.name)
            parts.append(fitting)
        if parts:
            yield replace(message, parts=tuple(parts))
