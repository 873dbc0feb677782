"""The messages of a Gemini CLI session, as its files hold them -> Messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ... import timestamps
from ...losses import Loss
from ...model import (
    Message,
    Origin,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from ..contents import PROVIDER, Reader, words_of
from ..drafts import Draft, Drafts, by_origin
from ..jsonl import Record, rows, table, text
from .log import SNAPSHOT

# What the client says in the user's place, and leaves out when it resumes (0.61).
INJECTED = ("<session_context>", "<hook_context>")
# The model's part of a compressed history, written by the client (0.61).
_TAKEN_IN = "Got it. Thanks for the additional context!"
_CANCELLED = "[The call was cancelled before it finished.]"
_MASKED = "<tool_output_masked>"
_MOVED_OUT = "a result that its client had moved to a file is carried as its model saw it: a preview and the path"


def conversation(records: Iterable[Record], losses: list[Loss]) -> Sequence[Message]:
    """The messages in order; what cannot be told goes to ``losses``."""
    drafts, contents = Drafts(), Reader(PROVIDER)
    for record in records:
        kind = record.get("type")
        if kind == "user":
            _user(drafts, contents, record)
        elif kind == "gemini":
            _answer(drafts, contents, record)
        elif kind not in ("info", "warning", "error"):
            detail = f"a message of a type that is not known ({str(kind)[:40]}) is not carried"
            losses.append(Loss(kind="unknown_record", detail=detail))
        if drafts.last and any(map(_is_masked, drafts.last.parts)):
            losses.append(Loss(kind="file", severity="info", detail=_MOVED_OUT))
    return drafts.messages()


def human_words(record: Record) -> str | None:
    """The human's words in a message, if it is one of theirs."""
    words = words_of(record.get("content"))
    return words if record.get("type") == "user" and words.strip() and _origin(words) == "human" else None


def _is_masked(part: Part) -> bool:
    texts = (inner.text for inner in part.parts if isinstance(inner, Text)) if isinstance(part, ToolResult) else ()
    return any(words.startswith(_MASKED) for words in texts)


def _origin(words: str) -> Origin:
    words = words.lstrip()
    return "injected" if words.startswith(INJECTED) else "summary" if words.startswith(SNAPSHOT) else "human"


def _user(drafts: Drafts, contents: Reader, record: Record) -> None:
    """A message in the user's place: results of tools, and words of the human, of the client or of a compression."""
    parts = list(contents.parts(record.get("content")))
    contents.add_results(drafts, parts, _about(record))
    origin = _origin(words_of(record.get("content")))
    told: list[tuple[Origin | None, Part]] = [(origin, part) for part in parts if not isinstance(part, ToolResult)]
    said = [part for _, run in by_origin(told) for part in run]
    drafts.add(Draft(role="user", parts=said, origin=origin, **_about(record)))


def _answer(drafts: Drafts, contents: Reader, record: Record) -> None:
    """A message of the model's. Its calls and thoughts stand in its content or beside it, results beside it or in
    the next message."""
    thoughts = [part for part in map(_thought, rows(record.get("thoughts"))) if part]
    said = list(contents.parts(record.get("content")))
    if any(isinstance(part, Thinking) for part in said):
        thoughts = []
    known = {part.id for part in said if isinstance(part, ToolCall)}
    beside = [table(call) for call in rows(record.get("toolCalls"))]
    calls = [contents.call(call) for call in beside if text(call.get("id")) not in known]
    last = drafts.last
    taken_in = bool(last and last.origin == "summary") and words_of(record.get("content")) == _TAKEN_IN
    drafts.add(Draft(
        role="assistant", parts=[*thoughts, *said, *calls], model=text(record.get("model")),
        origin="summary" if taken_in else "model", **_about(record),
    ))  # fmt: skip
    results = [part for call in beside for part in _results(call, contents)]
    contents.add_results(drafts, results, _about(record))


def _about(record: Record) -> dict[str, Any]:
    return {"id": text(record.get("id")), "timestamp": timestamps.parse(record.get("timestamp"))}


def _thought(value: Any) -> Thinking | None:
    subject, description = (text(table(value).get(key)) for key in ("subject", "description"))
    words = " ".join(filter(None, (subject and f"**{subject}**", description)))
    return Thinking(text=words, provider=PROVIDER) if words else None


def _results(call: Record, contents: Reader) -> Iterator[Part]:
    """What stands beside a call as its result."""
    given, call_id, name = call.get("result"), text(call.get("id")), text(call.get("name")) or "unknown"
    if isinstance(given, str):
        yield contents.result({"id": call_id, "name": name, "response": {"output": given}})
    elif given:
        for part in contents.parts(given, call_id):
            failed = call.get("status") == "error" and isinstance(part, ToolResult) and part.call_id == call_id
            yield replace(part, is_error=True) if failed and isinstance(part, ToolResult) else part
    elif call.get("status") == "cancelled":
        cancelled = Text(text=_CANCELLED)
        yield ToolResult(call_id=contents.answered(call_id, name), parts=(cancelled,), is_error=True)
