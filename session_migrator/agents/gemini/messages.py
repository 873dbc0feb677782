"""The messages of a Gemini CLI session, as its files hold them -> Messages."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ... import timestamps
from ...losses import Loss
from ...model import (
    File,
    Image,
    Message,
    Origin,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)
from ...toolnames import tool_kind
from ..drafts import Draft, Drafts, by_origin
from ..jsonl import Record, rows, table, text
from .log import SNAPSHOT, parts_of, words_of

PROVIDER, SIGNATURE = "google", "thoughtSignature"
# What the client says in the user's place, and leaves out when it resumes (0.61).
INJECTED = ("<session_context>", "<hook_context>")
# The model's part of a compressed history, written by the client (0.61).
_TAKEN_IN = "Got it. Thanks for the additional context!"
_CANCELLED = "[The call was cancelled before it finished.]"
_MASKED = "<tool_output_masked>"
_MOVED_OUT = "a result that its client had moved to a file is carried as its model saw it: a preview and the path"


@dataclass(slots=True)
class _Tools:
    """Calls by id, and what was answered: results are stored twice (since 0.61), and after a resume with every call
    of an answer. Ids that are missing are made up, by name and order."""

    open: dict[str, deque[str]] = field(default_factory=lambda: defaultdict[str, deque[str]](deque))
    answers: dict[str, int] = field(default_factory=dict[str, int])
    made: int = 0

    def called(self, call_id: str | None, name: str) -> str:
        if call_id is None:
            self.made += 1
            call_id = f"{name}-{self.made}"
            self.open[name].append(call_id)
        self.answers.pop(call_id, None)
        return call_id

    def answered(self, call_id: str | None, name: str) -> str:
        if call_id is None:
            call_id = self.open[name].popleft() if self.open[name] else f"{name}-0"
        return call_id

    def is_new(self, result: ToolResult) -> bool:
        """Whether a result has not been seen since its call."""
        before, now = self.answers.get(result.call_id), hash((result.parts, result.is_error))
        self.answers[result.call_id] = now
        return before != now


def conversation(records: Iterable[Record], losses: list[Loss]) -> Sequence[Message]:
    """The messages in order; what cannot be told goes to ``losses``."""
    drafts, tools = Drafts(), _Tools()
    for record in records:
        kind = record.get("type")
        if kind == "user":
            _user(drafts, tools, record)
        elif kind == "gemini":
            _answer(drafts, tools, record)
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


def _user(drafts: Drafts, tools: _Tools, record: Record) -> None:
    """A message in the user's place: results of tools, and words of the human, of the client or of a compression."""
    parts = list(_parts(record.get("content"), tools))
    _answered(drafts, tools, parts, record)
    origin = _origin(words_of(record.get("content")))
    told: list[tuple[Origin | None, Part]] = [(origin, part) for part in parts if not isinstance(part, ToolResult)]
    said = [part for _, run in by_origin(told) for part in run]
    drafts.add(Draft(role="user", parts=said, origin=origin, **_about(record)))


def _answered(drafts: Drafts, tools: _Tools, parts: Iterable[Part], record: Record) -> None:
    """The results among the parts that were not seen before."""
    results = [part for part in parts if isinstance(part, ToolResult) and tools.is_new(part)]
    if results and drafts.last and drafts.last.role == "tool":
        drafts.last.add(results)
    elif results:
        drafts.add(Draft(role="tool", parts=list(results), origin="tool", **_about(record)))


def _answer(drafts: Drafts, tools: _Tools, record: Record) -> None:
    """A message of the model's. Its calls and thoughts stand in its content or beside it, results beside it or in
    the next message."""
    thoughts = [part for part in map(_thought, rows(record.get("thoughts"))) if part]
    said = list(_parts(record.get("content"), tools))
    if any(isinstance(part, Thinking) for part in said):
        thoughts = []
    known = {part.id for part in said if isinstance(part, ToolCall)}
    beside = [table(call) for call in rows(record.get("toolCalls"))]
    calls = [_call(call, tools) for call in beside if text(call.get("id")) not in known]
    last = drafts.last
    taken_in = bool(last and last.origin == "summary") and words_of(record.get("content")) == _TAKEN_IN
    drafts.add(Draft(
        role="assistant", parts=[*thoughts, *said, *calls], model=text(record.get("model")),
        origin="summary" if taken_in else "model", **_about(record),
    ))  # fmt: skip
    _answered(drafts, tools, [part for call in beside for part in _results(call, tools)], record)


def _about(record: Record) -> dict[str, Any]:
    return {"id": text(record.get("id")), "timestamp": timestamps.parse(record.get("timestamp"))}


def _thought(value: Any) -> Thinking | None:
    subject, description = (text(table(value).get(key)) for key in ("subject", "description"))
    words = " ".join(filter(None, (subject and f"**{subject}**", description)))
    return Thinking(text=words, provider=PROVIDER) if words else None


def _call(record: Record, tools: _Tools) -> ToolCall:
    name = text(record.get("name")) or "unknown"
    given = record.get("args")
    arguments = table(given) if isinstance(given, dict) else "" if given is None else str(given)
    call_id = tools.called(text(record.get("id")), name)
    return ToolCall(id=call_id, name=name, arguments=arguments, kind=tool_kind(name))


def _results(call: Record, tools: _Tools) -> Iterator[Part]:
    """What stands beside a call as its result."""
    given, call_id, name = call.get("result"), text(call.get("id")), text(call.get("name")) or "unknown"
    if isinstance(given, str):
        yield _result({"id": call_id, "name": name, "response": {"output": given}}, tools)
    elif given:
        for part in _parts(given, tools, call_id):
            failed = call.get("status") == "error" and isinstance(part, ToolResult) and part.call_id == call_id
            yield replace(part, is_error=True) if failed and isinstance(part, ToolResult) else part
    elif call.get("status") == "cancelled":
        cancelled = Text(text=_CANCELLED)
        yield ToolResult(call_id=tools.answered(call_id, name), parts=(cancelled,), is_error=True)


def _parts(content: Any, tools: _Tools, call_id: str | None = None) -> Iterator[Part]:
    """The parts of a content; media right behind a result are the result's own. ``call_id``: of the result, where
    it has none itself."""
    result: ToolResult | None = None
    for record in parts_of(content):
        part = _part(record, tools, call_id)
        if result and isinstance(part, Image | File):
            result = replace(result, parts=(*result.parts, part))
            continue
        if result:
            yield result
        result = part if isinstance(part, ToolResult) else None
        if part and not result:
            yield part
    if result:
        yield result


def _part(record: Record, tools: _Tools, call_id: str | None) -> Part | None:
    signature = text(record.get(SIGNATURE))
    if isinstance(record.get("functionCall"), dict):
        meta = {PROVIDER: {SIGNATURE: signature}} if signature else None
        return replace(_call(record["functionCall"], tools), meta=meta)
    if isinstance(record.get("functionResponse"), dict):
        response = record["functionResponse"]
        return _result({**response, "id": text(response.get("id")) or call_id}, tools)
    words = record.get("text")
    if isinstance(words, str):
        if record.get("thought"):
            return Thinking(text=words, signature=signature, provider=PROVIDER)
        return Text(text=words) if words else None
    return _media(record) or (Unknown(kind=str(next(iter(record))), raw=record) if record else None)


def _result(response: Record, tools: _Tools) -> ToolResult:
    """A response is any object; ``output`` and ``error`` are the keys in use for its text."""
    given = response.get("response")
    held = table(given)
    key = next(iter(held), None) if len(held) == 1 else None
    value = held[key] if key in ("output", "error") else given if given is not None else ""
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) if value else ""
    media = filter(None, (_media(table(part)) for part in rows(response.get("parts"))))
    said = (Text(text=words),) if words else ()
    call_id = tools.answered(text(response.get("id")), text(response.get("name")) or "unknown")
    return ToolResult(call_id=call_id, parts=(*said, *media), is_error=key == "error")


def _media(record: Record) -> Image | File | None:
    found = table(record.get("inlineData")) or table(record.get("fileData"))
    media_type, data, location = (text(found.get(key)) for key in ("mimeType", "data", "fileUri"))
    if not data and not location:
        return None
    if media_type is None or media_type.startswith("image/"):
        return Image(media_type=media_type, data=data, location=location)
    return File(name=text(found.get("displayName")), media_type=media_type, data=data, location=location)
