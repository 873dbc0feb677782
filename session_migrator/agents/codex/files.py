"""Where Codex keeps its sessions, and what its indexes say of them."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

from ... import timestamps
from ...errors import MigrationError, ReadError
from ...files import is_file
from ...model import SessionInfo, headline, title_of
from .. import sqlite
from ..jsonl import Record, ends, lines, table, text
from ..paths import newest_first
from ..spec import Remember, looked_at
from . import reader
from .forms import enveloped
from .items import environment_folder_of, human_text

_ID = re.compile(r"[0-9A-Za-z-]{1,64}")
_FOLDERS = ("sessions", "archived_sessions")
_SUFFIXES = (".jsonl", ".jsonl.zst", ".json")


def rollouts(home: Path, ending: str = "") -> Iterator[Path]:
    """Every session file of a home whose id ends so; the archived ones last."""
    endings = tuple(f"{ending}{suffix}" for suffix in _SUFFIXES)
    for folder in _FOLDERS:
        for place, _, names in os.walk(home / folder):
            for name in names:
                if name.startswith("rollout-") and name.endswith(endings):
                    yield Path(place, name)


def home_of(rollout: Path) -> Path:
    """The Codex home a session file lies in, or the folder it lies in."""
    return next((place.parent for place in rollout.parents if place.name in _FOLDERS), rollout.parent)


def find(home: Path, session_id: str) -> Path | None:
    """The file of a session, by the id in its name."""
    return next(rollouts(home, session_id), None) if _ID.fullmatch(session_id) else None


def titles(home: Path) -> dict[str, str]:
    """Names by session id: of state_*.sqlite (the newest schema that is there, read from a copy), and over
    them those of session_index.jsonl, where the last line of an id counts."""
    named: dict[str, str] = {}
    for state in newest_first(home.glob("state_*.sqlite"))[:1]:
        rows = sqlite.select(state.path, "threads", ("id", "name"))
        named.update((str(row["id"]), row["name"]) for row in rows if text(row["name"]))
    index = home / "session_index.jsonl"
    if is_file(index) and index.stat().st_size:
        with contextlib.suppress(ReadError):
            records = (line.record or {} for line in lines(index))
            named.update((str(row.get("id")), row["thread_name"]) for row in records if text(row.get("thread_name")))
    return named


def list_sessions(home: Path, remember: Remember = looked_at) -> Iterator[SessionInfo]:
    """The sessions of a home, the latest written first. Those of sub-agents are not listed."""
    named = titles(home)
    for file in newest_first(rollouts(home)):
        info = remember(file, _whole if file.path.suffix == ".json" else _peek)
        if info:
            yield replace(info, title=named[info.id]) if info.id in named else info


def _peek(path: Path) -> SessionInfo | None:
    """A row from the head and tail of a file, which are parsed only as far as it needs."""
    head, tail = ends(path)
    meta: Record = {}
    words = model = folder = None
    for line in _enveloped(head):
        if line.get("type") == "session_meta":
            meta = meta or table(line.get("payload"))
        model = reader.model_of(line) or model
        words = human_text(line)
        folder = folder or (None if meta.get("cwd") else environment_folder_of(line))
        if words:
            break
    if not meta or meta.get("thread_source") == "subagent":
        return None
    if not words and not any(_answers(line) for lines in (head, tail) for line in _enveloped(lines)):
        return None
    models = (reader.model_of(line) for line in tail.holding(b'"turn_context"'))
    moments = (timestamps.parse(line.get("timestamp")) for line in tail)
    created = timestamps.parse(meta.get("timestamp"))
    return SessionInfo(
        agent="codex",
        id=text(meta.get("id")) or path.stem,
        title=headline(words),
        cwd=text(meta.get("cwd")) or folder,
        model=next(filter(None, models), model),
        created_at=created,
        updated_at=next(filter(None, moments), created),
        path=str(path),
    )


def _enveloped(lines: Iterable[Record]) -> Iterator[Record]:
    return chain.from_iterable(map(enveloped, lines))


def _answers(record: Record) -> bool:
    """Whether a line is the model's or shows a conversation: a file without one is not listed."""
    payload = table(record.get("payload"))
    spoken = payload.get("role") == "assistant" or payload.get("type") in ("function_call", "user_message")
    return spoken and record.get("type") in ("response_item", "event_msg")


def _whole(path: Path) -> SessionInfo | None:
    """A row of a session that is one document: it is read whole."""
    try:
        session = reader.read(path).session
    except MigrationError:
        return None
    return SessionInfo(
        agent="codex",
        id=session.id,
        title=title_of(session),
        cwd=session.cwd,
        model=session.model,
        created_at=session.created_at,
        updated_at=session.updated_at or session.created_at,
        path=str(path),
    )
