"""The pipeline: read, inspect, lower, decide, compress, write, verify. Nothing else happens here."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from . import agents, compressors, decision, migrations, sessions, timestamps, tokens
from .agents import AgentSpec, Capabilities, Reading, Written
from .comparison import difference
from .compressors import Compressed
from .decision import LEAST_BUDGET, Decision, Target
from .errors import MigrationError, NoConversation, Refused, UsageError, WriteError
from .exporter import dump
from .files import is_folder
from .losses import Loss, merged
from .lowering import lower
from .model import Session, Value, goal, headline
from .redaction import redact_session, report
from .sequences import full_history
from .storage import Document, Store, Workspace
from .target import inspect
from .tokens import Counter

History = Literal["live", "full", "auto"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration(Value):
    """What a migration did, or (dry run: ``migration`` None) would do. Sizes in tokens of the target's counter:
    of the session as the target can hold it, and of what was written."""

    migration: str | None
    source: dict[str, Any]
    target: dict[str, Any]
    mode: Literal["direct", "compress"]
    tokens_before: int
    tokens_after: int
    decision: Decision
    losses: tuple[Loss, ...]
    warnings: tuple[str, ...]


def decide(session: Session, target_model: str | None = None, target_agent: str | None = None) -> Decision:
    """Whether a session fits a model, an agent as it is set up here, or a model in an agent.

    Raises UnknownModel, NotFound (agent).
    """
    if target_model is None and target_agent is None:
        raise UsageError("a model or an agent must be named", "pass target_model or target_agent")
    target = inspect(target_agent, model=target_model, folder=existing_folder(session.cwd))
    return decide_for(session, target)


def decide_for(session: Session, target: Target) -> Decision:
    """Whether a session, lowered, fits a target that has been inspected."""
    lowered, _ = lower(session, target.capabilities or Capabilities(thinking="text"))
    return decision.decide(lowered, target)


def migrate(
    ref: str | Path | Session, to: str, model: str | None = None, into: Path | str | None = None, *,
    agent: str | None = None, home: Path | str | None = None, from_home: Path | str | None = None,
    budget: int | None = None, window: int | None = None, compressor: str = compressors.DEFAULT,
    history: History = "live", redact: bool = False, dry_run: bool = False, again: bool = False,
    store: Store | None = None,
) -> Migration:  # fmt: skip
    """Carry a session into another agent, as it is where it fits, else compressed.

    ``ref`` is a session or what ``read_session`` takes (``agent`` and ``from_home`` narrow the search);
    ``to`` the target agent, ``home`` its configuration folder, ``into`` the project folder (default: the
    source's). ``budget`` and ``window`` in tokens. ``history``: what the source's own model would see (live), all
    that was said before its compactions too (full), or the latter where it fits (auto). ``redact``: without the secrets
    in its texts (``redaction``). The same
    migration twice is done once: the second answers with the first, unless ``again``. Raises MigrationError's
    kinds; whatever is raised, nothing of the result is left behind.
    """
    spec = agents.get(to)
    if spec.write is None:
        raise UsageError(f"sessions of {spec.names[0]} cannot be written", f"one of: {', '.join(writable())}")
    if budget is not None and budget < LEAST_BUDGET:
        raise UsageError(f"a budget of {budget:,} tokens is too small", f"give at least {LEAST_BUDGET:,}")
    if history not in get_args(History):
        raise UsageError(f"there is no history {history!r}", f"one of: {', '.join(get_args(History))}")
    started = time.time()
    if isinstance(ref, Session):
        reading = Reading(session=ref)
    else:
        reading = sessions.read(ref, agent, Path(from_home) if from_home else None, other_than=to)
    session = reading.session
    found: list[str] = []
    if redact:
        session, counts = redact_session(session)
        found.append(report(counts))
    folder = _folder(session, into)
    home = spec.locate(Path(home) if home else None).absolute()
    target = inspect(to, model=model, home=home, folder=folder, window=window, limit=budget)
    counter = tokens.counter(target.model)

    capabilities = target.capabilities or spec.capabilities
    lowered, losses, decided = _decided(session, history, capabilities, target, counter)
    if not lowered.messages:
        raise NoConversation("nothing of the session can be carried", "name another session")
    if decided.budget <= 0:
        raise Refused(
            f"nothing fits: {target.model} in {spec.names[0]} leaves {decided.budget:,} tokens for a session",
            "choose a model with a larger window, or a larger --window (session-migrator decide SESSION shows the sum)",
        )
    result = Compressed(session=lowered)
    if decided.mode == "compress":
        result = compressed(lowered, compressor, decided.budget, counter, capabilities)
    planned = Migration(
        migration=None,
        source={"agent": session.agent, "session_id": session.id, "path": session.source},
        target={"agent": to, "session_id": None, "paths": [], "resume": None},
        mode=decided.mode,
        tokens_before=decided.tokens,
        tokens_after=decided.tokens if decided.mode == "direct" else counter.session(result.session).high,
        decision=decided,
        losses=merged([*reading.losses, *losses]),
        warnings=(*_warnings(target, model, decided, result), *found, *_growing(session, started)),
    )
    if dry_run:
        return planned
    options = {
        "to": to, "home": str(home), "folder": str(folder), "model": target.model, "window": window, "budget": budget,
        "compressor": compressor, "history": history, "form": "session", "redact": redact,
        "room": decided.budget if decided.mode == "compress" else None,
    }  # fmt: skip
    made = migrations.lineage(session, options)
    workspace = (store or Store()).workspace(folder)
    with workspace.locked():
        same, last = migrations.before(workspace, made)
        if same and not again:
            return _answered(planned, same)
        if last:
            warning = f"the source has changed since migration {last['migration']}; this is a new one"
            planned = replace(planned, warnings=(*planned.warnings, warning))

        def resume(session_id: str) -> str:
            named = model or spec.resumes_recorded_model(session.model, target.model)
            return spec.resume_command(session_id, home, folder, target.model if named else None)

        return _carry_out(planned, spec, result, home, folder, workspace, made, resume)


def writable() -> list[str]:
    """The agents that sessions can be written for."""
    return [spec.id for spec in agents.all_agents() if spec.write]


def existing_folder(cwd: str | None) -> Path | None:
    """The folder a session names, if it is here."""
    return Path(cwd) if cwd and Path(cwd).is_absolute() and is_folder(cwd) else None


def _folder(session: Session, into: Path | str | None) -> Path:
    """The project folder the session goes on in."""
    if into is not None:
        folder = Path(os.path.expanduser(into))  # noqa: PTH111
        if not is_folder(folder):
            raise UsageError(f"{folder} is not a folder", "name an existing one with --into")
        return folder.absolute()
    folder = existing_folder(session.cwd)
    if folder is None:
        known = f"the session's folder {session.cwd} is not here" if session.cwd else "the session names no folder"
        raise UsageError(known, "name the folder to go on in with --into DIR")
    return folder


def _decided(
    session: Session, history: History, capabilities: Capabilities, target: Target, counter: Counter
) -> tuple[Session, tuple[Loss, ...], Decision]:
    """The session lowered, what that took, and the decision: of the history asked for, or (auto) of the full one
    where that fits as it is and else of the live one."""
    if history != "live" and session.earlier:
        lowered, losses = lower(full_history(session), capabilities)
        decided = decision.decide(lowered, target, counter)
        if history == "full" or decided.mode == "direct":
            return lowered, losses, decided
    lowered, losses = lower(session, capabilities)
    return lowered, losses, decision.decide(lowered, target, counter)


def compressed(lowered: Session, name: str, budget: int, counter: Counter, capabilities: Capabilities) -> Compressed:
    """Within the budget after lowering once more, or Refused. One retry takes off what lowering had added. The
    session keeps a title, since the words it began with may be gone."""
    lowered = replace(lowered, title=lowered.title or headline(goal(lowered.messages)))
    compressor = compressors.get(name)
    allowed = budget
    for _ in range(2):
        result = compressor.compress(lowered, allowed, counter)
        session, _ = lower(result.session, capabilities)
        size = counter.session(session).high
        if size <= budget:
            return replace(result, session=session)
        allowed -= size - budget
    raise Refused(f"compressor {name} cannot bring the session within {budget:,} tokens", "use another --compressor")


def _carry_out(
    planned: Migration, spec: AgentSpec, result: Compressed, home: Path, folder: Path, workspace: Workspace,
    made: migrations.Lineage, resume: Callable[[str], str],
) -> Migration:  # fmt: skip
    """Store the originals of what was left out, write, read back and compare, record. Whatever fails after
    the write, what was written is taken back."""
    assert spec.write is not None
    record: dict[str, Any] = {"created_at": timestamps.now(), "folder": str(folder)}
    if result.elided:
        record["originals"] = workspace.add("originals", dump(replace(result.session, messages=result.elided)))
    written = spec.write(result.session, home, folder)
    try:
        _verify(spec, written, result.session)
        target = {"session_id": written.session_id, "paths": list(written.paths), "resume": resume(written.session_id)}
        done = replace(planned, migration=secrets.token_hex(6), target={**planned.target, **target})
        migrations.record(workspace, made, {**done.to_dict(), **record, "written": written.to_dict()})
    except BaseException:
        migrations.take_back(written)
        raise
    return done


def _answered(planned: Migration, earlier: Document) -> Migration:
    """The migration that did just this before, in the place of another."""
    warning = f"this was done before, as migration {earlier['migration']}; nothing was written (--again makes another)"
    return replace(
        planned, migration=earlier["migration"], target=earlier["target"], warnings=(*planned.warnings, warning)
    )


def _growing(session: Session, started: float) -> list[str]:
    """A warning where the source's file was written to while it was read."""
    path = Path(session.source) if session.source else None
    if path is None or not path.exists() or path.stat().st_mtime < started:
        return []
    return ["the source was being written while it was read: what came after the start is not in the result"]


def _verify(spec: AgentSpec, written: Written, session: Session) -> None:
    """Raises WriteError where what stands on disk does not say the same as the session."""
    try:
        problem = difference(session.messages, spec.read(Path(written.paths[0])).session.messages)
    except MigrationError as error:
        problem = str(error)
    if problem:
        raise WriteError(f"what was written does not read back the same: {problem}", "nothing was left behind")


def _warnings(target: Target, model: str | None, decided: Decision, result: Compressed) -> list[str]:
    found: list[str] = []
    if model is None:
        found.append(f"model {target.model} ({(target.why or {}).get('model')}); another: --model")
    if decided.counter.method != "exact":
        found.append(f"tokens of {target.model} are an upper bound, counted with {decided.counter.name}")
    if result.elided:
        kept = len(result.session.messages) - 1
        found.append(
            f"the latest {kept} messages are kept whole; {len(result.elided)} are left out, and stay at the source"
        )
    return found
