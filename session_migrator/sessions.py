"""Finding and reading sessions, whatever agent they are of: by id, prefix, title, file, or ``latest``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from . import agents, exporter, migrations
from .agents import Reading, jsonl, sqlite
from .catalog import Catalog
from .errors import Ambiguous, FormatError, MigrationError, NoConversation, NotFound, ReadError, UsageError
from .files import is_file, is_folder
from .model import Session, SessionInfo
from .storage import Store

LATEST = "latest"
_HEAD_BYTES = 8192
_SHOWN = 5


def list_sessions(
    agent: str | None = None, cwd: Path | str | None = None, home: Path | None = None
) -> Iterator[SessionInfo]:
    """The sessions on this machine, the newest first: of one agent or of all, of one folder or of all.

    ``home`` is the agent's own configuration folder, where it is not the default. Raises NotFound (agent).
    """
    specs = [agents.get(agent)] if agent else agents.all_agents()
    place = os.path.realpath(cwd) if cwd is not None else None
    with Catalog(Store().root / "cache" / "list.json") as catalog:
        # Two agents of one core may have been given one home.
        found = {info.path: info for spec in specs for info in spec.list(spec.locate(home), catalog.remember)}
        kept = [info for info in found.values() if place is None or (info.cwd and _real(info.cwd) == place)]
    return iter(sorted(kept, key=lambda info: info.updated_at or "", reverse=True))


def _real(folder: str) -> str | None:
    """Where a folder really is, if it is named in full and could be one."""
    try:
        return os.path.realpath(folder) if Path(folder).is_absolute() else None
    except ValueError:  # a NUL character
        return None


def read_session(ref: str | Path, agent: str | None = None) -> Session:
    """Read the session that ``ref`` names: an id, a unique prefix of one, a title, a file, or ``latest``.

    Raises ReadError, FormatError, NoConversation, NotFound, Ambiguous.
    """
    return read(ref, agent).session


def read(ref: str | Path, agent: str | None = None, home: Path | None = None, other_than: str | None = None) -> Reading:
    """As ``read_session``, with the reader's losses. ``latest`` is the newest of the current folder, from
    another agent than ``other_than`` unless ``agent`` names one."""
    path = Path(os.path.expanduser(ref))  # noqa: PTH111 -- Path.expanduser raises where there is no such user
    if is_file(path) or _is_database(path.parent):
        return _read_file(path.absolute(), agent)
    if isinstance(ref, Path) or os.sep in ref or path.suffix in (".json", ".jsonl"):
        problem = "is a folder" if is_folder(path) else "is no file" if os.path.lexists(path) else "does not exist"
        raise ReadError(f"{path} {problem}", "name a session file, or an id (session-migrator list --all)")
    info = find(ref, agent, home, other_than)
    return agents.get(info.agent).read(Path(info.path or ""))


def find(ref: str, agent: str | None = None, home: Path | None = None, other_than: str | None = None) -> SessionInfo:
    """The session of that id, unique prefix of an id, title or unique beginning of one, or the latest: not a copy
    that a migration made and nobody continued, where there is another. Raises NotFound, Ambiguous."""
    if ref == LATEST:
        here = list(list_sessions(agent, Path.cwd(), home))
        wanted = [info for info in here if agent or info.agent != other_than]
        copies = migrations.untouched(Store(), [info.path or "" for info in wanted])
        info = next((info for info in wanted if info.path not in copies), next(iter(wanted), None))
        if info is None:
            own = f"; those that are here are {other_than}'s own" if here else ""
            raise NotFound(f"no session of this folder was found{own}", "see all with: session-migrator list --all")
        return info
    if not ref.strip():
        raise UsageError("a session must be named", "see all with: session-migrator list --all")
    everything = list(list_sessions(agent, None, home))
    for matches in (
        [info for info in everything if info.id == ref],
        [info for info in everything if info.id.startswith(ref)],
        [info for info in everything if _title(info) == _folded(ref)],
        [info for info in everything if _title(info).startswith(_folded(ref).removesuffix("…"))],
    ):
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise Ambiguous(f"{ref!r} fits {len(matches)} sessions", f"one of: {_names(matches)}")
    raise NotFound(f"no session is called {ref!r}", "see all with: session-migrator list --all")


def _title(info: SessionInfo) -> str:
    return _folded(info.title or "")


def _folded(words: str) -> str:
    return " ".join(words.split()).casefold()


def _names(found: Iterable[SessionInfo]) -> str:
    rows = [f"{info.id} ({info.agent})" for info in found]
    return ", ".join(rows[:_SHOWN]) + (", ..." if len(rows) > _SHOWN else "")


def _read_file(path: Path, agent: str | None) -> Reading:
    """A session file of the agent named, else of the first that recognises it (for a session within a database: the
    database) and can read it, else a JSON document or an array of chat messages."""
    if agent:
        return agents.get(agent).read(path)
    head = jsonl.head(path if is_file(path) else path.parent, _HEAD_BYTES)
    if not head.strip(b"\0 \t\r\n"):
        raise NoConversation(f"{path} is empty", "name another session (session-migrator list --all)")
    refused: FormatError | None = None
    for spec in agents.all_agents():
        try:
            if spec.recognises(head):
                return spec.read(path)
        except FormatError as error:  # the database of another agent
            refused = refused or error
    if refused:
        raise refused
    try:
        return Reading(session=exporter.from_json(path.read_bytes()))
    except NoConversation:
        raise
    except MigrationError as error:
        raise FormatError(
            f"the format of {path} is not recognised ({error})",
            f"name its agent with --from ({', '.join(agents.AGENTS)}), or give an array of chat messages",
        ) from error


def _is_database(path: Path) -> bool:
    return is_file(path) and jsonl.head(path, len(sqlite.MAGIC)) == sqlite.MAGIC
