"""What was said in any session of a folder, or of the machine, found again by its words, and by what they mean.

A search first takes in what is new (``indexing``), then ranks (``retrieval.ranking``). Vectors are made by
``indexing.index_sessions``, since that takes its time; a search makes a few that are missing, and goes by words alone
where there are too many.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from heapq import nlargest
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from . import agents, timestamps
from .errors import MigrationError, NotFound, Unavailable, UsageError
from .exporter.transcript import one_line
from .indexing import Folder, command, folders, take_in
from .model import Value
from .redaction import redact
from .retrieval import Original, embedders, originals
from .retrieval.embedders import Embedder
from .retrieval.index import NAME, Found, Index, repaired
from .retrieval.passages import redacted
from .retrieval.ranking import Place, Score, fused, ranked
from .retrieval.vectors import NEAREST, embed, nearest, of_query
from .retrieval.words import question, shown_from
from .storage import Store

if TYPE_CHECKING:
    from .retrieval.embedders import Rows

NEIGHBOURS = 2
"""Passages before and behind one that are shown with it."""
_SPARE = 5  # times as many passages are looked at as are wanted: some are copies of others
_FEW = 8  # vectors that a search makes at most: some seconds
_ENOUGH = 0.9  # of the passages must have vectors, or a search goes by words alone
_LINE = 160  # characters of a hit's line


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Value):
    """A passage that answers: its ``id`` (for ``recall`` and ``context_around``), where it is from (``turn``: None
    where it is not known, as of what a compression left out), a ``line`` of it from where it holds the most words of
    the query, and what it costs to read (``tokens``)."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Value):
    """What was found, the best first; ``by``: what it was found by; ``warnings``: what is to be told of it."""

    hits: tuple[Hit, ...]
    by: str
    warnings: tuple[str, ...]


def search(
    query: str, cwd: Path | str | None = None, *, everywhere: bool = False, agent: str | None = None,
    since: str | None = None, limit: int = 10, seconds: float | None = None, network: bool = True,
    store: Store | None = None,
) -> Answer:  # fmt: skip
    """The passages of a folder (default: the current one), or of all, that hold words of the query, or whose vectors
    are near to it.

    ``agent``: of its sessions alone; ``since``: not older than this day or moment; ``seconds``: how long at most new
    sessions are taken in before; ``network``: whether a service may be asked for vectors, where the environment names
    one (``retrieval.embedders.chosen``). Raises UsageError (nothing to look for, no time, no model of that service),
    NotFound (agent), and where one folder is searched, Refused (an index of a later version) and ReadError."""
    asked = question(query)
    if not asked:
        raise UsageError("the query has no words", "give some, or an identifier")
    where, values = _conditions(agent, since)
    end = time.monotonic() + seconds if seconds is not None else None
    near = _Near(query, embedders.chosen(network=network), command(cwd, everywhere=everywhere))
    damaged: list[str] = []

    def once() -> Answer:
        warnings: list[str] = []

        def searched(index: Index, place: Folder) -> _Matches:
            take_in(index, place, warnings.append, until=end)
            words = list(index.matches(asked, where, values))
            return near.added(_Matches(words=words, passages=index.size()), index, where, values)

        places: list[Folder] = []
        matches: list[_Matches] = []
        for place in folders(store or Store(), None if everywhere else cwd or Path.cwd()):
            try:
                matches.append(place.use(partial(searched, place=place), warnings.append))
                places.append(place)
            except MigrationError as error:
                if not everywhere:
                    raise
                warnings.append(f"not searched: {error}")
        scores, by, notes = near.fused(matches)
        found = _distinct(_best(places, ranked(scores), limit * _SPARE, damaged.append))
        hits = tuple(_hit(each, score, query) for score, each in islice(found, limit))
        return Answer(hits=hits, by=by, warnings=tuple(dict.fromkeys([*damaged, *warnings, *notes])))

    answer = once()
    return once() if damaged else answer  # found when texts were looked up: that index is empty now


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
    as ``retrieval.find``, and UsageError where a mark's are wanted with what is around it."""
    try:
        found = originals.find(name, store)
    except NotFound as missing:
        try:
            return surrounded(name, around, around, store)
        except NotFound:
            raise missing from None
    if around:
        raise UsageError("--around is for a passage that search found, and this is of a mark", "leave it out")
    return found


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Matches:
    """What an index answers: scores by words and by vectors, how many passages it has, how many with a vector."""

    words: Sequence[Score]
    vectors: Sequence[Score] = ()
    passages: int
    embedded: int = 0


class _Near:
    """The passages whose vectors are near to a query, as long as there is an embedder that answers."""

    def __init__(self, query: str, embedder: Embedder | None, remedy: str) -> None:
        self._query, self._embedder, self._remedy = query, embedder, remedy
        self._problem: str | None = None
        self._left = _FEW

    def added(self, matches: _Matches, index: Index, where: str, values: Sequence[str]) -> _Matches:
        """The matches with those by vectors. Where most passages have one, a few more get theirs."""
        embedder = self._embedder
        count = index.vector_count(embedder.name) if embedder and not self._problem else 0
        if embedder is None or not count:
            return matches
        try:
            if _ENOUGH * matches.passages <= count < matches.passages:
                self._left -= embed(index, embedder, self._left)
                count = index.vector_count(embedder.name)
            vectors = nearest(index, embedder.name, self._row, where, values)
        except Unavailable as error:
            self._problem = f"by words alone: {error}"
            return matches
        return replace(matches, vectors=vectors, embedded=count)

    @cached_property
    def _row(self) -> Rows:
        assert self._embedder is not None, "it is asked for where there is one"
        return of_query(self._embedder, self._query)

    def fused(self, matches: Sequence[_Matches]) -> tuple[list[Score], str, list[str]]:
        """The scores of several indexes, a source's key with the number of its index before it; what they are by; and
        what is to be told of it. With too few vectors, what has one would come before what answers."""
        words = [score for number, each in enumerate(matches) for score in _numbered(number, each.words)]
        if self._embedder is None or self._problem:
            return words, "words", [self._problem] if self._problem else []
        count, passages = sum(each.embedded for each in matches), sum(each.passages for each in matches)
        notes = [f"vectors for {count:,} of {passages:,} passages: {self._remedy}"] if count < passages else []
        if count < _ENOUGH * passages or not count:
            return words, "words", notes
        vectors = (score for number, each in enumerate(matches) for score in _numbered(number, each.vectors))
        best = nlargest(NEAREST, vectors, key=itemgetter(2))
        return fused(words, best), f"words and vectors of {self._embedder.name}", notes


def _numbered(number: int, scores: Iterable[Score]) -> Iterator[Score]:
    return (((number, source), place, score) for source, place, score in scores)


def _best(
    folders: Sequence[Folder], scores: Mapping[Place, float], limit: int, tell: Callable[[str], None]
) -> Iterator[tuple[float, Found]]:
    """The passages with the best scores, their sources' keys with the number of a folder before them. Of the places
    that a score was inherited by, some do not exist."""
    best = nlargest(limit, scores, key=lambda place: scores[place])
    found: dict[Place, Found] = {}

    def look_up(index: Index, places: Sequence[Place]) -> None:
        for key, at in places:
            found.update(((key, at), each) for each in index.at(key[1], at, at))

    for number, folder in enumerate(folders):
        if here := [place for place in best if place[0][0] == number]:
            folder.use(partial(look_up, places=here), tell)
    return ((scores[place], found[place]) for place in best if place in found)


def _distinct(scored: Iterable[tuple[float, Found]]) -> Iterator[tuple[float, Found]]:
    """Without what says the same as one before: what was migrated stands in several sessions."""
    seen: set[str] = set()
    for score, found in scored:
        text = " ".join(found.passage.text.split())
        if text not in seen:
            seen.add(text)
            yield score, found


def _hit(found: Found, score: float, query: str) -> Hit:
    passage = found.passage
    text = redacted([passage.text])
    title = found.source.title
    line = one_line(text[shown_from(text, query, _LINE) :], _LINE)
    return Hit(
        id=found.id, agent=found.source.agent, session_id=found.source.session,
        title=redact(title)[0] if title else None, turn=passage.turn or None, role=passage.role, time=passage.time,
        line=line, tokens=passage.tokens, score=round(score, 3),
    )  # fmt: skip
