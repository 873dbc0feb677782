"""The messages of a session of OpenCode's, as it stores them -> Messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

from ... import timestamps
from ...losses import Loss
from ...model import Compaction, File, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Unknown
from ...toolnames import tool_kind
from ..drafts import Draft, Drafts
from ..jsonl import Record, rows, table, text
from .stored import Exchange

# Marks of the client's own: where a step begins, the state of the files, which agent was meant.
_MARKS = ("step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction")
_REMINDER = "<system-reminder>"
# What a mention of these with "@" says stands in a text beside it; the part itself is not sent (1.18).
_SPELT_OUT = ("text/plain", "application/x-directory")
_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^,]*)?;base64,")


@dataclass(slots=True)
class Cut:
    """The last compaction: its summary's message, the first message that was kept as it is, and the user's message
    that asked for it. ``stands_in``: the messages that stand in the place of others, of this compaction and of those
    before it."""

    summary: str
    asked: str
    tail: str | None
    stands_in: Set[str]


def last_cut(messages: Iterable[Exchange]) -> Cut | None:
    """The last compaction that was finished, as the client looks for it.

    Its summary stands in for what was said, and so does what has the time at which the summary was asked for: we write
    it so (``rows``), and the client writes nothing more until it has the summary."""
    asked: dict[str, tuple[Record, Any]] = {}
    stands_in: set[str] = set()
    found: Cut | None = None
    moment: Any = None
    for message, parts in messages:
        message_id, created = str(message.get("id")), table(message.get("time")).get("created")
        mark = next((part for part in parts if part.get("type") == "compaction"), None)
        if mark and message.get("role") == "user":
            asked[message_id] = mark, created
        elif is_summary(message) and (parent := str(message.get("parentID"))) in asked:
            mark, moment = asked[parent]
            stands_in.add(message_id)
            found = Cut(message_id, parent, text(mark.get("tail_start_id")), stands_in)
        elif found and created is not None and created == moment:
            stands_in.add(message_id)
    return found


def is_summary(message: Record) -> bool:
    """Whether a message of the model's is a finished summary of those before."""
    return message.get("summary") is True and bool(message.get("finish")) and not message.get("error")


def until(messages: Iterable[Exchange], revert: Record, losses: list[Loss]) -> Iterator[Exchange]:
    """The messages without those that the user has taken back, from a message or a part of one on."""
    first, part_id = text(revert.get("messageID")), text(revert.get("partID"))
    taken = 0
    for message, parts in messages:
        if taken or (first and message.get("id") == first):
            if not taken and part_id:
                kept = [part for part in parts if str(part.get("id")) < part_id]
                if kept:
                    yield message, kept
            taken += 1
            continue
        yield message, parts
    if taken:
        detail = f"{taken} messages that were taken back (a revert) are not carried"
        losses.append(Loss(kind="branch", detail=detail))


def conversation(messages: Iterable[Exchange], losses: list[Loss]) -> Sequence[Message]:
    """The messages in order; what cannot be told goes to ``losses``."""
    drafts = Drafts()
    for message, parts in messages:
        role = message.get("role")
        if role == "user":
            _user(drafts, message, parts)
        elif role == "assistant":
            _answer(drafts, message, parts)
        else:
            detail = f"a message of a role that is not known ({str(role)[:40]}) is not carried"
            losses.append(Loss(kind="unknown_record", detail=detail))
    return drafts.messages()


def _user(drafts: Drafts, message: Record, parts: list[Record]) -> None:
    told = [part for part in parts if not (part.get("type") == "text" and part.get("ignored"))]
    spelt_out = any(part.get("synthetic") for part in told)
    injected = [part for part in told if part.get("synthetic") and str(part.get("text")).startswith(_REMINDER)]
    kept: list[Part] = []
    for part in told:
        kind = part.get("type")
        if part in injected or kind in _MARKS:
            continue
        if kind == "text":
            kept += _words(part)
        elif kind == "file" and not (spelt_out and part.get("mime") in _SPELT_OUT):
            kept.append(attachment(part))
        elif kind != "file":
            kept.append(Unknown(kind=str(kind)[:40], raw=part))
    common: dict[str, Any] = {"id": text(message.get("id")), "timestamp": _time(message)}
    if kept:
        drafts.add(Draft(role="user", parts=kept, origin="human", **common))
    if injected:
        reminders = [words for part in injected for words in _words(part)]
        drafts.add(Draft(role="user", parts=reminders, origin="injected", **common))


def _answer(drafts: Drafts, message: Record, parts: list[Record]) -> None:
    """A message of the model's: each step of it one, and its results one after it."""
    model_id = text(message.get("modelID"))
    provider = text(message.get("providerID"))
    model = f"{provider}/{model_id}" if provider and model_id else model_id
    common: dict[str, Any] = {"id": text(message.get("id")), "timestamp": _time(message)}
    if is_summary(message):
        words = "\n".join(str(part.get("text")) for part in parts if part.get("type") == "text")
        told: list[Part] = [Compaction(summary=words)] if words else []
        drafts.add(Draft(role="user", parts=told, origin="summary", **common))
        return
    said: list[Part] = []
    results: list[Part] = []

    def close() -> None:
        drafts.add(Draft(role="assistant", parts=list(said), origin="model", model=model, **common))
        drafts.add(Draft(role="tool", parts=list(results), origin="tool", **common))
        said.clear()
        results.clear()

    for part in parts:
        kind = part.get("type")
        if kind == "step-start":
            close()
        elif kind == "text":
            said += _words(part)
        elif kind == "reasoning":
            if words := text(part.get("text")):
                said.append(Thinking(text=words, provider=provider, meta=_tagged(part)))
        elif kind == "tool":
            call, answer = _tool(part)
            said.append(call)
            results += [answer] if answer else []
        elif kind == "file":
            said.append(attachment(part))
        elif kind not in _MARKS:
            said.append(Unknown(kind=str(kind)[:40], raw=part))
    close()


def _tool(part: Record) -> tuple[ToolCall, ToolResult | None]:
    """A call and its result, which are one part; a call that was not finished has none. What the client had cleared
    to save room is still there and is carried."""
    state, name = table(part.get("state")), text(part.get("tool")) or "unknown"
    call_id = text(part.get("callID")) or text(part.get("id")) or "call"
    given = state.get("input")
    call = ToolCall(
        id=call_id, name=name, arguments=table(given) if not isinstance(given, str) else given, kind=tool_kind(name)
    )
    if state.get("status") == "completed":
        attached = [attachment(table(each)) for each in rows(state.get("attachments"))]
        return call, ToolResult(call_id=call_id, parts=(*_text(state.get("output")), *attached))
    if state.get("status") == "error":
        return call, ToolResult(call_id=call_id, parts=tuple(_text(state.get("error"))), is_error=True)
    return call, None


def attachment(part: Record) -> Part:
    """A file part: an image, or another document; its bytes are in its address, or elsewhere."""
    url, media_type = text(part.get("url")) or "", text(part.get("mime"))
    found = _DATA_URL.match(url)
    data, location = (url[found.end() :], None) if found else (None, url or None)
    if (media_type or "").startswith("image/"):
        return Image(media_type=media_type if data else None, data=data, location=location)
    return File(name=text(part.get("filename")), media_type=media_type, data=data, location=location)


def _words(part: Record) -> list[Part]:
    return _text(part.get("text"))


def _text(words: Any) -> list[Part]:
    return [Text(text=words)] if isinstance(words, str) and words else []


def _tagged(part: Record) -> Record | None:
    """What the provider gave with its reasoning."""
    given = part.get("metadata")
    return {"opencode": given} if isinstance(given, dict) and given else None


def _time(message: Record) -> str | None:
    return timestamps.parse(table(message.get("time")).get("created"))
