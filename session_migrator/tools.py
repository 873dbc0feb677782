"""What the MCP server offers, as plain functions that return values. What they need is imported when they are called,
so that a server is up at once."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import UsageError
from .files import is_folder
from .model import Value, headline

if TYPE_CHECKING:
    from .retrieval import Original
    from .storage import Workspace

Record = dict[str, Any]

# Characters of JSON. Clients cut longer results, each in its own way.
MOST_CHARACTERS = 8_000
_PAGE, _LONGEST_PAGE = 60, 100
# Models of a vendor whose tokenizer has a name here, which are those most used; of the others one.
_AT_A_TURN = 5
# Seconds. The client that asks may be the one whose session is meant, and Claude Code (2.1.159, 2.1.332) writes what
# was said about a tenth of a second later.
_UNTIL_WRITTEN = 0.3
# Seconds that new sessions are taken in before a search, well below the time after which clients give a tool up.
_INDEXING = 10.0
_MOST_AROUND = 20

# The values have no slots: the SDK, which makes schemas of them, would take the slots for defaults.


@dataclass(frozen=True, kw_only=True)
class KnownModel(Value):
    """The limits of a model in tokens, null where unknown."""

    model: str
    context: int | None
    max_input: int | None
    max_output: int | None


@dataclass(frozen=True, kw_only=True)
class ModelWindow(KnownModel):
    """The limits of a model in tokens, null where unknown, and who says so."""

    source: str


@dataclass(frozen=True, kw_only=True)
class KnownModels(Value):
    """A page of models."""

    models: list[KnownModel]
    next_cursor: str | None


@dataclass(frozen=True, kw_only=True)
class Migrated(Value):
    """A conversation sized to a model: in messages, or in the file at messages_path."""

    decision: Record
    messages: list[Record] | None
    tokens_before: int
    tokens_after: int
    messages_path: str | None


@dataclass(frozen=True, kw_only=True)
class Recalled(Value):
    """What was left out of a compressed session, and where it stood. text holds the beginning where there is a path,
    which is the file of all of it."""

    id: str
    agent: str
    session_id: str
    title: str | None
    timestamp: str | None
    text: str
    path: str | None


@dataclass(frozen=True, kw_only=True)
class Passage(Value):
    """A passage of a stored session: its id, where it stands, and its first words on a line. tokens: what recall of it
    costs."""

    id: str
    agent: str
    session_id: str
    title: str | None
    turn: int | None
    role: str
    time: str | None
    line: str
    tokens: int
    score: float


@dataclass(frozen=True, kw_only=True)
class SearchResult(Value):
    """Passages, the best first, and what they were found by."""

    passages: list[Passage]
    by: str
    warnings: list[str]


@dataclass(frozen=True, kw_only=True)
class SessionRow(Value):
    """A stored session."""

    agent: str
    id: str
    title: str | None
    cwd: str | None
    model: str | None
    updated_at: str | None


@dataclass(frozen=True, kw_only=True)
class Sessions(Value):
    """Stored sessions, the newest first."""

    sessions: list[SessionRow]


@dataclass(frozen=True, kw_only=True)
class Handoff(Value):
    """What a migration did or would do, as the command line's migrate --json tells it. A memory has no decision."""

    migration: str | None
    source: Record
    target: Record
    mode: str
    tokens_before: int
    tokens_after: int
    decision: Record | None
    losses: list[Record]
    warnings: list[str]


def model_context_window(model: str) -> ModelWindow:
    """The limits of a model by any spelling of its id: what the user's file says of it, else what its provider said
    when it was last asked, else the table. Raises UnknownModel, which names near ones, and ReadError (the file)."""
    from .capacities import Capacities
    from .decision import from_model
    from .storage import Store
    from .target import candidates, pick

    offers, _ = candidates(model, said=Capacities(Store()))
    window = from_model(model, pick(offers)).window
    return ModelWindow(
        model=model, context=window.context, max_input=window.max_input, max_output=window.max_output,
        source=window.source,
    )  # fmt: skip


def list_known_models(query: str | None = None, limit: int | None = None, cursor: str | None = None) -> KnownModels:
    """The models of the table, the vendors in turn and each one's newest first, so that the first page (60, or
    ``limit``) holds the current ones. ``query``: words that the id has; ``cursor``: the ``next_cursor`` of
    the page before. Raises UsageError (limit, cursor)."""
    if cursor is not None and not re.fullmatch(r"[0-9]{1,9}", cursor):
        raise UsageError(f"{cursor[:40]!r} is no cursor", "give the next_cursor of the page before, or none")
    models = _models(query or "")
    start = int(cursor or 0)
    end = start + _checked(_PAGE if limit is None else limit)
    return KnownModels(
        models=[_known_model(model) for model in models[start:end]], next_cursor=str(end) if models[end:] else None
    )


def _models(query: str) -> list[str]:
    """The ids that have every word of the query in them, however it is punctuated."""
    words = [_plain(word) for word in query.split()]
    return [model for model, plain in _in_turn() if all(word and word in plain for word in words)]


@cache
def _in_turn() -> list[tuple[str, str]]:
    """All models in the order of the pages, each with its id as queries are compared to it."""
    from .context_windows import family, vendors

    turns = [_turns(models, _AT_A_TURN if family(models[0]) else 1) for models in vendors().values()]
    ordered = (model for turn in zip_longest(*turns, fillvalue=()) for models in turn for model in models)
    return [(model, _plain(model)) for model in ordered]


def _turns(models: tuple[str, ...], size: int) -> list[tuple[str, ...]]:
    return [models[start : start + size] for start in range(0, len(models), size)]


def _plain(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def _known_model(model: str) -> KnownModel:
    from .context_windows import window

    known = window(model)
    assert known is not None, "an id of the table"
    return KnownModel(model=model, context=known.context, max_input=known.max_input, max_output=known.max_output)


def migrate_session(
    messages_json: str, source_model: str, target_model: str, target_agent: str | None = None,
    budget: int | None = None, workspace: str | None = None, retrieval: bool = False,
) -> Migrated:  # fmt: skip
    """A conversation, given as the JSON text of an array of chat messages, sized to a model, in an agent where one
    is named: as it was given where it fits and its calls and results are in pairs, else as OpenAI chat messages.

    ``budget`` in tokens. ``workspace`` is the project folder (default: the current one); its part of the store
    gets the messages where they have over 8,000 characters, and those that were left out. ``retrieval``: where they are
    compressed, passages of them and of that project's sessions that answer the last message are quoted. Raises
    MigrationError's kinds.
    """
    from . import compressors, decision, exporter, jsondata
    from .agents import Capabilities
    from .fitting import compressed
    from .indexing import folders
    from .injection import with_passages
    from .lowering import lower
    from .retrieval import originals
    from .storage import Store
    from .target import inspect

    if budget is not None and budget < decision.LEAST_BUDGET:
        raise UsageError(f"a budget of {budget:,} tokens is too small", f"give at least {decision.LEAST_BUDGET:,}")
    folder = _folder(workspace)
    target = inspect(target_agent, model=target_model, folder=folder, limit=budget, ask=False)
    given = jsondata.loads(messages_json)
    session = exporter.from_messages(given, model=source_model, cwd=str(folder))
    capabilities = target.capabilities or Capabilities(thinking="text")
    counter = target.counter
    lowered, losses = lower(session, capabilities)
    decided = decision.decide(lowered, target, counter)
    counter = counter.called(decided.counter.name)
    kept, after, place = given, decided.tokens, Store().workspace(folder)
    if decided.mode == "compress":
        fit = partial(compressed, lowered, compressors.get(compressors.DEFAULT), counter, capabilities)
        room = decided.budget
        result = with_passages(lowered, fit, room, counter, folders(Store(), folder)) if retrieval else fit(room)
        kept, after = exporter.to_messages(result.session), counter.session(result.session).high
        if result.elided:
            originals.keep(place, result)
    elif any(loss.kind == "tool_pair" for loss in losses):
        kept = exporter.to_messages(lowered)
    text = jsondata.dumps(kept)
    path = None if len(text) <= MOST_CHARACTERS else _written(place, "messages", ".json", text)
    return Migrated(
        decision=decided.to_dict(), messages=None if path else kept, tokens_before=decided.tokens, tokens_after=after,
        messages_path=path,
    )  # fmt: skip


def recall(id: str, lines: str | None = None, grep: str | None = None) -> Recalled:
    """What stands under the id of a mark or a passage, or of its lines those named. Raises NotFound, ReadError,
    UsageError."""
    from . import retrieval, search

    return _recalled(found := search.recalled(id), retrieval.selected(found.text, lines, grep))


def search_memory(
    query: str, agent: str | None = None, since: str | None = None, cwd: str | None = None, everywhere: bool = False,
    limit: int = 10,
) -> SearchResult:  # fmt: skip
    """The passages of stored sessions that hold words of the query: of one folder (default: the current one) or of all.
    Raises UsageError, NotFound (agent), ReadError."""
    from .search import search

    found = search(
        query, _folder(cwd), everywhere=everywhere, agent=agent, since=since, limit=_checked(limit), seconds=_INDEXING,
        network=False,
    )  # fmt: skip
    return SearchResult(
        passages=[Passage(**hit.to_dict()) for hit in found.hits], by=found.by, warnings=list(found.warnings)
    )


def context_around(id: str, before: int = 2, after: int = 2) -> Recalled:
    """The passage of that id with so many before and behind it. Raises NotFound, UsageError, ReadError."""
    from . import search

    if not (0 <= before <= _MOST_AROUND and 0 <= after <= _MOST_AROUND):
        raise UsageError("before or after is out of range", f"give 0 to {_MOST_AROUND}")
    return _recalled(found := search.surrounded(id, before, after), found.text)


def _recalled(found: Original, text: str) -> Recalled:
    from .storage import Store

    path = None if len(text) <= MOST_CHARACTERS else _written(Store().workspace(""), "recalled", ".txt", text)
    return Recalled(
        id=found.id, agent=found.agent, session_id=found.session_id, title=headline(found.title),
        timestamp=found.timestamp, text=text[:MOST_CHARACTERS], path=path,
    )  # fmt: skip


def _folder(path: str | None) -> Path:
    """The folder named, else the current one. Raises UsageError where there is none of that name."""
    if path is not None and not is_folder(path):
        raise UsageError(f"{path!r} is no folder here", "give the full path of a folder, or none")
    return Path(path or "").absolute()


def _written(place: Workspace, kind: str, suffix: str, text: str) -> str:
    """The file in the store that now holds the text, the same one for the same text."""
    key = place.add(kind, [text.encode("utf-8", "backslashreplace")], suffix)
    return str((place.path / kind / f"{key}{suffix}").absolute())


def list_sessions(agent: str | None = None, cwd: str | None = None, limit: int = 20) -> Sessions:
    """The stored sessions of one agent or of all, of one folder or of all, the newest first, ``limit`` at most.
    Raises NotFound (agent), UsageError."""
    from . import sessions

    found = sessions.list_sessions(agent, _folder(cwd) if cwd is not None else None)
    rows = (
        SessionRow(
            agent=info.agent, id=info.id, title=headline(info.title), cwd=info.cwd, model=info.model,
            updated_at=info.updated_at,
        )
        for info in islice(found, _checked(limit))
    )  # fmt: skip
    return Sessions(sessions=list(rows))


def _checked(limit: int) -> int:
    if not 1 <= limit <= _LONGEST_PAGE:
        raise UsageError(f"a limit of {limit} is out of range", f"give 1 to {_LONGEST_PAGE}")
    return limit


def handoff(
    session: str, target_agent: str, model: str | None = None, into: str | None = None, form: str | None = None,
    dry_run: bool = False,
) -> Handoff:  # fmt: skip
    """Carry a stored session into another agent, as ``migrate`` does. Raises MigrationError's kinds."""
    from .migration import form_of, migrate

    time.sleep(_UNTIL_WRITTEN)
    chosen = form_of(target_agent, form, None)
    done = migrate(session, target_agent, model, into, form=chosen, ask_providers=False, dry_run=dry_run)
    return Handoff(**done.to_dict())
