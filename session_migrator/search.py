"""What was said in any session of a folder, or of the machine, found again by its words.

Each workspace has an index (``retrieval.index``) of the sessions of its folder and of the originals that compressions
left out. A search first takes in what is new there, then ranks (``retrieval.ranking``); what was indexed stays found
though its session vanishes.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import TypeVar

from . import agents, migrations, sessions, timestamps
from .errors import MigrationError, NotFound, UsageError
from .exporter.transcript import one_line
from .model import Session, SessionInfo, Value, goal, headline
from .redaction import redact
from .retrieval import Original, originals
from .retrieval.index import NAME, Found, Index, Source, repaired
from .retrieval.passages import passages
from .retrieval.ranking import Place, ranked
from .retrieval.words import question
from .sequences import full_history
from .storage import Store, Workspace
from .tokens import counter

T = TypeVar("T")
Tell = Callable[[str], None]
Progress = Callable[[int, int, str], None]

NEIGHBOURS = 2
"""Passages before and behind one that are shown with it."""
_COUNTED_AS = "gpt-5"  # whose tokens a passage is told in
_SPARE = 5  # times as many passages are looked at as are wanted: some are copies of others
_LINE = 160  # characters of a hit's line


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Value):
    """A passage that answers: its ``id`` (for ``recall`` and ``context_around``), where it is from, its first words on
    a ``line``, and what it costs to read (``tokens``)."""

    id: str
    agent: str
    session_id: str
    title: str | None
    turn: int
    role: str
    time: str | None
    line: str
    tokens: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Value):
    """What was found, the best first; ``by``: what it was found by; ``warnings``: what is to be told of it."""

    hits: tuple[Hit, ...]
    by: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _News:
    """A source that is not in the index as it is now, and how to read it."""

    name: str
    stamp: str
    read: Callable[[], Session]


def search(
    query: str, cwd: Path | str | None = None, *, everywhere: bool = False, agent: str | None = None,
    since: str | None = None, limit: int = 10, seconds: float | None = None, store: Store | None = None,
) -> Answer:  # fmt: skip
    """The passages of a folder (default: the current one), or of all, that hold words of the query.

    ``agent``: of its sessions alone; ``since``: not older than this day or moment; ``seconds``: how long at most new
    sessions are taken in before. Raises UsageError (nothing to look for, no time), NotFound (agent), and where one
    folder is searched, Refused (an index of a later version) and ReadError."""
    asked = question(query)
    if not asked:
        raise UsageError("the query has no words", "give some, or an identifier")
    where, values = _conditions(agent, since)
    end = time.monotonic() + seconds if seconds is not None else None
    warnings: list[str] = []

    def searched(index: Index, place: _Place) -> list[tuple[float, Found]]:
        news = list(_news(index, place))
        for number, each in enumerate(news):
            if end is not None and time.monotonic() > end:
                left = len(news) - number
                warnings.append(
                    f"{left:,} sessions of {place.workspace.folder} are not indexed: session-migrator index"
                )
                break
            _take_in(index, each, warnings.append)
        return list(_best(index, ranked(index.matches(asked, where, values)), limit * _SPARE))

    scored: list[tuple[float, Found]] = []
    for place in _places(store or Store(), None if everywhere else cwd or Path.cwd()):
        try:
            scored += place.use(partial(searched, place=place), warnings.append)
        except MigrationError as error:
            if not everywhere:
                raise
            warnings.append(f"not searched: {error}")
    scored.sort(key=lambda each: -each[0])
    hits = [_hit(found, score) for score, found in islice(_distinct(scored), limit)]
    return Answer(hits=tuple(hits), by="words", warnings=tuple(dict.fromkeys(warnings)))


def index_sessions(
    cwd: Path | str | None = None, *, everywhere: bool = False, store: Store | None = None,
    progress: Progress | None = None, tell: Tell = lambda _: None,
) -> int:  # fmt: skip
    """Take in all that is new in a folder (default: the current one), or in all; how many passages that are.

    ``progress`` is told how many sources of a folder are done, of how many, and which one is next. What cannot be read
    is told and passed over. It may be broken off at any time. Raises as ``search``."""

    def indexed(index: Index, place: _Place) -> int:
        news = list(_news(index, place))
        new = 0
        for number, each in enumerate(news):
            if progress:
                progress(number, len(news), each.name)
            new += _take_in(index, each, tell)
        return new

    places = _places(store or Store(), None if everywhere else cwd or Path.cwd())
    return sum(place.use(partial(indexed, place=place), tell) for place in places)


def context_around(
    name: str, before: int = NEIGHBOURS, after: int = NEIGHBOURS, store: Store | None = None
) -> list[Found]:
    """The passage of that id (or unique beginning of one) with its neighbours, in order. Raises NotFound, Refused,
    ReadError."""
    found: dict[str, list[Found]] = {}

    def looked_up(index: Index) -> None:
        found.update({each.id: index.around(each, before, after) for each in index.named(name.lower()) if name})

    for workspace in (store or Store()).workspaces():
        if (workspace.path / NAME).exists():
            repaired(workspace.path / NAME, looked_up, lambda _: None)
    if len(found) > 1:
        raise NotFound(f"{name!r} fits {len(found)} passages", f"one of: {', '.join(sorted(found))}")
    if not found:
        raise NotFound(f"no passage is called {name!r}", "ids stand in what session-migrator search prints")
    return next(iter(found.values()))


def surrounded(name: str, before: int, after: int, store: Store | None = None) -> Original:
    """A passage with its neighbours as one text. Raises as ``context_around``."""
    shown = context_around(name, before, after, store)
    found = next(each for each in shown if each.id.startswith(name.lower()))
    text = "\n\n".join(each.passage.text for each in shown)
    return Original(
        id=found.id, data=text.encode("utf-8", "surrogatepass"), text=text, agent=found.source.agent,
        session_id=found.source.session, title=found.source.title, timestamp=found.passage.time, path=found.source.name,
    )  # fmt: skip


def recalled(name: str, around: int = 0, store: Store | None = None) -> Original:
    """What stands under an id: of a mark in a compressed session, or of a passage, with so many on each side. Raises
    as ``retrieval.find``."""
    try:
        return originals.find(name, store)
    except NotFound as missing:
        try:
            return surrounded(name, around, around, store)
        except NotFound:
            raise missing from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A workspace with the sessions of its folder."""

    workspace: Workspace
    infos: Sequence[SessionInfo]

    @property
    def index(self) -> Path:
        return self.workspace.path / NAME

    def use(self, work: Callable[[Index], T], tell: Tell) -> T:
        """What comes of work with the index. Raises as ``index.repaired``."""
        with self.workspace.locked():  # the store knows it from now on
            pass
        return repaired(self.index, work, tell)


def _places(store: Store, cwd: Path | str | None) -> list[_Place]:
    """The workspace of a folder, or all that hold something or have sessions; without the copies that migrations wrote
    and nobody continued."""
    infos = list(sessions.list_sessions(None, cwd))
    copies = migrations.untouched(store, [info.path or "" for info in infos])
    by_folder: defaultdict[str, list[SessionInfo]] = defaultdict(list)
    for info in infos:
        if info.path and info.path not in copies:
            by_folder[os.path.realpath(cwd or info.cwd or os.sep)].append(info)
    folders = [os.path.realpath(cwd)] if cwd else [*by_folder, *(workspace.folder for workspace in store.workspaces())]
    places = [_Place(workspace=store.workspace(folder), infos=by_folder[folder]) for folder in dict.fromkeys(folders)]
    return [place for place in places if place.infos or place.index.exists() or place.workspace.packed(originals.KIND)]


def _news(index: Index, place: _Place) -> list[_News]:
    """The sources of a workspace that are not in its index as they are now. Originals that are gone are taken out."""
    workspace, known = place.workspace, index.stamps()
    news = [
        _News(name=str(info.path), stamp=_stamp(info), read=partial(_history, info.agent, str(info.path)))
        for info in place.infos
    ]
    packed = {str(workspace.packed_path(originals.KIND, key)): key for key in workspace.packed(originals.KIND)}
    news += [
        _News(name=name, stamp=key, read=partial(originals.session, workspace, key)) for name, key in packed.items()
    ]
    for name in known.keys() - packed.keys():
        if Path(name).is_relative_to(workspace.path):
            index.drop(name)
    return [each for each in news if known.get(each.name) != each.stamp]


def _stamp(info: SessionInfo) -> str:
    """What changes when a session does: of a file its size and time, of a row in a database the time it tells."""
    try:
        found = Path(str(info.path)).stat()
    except OSError:
        return info.updated_at or ""
    return f"{found.st_size} {found.st_mtime_ns}"


def _history(agent: str, path: str) -> Session:
    return full_history(agents.get(agent).read(Path(path)).session)


def _take_in(index: Index, news: _News, tell: Tell) -> int:
    """Put a source into the index; how many of its passages are new. One that cannot be read is told."""
    try:
        session = news.read()
    except MigrationError as error:
        tell(f"not indexed: {error}")
        return 0
    title = headline(session.title or goal(session.messages))
    source = Source(name=news.name, stamp=news.stamp, agent=session.agent, session=session.id, title=title)
    return index.take_in(source, passages(session.messages, counter(_COUNTED_AS)))


def _conditions(agent: str | None, since: str | None) -> tuple[str, list[str]]:
    """What passages have to be, as SQL with its values. Raises NotFound (agent), UsageError."""
    where, values = ["1"], list[str]()
    if agent:
        where.append("s.agent = ?")
        values.append(agents.get(agent).id)
    if since:
        moment = timestamps.parse(since)
        if moment is None:
            raise UsageError(f"{since!r} is no time", "give a day such as 2026-01-31")
        where.append("p.time >= ?")
        values.append(moment)
    return " AND ".join(where), values


def _best(index: Index, scores: Mapping[Place, float], limit: int) -> Iterator[tuple[float, Found]]:
    """The passages with the best scores. Of the places a score was inherited by, some do not exist."""
    for source, place in nlargest(limit, scores, key=lambda place: scores[place]):
        for found in index.at(source, place, place):
            yield scores[source, place], found


def _distinct(scored: Iterable[tuple[float, Found]]) -> Iterator[tuple[float, Found]]:
    """Without what says the same as one before: what was migrated stands in several sessions."""
    seen: set[str] = set()
    for score, found in scored:
        text = " ".join(found.passage.text.split())
        if text not in seen:
            seen.add(text)
            yield score, found


def _hit(found: Found, score: float) -> Hit:
    passage = found.passage
    line, _ = redact(one_line(passage.text, _LINE))
    return Hit(
        id=found.id, agent=found.source.agent, session_id=found.source.session, title=found.source.title,
        turn=passage.turn, role=passage.role, time=passage.time, line=line,
        tokens=passage.tokens, score=round(score, 3),
    )  # fmt: skip
