"""What a session is to fit into: the model, the client around it, and what is there on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from importlib.resources import files
from pathlib import Path
from typing import Any

from . import agents, capacities, context_windows, decision, providers, tokens
from .agents import AgentSpec
from .agents.instructions import SKILL, described_as, text_of
from .capacities import Capacities
from .context_windows import Source, Window
from .decision import Target
from .model import Value
from .storage import Store
from .tokens import Counter

_BYTES = 2
"""Of names and paths, that are cut to a number of characters: bytes of a token at least."""
_HEADING = 200
"""Tokens of what a client says before the first skill or agent, where it has none of its own (pi 1.6.0: 60)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Value):
    """What one source says of a model's limits, in tokens; all None where it says nothing. ``name``: the file, the
    provider or the agent, None where there is none; ``at``: when the provider was last asked."""

    source: Source
    name: str | None = None
    context: int | None = None
    max_input: int | None = None
    max_output: int | None = None
    at: str | None = None

    @property
    def window(self) -> Window | None:
        """The same as a window, None where nothing is said."""
        if self.context is None and self.max_input is None:
            return None
        return Window(context=self.context, max_input=self.max_input, max_output=self.max_output, source=self.source)


def inspect(
    agent: str | None, *, model: str | None = None, home: Path | None = None, folder: Path | None = None,
    window: int | None = None, limit: int | None = None, store: Store | None = None, ask: bool = True,
) -> Target:  # fmt: skip
    """The target: an agent as it is set up on this machine, or (agent None) a model alone.

    ``model`` defaults to the one the client is configured for; ``window`` (tokens) overrides what is known of the
    model's context; ``limit`` is a budget set by the user; ``store`` holds what providers said, and is asked before
    they are, which is not at all without ``ask``. Raises UnknownModel where nothing is known of the model and no window
    is given, NotFound (agent), ReadError (the user's own file of windows).
    """
    said = Capacities(store or Store())
    if agent is None:
        assert model is not None, "a target is an agent, a model or both"
        offers, warnings = candidates(model, said=said, window=window, fresh=ask)
        alone = decision.from_model(model, pick(offers))
        return replace(alone, limit=limit, why=_origin(offers, alone.window), warnings=warnings)
    spec = agents.get(agent)
    home, folder = spec.locate(home), (folder or Path.cwd()).absolute()
    configured, source = spec.model(home, folder, model)
    offers, warnings = candidates(configured, [(spec, home, folder)], said=said, window=window, fresh=ask)
    seen = decision.from_model(configured, pick(offers, spec.id)).window
    own = seen if window else _clients_own(offers, seen)
    counter = tokens.counter(configured)
    paths, described = spec.instructions(home, folder), spec.described(home, folder)
    client = _overheads()[spec.overhead]
    measured = client["models"].get(context_windows.normalize(configured), client["other"])
    return Target(
        agent=spec.id,
        model=configured,
        window=seen,
        capabilities=replace(spec.capabilities, model=configured),
        trigger=spec.trigger(own, home, folder),
        overhead=counter.measured(o200k=measured["o200k"], utf8_bytes=measured["utf8_bytes"]).high
        + counter.frame[1] * measured["texts"],
        instructions=sum(counter.text(text_of(path)).high for path in paths)
        + _descriptions(described, spec.described_most(own), counter),
        limit=limit,
        longest_result=spec.longest_result(home),
        why={
            "model": source,
            "overhead": f"what {spec.names[0]} {client['version']} adds to a request (measured {client['measured']})"
            + _not_counted(spec.mcp_servers(home, folder)),
            "instructions": (", ".join(map(str, paths)) or "no instruction files here") + _listed(len(described)),
            **_origin(offers, seen),
        },
        warnings=warnings,
    )


def _not_counted(servers: tuple[str, ...]) -> str:
    return f"; the tools of MCP servers are not counted: {', '.join(servers)}" if servers else ""


def _listed(count: int) -> str:
    return f"; descriptions of skills, agents and commands: {count:,}" if count else ""


def _descriptions(paths: Iterable[Path], most: int | None, counter: Counter) -> int:
    """The tokens of what a model is told of them at most, of the skills by so many characters."""
    told = {path: described_as(path) for path in paths}
    skills = "".join(words for path, words in told.items() if path.name == SKILL)
    others = "".join(words for path, words in told.items() if path.name != SKILL)
    shown = counter.text(skills).high
    if most is not None and len(skills) > most:
        shown = min(shown, most * len(skills.encode(errors="replace")) // len(skills) // _BYTES)
    return shown + counter.text(others).high + (_HEADING if told else 0)


def candidates(
    model: str, clients: Iterable[tuple[AgentSpec, Path, Path]] = (), *, said: Capacities, window: int | None = None,
    fresh: bool = False,
) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:  # fmt: skip
    """What each source says of a model, in the order in which they count, and warnings.

    ``clients``: agents with their homes and the project's folder; ``said``: what the user and the providers said;
    ``window``: what the user says of the context now, in the place of their file; ``fresh``: read what the provider
    says anew where that is over a day old and its key is in the environment (no connection is made otherwise, nor
    where the user has said what counts). Raises ReadError (the user's file).
    """
    if window:
        user, user_name = Window(context=window, source="user"), "--window"
    else:
        user, user_name = said.user(model), str(said.users_file)
    provider = providers.serving(model)
    reading, warning = None, None
    if provider and fresh and not user:
        reading, warning = said.current(provider)
    elif provider:
        reading = said.kept(provider)
    live = capacities.live(provider, model, reading) if provider and reading else None
    known = context_windows.window(model)
    table = known if known and known.source == "table" else None
    family = known if known and known.source == "family" else None
    offers = [
        _offer("user", user, user_name),
        _offer("live", live, provider and provider.name, reading and reading.at),
        *(_offer("client", spec.window(model, table or user or live, *where), spec.id) for spec, *where in clients),
        _offer("table", table),
        _offer("family", family),
    ]
    return tuple(offers), (warning,) if warning else ()


def pick(offers: Sequence[Candidate], client: str | None = None) -> Window | None:
    """The window that decides, in the agent named or for a model alone: the user's; else the smaller of what the
    provider and the client say; else the table's; else its family's, a guess. What the one that decides leaves open
    is the table's. None where nobody knows."""
    said = {
        offer.source: window
        for offer in offers
        if (window := offer.window) and (offer.source != "client" or offer.name == client)
    }
    table = said.get("table") or said.get("family")
    if "user" in said:
        return _completed(said["user"], table)
    serving = [said[source] for source in ("client", "live") if source in said]
    if not serving:
        return table
    decides = min(serving, key=lambda window: providers.least((window.context, window.max_input)) or 0)
    both = replace(reduce(providers.smaller, serving), source=decides.source)
    known = said.get("table")
    return replace(
        both,
        max_input=both.max_input or (known and known.max_input),
        max_output=both.max_output or (known and known.max_output),
    )


def _clients_own(offers: Sequence[Candidate], seen: Window) -> Window:
    """The window that the client compacts by, whatever else is known: its own, with the longest reply it knows of."""
    said = {offer.source: offer for offer in offers}
    longest = said["client"].max_output or said["table"].max_output or seen.max_output
    return replace(said["client"].window or seen, max_output=longest)


def _completed(said: Window, known: Window | None) -> Window:
    """A window of the user's size. What they leave open is the model's: the part of it kept from the input, and the
    longest reply."""
    if known is None:
        return said
    max_input, context = said.max_input, said.context or known.context
    if max_input is None and context and known.max_input and known.context:
        max_input = context - min(known.context - known.max_input, context // 4)
    return replace(said, context=context, max_input=max_input, max_output=said.max_output or known.max_output)


def _offer(source: Source, window: Window | None, name: str | None = None, at: str | None = None) -> Candidate:
    return Candidate(
        source=source, name=name, at=at, context=window and window.context, max_input=window and window.max_input,
        max_output=window and window.max_output,
    )  # fmt: skip


def _origin(offers: Sequence[Candidate], decided: Window) -> dict[str, str]:
    """Where a window comes from that is not in a table or a client of ours."""
    if decided.source not in ("user", "live"):
        return {}
    offer = next(offer for offer in offers if offer.source == decided.source)
    return {"window": f"{offer.name}, read {offer.at[:16]}Z" if offer.at else str(offer.name)}


@cache
def _overheads() -> dict[str, dict[str, Any]]:
    return json.loads((files("session_migrator") / "data" / "overhead.json").read_text(encoding="utf-8"))
