"""The entries of a session of pi's family -> Messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ... import timestamps
from ...losses import Loss
from ...model import Compaction, Image, Message, Origin, Part, Text, Thinking, ToolCall, ToolResult, Unknown
from ...toolnames import tool_kind
from ..drafts import Draft, Drafts
from ..jsonl import Record, rows, table, text

# What is no part of the conversation (pi 1.6.0, OpenClaw 2026.9.6).
_QUIET = (
    "session", "model_change", "thinking_level_change", "context_edit", "usage", "custom", "label", "session_info",
    "leaf", "reset",
)  # fmt: skip
# How answers end that the client does not send its model again.
_BROKEN_OFF = ("error", "aborted")
_SIGNED = "anthropic-messages"
"""The API whose signatures of reasoning other clients can send back."""


def conversation(entries: Iterable[Record], edits: Mapping[str, Any], losses: list[Loss]) -> Sequence[Message]:
    """The messages in order; what cannot be told goes to ``losses``. ``edits``: what the model is sent in the place of
    an entry's content, by its id."""
    drafts = Drafts()
    for entry in entries:
        kind = entry.get("type")
        message = table(entry.get("message")) if kind == "message" else entry
        edit = edits.get(str(entry.get("id")), ...)
        if edit is not ...:
            losses.append(Loss(kind="branch", severity="info", detail=_edited(edit)))
            if edit is None:
                continue
            message = {**message, "content": table(edit).get("content")}
        place = {"id": text(entry.get("id")), "timestamp": _time(entry, message)}
        if kind == "message":
            _add(drafts, message, place, losses)
        elif kind == "custom_message":
            _told(drafts, list(_parts(message)), "tool", place)
        elif kind in ("compaction", "branch_summary"):
            _summary(drafts, message, place)
        elif kind not in _QUIET:
            detail = f"an entry of a type that is not known ({str(kind)[:40]}) is not carried"
            losses.append(Loss(kind="unknown_record", detail=detail))
    return drafts.messages()


def human_words(entry: Record) -> str | None:
    """The human's words in an entry, if it is one of theirs."""
    message = table(entry.get("message"))
    if entry.get("type") != "message" or message.get("role") != "user":
        return None
    return next((part.text for part in _parts(message) if isinstance(part, Text) and part.text.strip()), None)


def model_of(entry: Record) -> str | None:
    """The model that an entry names, with its provider."""
    message = table(entry.get("message"))
    if entry.get("type") == "message":
        return _model(message.get("provider"), message.get("model")) if message.get("role") == "assistant" else None
    return _model(entry.get("provider"), entry.get("modelId"))


def _model(provider: Any, name: Any) -> str | None:
    provider, name = text(provider), text(name)
    return f"{provider}/{name}" if provider and name else name


def _add(drafts: Drafts, message: Record, place: dict[str, Any], losses: list[Loss]) -> None:
    role = message.get("role")
    if role == "user":
        _told(drafts, list(_parts(message)), "human", place)
    elif role == "assistant":
        parts = list(_parts(message))
        if message.get("stopReason") not in _BROKEN_OFF:
            model = _model(message.get("provider"), message.get("model"))
            drafts.add(Draft(role="assistant", parts=parts, model=model, origin="model", **place))
        elif parts:
            detail = "an answer that was broken off is not carried; the client does not send it to its model either"
            losses.append(Loss(kind="branch", detail=detail))
    elif role == "toolResult":
        call_id, failed = text(message.get("toolCallId")) or "", message.get("isError") is True
        result = ToolResult(call_id=call_id, parts=tuple(_parts(message)), is_error=failed)
        if drafts.last and drafts.last.role == "tool":
            drafts.last.add([result])
        else:
            drafts.add(Draft(role="tool", parts=[result], origin="tool", **place))
    elif role == "bashExecution":
        if message.get("excludeFromContext") is True:
            detail = "a shell command that the user kept from the model is not carried"
            losses.append(Loss(kind="unknown_record", severity="info", detail=detail))
        else:
            _told(drafts, [Text(text=_shell(message))], "tool", place)
    elif role in ("custom", "hookMessage"):  # what an extension said; the latter up to version 2
        _told(drafts, list(_parts(message)), "tool", place)
    elif role in ("compactionSummary", "branchSummary"):
        _summary(drafts, message, place)
    elif role != "system":  # the client's own prompt and tools
        detail = f"a message of a role that is not known ({str(role)[:40]}) is not carried"
        losses.append(Loss(kind="unknown_record", detail=detail))


def _told(drafts: Drafts, parts: list[Part], origin: Origin, place: dict[str, Any]) -> None:
    drafts.add(Draft(role="user", parts=parts, origin=origin, **place))


def _summary(drafts: Drafts, message: Record, place: dict[str, Any]) -> None:
    words = text(message.get("summary"))
    _told(drafts, [Compaction(summary=words)] if words else [], "summary", place)


def _shell(message: Record) -> str:
    """A command that the user ran, and what it printed, in the words in which the client tells its model (1.6.0)."""
    output, code = text(message.get("output")), message.get("exitCode")
    words = f"Ran `{message.get('command')}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    if message.get("cancelled") is True:
        return f"{words}\n\n(command cancelled)"
    return f"{words}\n\nCommand exited with code {code}" if isinstance(code, int) and code else words


def _parts(message: Record) -> Iterator[Part]:
    content = message.get("content")
    single = {"type": "text", "text": content} if isinstance(content, str) else table(content)
    for block in [single] if single else rows(content):  # an object in a result of OpenClaw's (2026.9.6)
        yield from _part(table(block), message)


def _part(block: Record, message: Record) -> Iterator[Part]:
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        yield from [Text(text=block["text"])] if block["text"] else []
    elif kind == "image":
        yield Image(media_type=text(block.get("mimeType")), data=text(block.get("data")))
    elif kind == "thinking":
        yield from _thinking(block, message)
    elif kind == "toolCall":
        name, given = text(block.get("name")) or "unknown", block.get("arguments")
        arguments = table(given) if isinstance(given, dict) else "" if given is None else str(given)
        yield ToolCall(id=text(block.get("id")) or "", name=name, arguments=arguments, kind=tool_kind(name))
    else:
        yield Unknown(kind=str(kind)[:40], raw=block)


def _thinking(block: Record, message: Record) -> Iterator[Part]:
    """Reasoning. Anthropic's signature goes along as such; what other APIs keep there is theirs alone."""
    signature, words = text(block.get("thinkingSignature")), block.get("thinking")
    words = words if isinstance(words, str) else ""
    if message.get("api") == _SIGNED and not block.get("redacted"):
        yield Thinking(text=words, signature=signature, provider="anthropic")
    elif words or signature:
        tagged = {"pi": {"thinkingSignature": signature}} if signature else None
        yield Thinking(text=words, provider=text(message.get("provider")), meta=tagged)


def _edited(edit: Any) -> str:
    what = "is not carried" if edit is None else "is carried as it was changed"
    return f"a message that was edited for the model {what}"


def _time(entry: Record, message: Record) -> str | None:
    return timestamps.parse(entry.get("timestamp")) or timestamps.parse(message.get("timestamp"))
