"""CodeBuddy and WorkBuddy session files -> Session (2.163.0)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ... import timestamps
from ...errors import FormatError, NoConversation
from ...losses import Loss, merged
from ...model import REPLACED, Message, Session, SessionInfo, headline
from ..chain import Node, active
from ..jsonl import Record, ends, lines, records_of, table, text
from ..paths import newest_first
from ..spec import Reading, Remember, looked_at
from .items import ENCRYPTED, conversation, human_words
from .tree import SPEAKING, node_of

HOMES = {".codebuddy": "codebuddy", ".workbuddy": "workbuddy"}
"""Whose a session is, by the folder that its file lies in: the records do not say it."""
VERSION = 1
"""The version of the records, where they name one (2.163.0 names none)."""

# What only its own lines have: ids and text of messages, calls and results as this core names them.
_SIGNS = re.compile(
    rb'"type"\s*:\s*"(?:input_text|output_text|function_call(?:_result)?|reasoning)"[^\n]*"sessionId"\s*:'
    rb'|"sessionId"\s*:[^\n]*"type"\s*:\s*"(?:input_text|output_text|function_call(?:_result)?|reasoning)"'
    rb'|"type"\s*:\s*"(?:file-history-snapshot"[^\n]*"isSnapshotUpdate"[^\n]*"cwd"|session-meta")'
)
_QUIET = {
    "custom-title", "ai-title", "file-history-snapshot", "summary", "topic", "goal-result", "goal-progress",
    "turn-metrics", "resend-fork-notice", "acp-terminal-state", "model-usage", "credit-usage", "session-meta",
}  # fmt: skip
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "topic": "topic"}


def recognises(head: bytes) -> bool:
    """Whether a file's first lines have what only this core's have."""
    return bool(_SIGNS.search(head))


def read(path: Path, agent: str) -> Reading:
    """Read one session file, of that agent where the path does not tell. Raises ReadError, FormatError, NoConversation.

    The first pass keeps of each record what the line of the conversation needs, and where it lies; the second reads
    the records of the live line (and of the earlier one) again, in their order.
    """
    nodes: list[Node] = []
    losses: list[Loss] = []
    facts: Record = {}
    tip: str | None = None
    known = False
    for number, record, offset, length in lines(path):
        if record is None:
            losses.append(Loss(kind="bad_line", detail=f"line {number} is not a JSON record and was skipped"))
            continue
        kind = text(record.get("type"))
        known = known or ("sessionId" in record and kind in SPEAKING)
        _note_facts(facts, record)
        losses += _strange(record)
        if kind in SPEAKING and ENCRYPTED not in record:
            nodes.append(node_of(record, offset, length))
            tip = None
        elif kind == "resend-fork-notice":
            tip = text(record.get("parentId"))
    if not known:
        raise FormatError(f"{path} is no CodeBuddy session", "name a file of ~/.codebuddy/projects")
    live, earlier, tree_losses = active(nodes, tip)
    blobs = path.parents[2] / "blobs" if len(path.parents) > 2 else path.parent
    losses += tree_losses
    messages = _messages(path, live, blobs, losses)
    if all(message.origin == "injected" for message in messages):
        raise NoConversation(f"{path} holds no conversation", "name another session (session-migrator list --all)")
    before = _messages(path, [node for node in earlier if not node.stands_in], blobs, [])
    standing = [number for number, message in enumerate(messages) if message.origin == "summary"]
    session = Session(
        id=path.stem,
        agent=_owner(path, agent),
        messages=messages,
        earlier=[message for message in before if message.origin not in ("injected", "summary")],
        title=_title(facts),
        cwd=facts.get("cwd"),
        model=next((message.model for message in reversed(messages) if message.model), None),
        created_at=facts.get("first"),
        updated_at=facts.get("last"),
        children=tuple(map(str, sorted((path.with_suffix("") / "subagents").glob("agent-*.jsonl")))),
        source=str(path),
        extra={REPLACED: standing[0] + 1 if before and standing else 0},
    )
    return Reading(session=session, losses=merged(losses))


def _owner(path: Path, agent: str) -> str:
    return next((HOMES[part] for part in reversed(path.parts) if part in HOMES), agent)


def _strange(record: Record) -> Iterator[Loss]:
    """What a record has that is not understood."""
    kind = text(record.get("type"))
    if ENCRYPTED in record:
        yield Loss(kind="unknown_record", detail="an encrypted record cannot be read and is not carried")
    elif kind not in SPEAKING and kind not in _QUIET:
        detail = f"a record of a type that is not known ({str(kind)[:40]}) is not carried"
        yield Loss(kind="unknown_record", detail=detail)
    version = next((found for key in ("version", "schemaVersion") if (found := record.get(key)) is not None), VERSION)
    if version != VERSION:
        detail = f"the format has a version that is not known ({str(version)[:40]}); it is read as far as it is"
        yield Loss(kind="unknown_record", severity="info", detail=detail)


def _messages(path: Path, nodes: Sequence[Node], blobs: Path, losses: list[Loss]) -> Sequence[Message]:
    if not nodes:
        return ()
    with records_of(path) as load:
        return conversation((load(node.offset, node.length) for node in nodes), blobs, losses)


def _note_facts(facts: Record, record: Record) -> None:
    """What a record says of the whole session: times are kept of messages alone."""
    kind = text(record.get("type"))
    cwd, stamp = text(record.get("cwd")), timestamps.parse(record.get("timestamp"))
    if cwd:
        facts.setdefault("cwd", cwd)
    if kind in SPEAKING and stamp:
        facts.setdefault("first", stamp)
        facts["last"] = max(stamp, facts.get("last") or stamp)
    if kind in _TITLES:
        title = text(record.get(_TITLES[kind])) or text(record.get("title"))
        if title:
            facts[kind] = title.strip()


def _title(facts: Record) -> str | None:
    return next((facts[kind] for kind in _TITLES if facts.get(kind)), None)


def list_sessions(home: Path, agent: str, remember: Remember = looked_at) -> Iterator[SessionInfo]:
    """The sessions of a home, the latest written first."""

    def peek(path: Path) -> SessionInfo | None:
        return _peek(path, agent)

    for file in newest_first((home / "projects").glob("*/*.jsonl")):
        info = None if file.path.stem.startswith("agent-") else remember(file, peek)
        if info:
            yield info


def _peek(path: Path, agent: str) -> SessionInfo | None:
    """A row from the head and tail of a file, which are parsed only as far as it needs."""
    first, last = ends(path)
    facts: Record = {}
    words: str | None = None
    model: str | None = None
    for record in first:
        _note_facts(facts, record)
        words, model = words or human_words(record), model or _model(record)
        if words and model and facts.get("cwd"):
            break
    if not words:
        return None
    latest: Record = {}
    for record in last.holding(b'"timestamp"'):
        noted: Record = {}
        _note_facts(noted, record)
        latest = {key: noted[key] for key in ("last",) if key in noted} | latest
        if _model(record):
            model = _model(record)
            break
    for record in (*first.holding(b"-title", b'"topic"'), *reversed([*last.holding(b"-title", b'"topic"')])):
        _note_facts(facts, {key: value for key, value in record.items() if key != "timestamp"})
    return SessionInfo(
        agent=_owner(path, agent),
        id=path.stem,
        title=_title(facts) or headline(words),
        cwd=facts.get("cwd"),
        model=model,
        created_at=facts.get("first"),
        updated_at=latest.get("last") or facts.get("last"),
        path=str(path),
    )


def _model(record: dict[str, Any]) -> str | None:
    return text(table(record.get("providerData")).get("model"))
