"""Qwen Code session files -> Session (0.15 to 0.24): trees with branches and compressions, of Gemini's contents."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from ... import timestamps
from ...errors import FormatError, NoConversation
from ...losses import Loss, merged
from ...model import REPLACED, Session, SessionInfo, headline
from ..chain import Node, active
from ..contents import parts_of
from ..jsonl import Record, dump, ends, lines, records_of, table, text
from ..paths import newest_first
from ..spec import Reading, Remember, looked_at
from . import client
from .messages import COMPRESSION, OF_ALL, conversation, human_words, is_compression, replacement

_PARENT = re.compile(rb'"parentUuid"\s*:')
# What only its own lines have beside a parent: messages of Gemini's form, and records of the client's own.
_SIGNS = re.compile(
    rb'"role"\s*:\s*"(?:user|model)"\s*,\s*"parts"\s*:|"systemPayload"\s*:|"subtype"\s*:\s*"(?:ui_telemetry|chat_compression)"'
)
_FILE = re.compile(r"[0-9a-fA-F-]{32,36}")
_TYPES = ("user", "assistant", "tool_result", "system")
_SUBTYPES = {
    COMPRESSION, "slash_command", "ui_telemetry", "at_command", "attribution_snapshot", "notification",
    "background_task_completed", "cron", "mid_turn_user_message", "realtime_message", "custom_title", "parent_session",
    "rewind", "agent_bootstrap", "agent_launch_prompt", "agent_retry", "agent_session_ready", "file_history_snapshot",
    "session_source", "session_model", "omni_recall", "branch_checkpoint", "goal_state", "goal_runtime",
    "goal_turn_end", "turn_result",
}  # fmt: skip
# Records that stand beside the conversation: no other names one as its parent.
_BESIDE = {
    "session_artifact_event", "session_artifact_snapshot", "session_sources_snapshot", "managed_session_header_v1",
    "managed_session_event_v1", "managed_session_commit_v1",
}  # fmt: skip
_TITLE = "custom_title"
_LOST = "<lost>"
"""A parent that is not named, though one should be."""

Place = tuple[int, int]
"""Where a record lies: its offset and its length in bytes."""


def recognises(head: bytes) -> bool:
    """Whether a file's first lines have what only Qwen Code's have."""
    return bool(_PARENT.search(head) and _SIGNS.search(head))


def read(path: Path) -> Reading:
    """Read one session file. Raises ReadError, FormatError, NoConversation.

    The first pass keeps of each record what the line of the conversation needs, and where it lies; the second reads
    the records of the live line again, in their order.
    """
    nodes: list[Node] = []
    sidechain: list[Node] = []
    places: dict[str, list[Place]] = {}
    compressions: set[str] = set()
    losses: list[Loss] = []
    facts: Record = {}
    known = False
    for number, record, offset, length in lines(path):
        if record is None:
            losses.append(Loss(kind="bad_line", detail=f"line {number} is not a JSON record and was skipped"))
            continue
        losses += _strange(record)
        known = known or _is_own(record)
        _note_facts(facts, record)
        if text(record.get("subtype")) in _BESIDE or not ("uuid" in record or record.get("message")):
            continue
        node = _node_of(record, offset, length)
        if is_compression(record):
            compressions.add(node.id)
        (sidechain if record.get("isSidechain") else nodes).append(node)
        places.setdefault(node.id, []).append((offset, length))
    if not known:
        raise FormatError(f"{path} is no Qwen Code session", "name a file of ~/.qwen/projects/<project>/chats")
    live, _, tree_losses = active(nodes or sidechain)
    cut = max((at for at, node in enumerate(live) if node.id in compressions), default=-1)
    with _loader(path, places) as load:
        past, rest = live[: max(cut, 0)], live[cut + 1 :]
        if cut >= 0:
            waiting = _waiting(past, live[cut], load)
            past, rest = past[: len(past) - len(waiting)], [*waiting, *rest]
        compression = [_without_next(load(live[cut]), rest, load)] if cut >= 0 else []
        messages, standing = conversation(chain(compression, map(load, rest)))
        before, _ = conversation(_spoken(map(load, past)))
    if all(message.origin == "injected" for message in messages):
        raise NoConversation(f"{path} holds no conversation", "name another session (session-migrator list --all)")
    earlier = [message for message in before if message.origin != "summary"]
    return Reading(
        session=Session(
            id=path.stem,
            agent="qwen",
            messages=messages,
            earlier=earlier,
            title=facts.get("title"),
            cwd=facts.get("cwd"),
            model=facts.get("model"),
            git={"branch": facts["branch"]} if facts.get("branch") else None,
            created_at=facts.get("first"),
            updated_at=facts.get("last"),
            parent_id=facts.get("parent"),
            children=_children(path),
            source=str(path),
            extra={"version": facts.get("version"), REPLACED: standing if earlier else 0},
        ),
        losses=merged([*losses, *tree_losses]),
    )


def _is_own(record: Record) -> bool:
    return "parentUuid" in record and ("parts" in table(record.get("message")) or "systemPayload" in record)


def _node_of(record: Record, offset: int, length: int) -> Node:
    """The node of a record; one without an id is known by its place."""
    record_id, given = text(record.get("uuid")) or f"@{offset}", record.get("parentUuid", _LOST)
    parent = None if given in (None, record_id) else text(given) or _LOST
    return Node(
        id=record_id,
        parent=parent,
        offset=offset,
        length=length,
        speaks=bool(record.get("message")),
        begins=record.get("subtype") == "rewind",
    )


@contextmanager
def _loader(path: Path, places: dict[str, list[Place]]) -> Generator[Callable[[Node], Record]]:
    """A function that reads a node's record again; the parts of all records of one id are one message's."""
    with records_of(path) as load:

        def whole(node: Node) -> Record:
            record, *others = (load(*place) for place in places[node.id])
            if not others:
                return record
            told = {dump(one): one for one in (record, *others)}  # the same line twice is one
            parts = [part for one in told.values() for part in parts_of(table(one.get("message")).get("parts"))]
            return {**record, "message": {**table(record.get("message")), "parts": parts}}

        yield whole


def _waiting(past: Sequence[Node], cut: Node, load: Callable[[Node], Record]) -> Sequence[Node]:
    """The last records before a compression that the client made room for by it: what the user asked, or a tool
    returned, since the last answer, where the compression does not hold it itself. The client, when it resumes, leaves
    that out (0.24.4)."""
    compression = load(cut)
    held = [part for content in replacement(compression) for part in parts_of(content.get("parts"))]
    held_all, count = table(compression.get("systemPayload")).get(OF_ALL) is True, 0
    for record in map(load, reversed(past) if not held_all else ()):
        parts = [*parts_of(table(record.get("message")).get("parts"))]
        if record.get("type") == "assistant" or (parts and all(part in held for part in parts)):
            break
        count += 1
    return past[len(past) - count :]


def _without_next(compression: Record, rest: Sequence[Node], load: Callable[[Node], Record]) -> Record:
    """A compression without an answer at its end that is the next record too (0.15.10)."""
    contents = replacement(compression)
    following = next((load(node).get("message") for node in rest if node.speaks), None)
    if contents[-1].get("role") == "model" and contents[-1] == following:
        return {**compression, "systemPayload": {"compressedHistory": contents[:-1]}}
    return compression


def _spoken(records: Iterable[Record]) -> Iterator[Record]:
    """All that was said, without the compressions that stand in for it; one that nothing stands before is kept."""
    began = False
    for record in records:
        if not (began and is_compression(record)):
            yield record
        began = began or is_compression(record) or bool(record.get("message"))


def _strange(record: Record) -> Iterator[Loss]:
    """What a record has that is not understood."""
    kind, subtype = str(record.get("type")), str(record.get("subtype", ""))
    if kind in _TYPES and (not subtype or subtype in _SUBTYPES | _BESIDE):
        return
    name = (kind if kind not in _TYPES else subtype)[:40]
    if record.get("message"):
        detail = f"a record of a kind that is not known ({name}) is read by its message"
        yield Loss(kind="unknown_record", severity="info", detail=detail)
    else:
        yield Loss(kind="unknown_record", detail=f"a record of a kind that is not known ({name}) is not carried")


def _note_facts(facts: Record, record: Record) -> None:
    """Keep what a record says of the whole session."""
    payload = table(record.get("systemPayload"))
    stamp = timestamps.parse(record.get("timestamp"))
    facts["cwd"] = facts.get("cwd") or text(record.get("cwd"))
    facts["first"] = facts.get("first") or stamp
    facts["last"] = max(filter(None, (stamp, facts.get("last"))), default=None)
    facts["branch"] = text(record.get("gitBranch")) or facts.get("branch")
    facts["version"] = text(record.get("version")) or facts.get("version")
    facts["model"] = text(record.get("model")) or facts.get("model")
    if record.get("subtype") == _TITLE:
        facts["title"] = text(payload.get("customTitle")) or facts.get("title")
    elif record.get("subtype") == "parent_session":
        facts["parent"] = text(payload.get("parentSessionId")) or facts.get("parent")


def _children(path: Path) -> tuple[str, ...]:
    """The files of the sub-agents, which each hold a conversation of their own."""
    return tuple(map(str, sorted((path.parent.parent / "subagents" / path.stem).glob("agent-*.jsonl"))))


def list_sessions(home: Path, remember: Remember = looked_at) -> Iterator[SessionInfo]:
    """The sessions of a home, the latest written first."""
    for file in newest_first(client.projects(home).glob("*/chats/*.jsonl")):
        info = remember(file, _peek) if _FILE.fullmatch(file.path.stem) else None
        if info:
            yield info


def _peek(path: Path) -> SessionInfo | None:
    """A row from the head and tail of a file, which are parsed only as far as it needs."""
    first, last = ends(path)
    facts: Record = {}
    words: str | None = None
    for record in first:
        _note_facts(facts, record)
        words = words or human_words(record)
        if words and facts["cwd"] and facts["model"]:
            break
    if not words:
        return None
    latest: Record = {}
    for record in last.holding(b'"timestamp"'):
        noted: Record = {}
        _note_facts(noted, record)
        latest = {key: noted[key] for key in ("last", "model") if noted[key]} | latest
        if "last" in latest and "model" in latest:
            break
    facts |= latest
    title = _TITLE.encode()
    for record in (*first.holding(title), *reversed([*last.holding(title)])):
        _note_facts(facts, {"subtype": record.get("subtype"), "systemPayload": record.get("systemPayload")})
    return SessionInfo(
        agent="qwen",
        id=path.stem,
        title=facts.get("title") or headline(words),
        cwd=facts["cwd"],
        model=facts["model"],
        created_at=facts["first"],
        updated_at=facts["last"],
        path=str(path),
    )
