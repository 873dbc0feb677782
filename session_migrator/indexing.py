"""The sessions of a folder, or of the machine, taken into the index of their workspace, so that ``search`` finds them.

What is indexed are the sessions of the folder and, of sessions that are not there, the originals that compressions left
out. What changed is taken in anew; what was indexed stays though its session vanishes.
"""

from __future__ import annotations

import os
import shlex
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from . import agents, migrations, sessions
from .errors import MigrationError
from .model import Session, SessionInfo, Value, headline, title_of
from .retrieval import embedders, originals
from .retrieval.embedders import Embedder
from .retrieval.index import NAME, Index, Source, repaired
from .retrieval.passages import passages
from .retrieval.vectors import embed
from .sequences import full_history
from .storage import Store, Workspace
from .tokens import counter

T = TypeVar("T")
Tell = Callable[[str], None]
Progress = Callable[[int, int, str], None]

AT_ONCE = 16
"""Passages whose vectors are made together: what is lost where it is broken off."""
_COUNTED_AS = "gpt-5"  # whose tokens a passage is told in


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed(Value):
    """What was indexed: passages that are new, vectors that were made, and how many passages there are in all."""

    new: int
    vectors: int
    passages: int


def index_sessions(
    cwd: Path | str | None = None, *, everywhere: bool = False, vectors: bool = True, store: Store | None = None,
    progress: Progress = lambda _done, _of, _what: None, tell: Tell = lambda _: None,
) -> Indexed:  # fmt: skip
    """Take in all that is new in a folder (default: the current one), or in all. Then make the ``vectors`` that are
    missing, where there is an embedder (``retrieval.embedders.chosen``).

    ``progress`` is told how many are done, of how many, and of what. What cannot be read is told and passed over. It
    may be broken off at any time, and goes on where it was. Raises as ``search``, and Unavailable where a service makes
    no vectors."""
    embedder = embedders.chosen() if vectors else None
    places = folders(store or Store(), None if everywhere else cwd or Path.cwd())
    work = partial(take_in, tell=tell, unread=tell, progress=progress)
    new = sum(folder.use(partial(work, folder=folder), tell) for folder in places)
    size = sum(folder.use(Index.size, tell) for folder in places)
    made = _embedded(places, embedder, size, progress, tell) if embedder else 0
    return Indexed(new=new, vectors=made, passages=size)


def _embedded(places: Sequence[Folder], embedder: Embedder, size: int, progress: Progress, tell: Tell) -> int:
    """Make the vectors that folders with so many passages lack; how many were made."""
    made = 0
    counts = [folder.use(partial(Index.vector_count, embedder=embedder.name), tell) for folder in places]

    def some(index: Index, number: int) -> int:
        counts[number] = index.vector_count(embedder.name)
        if counts[number] == index.size():
            return 0
        progress(sum(counts), size, f"vectors of {embedder.name}")
        return embed(index, embedder, AT_ONCE)

    for number, folder in enumerate(places):
        while done := folder.use(partial(some, number=number), tell):  # none: another process made the rest
            made += done
    return made


def command(cwd: Path | str | None, *, everywhere: bool = False) -> str:
    """What indexes the sessions of a folder (None: of the current one), or all, on the command line."""
    where = ["--all"] if everywhere else ["--cwd", str(cwd)] if cwd else []
    return shlex.join(["session-migrator", "index", *where])


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
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


def folders(store: Store, cwd: Path | str | None) -> list[Folder]:
    """The workspace of a folder, or all that hold something or have sessions; without the copies that migrations wrote
    and nobody continued."""
    infos = list(sessions.list_sessions(None, cwd))
    copies = migrations.untouched(store, [info.path or "" for info in infos])
    by_folder: defaultdict[str, list[SessionInfo]] = defaultdict(list)
    for info in infos:
        if info.path and info.path not in copies:
            by_folder[os.path.realpath(cwd or info.cwd or os.sep)].append(info)
    paths = [os.path.realpath(cwd)] if cwd else [*by_folder, *(workspace.folder for workspace in store.workspaces())]
    found = [Folder(workspace=store.workspace(path), infos=by_folder[path]) for path in dict.fromkeys(paths)]
    return [each for each in found if each.infos or each.index.exists() or each.workspace.packed(originals.KIND)]


def take_in(
    index: Index, folder: Folder, tell: Tell, *, until: float | None = None,
    progress: Progress = lambda _done, _of, _what: None, unread: Tell = lambda _: None,
) -> int:  # fmt: skip
    """Take in what is new in a folder, ``until`` that time at most (``time.monotonic``); how many passages are new.
    Originals that are gone are taken out. How much is left is told, and to ``unread`` what cannot be read."""
    news, where, new = _news(index, folder), folder.workspace.folder, 0
    for number, each in enumerate(news):
        if until is not None and time.monotonic() > until:
            tell(f"{len(news) - number:,} sessions of {where} are not indexed: {command(where)}")
            break
        progress(number, len(news), f"sessions of {where}")
        new += _taken_in(index, each, folder.workspace.path, unread)
    return new


@dataclass(frozen=True, slots=True, kw_only=True)
class _News:
    """A source that is not in the index as it is now, and how to read it; ``whole``: it is a session, not a part."""

    name: str
    stamp: str
    read: Callable[[], Session]
    whole: bool = True


def _news(index: Index, folder: Folder) -> list[_News]:
    """The sources of a workspace that are not in its index as they are now. Originals that are gone are taken out."""
    workspace, known = folder.workspace, index.stamps()
    news = [
        _News(name=str(info.path), stamp=_stamp(info), read=partial(_history, info.agent, str(info.path)))
        for info in folder.infos
    ]
    packed = {str(workspace.packed_path(originals.KIND, key)): key for key in workspace.packed(originals.KIND)}
    news += [
        _News(name=name, stamp=key, read=partial(originals.session, workspace, key), whole=False)
        for name, key in packed.items()
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


def _taken_in(index: Index, news: _News, kept: Path, tell: Tell) -> int:
    """Put a source into the index; how many of its passages are new. One that cannot be read is told. A part whose
    session is in the index, from elsewhere than where parts are ``kept``, says nothing that is not there already."""
    try:
        session = news.read()
    except MigrationError as error:
        tell(f"not indexed: {error}")
        return 0
    title = headline(title_of(session))
    source = Source(name=news.name, stamp=news.stamp, agent=session.agent, session=session.id, title=title)
    known = not news.whole and any(
        not Path(name).is_relative_to(kept) for name in index.names(session.agent, session.id)
    )
    messages = () if known else session.messages
    return index.take_in(source, passages(messages, counter(_COUNTED_AS), whole=news.whole))
