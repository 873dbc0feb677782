"""What a migration tells beside its figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path

from . import blocks
from .agents import AgentSpec, MemorySpec, Written
from .compressors import Compressed
from .decision import Decision, Target
from .model import Message, Session
from .tokens import Counter
from .tokens.content import images, is_longer, texts


def on_session(
    spec: AgentSpec, target: Target, model: str | None, decided: Decision, counter: Counter, result: Compressed
) -> list[str]:
    """On a session that is carried: the model, if nobody named it, counts that are bounds, what is left out, and what
    the client will not send its model."""
    found = list(target.warnings)
    if model is None:
        found.append(f"model {target.model} ({(target.why or {}).get('model')}); another: --model")
    if decided.counter.method != "exact":
        found.append(f"tokens of {target.model} are an upper bound, counted with {decided.counter.name}")
    elif decided.mode == "compress" and counter.method != "exact":
        found.append(f"tokens of what is kept are an upper bound, counted with {counter.name}")
    if result.elided:
        count = f"{len(result.elided):,} messages are left out or shortened"
        found.append(f"{count}; each mark in their place has an id: session-migrator recall ID gives it back")
    found += result.notes
    results = [part for message in result.session.messages for part in message.results]
    most = target.longest_result
    if most is not None:
        count = sum(is_longer(part, most) for part in results)
        sends = f"{spec.names[0]} sends its model {most:,} bytes of a tool's result"
        found += [f"{sends}, without the middle; {count} are longer"] if count else []
    shown = spec.shown_result(target.window) if target.window else None
    if shown is not None:
        count = sum(sum(map(len, texts([part]))) > shown for part in results)
        sends = f"{spec.names[0]} sends its model {shown:,} characters of a tool's result at most"
        found += [f"{sends}; {count} are longer, and counted whole"] if count else []
    if spec.image_turns:
        count = _images_before(result.session.messages, spec.image_turns)
        sends = f"{spec.names[0]} sends its model the images of the latest {spec.image_turns} turns alone"
        found += [f"{sends}; {count} stand before them"] if count else []
    if spec.masking:
        found += _masked(spec.names[0], *spec.masking, sum(counter.part(part).high for part in results))
    return found


def _images_before(messages: Iterable[Message], turns: int) -> int:
    """How many images stand before the latest so many turns of the user's that were answered."""
    held = [(message.role, sum(1 for _ in images(message.parts))) for message in messages]
    runs = [list(run) for _, run in groupby(held, lambda one: one[0] == "user")]
    answered = [at for at, run in enumerate(runs[:-1]) if run[0][0] == "user" and "assistant" in dict(runs[at + 1])]
    return sum(count for run in runs[: answered[-turns]] for _, count in run) if len(answered) > turns else 0


def _masked(name: str, least: int, kept: int, size: int) -> list[str]:
    """A warning where the client puts most results into files: ``size`` is what they are in all (tokens)."""
    where = f"in the place of the others, about {size - kept:,}, where it has put them"
    return [f"{name} sends its model the latest {kept:,} tokens of tool results, and {where}"] if size > least else []


def growing(session: Session, started: float) -> list[str]:
    """A warning where the source's file was written to while it was read."""
    path = Path(session.source) if session.source else None
    if path is None or not path.exists() or path.stat().st_mtime < started:
        return []
    return ["the source was being written while it was read: what came after the start is not in the result"]


def over_limit(spec: MemorySpec, folder: Path, bodies: Mapping[Path, str]) -> list[str]:
    """A warning where the agent will not read the index to its end. Raises WriteError, Refused."""
    path = folder / spec.index
    whole = (blocks.read(path) or "") + bodies[path]
    sizes = ((spec.limit, len(whole.encode()), "bytes"), (spec.lines, whole.count("\n"), "lines"))
    return [
        f"{path} has {size:,} {unit}, and {spec.name} reads {most:,}: it may not see the block at the end"
        for most, size, unit in sizes
        if most is not None and size > most
    ]


def on_blocks(written: Written) -> tuple[str, ...]:
    """What is to be known of blocks that took the place of other migrations'."""
    return tuple(
        f"the block of migration {blocks.name_of(block.replaced)} in {block.path} is replaced; undo brings it back"
        for block in written.blocks if block.replaced
    )  # fmt: skip


def on_written(spec: AgentSpec, written: Written) -> tuple[str, ...]:
    """What is to be known of a session that its client takes whole only with variables, or that it has still to be
    told of."""
    name, found = spec.names[0], list[str]()
    if written.variables:
        named = " and ".join(f"{variable}={value}" for variable, value in written.variables)
        said = f"{name} takes the end of a session as long as this one alone, unless it is started with {named}"
        found.append(f"{said}, as in the printed command")
    if written.pending:
        found.append(f"{name} may have to be told of the session first: {written.pending}")
    return tuple(found)
