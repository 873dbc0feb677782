"""The pipeline: read, inspect, lower, decide, compress, write, verify. Nothing else happens here."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from . import agents, compressors, memory_files, migrations, online, remarks, sessions, timestamps, tokens
from .agents import AgentSpec, Capabilities, Reading, Written
from .comparison import difference
from .compressors import Compressed, Compressor
from .decision import LEAST_BUDGET, Decision
from .errors import MigrationError, NoConversation, Refused, UsageError, WriteError
from .files import is_folder
from .fitting import History, compressed, decide_history, existing_folder, question
from .indexing import folders
from .injection import with_passages
from .losses import Loss, merged
from .lowering import lower
from .memory import remember
from .model import FITTED, Session, Value
from .redaction import redact_session, report
from .retrieval import originals
from .sequences import full_history
from .storage import Document, Store, Workspace
from .target import inspect

Form = Literal["session", "memory"]

# Whose tokens a memory is counted in where neither the session nor the caller names a model.
_COUNTED_AS = "gpt-5"


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration(Value):
    """What a migration did, or (dry run: ``migration`` None) would do. Sizes in tokens of the target's counter:
    of the session as the target can hold it, and of what was written. A memory has no decision: the sizes of its
    blocks are fixed."""

    migration: str | None
    source: dict[str, Any]
    target: dict[str, Any]
    mode: Literal["direct", "compress", "memory"]
    tokens_before: int
    tokens_after: int
    decision: Decision | None
    losses: tuple[Loss, ...]
    warnings: tuple[str, ...]


def migrate(
    ref: str | Path | Session, to: str, model: str | None = None, into: Path | str | None = None, *,
    agent: str | None = None, home: Path | str | None = None, from_home: Path | str | None = None,
    budget: int | None = None, window: int | None = None, compressor: str | Compressor = compressors.DEFAULT,
    history: History = "live", form: Form | None = None, memory_file: Path | str | None = None,
    redact: bool | None = None, count_online: bool = False, ask_providers: bool = True, native: bool = False,
    retrieval: bool = False, dry_run: bool = False, again: bool = False, store: Store | None = None,
) -> Migration:  # fmt: skip
    """Carry a session into another agent, as it is where it fits, else compressed; or as a memory.

    ``ref`` is a session or what ``read_session`` takes (``agent`` and ``from_home`` narrow the search);
    ``to`` the target agent, ``home`` its configuration folder, ``into`` the project folder (default: the
    source's). ``budget`` and ``window`` in tokens. ``history``: what the source's own model would see (live), all
    that was said before its compactions too (full), or the latter where it fits (auto). ``form``: a session that the
    agent resumes, or Markdown that it reads in that folder (``memory_file``: in this file); default: what the agent
    takes, a session before a memory. ``compressor``: one by its name, or of your own (``compressors.Compressor``); with
    "llm", a memory is summarized too.
    ``redact``: without the secrets in its texts (``redaction``); default: of
    memories alone. ``count_online``: counted by the model's vendor, to whom the session is sent as it is (redacted,
    if it is to be). ``ask_providers``: read what the model's provider says of its window, where a key is in the
    environment and that was read over a day ago. ``native``: a session that is compressed is whole in the target's own
    file, behind it a compaction as the agent makes them, so that its model is sent the compressed form. ``retrieval``:
    where it is compressed, passages that answer the user's last message are quoted in it (``injection``). The same
    migration twice is done once: the second answers with the first, unless ``again``. Raises MigrationError's kinds;
    whatever is raised, nothing of the result is left behind.
    """
    form = form_of(to, form, memory_file)
    if budget is not None and budget < LEAST_BUDGET:
        raise UsageError(f"a budget of {budget:,} tokens is too small", f"give at least {LEAST_BUDGET:,}")
    if form == "memory" and (budget or window or count_online or retrieval):
        options = "--budget, --window, --count-online and --retrieval"
        raise UsageError("a memory has a fixed size", f"leave out {options}, or add --as session")
    if native:
        _check_native(to, form)
    if history not in get_args(History):
        raise UsageError(f"there is no history {history!r}", f"one of: {', '.join(get_args(History))}")
    compressors.get(compressor, store)  # what it lacks is said before anything is sent
    started = time.time()
    if isinstance(ref, Session):
        reading = Reading(session=ref)
    else:
        reading = sessions.read(ref, agent, Path(from_home) if from_home else None, other_than=to)
    redact = form == "memory" if redact is None else redact
    found: list[str] = []
    if redact:
        session, counts = redact_session(reading.session)
        reading = replace(reading, session=session)
        found.append(report(counts))
    found += remarks.growing(reading.session, started)
    order = _Order(
        to=to, model=model, into=into, home=Path(home) if home else None, history=history, redact=redact,
        ask_providers=ask_providers, dry_run=dry_run, again=again, store=store or Store(),
    )  # fmt: skip
    if form == "memory":
        return _as_memory(reading, order, found, memory_file, by_llm=compressor == "llm")
    return _as_session(reading, order, found, budget, window, compressor, count_online, native, retrieval)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """What both forms of a migration are told."""

    to: str
    model: str | None
    into: Path | str | None
    home: Path | None
    history: History
    redact: bool
    ask_providers: bool
    dry_run: bool
    again: bool
    store: Store


def form_of(to: str, form: str | None, memory_file: Path | str | None) -> Form:
    """The form asked for, if the agent takes it, else the one it takes. Raises UsageError, NotFound (agent)."""
    if form not in (None, *get_args(Form)):
        raise UsageError(f"there is no form {form!r}", f"one of: {', '.join(get_args(Form))}")
    memory = agents.memory(to)
    if memory_file and form == "session":
        raise UsageError("a session does not go into a memory file", "leave out --memory-file or --as session")
    if form == "memory" or memory_file or (form is None and memory.default == "memory"):
        return "memory"
    return "session"


def _check_native(to: str, form: Form) -> None:
    """Raises UsageError where the target has no form of its own for a compressed session."""
    if form == "memory":
        raise UsageError("a memory is never compressed", "leave out --native, or add --as session")
    if not agents.get(to).capabilities.native_compaction:
        able = ", ".join(spec.id for spec in agents.all_agents() if spec.capabilities.native_compaction)
        problem = f"{agents.get(to).names[0]} has no form of its own for a compressed session"
        raise UsageError(problem, f"leave out --native; with it: {able}")


def _as_session(
    reading: Reading, order: _Order, found: list[str], budget: int | None, window: int | None,
    compressor: str | Compressor, count_online: bool, native: bool, retrieval: bool,
) -> Migration:  # fmt: skip
    session, spec = reading.session, agents.get(order.to)
    folder = _folder(session, order.into)
    home = spec.locate(order.home).absolute()
    target = inspect(
        order.to, model=order.model, home=home, folder=folder, window=window, limit=budget, store=order.store,
        ask=order.ask_providers,
    )  # fmt: skip
    counter = target.counter
    capabilities = target.capabilities or spec.capabilities
    lowered, losses, decided, said = decide_history(session, order.history, capabilities, target, counter, count_online)
    if not lowered.messages:
        raise NoConversation("nothing of the session can be carried", "name another session")
    if decided.budget <= 0:
        raise Refused(
            f"nothing fits: {target.model} in {spec.names[0]} leaves {decided.budget:,} tokens for a session",
            "choose a model with a larger window, or a larger --window (session-migrator decide SESSION shows the sum)",
        )
    counter = counter.called(decided.counter.name)
    result = Compressed(session=lowered)
    native = native and decided.mode == "compress"
    asked = question(capabilities, counter) if native else 0
    if decided.mode == "compress":
        room = online.room(decided, lowered, counter) - asked
        fit = partial(compressed, lowered, compressors.get(compressor, order.store), counter, capabilities)
        result = with_passages(lowered, fit, room, counter, folders(order.store, folder)) if retrieval else fit(room)
    content = result.session
    if native:
        content = replace(content, earlier=lowered.messages)
        found = [*found, f"all of it is in {spec.names[0]}'s own file; its model is sent the compressed form"]
    planned = _planned(
        reading, order, decided.mode, decided.tokens,
        decided.tokens if decided.mode == "direct" else counter.session(result.session).high + asked,
        losses, [*remarks.on_session(spec, target, order.model, decided, counter, result), *said, *found], decided,
    )  # fmt: skip
    options = {
        "to": order.to, "home": str(home), "folder": str(folder), "model": target.model, "window": window,
        "budget": budget, "compressor": result.by or compressors.name_of(compressor), "history": order.history,
        "form": "session", "redact": order.redact, "native": native,
        "room": decided.budget if decided.mode == "compress" else None,
        "retrieval": retrieval and decided.mode == "compress",
    }  # fmt: skip

    def carry(workspace: Workspace, _: str) -> _Result:
        """Store the originals of what was left out, write, read back and compare."""
        kept: Document = {}
        if result.elided:
            kept["originals"] = originals.keep(workspace, result)
            kept["marks"] = [elision.id for elision in result.elisions]
        assert spec.write is not None, "an agent of AGENTS"
        fitted = {"model": target.model, "tokens": target.overhead + target.instructions + planned.tokens_after}
        written = spec.write(replace(content, extra={**(content.extra or {}), FITTED: fitted}), home, folder)
        try:
            _verify(spec, written, content)
        except BaseException:
            migrations.take_back(written)
            raise
        named = order.model or spec.resumes_recorded_model(session.model, target.model)
        resume = spec.resume_command(
            str(written.session_id), home, folder, target.model if named else None, written.variables
        )
        return _Result(written=written, resume=resume, kept=kept, warnings=remarks.on_written(spec, written))

    return _once(planned, order, migrations.lineage(session, options), folder, carry)


def _as_memory(
    reading: Reading, order: _Order, found: list[str], memory_file: Path | str | None, *, by_llm: bool
) -> Migration:
    session, spec = reading.session, agents.memory(order.to)
    into = order.into
    if spec.workspace and into is None:
        into = spec.workspace(order.home)
    folder = place = _folder(session, into)
    if memory_file:
        spec = replace(spec, index=os.path.expanduser(memory_file), log=None)  # noqa: PTH111
    elif spec.place:
        place = spec.place(order.home, folder)
    if order.history != "live" and session.earlier:
        session = full_history(session)
    if not any(message.origin != "injected" for message in session.messages):
        raise NoConversation("nothing of the session can be carried", "name another session")
    counter = tokens.counter(order.model or session.model or _COUNTED_AS)
    lowered, _ = lower(session, Capabilities(thinking="text"))
    day = timestamps.today()
    summarized = None
    if by_llm:
        from .llm_summarizer import remembered

        summarized, said = remembered(session, order.store)
        found = [*found, *said]
    memory = summarized or remember(session)
    preview = memory_files.bodies(session, memory, spec, place, "0" * 12, day)
    size = sum(counter.text(text).high for text in preview.values())
    found = [*found, *remarks.over_limit(spec, place, preview)] if not memory_file else found
    planned = _planned(reading, order, "memory", counter.session(lowered).high, size, (), found, None)
    options = {
        "to": order.to, "folder": str(place), "file": spec.index, "history": order.history, "form": "memory",
        "redact": order.redact, **({"compressor": "llm"} if summarized else {}),
    }  # fmt: skip

    def carry(workspace: Workspace, name: str) -> _Result:
        known = migrations.blocks_in(workspace, place / spec.index)
        written = memory_files.write(session, memory, spec, place, name, day, known)
        return _Result(written=written, resume=None, kept={}, warnings=remarks.on_blocks(written))

    return _once(planned, order, migrations.lineage(session, options), folder, carry)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """What was written, how it is resumed, and what the record keeps of it."""

    written: Written
    resume: str | None
    kept: Document
    warnings: tuple[str, ...] = ()


def _planned(
    reading: Reading, order: _Order, mode: Literal["direct", "compress", "memory"], before: int, after: int,
    losses: Iterable[Loss], warnings: Iterable[str], decided: Decision | None,
) -> Migration:  # fmt: skip
    session = reading.session
    return Migration(
        migration=None,
        source={"agent": session.agent, "session_id": session.id, "path": session.source},
        target={"agent": order.to, "session_id": None, "paths": [], "resume": None},
        mode=mode,
        tokens_before=before,
        tokens_after=after,
        decision=decided,
        losses=merged([*reading.losses, *losses]),
        warnings=tuple(warnings),
    )


def _once(
    planned: Migration,
    order: _Order,
    made: migrations.Lineage,
    folder: Path,
    carry: Callable[[Workspace, str], _Result],
) -> Migration:
    """Carry out what is planned, unless just this was done before, and record it. Whatever fails after the write, what
    was written is taken back."""
    if order.dry_run:
        return planned
    workspace = order.store.workspace(folder)
    with workspace.locked():
        same, last = migrations.before(workspace, made)
        if same and not order.again:
            return _answered(planned, same)
        if last:
            warning = f"the source has changed since migration {last['migration']}; this is a new one"
            planned = replace(planned, warnings=(*planned.warnings, warning))
        name = secrets.token_hex(6)
        result = carry(workspace, name)
        written = result.written
        paths = dict.fromkeys((*written.places, *(block.path for block in written.blocks)))
        target = {"session_id": written.session_id, "paths": list(paths), "resume": result.resume}
        warnings = (*planned.warnings, *result.warnings)
        done = replace(planned, migration=name, target={**planned.target, **target}, warnings=warnings)
        record = {"created_at": timestamps.now(), "folder": str(folder), "written": written.to_dict(), **result.kept}
        try:
            migrations.record(workspace, made, {**done.to_dict(), **record})
        except BaseException:
            migrations.take_back(written)
            raise
        return done


def writable() -> list[str]:
    """The agents that sessions can be written for."""
    return [spec.id for spec in agents.all_agents() if spec.write]


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


def _answered(planned: Migration, earlier: Document) -> Migration:
    """The migration that did just this before, in the place of another."""
    warning = f"this was done before, as migration {earlier['migration']}; nothing was written (--again makes another)"
    return replace(
        planned, migration=earlier["migration"], target=earlier["target"], warnings=(*planned.warnings, warning)
    )


def _verify(spec: AgentSpec, written: Written, session: Session) -> None:
    """Raises WriteError where what stands on disk does not say the same as the session."""
    try:
        found = spec.read(Path(written.places[0])).session
        problem = difference(session.messages, found.messages) or difference(session.earlier, found.earlier)
    except MigrationError as error:
        problem = str(error)
    if problem:
        raise WriteError(f"what was written does not read back the same: {problem}", "nothing was left behind")
