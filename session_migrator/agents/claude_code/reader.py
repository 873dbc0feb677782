"""Claude Code session files -> Session: 1.0 to 2.1, trees with branches, compactions, parallel calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import timestamps
from ...errors import FormatError, NoConversation
from ...losses import Loss
from ...model import (
    REPLACED,
    File,
    Image,
    Origin,
    Part,
    Session,
    SessionInfo,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    headline,
)
from ...toolnames import tool_kind
from ..drafts import Draft, by_origin, finish
from ..jsonl import Record, head_and_tail, lines, rows, table, text
from ..paths import newest_first
from ..spec import Reading

_OWN_KEYS = {"isSidechain", "leafUuid", "customTitle", "aiTitle"}
_CONVERSATION = ("user", "assistant")
# What only its own lines have: those of a session, and those of ``--output-format stream-json``.
_ENVELOPE = re.compile(rb'"(?:isSidechain|leafUuid|parent_tool_use_id|customTitle|aiTitle)"\s*:|"subtype"\s*:\s*"init"')
# Texts the client puts into the user's mouth (2.1.332 and before).
_INJECTED = re.compile(
    r"\s*(?:<system-reminder>|<local-command-(?:stdout|caveat)>|<command-(?:name|message)>"
    r"|<task-notification>|Caveat: The messages below|\[Request interrupted by user)"
)
# A shell command the user ran with "!", and what it printed: neither words of theirs nor the client's.
_SHELL = re.compile(r"\s*<bash-(?:input|stdout|stderr)>")
_REMINDER = re.compile(r"\s*(<system-reminder>.*?</system-reminder>)", re.DOTALL)
_SYNTHETIC = "<synthetic>"  # the client's own words in the assistant's place: API errors and the like


def recognises(head: bytes) -> bool:
    """Whether a file's first lines have what only Claude Code's have."""
    return bool(_ENVELOPE.search(head))


def read(path: Path) -> Reading:
    """Read one session file. Raises ReadError, FormatError, NoConversation."""
    nodes: list[_Node] = []
    losses: list[Loss] = []
    facts: Record = {}
    known = False
    for number, record in lines(path):
        if record is None:
            losses.append(Loss(kind="bad_line", detail=f"line {number} is not a JSON record and was skipped"))
            continue
        if "session_id" in record:
            record = _streamed(record, nodes[-1].id if nodes else None)
        known = known or not _OWN_KEYS.isdisjoint(record)
        _note_facts(facts, record)
        if isinstance(record.get("uuid"), str) and not record.get("isSidechain"):
            nodes.append(_Node(record, len(nodes)))
    if not known:
        raise FormatError(f"{path} is no Claude Code session", "name a file of ~/.claude/projects")
    live, earlier, tree_losses = _active(nodes)
    messages = _messages(live)
    if all(message.origin == "injected" for message in messages):
        raise NoConversation(f"{path} holds no conversation", "name another session (session-migrator list --all)")
    session = Session(
        id=facts.get("stream") or path.stem,
        agent="claude-code",
        messages=messages,
        earlier=_messages(node for node in earlier if not node.record.get("isCompactSummary")),
        title=facts.get("custom") or facts.get("ai"),
        cwd=facts.get("cwd"),
        model=facts.get("model"),
        git={"branch": facts["branch"]} if facts.get("branch") else None,
        created_at=facts.get("first"),
        updated_at=facts.get("last"),
        source=str(path),
        children=_children(path),
        extra={"version": facts.get("version"), REPLACED: 1 if messages[0].origin == "summary" else 0},
    )
    return Reading(session=session, losses=(*losses, *tree_losses))


def _children(path: Path) -> tuple[str, ...]:
    """The files of the sub-agents, which each hold a conversation of their own (since 2.1.x in a folder beside
    the session's file)."""
    return tuple(str(found) for found in sorted((path.with_suffix("") / "subagents").glob("agent-*.jsonl")))


def _streamed(record: Record, parent: str | None) -> Record:
    """A line of ``--output-format stream-json`` as a line of a session file: in order, one after the other."""
    sidechain = record.get("parent_tool_use_id") is not None
    return {**record, "sessionId": record["session_id"], "isSidechain": sidechain, "parentUuid": parent}


def list_sessions(home: Path) -> Iterator[SessionInfo]:
    """The sessions of a Claude Code home, the latest written first."""
    for path in newest_first((home / "projects").glob("*/*.jsonl")):
        head, tail = head_and_tail(path)
        facts: Record = {}
        for record in (*head, *tail):
            _note_facts(facts, record)
        words = next(filter(None, (_human_text(record) for record in head)), None)
        if path.stem.startswith("agent-") or not (words or facts.get("model")):
            continue
        yield SessionInfo(
            agent="claude-code",
            id=path.stem,
            title=facts.get("custom") or facts.get("ai") or headline(words),
            cwd=facts.get("cwd"),
            model=facts.get("model"),
            created_at=facts.get("first"),
            updated_at=facts.get("last"),
            path=str(path),
        )


def _note_facts(facts: Record, record: Record) -> None:
    """Keep what a line says of the whole session."""
    kind = record.get("type")
    if kind == "custom-title":
        facts["custom"] = text(record.get("customTitle")) or facts.get("custom")
    elif kind == "ai-title":
        facts["ai"] = text(record.get("aiTitle")) or facts.get("ai")
    elif "uuid" in record and not record.get("isSidechain"):
        stamp = timestamps.parse(record.get("timestamp"))
        facts.setdefault("cwd", text(record.get("cwd")))
        facts["cwd"] = facts["cwd"] or text(record.get("cwd"))
        facts["first"] = facts.get("first") or stamp
        facts["last"] = stamp or facts.get("last")
        facts["branch"] = text(record.get("gitBranch")) or facts.get("branch")
        facts["version"] = text(record.get("version")) or facts.get("version")
        facts["stream"] = text(record.get("session_id")) or facts.get("stream")
        model = text(table(record.get("message")).get("model"))
        if model and model != _SYNTHETIC:
            facts["model"] = model


@dataclass(slots=True, eq=False)
class _Node:
    """A record of the tree and its place in the file."""

    record: Record
    place: int

    @property
    def id(self) -> str:
        return self.record["uuid"]

    @property
    def speaks(self) -> bool:
        return self.record.get("type") in _CONVERSATION

    @property
    def message(self) -> Record:
        return table(self.record.get("message"))

    @property
    def is_prompt(self) -> bool:
        """A turn of the user's own: where a rewind begins another branch."""
        return self.record.get("type") == "user" and not any(
            table(block).get("type") == "tool_result" for block in rows(self.message.get("content"))
        )


def _active(nodes: list[_Node]) -> tuple[list[_Node], list[_Node], list[Loss]]:
    """The live records in order, those before the last compaction, and what was left out.

    The newest message is the live leaf. Its ancestors are live, and so is what hangs off them unless it
    begins with a prompt of the user's (a branch given up by a rewind): results of parallel calls and
    replies that the client parented elsewhere. A parent that is nowhere is bridged by the record before.
    """
    losses: list[Loss] = []
    first: dict[str, _Node] = {}
    for node in nodes:
        first.setdefault(node.id, node)
    unique = list(first.values())
    parent: dict[str, _Node | None] = {}
    for index, node in enumerate(unique):
        named = node.record.get("parentUuid")
        found = first.get(named) if isinstance(named, str) else None
        if isinstance(named, str) and found is None and index:
            found = unique[index - 1]
            losses.append(
                Loss(
                    kind="branch",
                    severity="info",
                    detail=f"record {node.id} has a parent that is not in the file; it follows the one before it",
                )
            )
        parent[node.id] = found
    leaf = next((node for node in reversed(unique) if node.speaks), None)
    live = _line(leaf, parent, unique)
    boundary = next((node for node in live if node.record.get("subtype") == "compact_boundary"), None)
    logical = boundary.record.get("logicalParentUuid") if boundary else None
    before = first.get(logical) if isinstance(logical, str) else None
    earlier: list[_Node] = []
    seen = {node.id for node in live}
    while before is not None:
        part = [node for node in _line(before, parent, unique) if node.id not in seen]
        seen.update(node.id for node in part)
        earlier = part + earlier
        boundary = next((node for node in part if node.record.get("subtype") == "compact_boundary"), None)
        logical = boundary.record.get("logicalParentUuid") if boundary else None
        before = first.get(logical) if isinstance(logical, str) and logical not in seen else None
    left = sum(1 for node in unique if node.speaks and node.id not in seen)
    if left:
        losses.append(
            Loss(kind="branch", detail=f"{left} records of branches that were given up (rewinds) are not carried")
        )
    return live, earlier, losses


def _line(leaf: _Node | None, parent: dict[str, _Node | None], nodes: list[_Node]) -> list[_Node]:
    """From the root to a leaf, with what hangs off the way and is no branch of its own."""
    way: list[_Node] = []
    on_way: set[str] = set()
    node = leaf
    while node is not None and node.id not in on_way:
        way.append(node)
        on_way.add(node.id)
        node = parent[node.id]
    root: dict[str, str] = {node.id: node.id for node in way}  # the record of the way that each hangs off
    hanging: dict[str, list[_Node]] = {}
    for node in nodes:
        above = parent[node.id]
        if node.id not in on_way and above is not None and above.id in root and not node.is_prompt:
            root[node.id] = root[above.id]
            hanging.setdefault(root[node.id], []).append(node)
    return [member for node in reversed(way) for member in (node, *hanging.get(node.id, ()))]


def _messages(nodes: Iterable[_Node]) -> tuple[Any, ...]:
    """Records to messages: those of one ``message.id`` are one, and the results after it are one."""
    drafts: list[Draft] = []
    by_id: dict[str, Draft] = {}
    for node in nodes:
        if not node.speaks or node.message.get("model") == _SYNTHETIC:
            continue
        stamp = timestamps.parse(node.record.get("timestamp"))
        if node.record.get("type") == "assistant":
            parts = [_part(table(block)) for block in _blocks(node.message.get("content"))]
            message_id = text(node.message.get("id"))
            open_draft = by_id.get(message_id) if message_id else None
            if open_draft:
                open_draft.parts += parts
                continue
            drafts.append(Draft(
                role="assistant", parts=parts, id=message_id or node.id, timestamp=stamp,
                model=text(node.message.get("model")), origin="model",
            ))  # fmt: skip
            if message_id:
                by_id[message_id] = drafts[-1]
        else:
            _user(drafts, node, stamp)
            if node.is_prompt:  # ids are unique within a turn only: some gateways count from one again
                by_id.clear()
    return finish(drafts)


def _user(drafts: list[Draft], node: _Node, stamp: str | None) -> None:
    """A user record: results of tools, and words of the human, of the client or of a compaction."""
    parts = _user_parts(node.message.get("content"))
    results: list[Part] = [part for part in parts if isinstance(part, ToolResult)]
    if results and drafts and drafts[-1].role == "tool":
        drafts[-1].parts += results
    elif results:
        drafts.append(Draft(role="tool", parts=results, id=node.id, timestamp=stamp, origin="tool"))
    told: Iterator[tuple[Origin | None, Part]] = (
        (_origin(node.record, part), part) for part in parts if not isinstance(part, ToolResult)
    )
    for origin, run in by_origin(told):
        drafts.append(Draft(role="user", parts=run, id=node.id, timestamp=stamp, origin=origin))


def _origin(record: Record, part: Part) -> Origin | None:
    if record.get("isCompactSummary"):
        return "summary"
    words = part.text if isinstance(part, Text) else ""
    if record.get("isMeta") or _INJECTED.match(words):
        return "injected"
    return "tool" if _SHELL.match(words) else "human"


def _human_text(record: Record) -> str | None:
    """The human's words in a record, if it is one of theirs."""
    if record.get("type") != "user" or record.get("isSidechain") or record.get("isMeta"):
        return None
    parts = _user_parts(table(record.get("message")).get("content"))
    words = (part.text for part in parts if isinstance(part, Text) and _origin(record, part) == "human")
    return next(filter(str.strip, words), None)


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else rows(content)


def _user_parts(content: Any) -> list[Part]:
    """The parts of a user record; reminders that the client glued to the user's words stand apart."""
    return [apart for block in _blocks(content) for apart in _unglued(_part(table(block)))]


def _unglued(part: Part) -> Iterator[Part]:
    if not isinstance(part, Text) or "<system-reminder>" not in part.text:
        yield part
        return
    for piece in _REMINDER.split(part.text):
        if piece.strip():
            yield Text(text=piece)


def _part(block: Record) -> Part:
    """One content block of the Messages API as a part."""
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return Text(text=block["text"])
    if kind == "thinking":
        signature = text(block.get("signature"))
        return Thinking(text=str(block.get("thinking") or ""), signature=signature, provider="anthropic")
    if kind == "tool_use":
        name = text(block.get("name")) or "unknown"
        given = block.get("input")
        arguments = table(given) if isinstance(given, dict) else "" if given is None else str(given)
        return ToolCall(id=text(block.get("id")) or "", name=name, arguments=arguments, kind=tool_kind(name))
    if kind == "tool_result":
        parts = tuple(_part(table(inner)) for inner in _blocks(block.get("content")))
        failed = block.get("is_error") is True
        return ToolResult(call_id=text(block.get("tool_use_id")) or "", parts=parts, is_error=failed)
    source = table(block.get("source"))
    if kind in ("image", "document") and source:
        media_type, data, url = (text(source.get(key)) for key in ("media_type", "data", "url"))
        if kind == "image":
            return Image(media_type=media_type, data=data, location=url)
        return File(name=text(block.get("title")), media_type=media_type, data=data, location=url)
    return Unknown(kind=str(kind), raw=block)
