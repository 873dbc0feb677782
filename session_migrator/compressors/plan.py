"""What a compression has to choose from: the parts of a session with their sizes and worths, and what is pinned."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from ..ledger import Ledger, is_prompt, ledger, touched
from ..lowering import is_reasoning
from ..model import Image, Message, Part, Session, ToolCall
from ..sequences import weight
from ..tokens import Counter, content
from . import marks
from .protocol import Span
from .shortening import level, lines, shortened, without_repeats
from .units import units

# Tokens: a part that would get less is left out; about what a mark takes; what a gap's message takes.
LEAST, MARK, GAP = 75, 35, 40
# A unit larger than this share of the budget will be shortened, and counts as far as it takes the others away.
_GIANT = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What a part is worth by its distance from the end, and what is pinned, all as shares of the budget.

    ``whole``: the newest units that stay as they are. ``reach``: the distance at which worth has fallen to a half;
    ``steepness``: how suddenly it falls there. ``stale``: the factor of a read whose file was read or edited again
    later; ``edited``: of a result that shows a file which the session edited. ``said``: the share for what the user
    said before the latest message; ``each``: what one of these messages may have at most (people paste logs);
    ``state``: for the note's files, plan and failures; ``pinned``: for goal and latest message together.
    """

    whole: float = 0.3
    reach: float = 0.6
    steepness: float = 32.0
    stale: float = 0.33
    edited: float = 2.0
    said: float = 0.35
    each: float = 0.05
    state: float = 0.12
    pinned: float = 0.5


@dataclass(slots=True, eq=False)
class Piece:
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
        """The tokens that it may have."""
        return max(self.floor, factor * self.worth)

    def cost(self, factor: float) -> float:
        """The tokens that it takes in a unit that is shown."""
        limit = max(self.limit(factor), LEAST)
        return self.size if self.size <= limit + 2 * MARK else MARK if isinstance(self.part, Image) else limit + MARK

    def within(self, limit: float) -> Part:
        """The part within so many tokens."""
        if self.size <= limit + 2 * MARK:  # what a cut saves is more than its mark
            return self.part
        return shortened(self.part, int(limit * len(marks.text_of(self.part)) / self.size), self.name)


@dataclass(slots=True, eq=False)
class Unit:
    """A unit that may be shown: its places, its pieces (reasoning is none), the tokens of its framing."""

    places: range
    pieces: list[Piece]
    frame: int

    def is_shown(self, factor: float) -> bool:
        """Whether something of it is worth being shown: its calls alone are not."""
        return any(
            piece.floor or piece.limit(factor) >= max(1, min(piece.size, LEAST))
            for piece in self.pieces
            if not isinstance(piece.part, ToolCall)
        )


@dataclass(slots=True)
class Seen:
    """The lines that stand further on, and the places of the messages that keep theirs all the same."""

    pinned: set[int]
    lines: set[str] = field(default_factory=set[str])


@dataclass(slots=True, kw_only=True)
class Plan:
    """Everything that a factor decides upon: the units in order, the note, and what is known of all messages."""

    session: Session
    counter: Counter
    units: list[Unit]
    known: Ledger
    state_room: int
    weights: array[int]
    density: float
    names: dict[tuple[Span, ...], str]


def planned(session: Session, budget: int, counter: Counter, weights: Weights) -> Plan:
    """The plan of a session for a budget (tokens)."""
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
    seen = Seen(pinned_places(session.messages, heard))
    recent = _recent(session, whole, known, budget, counter, weights, seen)
    inside = recent[0].places.start if recent else len(sizes)
    older = [_unit(session, range(place, place + 1), counter, seen, 0.0) for place in heard[::-1] if place < inside]
    plan = Plan(
        session=session, counter=counter, units=[*older[::-1], *recent], known=known,
        state_room=int(budget * weights.state), weights=sizes, density=_density(recent, sizes), names={},
    )  # fmt: skip
    _pin(plan, set(heard), seen.pinned, budget, weights)
    plan.units = [unit for unit in plan.units if unit.places.start >= inside or any(one.floor for one in unit.pieces)]
    return plan


def _recent(
    session: Session,
    whole: Sequence[range],
    known: Ledger,
    budget: int,
    counter: Counter,
    weights: Weights,
    seen: Seen,
) -> list[Unit]:
    """The units at the end, as far back as worth goes, each part without the lines that stand further on too."""
    edited = {path for path, use in known.files.items() if use.edits}
    reach, giant = weights.reach * budget, int(_GIANT * budget)
    found: list[Unit] = []
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


def _unit(session: Session, places: range, counter: Counter, seen: Seen, worth: float) -> Unit:
    """A unit with its parts sized, without the lines that were seen; its own lines are then seen."""
    pieces: list[Piece] = []
    frame = 0
    for place in reversed(places):
        message = session.messages[place]
        frame += content.items(message) * counter.frame[1]
        for index in reversed(range(len(message.parts))):
            part = message.parts[index]
            if is_reasoning(message, part):
                continue
            name = marks.id_of([marks.text_of(part).encode("utf-8", "surrogatepass")])
            fresh = part if place in seen.pinned else without_repeats(part, seen.lines, name)
            seen.lines.update(lines(part))
            own = 0.0 if message.origin == "injected" else worth
            pieces.append(Piece(place, index, fresh, counter.part(fresh).high, own, name))
    return Unit(places, pieces[::-1], frame)


def _density(recent: Iterable[Unit], sizes: Sequence[int]) -> float:
    """Tokens per byte of weight, by the units that were counted."""
    tokens = sum(piece.size for unit in recent for piece in unit.pieces)
    bytes_ = sum(sizes[place] for unit in recent for place in unit.places)
    return tokens / bytes_ if bytes_ else 0.25


def _pin(plan: Plan, heard: set[int], pinned: set[int], budget: int, weights: Weights) -> None:
    """Set what goal and latest message have at least, and the other words of the user's (and summaries of what was
    before), of which the newest are kept where not even all their beginnings go into the share."""
    said = [unit for unit in plan.units if unit.places.start in heard and unit.places.start not in pinned]
    first = [unit for unit in plan.units if unit.places.start in pinned]
    _raise_floors(first, int(budget * weights.pinned), budget)
    _keep_whole(plan.units, int(budget * weights.whole), int(budget * _GIANT))
    room, kept = budget * weights.said, list[Unit]()
    for unit in reversed(said):
        room -= GAP + unit.frame + sum(min(piece.size, LEAST) for piece in unit.pieces)
        if room < 0:
            break
        kept.append(unit)
    beginnings = sum(min(piece.size, LEAST) for unit in kept for piece in unit.pieces)
    _raise_floors(kept, beginnings + max(0, int(room)), max(LEAST, int(budget * weights.each)))


def _keep_whole(units: Sequence[Unit], room: int, giant: int) -> None:
    """Keep the newest units whole while there is room; a giant among them is left to its worth."""
    for unit in reversed(units):
        size = sum(piece.size for piece in unit.pieces)
        if size <= giant:
            room -= size
            if room < 0:
                return
            for piece in unit.pieces:
                piece.floor = piece.size if piece.worth else piece.floor


def pinned_places(messages: Sequence[Message], places: Iterable[int]) -> set[int]:
    """Of these places that of the first goal and that of the user's latest message."""
    prompts = [place for place in places if is_prompt(messages[place])]
    spoken = (place for place in prompts if messages[place].text.strip())
    return {*islice(spoken, 1), *prompts[-1:]}


def _raise_floors(chosen: Iterable[Unit], room: int, each: int) -> None:
    pieces = [piece for unit in chosen for piece in unit.pieces]
    most = min(each, level((piece.size for piece in pieces), room))
    for piece in pieces:
        piece.floor = max(1, min(piece.size, most))
