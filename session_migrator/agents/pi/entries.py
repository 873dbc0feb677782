"""Session -> the entries of a session of pi's family, one line of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ... import timestamps
from ...model import (
    Compaction,
    File,
    Image,
    Message,
    Part,
    Session,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    title_of,
)
from ..jsonl import Record
from .tree import STANDS_IN

_VERSION = 3
# No reasoning is written, so that nothing but the form of ids depends on it: the client takes ours as they are.
_API = "openai-completions"
_IMAGE_CHARACTERS = 4_800
"""What the client takes an image for when it estimates (1.6.0)."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What a session is written for: the provider and the model, and the tokens of a request with the whole of it;
    ``closed``: whether the line must not end with a message of the user's."""

    provider: str
    model: str
    tokens: int
    closed: bool = False


def entries(session: Session, session_id: str, cwd: str, fit: Fit) -> Iterator[Record]:
    """The lines of the file, the header first: each entry's parent is the one before it."""
    start = session.created_at or timestamps.now()
    yield {"type": "session", "version": _VERSION, "id": session_id, "timestamp": start, "cwd": cwd}
    parent: str | None = None
    for number, body in enumerate(_bodies(session, start, fit), start=1):
        entry_id = f"{number:08x}"
        if body["type"] == "compaction":  # nothing before it is kept
            body["firstKeptEntryId"] = entry_id
        yield {**body, "id": entry_id, "parentId": parent}
        parent = entry_id


def _bodies(session: Session, start: str, fit: Fit) -> Iterator[Record]:
    """The entries in order, without what links them; behind a last message of the user's, where that must not be the
    end, an answer that was broken off before its first word, which is sent to no model."""
    yield from _told(session, start, fit)
    if fit.closed and session.messages[-1].role == "user":
        stamp = session.messages[-1].timestamp or start
        yield _entry({"role": "assistant", "content": [], **_by(fit, 0), "stopReason": "aborted"}, stamp)


def _told(session: Session, start: str, fit: Fit) -> Iterator[Record]:
    """The entries of what was said. Behind earlier messages, a compaction and what stands in for them, whose first
    text is the summary."""
    title = title_of(session)
    if title:
        yield {"type": "session_info", "timestamp": start, "name": " ".join(title.split())}
    yield {"type": "model_change", "timestamp": start, "provider": fit.provider, "modelId": fit.model}
    if not session.earlier:
        yield from _conversation(session.messages, start, fit)
        return
    yield from _conversation(session.earlier, start, replace(fit, tokens=0))
    stamp = session.earlier[-1].timestamp or start
    opener = session.messages[0]
    first, *others = opener.parts
    summary, others = (first.text, others) if isinstance(first, Text) else ("", opener.parts)
    before = sum(map(_estimate, session.earlier))
    yield {"type": "compaction", "timestamp": stamp, "summary": summary, "tokensBefore": before, "fromHook": True}
    following = [replace(opener, parts=tuple(others))] if others else []
    for entry in _conversation([*following, *session.messages[1:]], stamp, fit):
        yield {**entry, STANDS_IN: True}


def _conversation(messages: Sequence[Message], stamp: str, fit: Fit) -> Iterator[Record]:
    """The entries of messages. The last answer tells the size of a request, by which the client decides whether to
    compact (0.74 and 1.6)."""
    last = max((at for at, message in enumerate(messages) if message.role == "assistant"), default=-1)
    names: dict[str, str] = {}
    for at, message in enumerate(messages):
        stamp = message.timestamp or stamp
        names = {call.id: call.name for call in message.calls} or names
        for body in _said(message, fit, names, fit.tokens if at == last else 0):
            yield _entry(body, stamp)


def _entry(body: Record, stamp: str) -> Record:
    body = {**body, "timestamp": timestamps.to_milliseconds(stamp)}
    return {"type": "message", "timestamp": stamp, "message": body}


def _by(fit: Fit, size: int) -> Record:
    """Who made an answer, and of what size the request was (tokens)."""
    return {"api": _API, "provider": fit.provider, "model": fit.model, "usage": _usage(size)}


def _said(message: Message, fit: Fit, names: Mapping[str, str], size: int) -> Iterator[Record]:
    """What the entries of one message hold."""
    if message.role == "tool":
        for result in message.results:
            about = {"toolCallId": result.call_id, "toolName": names[result.call_id], "isError": result.is_error}
            yield {"role": "toolResult", "content": list(map(_block, result.parts)), **about}
    elif message.role == "assistant":
        for piece in _pieces(message.parts):
            calls = any(isinstance(part, ToolCall) for part in piece)
            yield {
                "role": "assistant", "content": list(map(_block, piece)), **_by(fit, size),
                "stopReason": "toolUse" if calls else "stop",
            }  # fmt: skip
    else:
        yield {"role": "user", "content": list(map(_block, message.parts))}


def _pieces(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """The parts of an answer in as many messages as it needs: of two texts in one the client makes one, without a space
    between (1.6.0). What follows a call stays with it, before the result."""
    piece: list[Part] = []
    for part in parts:
        if piece and isinstance(part, Text) and isinstance(piece[-1], Text) and len(piece) == 1:
            yield piece
            piece = []
        piece.append(part)
    yield piece


def _block(part: Part) -> Record:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Image():
            return {"type": "image", "data": part.data, "mimeType": part.media_type}
        case ToolCall():
            return {"type": "toolCall", "id": part.id, "name": part.name, "arguments": part.arguments}
        case Thinking() | ToolResult() | File() | Compaction() | Unknown():
            raise TypeError(f"a lowered session holds no {part.type} part here")


def _usage(size: int) -> Record:
    """Without it the client fails (1.6.0)."""
    cost = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
    return {"input": size, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": size, "cost": cost}


def _estimate(message: Message) -> int:
    """What the client would say of a message's tokens: a quarter of its characters, without those of calls."""
    held = [part.parts if isinstance(part, ToolResult) else (part,) for part in message.parts]
    return sum(-(-sum(map(_characters, parts)) // 4) for parts in held)


def _characters(part: Part) -> int:
    if isinstance(part, Text):
        return len(part.text)
    return _IMAGE_CHARACTERS if isinstance(part, Image) else 0
