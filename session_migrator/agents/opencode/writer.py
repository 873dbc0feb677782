"""Session -> OpenCode or a fork of it: by the client's own ``import`` where the client is here, else into its database
as that would.

A home without a database gets one, of the schema of the version that is known (``schema.json``); the client brings it
up to date.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ... import timestamps
from ...errors import WriteError
from ...files import is_file, remove_empty, write_new
from ...jsondata import clean
from ...model import Session
from .. import databases, programs
from ..jsonl import Record
from ..models import fitted
from ..spec import Database, Rows, Written
from .client import HOME_VARIABLE, Client
from .rows import Fit, columns, exchanges, session_info
from .stored import Exchange

_SECONDS = 60
_QUIET = {
    **dict.fromkeys(
        ("DISABLE_AUTOUPDATE", "DISABLE_MODELS_FETCH", "DISABLE_LSP_DOWNLOAD", "DISABLE_DEFAULT_PLUGINS"), "1"
    ),
    "TELEMETRY_LEVEL": "off",  # Kilo waits at its end until that is sent
}
_GLOBAL = "global"
"""The project of whatever is in no repository; its root is ``/``."""


def write(session: Session, home: Path, folder: Path, client: Client) -> Written:
    """Write a lowered session as a new one of the project in ``folder``. Raises WriteError, Refused."""
    now = timestamps.to_milliseconds(timestamps.now())
    place = os.path.realpath(folder)
    root = _root(place)
    provider, model, size = fitted(session, lambda named: client.model(home, folder, named)[0])
    fit = Fit(client, provider, model, size, place, root or "/")
    path = client.databases(home)[0]
    project = _project(place, root, path, client)
    info = clean(session_info(session, project, fit, now))
    made = _Made(
        client, path, info, root, lambda: (clean(list(pair)) for pair in exchanges(session, info["id"], fit, now))
    )
    return (_import(made, home, place) if shutil.which(client.word) else None) or _insert(made)


@dataclass(frozen=True, slots=True)
class _Made:
    """A session ready to be written: the client, its database, the session's object, the root of its repository, and
    what gives its messages, the same each time but for chance in their ids."""

    client: Client
    path: Path
    info: Record
    root: str | None
    exchanges: Callable[[], Iterable[Exchange]]

    def rows(self, *, with_project: bool) -> tuple[Rows, ...]:
        """What undo takes out."""
        session_id = self.info["id"]
        named = [("part", "session_id"), ("message", "session_id"), ("session", "id")]
        rows = [Rows(database=str(self.path), table=table, column=column, value=session_id) for table, column in named]
        if with_project:
            project = self.info["projectID"]
            rows.append(Rows(database=str(self.path), table="project", column="id", value=project, shared=True))
        return tuple(rows)


# --- the project


def _root(folder: str) -> str | None:
    """The root of the repository that a folder is in."""
    return _git(folder, "rev-parse", "--show-toplevel")


def _project(folder: str, root: str | None, path: Path, client: Client) -> str:
    """The id of a project, as the client finds it: of the repository's remote (since 1.18), else the one kept in the
    repository's own folder, else the first of its root commits."""
    if root is None:
        return _GLOBAL
    remote = _of_remote(_git(folder, "remote", "get-url", "origin") or "") if _is_recent(path) else None
    if remote:
        return remote
    common = _git(folder, "rev-parse", "--path-format=absolute", "--git-common-dir")
    with contextlib.suppress(OSError, ValueError):
        kept = (Path(common or root) / client.word).read_text(encoding="utf-8").strip()
        if kept:
            return kept
    commits = (_git(folder, "rev-list", "--max-parents=0", "HEAD") or "").split()
    return min(commits, default=_GLOBAL)


def _is_recent(path: Path) -> bool:
    """Whether a database is of 1.18 or later, or to be made."""
    return not is_file(path) or bool(_count(path, "sqlite_master", "name", "project_directory"))


def _of_remote(url: str) -> str | None:
    """The id that the address of a remote gives: a digest of its host and path."""
    found = re.fullmatch(r"\w[\w+.-]*://(?:[^@/]*@)?([^/:]+)(?::\d+)?/+(.+)", url)
    found = found or re.fullmatch(r"(?:[^@/:]+@)([^/:]+):(.+)", url)
    if not found or url.startswith("file:"):
        return None
    host, name = found[1].lower(), re.sub(r"(?:\.git/?|/+)$", "", found[2].strip("/"))
    return hashlib.sha1(f"git-remote:{host}/{name}".encode()).hexdigest() if name else None


def _git(folder: str, *arguments: str) -> str | None:
    """What git answers, None where it has none."""
    with contextlib.suppress(OSError, subprocess.SubprocessError, ValueError):
        command = ["git", "-C", folder, *arguments]
        run = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True)
        return run.stdout.strip() or None
    return None


# --- the database


def _insert(made: _Made) -> Written:
    """All rows in one transaction. Raises WriteError, Refused."""
    path, session_id, project = made.path, made.info["id"], made.info["projectID"]
    folders: tuple[str, ...] = ()
    bare: tuple[Database, ...] = ()
    if not is_file(path):
        folders, bare = _make(path, made.client)
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=_SECONDS, isolation_level=None)) as database:
            database.execute("PRAGMA foreign_keys = ON")
            database.execute("BEGIN IMMEDIATE")
            is_new = not database.execute("SELECT 1 FROM project WHERE id = ?", [project]).fetchone()
            if is_new:
                _add(database, "project", _project_row(project, made.root, made.info["time"]["updated"]))
            _add(database, "session", columns(made.info))
            for message, parts in made.exchanges():
                _add(database, "message", _row(message, session_id))
                for part in parts:
                    created = message["time"]["created"]
                    _add(database, "part", {**_row(part, session_id, created), "message_id": message["id"]})
            database.execute("COMMIT")
    except BaseException as error:
        databases.take_out((), bare)
        remove_empty(folders)
        if isinstance(error, sqlite3.Error):
            remedy = f"close {made.client.name} and try again; where it is of another version, start it once"
            raise WriteError(f"cannot write to {path}: {error}", remedy) from error
        raise
    rows = made.rows(with_project=is_new)
    return Written(session_id=session_id, paths=(), folders=folders, rows=rows, databases=bare)


def _project_row(project: str, root: str | None, now: int) -> Record:
    vcs = {"vcs": "git"} if root else {}
    return {"id": project, "worktree": root or "/", **vcs, "time_created": now, "time_updated": now, "sandboxes": []}


def _row(given: Record, session_id: str, created: int | None = None) -> Record:
    """A message or a part as a row: ids beside it, the rest as JSON."""
    data = {key: value for key, value in given.items() if key not in ("id", "sessionID", "messageID")}
    at = given["time"]["created"] if created is None else created
    return {"id": given["id"], "session_id": session_id, "time_created": at, "time_updated": at, "data": data}


def _add(database: sqlite3.Connection, name: str, row: Record) -> None:
    """Insert a row, of its columns those that this version's table has."""
    known = {str(column[1]) for column in database.execute(f"PRAGMA table_info({name})")}
    kept = {key: value for key, value in row.items() if key in known}
    values = [_dump(value) if isinstance(value, (dict, list)) else value for value in kept.values()]
    marks = ", ".join("?" * len(kept))
    database.execute(f"INSERT INTO {name} ({', '.join(kept)}) VALUES ({marks})", values)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _make(path: Path, client: Client) -> tuple[tuple[str, ...], tuple[Database, ...]]:
    """An empty database of the client's; the folders made for it, and what is in it."""
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder) / "new.db"
        with contextlib.closing(sqlite3.connect(new)) as database:
            schema = _schema(client.schema)
            for statement in schema["statements"]:
                database.execute(statement)
            rows = [(name, schema["completed"]) for name in schema["migrations"]]
            database.executemany("INSERT INTO migration VALUES (?, ?)", rows)
            database.commit()
        digest = str(databases.digest(new, ()))
        folders = write_new(path, [new.read_bytes()])
    return folders, (Database(path=str(path), digest=digest),)


@cache
def _schema(package: str) -> dict[str, Any]:
    data = files(package) / "schema.json"
    return json.loads(data.read_text(encoding="utf-8"))


# --- the client's own import


def _import(made: _Made, home: Path, folder: str) -> Written | None:
    """By the client's ``import``, run in the project; None where that does not take all of it (an error leaves half a
    session there, which is taken out again)."""
    count = _count(made.path, "project", "id", made.info["projectID"])
    named = {} if home == made.client.locate(None) else {HOME_VARIABLE: str(home.parent)}
    quiet = {made.client.variable(name): value for name, value in _QUIET.items()}
    messages = parts = 0
    with tempfile.TemporaryDirectory() as scratch:
        document = Path(scratch) / "session.json"
        with document.open("w", encoding="utf-8") as file:
            file.write(f'{{"info":{_dump(made.info)},"messages":[')
            for messages, (message, held) in enumerate(made.exchanges(), start=1):
                file.write(("," if messages > 1 else "") + _dump({"info": message, "parts": held}))
                parts += len(held)
            file.write("]}")
        programs.run(
            made.client.word, ["import", str(document)], folder=Path(folder), seconds=_SECONDS, variables=named | quiet
        )  # fmt: skip
    rows = made.rows(with_project=not count)
    session_id = made.info["id"]
    found = [_count(made.path, name, "session_id", session_id) for name in ("message", "part")]
    if found == [messages, parts]:
        return Written(session_id=session_id, paths=(), rows=rows)
    databases.take_out(rows, ())
    return None


def _count(path: Path, name: str, column: str, value: str) -> int:
    """How many rows have a value; 0 where there is no such database."""
    if not is_file(path):
        return 0
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path, timeout=_SECONDS)) as database:
        return database.execute(f"SELECT COUNT(*) FROM {name} WHERE {column} = ?", [value]).fetchone()[0]
    return 0
