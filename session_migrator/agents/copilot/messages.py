"""The events of a Copilot CLI session, as they are stored -> Messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ... import timestamps
from ...model import Compaction, File, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Unknown
from ...toolnames import tool_kind
from ..drafts import Draft, Drafts
from ..jsonl import Record, rows, table, text
from .log import SUMMARY, data_of

Asset = Callable[[str], Record]
"""The event that holds the bytes of that id, an empty one where there is none."""
_OURS = (None, "", "user")
"""The sources of a message that its human wrote; others are an injected skill, another agent, the client."""


def conversation(events: Iterable[Record], asset: Asset, said: Sequence[str] = ()) -> Sequence[Message]:
    """The messages in order. ``said``: what the user had said before a compaction, which its summary repeats."""
    drafts = Drafts()
    call_id: str | None = None
    for event in events:
        kind, data = event.get("type"), data_of(event)
        common: dict[str, Any] = {"id": text(event.get("id")), "timestamp": timestamps.parse(event.get("timestamp"))}
        if kind == "user.message":
            drafts.add(_user(data, common))
        elif kind == "system.notification":
            drafts.add(Draft(role="user", parts=_text(data.get("content")), origin="injected", **common))
        elif kind == SUMMARY:
            drafts.add(Draft(role="user", parts=[_summary(data, said)], origin="summary", **common))
        elif kind == "tool.execution_complete":
            results: list[Part] = [_result(data, asset)]
            if drafts.last and drafts.last.role == "tool":
                drafts.last.add(results)
            else:
                drafts.add(Draft(role="tool", parts=results, origin="tool", **common))
        else:
            parts, model, of_call = list(_answer(kind, data)), text(data.get("model")), text(data.get("apiCallId"))
            last = drafts.last
            goes_on = last and last.role == "assistant" and ((of_call and of_call == call_id) or _is_thought(last))
            if last and goes_on:
                last.add(parts)
                last.model = last.model or model
            else:
                drafts.add(Draft(role="assistant", parts=parts, origin="model", model=model, **common))
            call_id = of_call
    return drafts.messages()


def _is_thought(draft: Draft) -> bool:
    """Whether an answer is reasoning alone, which may stand in an event before the answer's own."""
    return draft.kinds == {Thinking}


def _user(data: Record, common: dict[str, Any]) -> Draft:
    injected = data.get("source") not in _OURS or bool(data.get("isAutopilotContinuation"))
    attached = [part for given in rows(data.get("attachments")) for part in attachment(table(given))]
    return Draft(
        role="user", parts=[*_text(data.get("content")), *attached],
        origin="injected" if injected else "human", **common,
    )  # fmt: skip


def attachment(given: Record) -> Iterator[Part]:
    """What was attached to a user's message: bytes, a file or a folder by its path, lines of one, something of
    GitHub's."""
    kind, name = given.get("type"), text(given.get("displayName"))
    media_type = text(given.get("mimeType"))
    path = text(given.get("path")) or text(given.get("filePath"))
    if kind == "blob" and (media_type or "").startswith("image/"):
        yield Image(media_type=media_type, data=text(given.get("data")), location=None if given.get("data") else name)
    elif kind == "selection" and text(given.get("text")):
        yield Text(text=f"{path or name}:\n{given['text']}")
    elif kind == "blob" or path:
        yield File(name=name or path, media_type=media_type, data=text(given.get("data")), location=path)
    else:
        told = (given.get(key) for key in ("displayName", "title", "url"))
        words = " ".join(filter(None, map(text, told)))
        yield File(name=words or str(kind)[:40])


def _summary(data: Record, said: Sequence[str]) -> Compaction:
    """The summary as the client sends it: with all that the user had said."""
    quoted = "".join(f"<user_message>\n{words}\n</user_message>\n" for words in said)
    return Compaction(summary=f"{quoted}{data.get('summaryContent')}")


def _answer(kind: Any, data: Record) -> Iterator[Part]:
    if kind == "assistant.reasoning":
        yield from _thinking(data.get("content"))
        return
    yield from _thinking(data.get("reasoningText"))
    yield from _text(data.get("content"))
    for request in map(table, rows(data.get("toolRequests"))):
        name, given = text(request.get("name")) or "unknown", request.get("arguments")
        yield ToolCall(
            id=text(request.get("toolCallId")) or "call", name=name, kind=tool_kind(name),
            arguments=given if isinstance(given, str) else table(given),
        )  # fmt: skip


def _result(data: Record, asset: Asset) -> ToolResult:
    result = table(data.get("result"))
    failed = data.get("success") is not True
    words = _text(result.get("content")) or (_text(table(data.get("error")).get("message")) if failed else [])
    images = [image for given in _binary(result) for image in _image(given, asset)]
    return ToolResult(call_id=text(data.get("toolCallId")) or "call", parts=(*words, *images), is_error=failed)


def _binary(result: Record) -> list[Record]:
    """What is sent as bytes; else the blocks of an MCP server's answer."""
    return [table(given) for given in rows(result.get("binaryResultsForLlm")) or rows(result.get("contents"))]


def _image(given: Record, asset: Asset) -> Iterator[Image]:
    if given.get("type") != "image":
        return
    held = text(given.get("data")) or text(data_of(asset(str(given.get("assetId")))).get("data"))
    yield Image(media_type=text(given.get("mimeType")), data=held, location=None if held else "an image not kept")


def _thinking(words: Any) -> list[Part]:
    return [Thinking(text=words)] if isinstance(words, str) and words else []


def _text(words: Any) -> list[Part]:
    if isinstance(words, str):
        return [Text(text=words)] if words else []
    return [Unknown(kind="text", raw=words)] if words else []
