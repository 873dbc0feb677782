"""Claude Code session files -> Session: 1.0 to 2.1, trees with branches, compactions, parallel calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from ... import timestamps
from ...errors import FormatError, NoConversation
from ...losses import Loss, merged
from ...model import (
    REPLACED,
    File,
    Image,
    Message,
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
from ..drafts import Draft, Drafts, by_origin
from ..jsonl import Record, ends, lines, records_of, rows, table, text
from ..paths import newest_first
from ..spec import Reading, Remember, looked_at
from .tree import BEFORE, SYNTHETIC, Node, active, grouped, node_of

_OWN_KEYS = {"isSidechain", "leafUuid", "customTitle", "aiTitle"}
# What only its own lines have: those of a session, and those of ``--output-format stream-json``.
_ENVELOPE = re.compile(rb'"(?:isSidechain|leafUuid|parent_tool_use_id|customTitle|aiTitle)"\s*:|"subtype"\s*:\s*"init"')
# Contents of other APIs, in files whose titles or sub-agents are named alike: OpenAI's (CodeBuddy), and Gemini's.
_OTHERS = re.compile(
    rb'"type"\s*:\s*"(?:input_text|output_text|function_call)"'
    rb'|"message"\s*:\s*\{\s*"role"\s*:\s*"(?:user|model)"\s*,\s*"parts"'
)
# Texts the client puts into the user's mouth (2.1.332 and before).
_INJECTED = re.compile(
    r"\s*(?:<system-reminder>|<local-command-(?:stdout|caveat)>|<command-(?:name|message)>"
    r"|<task-notification>|Caveat: The messages below|\[Request interrupted by user)"
)
_MOVED_OUT = "a result that its client had moved to a file is carried as its model saw it: a preview and the path"
# A shell command the user ran with "!", and what it printed: neither words of theirs nor the client's.
_SHELL = re.compile(r"\s*<bash-(?:input|stdout|stderr)>")
_OPEN, _CLOSE = "<system-reminder>", "</system-reminder>"


def recognises(head: bytes) -> bool:
    """Whether a file's first lines have what only Claude Code's have."""
    return bool(_ENVELOPE.search(head)) and not _OTHERS.search(head)


def read(path: Path) -> Reading:
    """Read one session file. Raises ReadError, FormatError, NoConversation.

    The first pass keeps of each record what the tree needs, and where it lies; the second reads the records of
    the live line (and of the earlier one) again, in their order.
    """
    nodes: list[Node] = []
    losses: list[Loss] = []
    facts: Record = {}
    known = False
    for number, record, offset, length in lines(path):
        if record is None:
            losses.append(Loss(kind="bad_line", detail=f"line {number} is not a JSON record and was skipped"))
            continue
        if "session_id" in record:
            record = _streamed(record)
        known = known or not _OWN_KEYS.isdisjoint(record)
        _note_facts(facts, record)
        if _is_moved_out(record):
            losses.append(Loss(kind="file", severity="info", detail=_MOVED_OUT))
        if isinstance(record.get("uuid"), str) and not record.get("isSidechain"):
            nodes.append(node_of(record, nodes[-1] if nodes else None, offset, length))
    if not known:
        raise FormatError(f"{path} is no Claude Code session", "name a file of ~/.claude/projects")
    live, earlier, tree_losses = active(nodes)
    messages = _messages(path, live)
    replacement = list(takewhile(lambda node: node.stands_in, (node for node in live if node.speaks)))
    if all(message.origin == "injected" for message in messages):
        raise NoConversation(f"{path} holds no conversation", "name another session (session-migrator list --all)")
    session = Session(
        id=facts.get("stream") or path.stem,
        agent="claude-code",
        messages=messages,
        earlier=_messages(path, [node for node in earlier if not node.stands_in]),
        title=facts.get("custom") or facts.get("ai"),
        cwd=facts.get("cwd"),
        model=facts.get("model"),
        git={"branch": facts["branch"]} if facts.get("branch") else None,
        created_at=facts.get("first"),
        updated_at=facts.get("last"),
        children=_children(path),
        source=str(path),
        extra={"version": facts.get("version"), REPLACED: len(_messages(path, replacement))},
    )
    return Reading(session=session, losses=merged([*losses, *tree_losses]))


def _is_moved_out(record: Record) -> bool:
    """Whether a result was too long and its client kept it as a file of its own (2.1.332: over about 30 kB)."""
    blocks = map(table, rows(table(record.get("message")).get("content")))
    texts = (block.get("content") for block in blocks if block.get("type") == "tool_result")
    return any(isinstance(words, str) and words.startswith("<persisted-output>") for words in texts)


def _children(path: Path) -> tuple[str, ...]:
    """The files of the sub-agents, which each hold a conversation of their own (since 2.1.x in a folder beside
    the session's file)."""
    return tuple(str(found) for found in sorted((path.with_suffix("") / "subagents").glob("agent-*.jsonl")))


def _streamed(record: Record) -> Record:
    """A line of ``--output-format stream-json`` as a line of a session file; its parent is the one before it."""
    sidechain = record.get("parent_tool_use_id") is not None
    return {**record, "sessionId": record["session_id"], "isSidechain": sidechain, "parentUuid": BEFORE}


def list_sessions(home: Path, remember: Remember = looked_at) -> Iterator[SessionInfo]:
    """The sessions of a Claude Code home, the latest written first."""
    for file in newest_first((home / "projects").glob("*/*.jsonl")):
        info = None if file.path.stem.startswith("agent-") else remember(file, _peek)
        if info:
            yield info


def _peek(path: Path) -> SessionInfo | None:
    """A row from the head and tail of a file, which are parsed only as far as it needs."""
    head, tail = ends(path)
    facts: Record = {}
    words: str | None = None
    for record in head:
        _note_facts(facts, record)
        words = words or _human_text(record)
        if words and facts.get("cwd") and facts.get("model"):
            break
    latest: Record = {}
    for record in tail.holding(b'"timestamp"'):
        noted: Record = {}
        _note_facts(noted, record)
        latest = {key: noted[key] for key in ("last", "model") if noted.get(key)} | latest
        if "last" in latest and ("model" in latest or not facts.get("model")):
            break
    facts |= latest
    titled = (b"customTitle", b"aiTitle")
    for record in (*head.holding(*titled), *islice(tail.holding(*titled), 1)):
        _note_facts(facts, record)
    if not (words or facts.get("model")):
        return None
    return SessionInfo(
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
        if model and model != SYNTHETIC:
            facts["model"] = model


def _messages(path: Path, nodes: Sequence[Node]) -> Sequence[Message]:
    """Records to messages: those of one ``message.id`` are one, and the results after it are one."""
    drafts = Drafts()
    spoken = [node for node in nodes if node.speaks and not node.is_synthetic]
    with records_of(path) as load:
        for message in grouped(spoken):
            records = [load(node.offset, node.length) for node in message]
            stamp = timestamps.parse(records[0].get("timestamp"))
            if message[0].is_user:
                _user(drafts, records[0], message[0].id, stamp)
                continue
            said = [table(record.get("message")) for record in records]
            parts = [_part(table(block)) for one in said for block in _blocks(one.get("content"))]
            drafts.add(Draft(
                role="assistant", parts=parts, id=message[0].message_id or message[0].id, timestamp=stamp,
                model=text(said[0].get("model")), origin="model",
            ))  # fmt: skip
    return drafts.messages()


def _user(drafts: Drafts, record: Record, record_id: str, stamp: str | None) -> None:
    """A user record: results of tools, and words of the human, of the client or of a compaction."""
    parts = _user_parts(table(record.get("message")).get("content"))
    results: list[Part] = [part for part in parts if isinstance(part, ToolResult)]
    if results and drafts.last and drafts.last.role == "tool":
        drafts.last.add(results)
    elif results:
        drafts.add(Draft(role="tool", parts=results, id=record_id, timestamp=stamp, origin="tool"))
    told: Iterator[tuple[Origin | None, Part]] = (
        (_origin(record, part), part) for part in parts if not isinstance(part, ToolResult)
    )
    for origin, run in by_origin(told):
        drafts.add(Draft(role="user", parts=run, id=record_id, timestamp=stamp, origin=origin))


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
    """The part, or the pieces of its text; blanks go with the reminder beside them, and no character is lost."""
    if not isinstance(part, Text):
        yield part
        return
    words, at = part.text, 0
    while (start := words.find(_OPEN, at)) >= 0 and (end := words.find(_CLOSE, start)) >= 0:
        end += len(_CLOSE)
        end += 0 if words[end:].strip() else len(words) - end
        said = words[at:start].rstrip()
        if said:
            yield Text(text=said)
        yield Text(text=words[at + len(said) : end])
        at = end
    if at < len(words) or not words:
        yield Text(text=words[at:])


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
