"""Calls and results in pairs: each call has exactly one result, right after the message it stands in."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from .losses import Loss
from .model import Message, Part, Text, ToolCall, ToolResult

INTERRUPTED = "[No result: the call was interrupted before it finished.]"
ORPHAN = "[Result of a tool call that is not part of this session]"

Place = tuple[int, int]
"""Where a part stands: the index of its message, and its own in the message."""


@dataclass(slots=True)
class _Matches:
    answers: dict[Place, Place] = field(default_factory=dict[Place, Place])
    orphans: set[Place] = field(default_factory=set[Place])
    surplus: list[Place] = field(default_factory=list[Place])


def paired(messages: Sequence[Message], id_pattern: str, losses: list[Loss]) -> Iterator[Message]:
    """The messages with every call answered once, results in the calls' order; what that took goes to ``losses``.
    Messages that the source's client had put in are left out: the target adds its own.

    Ids that recur are paired by order, the first open call first, and made unique; ids that do not match
    ``id_pattern`` in full are mapped to ones that do. A call without a result is closed as interrupted, a
    second result is left out, a result without a call becomes a note.
    """
    matches = _match(messages)
    losses += [
        Loss(kind="tool_pair", where=index, detail="a second result of one call is left out")
        for index, _ in matches.surplus
    ]
    used: set[str] = set()
    uses: dict[str, int] = defaultdict(int)
    for index, message in enumerate(messages):
        if message.origin == "injected":
            detail = "context that the source's client had added is not carried; the target adds its own"
            losses.append(Loss(kind="role", severity="info", detail=detail))
            continue
        kept: list[Part] = []
        answers: list[ToolResult] = []
        first: Message | None = None
        for number, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                call_id = _fresh(part.id, uses[part.id], used, id_pattern)
                uses[part.id] += 1
                used.add(call_id)
                kept.append(replace(part, id=call_id))
                if call_id != part.id:
                    detail = "a call id that was used before or has an invalid form is replaced"
                    losses.append(Loss(kind="id", severity="info", where=index, detail=detail))
                answer = matches.answers.get((index, number))
                if answer is None:
                    detail = "a call without a result is closed as interrupted"
                    losses.append(Loss(kind="tool_pair", severity="info", where=index, detail=detail))
                    answers.append(ToolResult(call_id=call_id, parts=(Text(text=INTERRUPTED),), is_error=True))
                else:
                    first = first or messages[answer[0]]
                    answers.append(replace(_result(messages, answer), call_id=call_id))
            elif not isinstance(part, ToolResult):
                kept.append(part)
            elif (index, number) in matches.orphans:
                detail = "a result without a call is kept as a note"
                losses.append(Loss(kind="tool_pair", severity="info", where=index, detail=detail))
                kept += [Text(text=ORPHAN), *part.parts]
        if kept:
            role = "assistant" if answers else "user" if message.role == "tool" else message.role
            yield replace(message, role=role, parts=tuple(kept))
        if answers:
            stamp = first or message
            yield Message(
                role="tool", parts=tuple(answers), origin="tool", timestamp=stamp.timestamp,
                id=first.id if first else None,
            )  # fmt: skip


def _match(messages: Sequence[Message]) -> _Matches:
    """Which result answers which call, in one pass."""
    matches = _Matches()
    unanswered: dict[str, deque[Place]] = defaultdict(deque)
    early: dict[str, deque[Place]] = defaultdict(deque)
    seen: set[str] = set()
    for index, message in enumerate(messages):
        for number, part in enumerate(message.parts if message.origin != "injected" else ()):
            place = (index, number)
            if isinstance(part, ToolCall):
                seen.add(part.id)
                if early[part.id]:
                    matches.answers[place] = early[part.id].popleft()
                else:
                    unanswered[part.id].append(place)
            elif isinstance(part, ToolResult):
                if unanswered[part.call_id]:
                    matches.answers[unanswered[part.call_id].popleft()] = place
                elif part.call_id in seen:
                    matches.surplus.append(place)
                else:
                    early[part.call_id].append(place)
    matches.orphans = {place for places in early.values() for place in places}
    return matches


def _result(messages: Sequence[Message], place: Place) -> ToolResult:
    part = messages[place[0]].parts[place[1]]
    assert isinstance(part, ToolResult)
    return part


def _fresh(call_id: str, uses: int, used: set[str], pattern: str) -> str:
    """An id of the target's form that no call has yet: the same one where it can stay, and always the same
    one for the same session."""
    if not uses and call_id not in used and re.fullmatch(pattern, call_id):
        return call_id
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", call_id)[:40].strip("-") or "call"
    digest = hashlib.sha256(f"{uses}/{call_id}".encode("utf-8", "surrogatepass")).hexdigest()
    return next(name for size in range(8, 65) if (name := f"{stem}-{digest[:size]}"[:64]) not in used)
