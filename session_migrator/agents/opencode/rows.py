"""Session -> the objects that OpenCode stores, as ``import`` takes them and as its database holds them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, pairwise
from typing import Any

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
from .client import Client
from .stored import Exchange

_COMPACTING = "compaction"
"""The client's own agent that makes summaries."""
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BITS = (1 << 48) - 1
# The client takes the message with the greatest id for the last one, and the time in an id begins anew every 795 days
# (1.18): so all ids are of the last minute, whatever the times of the messages are.
_MINUTE = 60_000


@dataclass(frozen=True, slots=True)
class Fit:
    """What the session is written for: the client, the provider and the model, the tokens of a request with it, and
    the folder with the root of its repository."""

    client: Client
    provider: str
    model: str
    tokens: int
    folder: str
    root: str


def session_info(session: Session, project: str, fit: Fit, now: int) -> Record:
    """The session's own object. It is the one used last: ``--continue`` takes it."""
    title = title_of(session) or "Untitled session"
    path = os.path.relpath(fit.folder, fit.root) if fit.root != "/" else fit.folder.lstrip("/")
    return {
        "id": _id("ses", now, 0, inverted=True),
        "slug": f"migrated-{secrets.token_hex(3)}",
        "version": fit.client.version,
        "projectID": project,
        "directory": fit.folder,
        "path": "" if path == "." else path,
        "title": title,
        "agent": fit.client.agent,
        "model": {"id": fit.model, "providerID": fit.provider},
        "time": {"created": _milliseconds(session.created_at, now), "updated": now},
    }


def exchanges(session: Session, session_id: str, fit: Fit, now: int) -> Iterator[Exchange]:
    """The messages of a lowered session with their parts, in the order of their times and ids. A call and its result
    are one part; each answer has the id of the user's message before it. Behind earlier messages, a compaction."""
    numbers = count(1)
    parent = ""
    latest = 0
    last = max((at for at, message in enumerate(_told(session)) if message.role == "assistant"), default=-1)
    for at, (message, following) in enumerate(pairwise(chain(_told(session), [None]))):
        assert message is not None, "the end is no first of two"
        if message.role == "tool":
            continue
        results = {result.call_id: result for result in following.results} if following and message.calls else {}
        stamp = _milliseconds(message.timestamp, now)
        # Kilo 7.0.33 turns round what is of one time; what stands behind a compaction is known by it (``_told``).
        apart = not session.earlier
        latest = max(latest + apart, min(stamp, now - (len(session.messages) - at)) if apart else stamp)
        message_id = _id("msg", now - _MINUTE, next(numbers))
        info: Record = {"id": message_id, "sessionID": session_id, "role": message.role, "time": {"created": latest}}
        if message.role == "user":
            parent = message_id
            info |= {"agent": fit.client.agent, "model": {"providerID": fit.provider, "modelID": fit.model}}
        else:
            info |= _answer(message, parent, fit, latest, is_last=at == last)
        held = {"sessionID": session_id, "messageID": message_id}
        parts = [*_parts(message, results, latest), *(_marked(fit.client) if message.role == "user" else ())]
        yield info, [{"id": _id("prt", now - _MINUTE, next(numbers)), **held, **part} for part in parts]


def _marked(client: Client) -> list[Record]:
    """A part that the client does not send, which keeps it from adding anything to a message."""
    hidden = {"synthetic": True, "ignored": True}
    return [{"type": "text", "text": client.context, **hidden}] if client.context else []


def _told(session: Session) -> Iterator[Message]:
    """All messages in order. Behind the earlier ones what stands in for them, all of it at one time, by which the
    reader knows it (``messages.last_cut``): the user's wish to compact, and the first text as the summary, which the
    model gives; then the rest."""
    yield from session.earlier or session.messages
    if not session.earlier:
        return
    first, *_ = session.messages[0].parts
    summary, rest = (first.text, 1) if isinstance(first, Text) else ("", 0)
    yield Message(role="user", parts=(Compaction(summary=""),))
    yield Message(role="assistant", parts=(Compaction(summary=summary),))
    for at, message in enumerate(session.messages):
        parts = message.parts if at else message.parts[rest:]
        if parts:
            yield replace(message, parts=parts, timestamp=None)


def _answer(message: Message, parent: str, fit: Fit, created: int, *, is_last: bool) -> Record:
    """The rest of an answer's object. The tokens of the last one are what the client decides to compact by."""
    tokens = fit.tokens if is_last else 0
    is_summary = any(isinstance(part, Compaction) for part in message.parts)
    agent = _COMPACTING if is_summary else fit.client.agent
    return {
        "parentID": parent,
        **({"summary": True} if is_summary else {}),
        "mode": agent,
        "agent": agent,
        "path": {"cwd": fit.folder, "root": fit.root},
        "cost": 0,
        "tokens": {"input": tokens, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}},
        "modelID": fit.model,
        "providerID": fit.provider,
        "time": {"created": created, "completed": created},
        "finish": "tool-calls" if message.calls else "stop",
    }


def _parts(message: Message, results: dict[str, ToolResult], at: int) -> Iterator[Record]:
    before: Part | None = None
    called = False
    for part in message.parts:
        if message.role == "assistant" and isinstance(part, Text) and isinstance(before, Text) and not called:
            yield {"type": "step-start"}  # else the client joins the two texts without a space between (1.18)
        before = part
        match part:
            case Text():
                yield {"type": "text", "text": part.text}
            case Image():
                yield _file(part)
            case ToolCall():
                called = True  # what follows a call stays in its step, before the result
                state = _state(part, results[part.id], at)
                yield {"type": "tool", "tool": part.name, "callID": part.id, "state": state}
            case Compaction() if message.role == "user":
                yield {"type": "compaction", "auto": False}
            case Compaction():
                yield from [{"type": "text", "text": part.summary}] if part.summary else []
            case Thinking() | ToolResult() | File() | Unknown():
                raise TypeError(f"a lowered session holds no {part.type} part here")


def _state(call: ToolCall, result: ToolResult, at: int) -> Record:
    words = _words(result.parts)
    common: Record = {"input": call.arguments, "time": {"start": at, "end": at}}
    if result.is_error:
        return {"status": "error", "error": words, **common}
    images = [_file(part) for part in result.parts if isinstance(part, Image)]
    attached: Record = {"attachments": images} if images else {}
    return {"status": "completed", "output": words, "title": call.name, "metadata": {}, **common, **attached}


def _file(image: Image) -> Record:
    url = image.location if image.data is None else f"data:{image.media_type};base64,{image.data}"
    return {"type": "file", "mime": image.media_type or "image/png", "filename": "image", "url": url}


def _words(parts: Sequence[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text))


def _milliseconds(stamp: str | None, default: int) -> int:
    return timestamps.to_milliseconds(stamp) if stamp else default


def _id(prefix: str, milliseconds: int, number: int, *, inverted: bool = False) -> str:
    """An id as the client makes them: the time, inverted for sessions so that the newest sorts first, then chance."""
    value = (milliseconds * 4096 + number) & _BITS
    chance = "".join(secrets.choice(_DIGITS) for _ in range(14))
    return f"{prefix}_{value ^ _BITS if inverted else value:012x}{chance}"


def columns(info: Record) -> Record:
    """A session's object as a row of the database's table."""
    times: dict[str, Any] = info["time"]
    return {
        "id": info["id"], "project_id": info["projectID"], "slug": info["slug"], "directory": info["directory"],
        "path": info["path"], "title": info["title"], "version": info["version"], "agent": info["agent"],
        "model": info["model"], "time_created": times["created"], "time_updated": times["updated"],
    }  # fmt: skip
