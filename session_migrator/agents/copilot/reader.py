"""Copilot CLI session files -> Session: the log of a session's folder, or of 2025 a log alone (0.0.342 to 1.0.102)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from ... import timestamps
from ...errors import FormatError, MigrationError, NoConversation, ReadError
from ...losses import merged
from ...model import REPLACED, Session, SessionInfo, headline, title_of
from ..jsonl import Record, ends, head, records_of, table, text
from ..paths import newest_first
from ..spec import Reading, Remember, looked_at
from .log import SUMMARY, Log, Place, data_of, events
from .messages import conversation

LOG, WORKSPACE = "events.jsonl", "workspace.yaml"
_SIGN = re.compile(rb'"type"\s*:\s*"session\.start"[^\n]*"(?:copilotVersion|producer)"|"copilotVersion"\s*:')
_KEY = re.compile(r"\w+:[ \t]")


def recognises(head: bytes) -> bool:
    """Whether a file's first lines have what only Copilot CLI's have."""
    return bool(_SIGN.search(head))


def read(path: Path) -> Reading:
    """Read one log. Raises ReadError, FormatError, NoConversation.

    The first pass finds out which events are there in the end and where they lie; the second reads those.
    """
    log = Log()
    for line in events(path):
        log.take(line)
    if not log.known:
        raise FormatError(f"{path} is no Copilot CLI session", f"name a file {LOG} of ~/.copilot/session-state")
    with records_of(path) as load:

        def at(place: Place) -> Record:
            return load(place.offset, place.length)

        def asset(asset_id: str) -> Record:
            return at(log.assets[asset_id]) if asset_id in log.assets else {}

        prompts = (_words(at(place)) for place in log.earlier if place.kind == "user.message")
        said = list(filter(None, prompts))
        messages = conversation(map(at, log.live), asset, said)
        earlier = conversation(map(at, log.earlier), asset)
    if all(message.origin == "injected" for message in messages):
        raise NoConversation(f"{path} holds no conversation", "name another session (session-migrator list --all)")
    told = [message.timestamp for message in messages if message.timestamp]
    workspace = workspace_of(path)
    session = Session(
        id=text(log.facts.get("sessionId")) or _id(path),
        agent="copilot",
        messages=messages,
        earlier=[message for message in earlier if message.origin != "injected"],
        title=_title(workspace, log.facts),
        cwd=text(log.facts.get("cwd")) or workspace.get("cwd"),
        model=next((message.model for message in reversed(messages) if message.model), None)
        or text(log.facts.get("model")),
        created_at=timestamps.parse(log.facts.get("startTime")) or (told[0] if told else None),
        updated_at=told[-1] if told else None,
        source=str(path),
        extra={REPLACED: 1 if earlier and log.live[0].kind == SUMMARY else 0},
    )
    return Reading(session=session, losses=merged(log.losses))


def workspace_of(path: Path) -> dict[str, str]:
    """The facts in the file beside a log, as far as they are plain: a line each."""
    try:
        words = head(path.with_name(WORKSPACE), 64 * 1024).decode("utf-8", "replace") if path.name == LOG else ""
    except ReadError:
        return {}
    rows = (line.partition(":") for line in words.split("\n") if _KEY.match(line))
    return {key: _scalar(value.strip()) for key, _, value in rows if value.strip()}


def _scalar(value: str) -> str:
    if value[0] == value[-1] == "'" and len(value) > 1:
        return value[1:-1].replace("''", "'")
    if value[0] == '"':
        try:
            return str(json.loads(value))
        except ValueError:
            return value
    return "" if value in ("|", "|-", ">", ">-", "null", "~") else value


def _title(workspace: dict[str, str], facts: Record) -> str | None:
    return text(facts.get("title")) or text(workspace.get("name")) or text(workspace.get("summary"))


def _id(path: Path) -> str:
    return path.parent.name if path.name == LOG else path.stem


# --- lists


def list_sessions(home: Path, remember: Remember = looked_at) -> Iterator[SessionInfo]:
    """The sessions of a home that hold a prompt, the latest written first."""
    place = home / "session-state"
    found = newest_first(chain(place.glob(f"*/{LOG}"), place.glob("*.jsonl")))
    return (info for file in found if (info := remember(file, _peek)))


def _peek(path: Path) -> SessionInfo | None:
    """A row from the head and tail of a log, and the file beside it; a log that begins with a very long line is read
    whole."""
    first, last = ends(path)
    start = _first(first, lambda event: event.get("type") == "session.start")
    prompt = _first(first, lambda event: event.get("type") == "user.message" and bool(_words(event)))
    if prompt is None:
        return _read_row(path)
    data, workspace = data_of(start or {}), workspace_of(path)
    latest = _first(last, lambda event: bool(timestamps.parse(event.get("timestamp")))) or prompt
    model = _first(last.holding(b'"model"'), lambda event: bool(text(data_of(event).get("model")))) or {}
    return SessionInfo(
        agent="copilot",
        id=text(data.get("sessionId")) or _id(path),
        title=_title(workspace, {}) or headline(_words(prompt)),
        cwd=text(table(data.get("context")).get("cwd")) or workspace.get("cwd"),
        model=text(data_of(model).get("model")) or text(data.get("selectedModel")),
        created_at=timestamps.parse(data.get("startTime")) or timestamps.parse(prompt.get("timestamp")),
        updated_at=timestamps.parse(latest.get("timestamp")),
        path=str(path),
    )


def _read_row(path: Path) -> SessionInfo | None:
    try:
        session = read(path).session
    except MigrationError:
        return None
    return SessionInfo(
        agent="copilot", id=session.id, title=title_of(session), cwd=session.cwd,
        model=session.model, created_at=session.created_at, updated_at=session.updated_at, path=str(path),
    )  # fmt: skip


def _first(found: Iterable[Record], fits: Callable[[Record], bool]) -> Record | None:
    return next(filter(fits, found), None)


def _words(event: Record) -> str | None:
    return text(data_of(event).get("content"))
