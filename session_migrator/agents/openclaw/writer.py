"""Session -> OpenClaw: a file of pi's family with an entry in the index, as versions before 2026.8.1 have it. Of later
ones the client's own ``doctor`` takes both up into its database, where it is here to be run."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import timestamps
from ...files import is_file, remove_empty, write_new
from ...model import Session, headline, title_of
from .. import databases, objects, programs, sqlite
from ..jsonl import Record, dump, rows, table, text
from ..models import fitted
from ..pi.entries import Fit, entries
from ..spec import Entry, Rows, Written, quoted
from . import client

_SECONDS = 120
_IMPORT = ("doctor", "--session-sqlite", "import")
# By which the tables of a database name a session, the one that the others are made of first (2026.9.6).
_EVENTS, _BY_ID, _BY_KEY = "transcript_events", ("session_id", "current_session_id"), "session_key"
_ASIDE = ("archivedTranscriptFiles", "archivedUnreferencedJsonlFiles", "archivedLegacyStoreFiles")
_TITLE = 500


def write(session: Session, home: Path, folder: Path) -> Written:
    """Write a lowered session as a new one of the agent that OpenClaw starts with. Raises WriteError, Refused."""
    session_id, agent = str(uuid.uuid4()), client.agent(home)
    folder = Path(os.path.realpath(folder))
    # A message of the user's at the end it would put before the next prompt, without its images, and take out after
    # that (2026.9.6).
    fit = Fit(*fitted(session, lambda named: client.model(home, folder, named)[0]), closed=True)
    place = client.sessions(home, agent)
    path, index = place / f"{session_id}.jsonl", place / "sessions.json"
    alone = not is_file(index) and not any(place.glob("*.jsonl"))
    told = map(_untimed, entries(session, session_id, str(folder), fit))
    folders = write_new(path, map(dump, told))
    made = _Made(home, agent, session_id, path)
    entry = Entry(path=str(index), key=made.key)
    try:
        objects.put(index, made.key, _entry(session, session_id, path, _pin(fit, home, folder)))
        taken = _taken_up(made, folder) if alone else ()
    except BaseException:
        path.unlink(missing_ok=True)
        objects.take_out(entry)
        remove_empty(folders)
        raise
    if taken:
        remove_empty(folders)
        return Written(session_id=session_id, paths=(), rows=taken)
    return Written(
        session_id=session_id, paths=(str(path),), entries=(entry,), folders=folders, pending=_command(home)
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Made:
    """A session as it was written: the home, the agent, the id and the file."""

    home: Path
    agent: str
    session_id: str
    path: Path

    @property
    def key(self) -> str:
        """What the client knows it by."""
        return f"agent:{self.agent}:{client.KEY}{self.session_id}"

    @property
    def database(self) -> Path:
        return client.database(self.home, self.agent)


def _untimed(entry: Record) -> Record:
    """An entry without the time within a message of the user's, which the client would put before its text each time
    that it sends it (2026.9.6). The time of the entry itself stays."""
    message = table(entry.get("message"))
    if message.get("role") != "user":
        return entry
    return {**entry, "message": {key: value for key, value in message.items() if key != "timestamp"}}


def _entry(session: Session, session_id: str, path: Path, pin: Record) -> Record:
    """A session's entry in the index, with its title: the client lists no words of one that has none."""
    told = (headline(message.text) for message in session.earlier or session.messages)
    title = title_of(session) or next(filter(None, told), None)
    label = {"label": " ".join(title.split())[:_TITLE]} if title else {}
    now = timestamps.to_milliseconds(timestamps.now())
    return {"sessionId": session_id, "updatedAt": now, "sessionFile": str(path), **label, **pin}


def _pin(fit: Fit, home: Path, folder: Path) -> Record:
    """The model, where it is another than the one that every session has."""
    if client.model(home, folder, None)[0] == f"{fit.provider}/{fit.model}":
        return {}
    return {"providerOverride": fit.provider, "modelOverride": fit.model, "modelOverrideSource": "user"}


def _command(home: Path) -> str:
    """What the user has to run for OpenClaw to take a session up, from 2026.8.1 on."""
    assigned = [f"{name}={quoted(value)}" for name, value in _variables(home).items()]
    return " ".join([*assigned, client.PROGRAM, *_IMPORT])


def _variables(home: Path) -> dict[str, str]:
    return {} if home == client.locate(None) else {client.HOME_VARIABLE: str(home)}


# --- the client's own import


def _taken_up(made: _Made, folder: Path) -> tuple[Rows, ...]:
    """Let the client take up a session; the rows it made of it, none where it did not. What it has put aside of our
    own files then goes: a later ``doctor`` would take the session up again."""
    with made.path.open("rb") as file:
        count = sum(1 for _ in file)
    try:
        run = programs.run(
            client.PROGRAM, [*_IMPORT, "--json"], folder=folder, seconds=_SECONDS, variables=_variables(made.home)
        )  # fmt: skip
    except BaseException:
        databases.take_out(_found(made)[0], ())
        raise
    found, held = _found(made)
    if run is None or is_file(made.path) or held != count:
        databases.take_out(found, ())  # half of it may be there
        return ()
    for path in _put_aside(run.told, made):
        path.unlink(missing_ok=True)
        remove_empty([str(path.parent)])
    return found


def _put_aside(told: Record, made: _Made) -> list[Path]:
    """Our file, our index, and the record of their having been taken up, as the client names them; none of them where
    it has put aside anything else too."""
    found: list[Any] = []
    for target in map(table, rows(told.get("targets"))):
        found += [path for name in _ASIDE for path in rows(target.get(name))]
    paths = [Path(path) for path in map(text, [*found, table(told.get("migrationRun")).get("manifestPath")]) if path]
    with contextlib.suppress(OSError):
        if all(made.session_id.encode() in path.read_bytes() for path in paths):
            return paths
    return []


def _found(made: _Made) -> tuple[tuple[Rows, ...], int]:
    """What names the session in the database, in any table (the client has more of them with each version), and how
    many of its entries are there."""
    found: list[Rows] = []
    held = 0
    with contextlib.suppress(sqlite3.Error), sqlite.copied(made.database) as database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            known = {str(column[1]) for column in database.execute(f'PRAGMA table_info("{name}")')}
            column = next((column for column in (*_BY_ID, _BY_KEY) if column in known), None)
            if column:
                value = made.key if column == _BY_KEY else made.session_id
                derived = name != _EVENTS
                found.append(Rows(database=str(made.database), table=name, column=column, value=value, derived=derived))
        held = len(sqlite.records(database, _EVENTS, "session_id = ?", [made.session_id]))
    return tuple(found), held
