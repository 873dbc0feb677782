"""What the command ``models`` tells: what each source says of a model, and which of them decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from . import agents, context_windows, decision
from .capacities import Capacities
from .context_windows import Window
from .errors import MigrationError
from .providers import Provider, providers, serving
from .target import Candidate, candidates, pick

_UNKNOWN = Window(source="unknown")
# What no session is sized to, unless the user says so.
_REFUSED = {"family": "family: give a --window", "unknown": "unknown: give a --window"}


def known(said: Capacities) -> list[dict[str, Any]]:
    """The models of the user's file and of the table, with the windows that count without a client. Raises ReadError
    (the user's file)."""
    named = {context_windows.normalize(model): model for model in (*context_windows.known_models(), *said.users)}
    return [{"model": model, **_alone(candidates(model, said=said)[0]).to_dict()} for model in named.values()]


def listing(said: Capacities) -> Iterator[str]:
    """``known`` as lines."""
    rows = known(said)
    yield _line("model", "context", "max input", "max output", "from")
    for row in rows:
        yield _line(row["model"], row["context"], row["max_input"], row["max_output"], row["source"])


def document(model: str, said: Capacities) -> dict[str, Any]:
    """What each source says of a model, and the window that counts without a client. Raises UnknownModel where
    nobody knows anything, ReadError (the user's file)."""
    offers = _offers(model, said)
    return {
        "model": model, "window": _alone(offers).to_dict(), "candidates": [offer.to_dict() for offer in offers],
    }  # fmt: skip


def lines(model: str, said: Capacities) -> Iterator[str]:
    """The same as lines, with the window that counts in each agent. Raises as ``document`` does."""
    offers = _offers(model, said)
    yield _line(model, "context", "max input", "max output")
    for offer in offers:
        label = f"{offer.source:<9}{offer.name or ''}" if offer.source in ("live", "client") else offer.source
        yield _line(label, offer.context, offer.max_input, offer.max_output, _note(model, offer))
    for client in (*agents.AGENTS, None):
        window = pick(offers, client) or _UNKNOWN
        where = f"decides in {client}" if client else "decides without a client"
        yield _line(
            where, window.context, window.max_input, window.max_output, _REFUSED.get(window.source, window.source)
        )


def refreshed(said: Capacities) -> Iterator[str]:
    """Ask each provider that can be asked; a line on each: how many windows it gave, or why none."""
    for provider in providers():
        yield f"{provider.name:<16}{_refreshed(provider, said)}"


def _refreshed(provider: Provider, said: Capacities) -> str:
    if provider.path is None:
        return "gives no windows"
    if not provider.reachable:
        return f"no {'key' if provider.base else 'address'} ({' or '.join(provider.needed)} is not set)"
    try:
        return f"{len(said.refresh(provider).models)} models"
    except MigrationError as error:
        return f"failed: {error}"


def _offers(model: str, said: Capacities) -> tuple[Candidate, ...]:
    clients = [(spec, spec.locate(None), Path.cwd()) for spec in agents.all_agents()]
    offers, _ = candidates(model, clients, said=said)
    if not any(offer.window for offer in offers):
        decision.from_model(model)
    return offers


def _alone(offers: Sequence[Candidate]) -> Window:
    return pick(offers) or _UNKNOWN


def _note(model: str, offer: Candidate) -> str:
    """What else there is to say of what a source says."""
    if offer.source == "user":
        return f"{offer.name}{'' if offer.window else ' does not name it'}"
    if offer.source == "family" and offer.window:
        return "a guess, by how the id begins"
    if offer.source != "live":
        return ""
    provider = serving(model)
    if provider is None:
        return "no provider of it is known"
    if provider.path is None:
        return "gives no windows"
    if offer.at is None:
        return f"not asked yet: set {' or '.join(provider.needed)}, then models --refresh"
    return f"{'read' if offer.window else 'has no such model, read'} {offer.at[:16]}Z"


def _line(label: str, *columns: int | str | None) -> str:
    *figures, note = columns if len(columns) > 3 else (*columns, "")
    cells = (f"{figure:,}" if isinstance(figure, int) else figure or "-" for figure in figures)
    return f"{label:<34}{''.join(f'{cell:>12}' for cell in cells)}  {note}".rstrip()
