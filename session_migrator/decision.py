"""Does the session fit the target? A sum with every term shown, never a comparison of two model sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from . import context_windows, tokens
from .agents.spec import Capabilities
from .context_windows import Window
from .errors import UnknownModel
from .model import Session, Value
from .tokens import Count, Counter

Mode = Literal["direct", "compress"]

# Room for the reply where the client keeps none by itself, and for the user's next prompt (tokens).
_REPLY_ROOM, _PROMPT_ROOM = 20_000, 4_000
LEAST_BUDGET = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Target(Value):
    """Where a session is to go: a model, and the client around it where one is named.

    Sizes in tokens: ``overhead`` is what the client adds to each request before the first user message,
    ``instructions`` what its instruction files take, ``trigger`` the size at which it compacts by itself,
    ``limit`` a budget set by the user. ``longest_result``: bytes of a tool's result that the client sends, where it
    cuts. ``why`` says where the model, its window, overhead and instructions come from; ``warnings`` what could not be
    asked.
    """

    model: str
    window: Window
    agent: str | None = None
    capabilities: Capabilities | None = None
    trigger: int | None = None
    overhead: int = 0
    instructions: int = 0
    limit: int | None = None
    longest_result: int | None = None
    why: dict[str, str] | None = None
    warnings: tuple[str, ...] = ()

    @property
    def counter(self) -> Counter:
        """Counts what the target's model is sent."""
        return tokens.counter(self.model, self.longest_result)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Value):
    """A line of the ledger."""

    name: str
    tokens: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterInfo(Value):
    """Which counter was used, and how sure it is: exact, reconstructed, estimate or bound."""

    name: str
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted(Value):
    """The count of a session: the name of the counter, and what the ledger says of it."""

    count: Count
    name: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Value):
    """``direct`` (it fits as it is) or ``compress``, with the ledger that leads there. ``tokens`` is the
    upper end of the count, ``low`` the lower."""

    mode: Mode
    tokens: int
    low: int
    high: int
    budget: int
    window: Window
    ledger: tuple[Entry, ...]
    counter: CounterInfo


def from_model(model: str, window: Window | None = None) -> Target:
    """A target made from the model alone: no client, so no overhead and no trigger.

    Raises UnknownModel where nothing is known of the model and no window is given.
    """
    known = window or context_windows.window(model)
    if known is None or known.source == "family":
        near = context_windows.near(model)
        message = f"the window of model {model!r} is not known"
        if known:
            message += f"; its family's is {known.context:,}"
        raise UnknownModel(message, _remedy(near), near)
    return Target(model=model, window=known)


def _remedy(near: tuple[str, ...]) -> str:
    return (
        f"one of: {', '.join(near)}; or " if near else ""
    ) + "give its size with --window N where you size a session to it"


def decide(
    session: Session, target: Target | str, counter: Counter | None = None, counted: Counted | None = None
) -> Decision:
    """Whether a (lowered) session fits. It fits where the upper end of its count is within the budget:

        ceiling = min(trigger, max_input, context - reply_room)
        budget  = ceiling - overhead - instructions - prompt_room, at most the user's limit

    ``reply_room`` is min(max_output, 20,000, context // 4), ``prompt_room`` min(4,000, ceiling // 8); a term
    that is not known is left out. ``target`` may be a model id (raises UnknownModel). Where the budget lies within the
    count's interval, the counter's ``finer`` one decides, if there is one. ``counted``: the count of the session, where
    it is known already.
    """
    target = from_model(target) if isinstance(target, str) else target
    ledger = list(_terms(target))
    budget = _budget(target)
    left = _left(target)
    why = "what is left for the session" if budget == left else f"asked for; {left:,} would be left for the session"
    ledger.append(Entry(name="budget", tokens=budget, why=why))
    counted = counted or _counted(session, counter or target.counter, budget)
    count = counted.count
    mode: Mode = "direct" if count.high <= budget else "compress"
    ledger.append(Entry(name="session", tokens=count.high, why=counted.why))
    return Decision(
        mode=mode, tokens=count.high, low=count.low, high=count.high, budget=budget, window=target.window,
        ledger=tuple(ledger), counter=CounterInfo(name=counted.name, method=count.method),
    )  # fmt: skip


def _counted(session: Session, counter: Counter, budget: int) -> Counted:
    """The session counted here, by the finer counter where the other one leaves open whether it fits."""
    count = counter.session(session)
    if count.low <= budget < count.high and counter.finer:
        counter = counter.finer
        count = counter.session(session)
    sure = "exact" if count.low == count.high else f"between {count.low:,} and {count.high:,}"
    why = f"counted with {counter.name}: {sure}"
    if count.low <= budget < count.high:
        why += f"; it might fit, and {counter.remedy or 'a counter of this model alone'} would tell"
    return Counted(count=count, name=counter.name, why=why)


def _reply_room(window: Window) -> int:
    return min(window.max_output or _REPLY_ROOM, _REPLY_ROOM, (window.context or 0) // 4)


def _ceiling(target: Target) -> int:
    window = target.window
    terms = [target.trigger, window.max_input, window.context - _reply_room(window) if window.context else None]
    return min((term for term in terms if term is not None), default=0)


def _prompt_room(target: Target) -> int:
    return max(0, min(_PROMPT_ROOM, _ceiling(target) // 8))


def _budget(target: Target) -> int:
    """Tokens for the session; may be zero or less."""
    left = _left(target)
    return left if target.limit is None else min(target.limit, left)


def _left(target: Target) -> int:
    """What the window leaves for it."""
    return _ceiling(target) - target.overhead - target.instructions - _prompt_room(target)


def _terms(target: Target) -> list[Entry]:
    """The ledger up to the budget."""
    window, why = target.window, target.why or {}
    reply = "kept for the reply" if target.trigger is None else "for the reply; the trigger has it already"
    source = f"{target.model}, from {window.source}" + (f" ({why['window']})" if "window" in why else "")
    terms = [
        ("context", window.context, f"window of {source}"),
        ("max_input", window.max_input, f"input limit of {target.model}"),
        ("trigger", target.trigger, "the client compacts by itself from here"),
        ("reply_room", _reply_room(window) if window.context else None, reply),
        ("overhead", target.overhead, why.get("overhead", "no client named")),
        ("instructions", target.instructions, why.get("instructions", "no client named")),
        ("prompt_room", _prompt_room(target), "kept for the next prompt"),
    ]
    return [Entry(name=name, tokens=size, why=reason) for name, size, reason in terms if size is not None]
