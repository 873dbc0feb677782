"""Gemini CLI session files -> Session: single documents (0.10 to 0.25) and logs of JSON lines (0.40 to 0.61)."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

from ... import timestamps
from ...errors import FormatError, MigrationError, NoConversation
from ...jsondata import clean
from ...losses import Loss, merged
from ...model import REPLACED, Message, Session, SessionInfo, goal, headline
from ..jsonl import HEAD_BYTES, Line, Record, ends, head, lines, parse, records_of, rows, table, text
from ..paths import newest_first
from ..spec import Reading, Remember, looked_at
from . import client
from .log import FACTS, Log, Place, is_header, messages_of
from .messages import conversation, human_words

_HEADER = re.compile(rb'"projectHash"\s*:|^\s*\{"\$(?:set|rewindTo)"\s*:', re.MULTILINE)
_DOCUMENT = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\s*\n")
_MESSAGES = re.compile(rb'"messages"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_WORKSPACE = re.compile(r"\*\*Workspace Directories:\*\*\s*\n\s*- (.+)")


def recognises(head: bytes) -> bool:
    """Whether a file's first lines have what only Gemini CLI's have."""
    return bool(_HEADER.search(head))


def read(path: Path) -> Reading:
    """Read one session file. Raises ReadError, FormatError, NoConversation.

    The first pass finds out which messages are there in the end and where they lie; the second reads those.
    """
    log = Log()
    document = _document(path, log.losses) if _DOCUMENT.match(head(path, HEAD_BYTES)) else None
    for line in lines(path) if document is None else [Line(1, document)]:
        log.take(line)
    if not log.known:
        raise FormatError(f"{path} is no Gemini CLI session", "name a file of ~/.gemini/tmp/<project>/chats")
    with _loader(path, document) as load:
        messages = conversation(map(load, log.live.values()), log.losses)
        before = conversation(map(load, log.earlier), [])
    earlier = [message for message in before if message.origin not in ("injected", "summary")]
    if all(message.origin == "injected" for message in messages):
        raise NoConversation(f"{path} holds no conversation", "name another session (session-migrator list --all)")
    session = _session(path, log.facts, messages, earlier)
    return Reading(session=session, losses=merged(log.losses))


def _session(path: Path, facts: Record, messages: Sequence[Message], earlier: Sequence[Message]) -> Session:
    session_id = text(facts.get("sessionId")) or path.stem
    told = [message.timestamp for message in messages if message.timestamp]
    stamps = filter(None, (timestamps.parse(facts.get("lastUpdated")), *told[-1:]))
    standing = [number for number, message in enumerate(messages) if message.origin == "summary"]
    return Session(
        id=session_id,
        agent="gemini",
        messages=messages,
        earlier=earlier,
        title=text(facts.get("summary")),
        cwd=client.project_of(path) or _workspace(messages),
        model=next((message.model for message in reversed(messages) if message.model), None),
        created_at=timestamps.parse(facts.get("startTime")) or (told[0] if told else None),
        updated_at=max(stamps, default=None),
        parent_id=path.parent.name if facts.get("kind") == "subagent" else None,
        children=tuple(str(child) for child in sorted(path.with_name(session_id).glob("*.jsonl"))),
        source=str(path),
        extra={REPLACED: standing[-1] + 1 if earlier and standing else 0},
    )


@contextlib.contextmanager
def _loader(path: Path, document: Record | None) -> Generator[Callable[[Place], Record]]:
    """A function that gives the message at a place, of a document or read again; the messages of one line follow
    each other."""
    with records_of(path) as load_line:
        last: tuple[int, Record] = (0, document) if document is not None else (-1, {})

        def load(place: Place) -> Record:
            nonlocal last
            if last[0] != place.offset:
                last = place.offset, load_line(place.offset, place.length)
            return place.message(last[1])

        yield load


def _document(path: Path, losses: list[Loss]) -> Record | None:
    """The session in a document of many lines; where that is damaged, the messages up to there."""
    data = head(path, -1).removeprefix(b"\xef\xbb\xbf")
    whole = parse(data)
    start = _MESSAGES.search(data)
    if whole is not None or start is None:
        return whole
    facts = parse(data[: start.start()].rstrip().rstrip(b",") + b"}") or {}
    messages = list(_decoded(data[start.end() :].decode("utf-8", "replace")))
    losses.append(Loss(kind="bad_line", detail=f"the document is damaged after message {len(messages)}"))
    return {**facts, "messages": messages}


def _decoded(words: str) -> Iterator[Any]:
    """The JSON values in a row of them, as far as they can be read."""
    decoder, at = json.JSONDecoder(strict=False), 0
    with contextlib.suppress(ValueError, RecursionError, FormatError):
        while True:
            value, at = decoder.raw_decode(words, _BETWEEN.match(words, at).end())  # type: ignore[union-attr]
            yield clean(value)


def _workspace(messages: Sequence[Message]) -> str | None:
    """The project's folder as the client told it to its model."""
    contexts = (message.text for message in messages[:3] if message.origin == "injected")
    found = next(filter(None, map(_WORKSPACE.search, contexts)), None)
    return found[1].strip() if found else None


def list_sessions(home: Path, remember: Remember = looked_at) -> Iterator[SessionInfo]:
    """The sessions of a ``.gemini`` folder, the latest written first; of several files of one id (a resume makes
    another one), the latest that holds a conversation."""
    seen: set[str] = set()
    for file in newest_first((home / "tmp").glob("*/chats/session-*.json*")):
        info = remember(file, _peek)
        if info and info.id not in seen:
            seen.add(info.id)
            yield info


def _peek(path: Path) -> SessionInfo | None:
    """A row from the head and tail of a file; a document, or a log that begins with a very long line, is read whole."""
    first, last = ends(path)
    facts: Record = {}
    words: str | None = None
    model: str | None = None
    for record in first:
        facts |= _facts(record)
        for message in _messages_in(record):
            words = words or human_words(message)
            model = model or _model(message)
        if words and model:
            break
    if not words or not facts.get("sessionId"):
        return _read_row(path)
    if facts.get("kind") == "subagent":
        return None
    latest: Record = {}
    for record in last:
        latest = _facts(record) | latest
        model = next((name for name in map(_model, reversed(_messages_in(record))) if name), None) or model
        if "lastUpdated" in latest and model:
            break
    for record in (*first.holding(b'"summary"'), *reversed([*last.holding(b'"summary"')])):
        facts |= {key: value for key, value in _facts(record).items() if key == "summary"}
    facts |= latest
    return _row(path, facts, words, model)


def _model(message: Record) -> str | None:
    return text(message.get("model"))


def _facts(record: Record) -> Record:
    """What a line says of the whole session."""
    found = record if is_header(record) else table(record.get("$set"))
    return {key: found[key] for key in FACTS if key in found}


def _messages_in(record: Record) -> list[Record]:
    if isinstance(record.get("id"), str):
        return [record]
    return [table(message) for message in rows(messages_of(record))]


def _row(path: Path, facts: Record, words: str | None, model: str | None) -> SessionInfo:
    return SessionInfo(
        agent="gemini",
        id=str(facts["sessionId"]),
        title=text(facts.get("summary")) or headline(words),
        cwd=client.project_of(path),
        model=model,
        created_at=timestamps.parse(facts.get("startTime")),
        updated_at=timestamps.parse(facts.get("lastUpdated")),
        path=str(path),
    )


def _read_row(path: Path) -> SessionInfo | None:
    try:
        session = read(path).session
    except MigrationError:
        return None
    if session.parent_id:
        return None
    facts = {"sessionId": session.id, "startTime": session.created_at, "lastUpdated": session.updated_at}
    return _row(path, {**facts, "summary": session.title}, goal(session.messages), session.model)
