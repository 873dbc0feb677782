"""Codex response items (OpenAI Responses items as rollouts hold them) -> messages in the making."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...errors import FormatError
from ...jsondata import loads
from ...model import Image, Message, Origin, Part, Text, Thinking, ToolCall, ToolResult, Unknown, failure_text
from ...toolnames import tool_kind
from ..drafts import Draft, Drafts, by_origin
from ..jsonl import Record, rows, table, text

# Where an item says of what kind each part of its content is (0.171), and the kind of what was there without one: what
# stood in the older form, once 0.171 has compacted the session.
KINDS_OF, KINDS = "internal_chat_message_metadata_passthrough", "content_item_kinds"
_UNTOLD = "unknown"
# What the client puts into the user's or the developer's mouth. Since 0.171 each content item names its
# kind; before that the opening words tell (0.29 to 0.140).
_INJECTED = re.compile(
    r"# AGENTS\.md instructions for |<(?:user_instructions|environment_context|permissions instructions"
    r"|skills_instructions|turn_aborted|subagent_notification|EXTERNAL SESSION IMPORTED)>"
)
_DEVELOPER_TAG = re.compile(r"<[a-z_]+(?: instructions)?>")
_SUMMARY = "Another language model started to solve this problem"
_IMAGE_OPEN = re.compile(r"<image name=\[Image #\d+\].*>")
_IMAGE_CLOSE = "</image>"
# Results carry no flag for failure; their first lines tell it.
FAILURE = (
    r"(?m)^(?:Process exited with code|Exit code:) (?!0\b)-?\d+"
    r"|\A(?:\[error\]|apply_patch verification failed|unsupported call:|execution error|aborted)"
)
# How an output starts that is a JSON object of these (up to 0.55).
WRAPPED, _UNWRAPPED = '{"output"', {"output", "metadata"}
_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^,]*)?;base64,")
# Left out on purpose: a snapshot of the repository is no part of the conversation.
_SKIPPED = {"ghost_snapshot"}
# The call that starts a sub-agent (0.171), and where its output names it.
_SPAWN = "spawn_agent"
_AGENT_ID = re.compile(r'"agent_id"\s*:\s*"([^"]+)"')


class Items:
    """Gathers response items into messages: reasoning, text and calls of one answer are one message, and the
    results that follow are one."""

    def __init__(self, failed: Mapping[str, bool]) -> None:
        self.drafts = Drafts(failed)
        self.unknown: Counter[str] = Counter()
        self.children: dict[str, str | None] = {}

    def add(self, item: Record, timestamp: str | None, model: str | None) -> None:
        """Take one response item. Whatever it holds, it never raises."""
        kind = str(item.get("type"))
        if kind == "message":
            self._message(item, timestamp, model)
        elif kind == "reasoning":
            self._assistant(_reasoning(item), timestamp, model)
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            call = _call(item)
            if call.name == _SPAWN:
                self.children[call.id] = None
            self._assistant(call, timestamp, model)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._result(_result(item), timestamp)
        elif kind not in _SKIPPED:
            self.unknown[kind] += 1
            self._assistant(Unknown(kind=kind, raw=item), timestamp, model)

    def _message(self, item: Record, timestamp: str | None, model: str | None) -> None:
        role = "assistant" if item.get("role") == "assistant" else "user" if item.get("role") == "user" else "system"
        for origin, parts in _runs(item, role):
            last = self.drafts.last
            if origin == "model" and last and last.role == "assistant" and (not last.has(Text) or last.has(ToolCall)):
                last.add(parts)
            else:
                self.drafts.add(Draft(
                    role=role, parts=parts, id=text(item.get("id")), timestamp=timestamp, origin=origin,
                    model=model if role == "assistant" else None,
                ))  # fmt: skip

    def _assistant(self, part: Part, timestamp: str | None, model: str | None) -> None:
        last = self.drafts.last
        done = isinstance(part, Thinking) and last and last.has(Text) and not last.has(ToolCall)
        if last is None or last.role != "assistant" or done:
            last = self.drafts.add(Draft(role="assistant", timestamp=timestamp, model=model, origin="model"))
        last.add([part])

    def _result(self, part: ToolResult, timestamp: str | None) -> None:
        last = self.drafts.last
        if last is None or last.role != "tool":
            last = self.drafts.add(Draft(role="tool", timestamp=timestamp, origin="tool"))
        last.add([part])
        if part.call_id in self.children:
            match = _AGENT_ID.search(failure_text(part.parts))
            self.children[part.call_id] = match[1] if match else None


def human_text(record: Record) -> str | None:
    """The human's words in a rollout line, if it is one of theirs: what a list shows as the title."""
    payload = table(record.get("payload"))
    if record.get("type") != "response_item" or payload.get("role") != "user" or payload.get("type") != "message":
        return None
    words = (
        part.text
        for origin, parts in _runs(payload, "user")
        if origin == "human"
        for part in parts
        if isinstance(part, Text)
    )
    return next(filter(str.strip, words), None)


_CONTEXT = "<environment_context>"
_FOLDER = re.compile(r"<cwd>([^<]*)</cwd>")


def environment_folder(messages: Iterable[Message]) -> str | None:
    """The project folder as the client told it to the model (the only place up to 0.29)."""
    told = (_FOLDER.search(message.text.partition(_CONTEXT)[2]) for message in messages if message.origin == "injected")
    return next((match[1] for match in told if match), None)


def environment_folder_of(record: Record) -> str | None:
    """The same from one rollout line."""
    payload = table(record.get("payload"))
    runs = _runs(payload, "user") if payload.get("role") == "user" else ()
    return environment_folder(Message(role="user", parts=tuple(parts), origin=origin) for origin, parts in runs)


def _runs(item: Record, role: str) -> Iterator[tuple[Origin | None, list[Part]]]:
    """The content of a message, in runs of one origin."""
    content = item.get("content")
    elements = [{"type": "input_text", "text": content}] if isinstance(content, str) else rows(content)
    kinds = rows(table(item.get(KINDS_OF)).get(KINDS))
    kinds = kinds if len(kinds) == len(elements) else [None] * len(elements)
    told = _without_image_tags(list(zip(map(table, elements), kinds, strict=True)))
    parts = ((content_part(element), kind) for element, kind in told)
    return by_origin((_origin(part, kind, role), part) for part, kind in parts)


def _origin(part: Part, kind: Any, role: str) -> Origin | None:
    if role == "assistant":
        return "model"
    words = part.text.lstrip() if isinstance(part, Text) else ""
    if kind == "compaction.summary" or words.startswith(_SUMMARY):
        return "summary"
    if isinstance(kind, str) and kind != _UNTOLD:
        return "human" if kind.startswith("user.") else "injected"
    if _INJECTED.match(words) or (role == "system" and _DEVELOPER_TAG.match(words)):
        return "injected"
    return "human" if role == "user" else None


def _without_image_tags(elements: list[tuple[Record, Any]]) -> Iterator[tuple[Record, Any]]:
    """Without the text items that the client wraps around an image of the user's."""

    def is_pair(start: int, end: int) -> bool:
        if start < 0 or end >= len(elements) or elements[start + 1][0].get("type") != "input_image":
            return False
        opening, closing = (str(elements[place][0].get("text", "")) for place in (start, end))
        return closing == _IMAGE_CLOSE and bool(_IMAGE_OPEN.fullmatch(opening))

    for index, (element, kind) in enumerate(elements):
        opens = is_pair(index, index + 2)
        closes = is_pair(index - 2, index)
        if not (opens or closes):
            yield element, kind


def content_part(element: Record) -> Part:
    """One element of a content list or of a structured output."""
    kind = element.get("type")
    if isinstance(element.get("text"), str):
        return Text(text=element["text"])
    url = element.get("image_url")
    if kind == "input_image" and isinstance(url, str):
        match = _DATA_URL.match(url)
        if match:
            return Image(media_type=match[1] or None, data=url[match.end() :])
        return Image(location=url)
    return Unknown(kind=str(kind), raw=element)


def _reasoning(item: Record) -> Thinking:
    said = [table(part).get("text") for part in (*rows(item.get("summary")), *rows(item.get("content")))]
    return Thinking(
        text="\n\n".join(part for part in said if isinstance(part, str)),
        signature=text(item.get("encrypted_content")),
        provider="openai",
    )


def _call(item: Record) -> ToolCall:
    call_id = text(item.get("call_id")) or text(item.get("id")) or ""
    if item.get("type") == "local_shell_call":
        return ToolCall(id=call_id, name="shell", arguments=table(item.get("action")), kind="execute")
    name = text(item.get("name")) or "unknown"
    given = item.get("input") if item.get("type") == "custom_tool_call" else item.get("arguments")
    namespace = text(item.get("namespace"))
    return ToolCall(
        id=call_id,
        name=name,
        arguments=_arguments(given) if item.get("type") == "function_call" else _raw(given),
        kind=tool_kind(name),
        meta={"codex": {"namespace": namespace}} if namespace else None,
    )


def _arguments(given: Any) -> Record | str:
    if isinstance(given, str):
        try:
            given = loads(given)
        except FormatError:
            return given
    return table(given) if isinstance(given, dict) or given is None else _raw(given)


def _raw(given: Any) -> str:
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def _result(item: Record) -> ToolResult:
    parts, code = _output(item.get("output"))
    failed = bool(re.search(FAILURE, failure_text(parts))) if code is None else code != 0
    return ToolResult(call_id=text(item.get("call_id")) or "", parts=parts, is_error=failed)


def _output(given: Any) -> tuple[tuple[Part, ...], int | None]:
    """The parts of an output, and the exit code where the output itself is an object that has one
    (up to 0.55: a JSON text of ``output`` and ``metadata``)."""
    value = given
    if isinstance(given, str) and given.startswith(WRAPPED):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(given)
    if isinstance(value, dict) and set(table(value)) <= _UNWRAPPED and isinstance(table(value).get("output"), str):
        code = table(table(value).get("metadata")).get("exit_code")
        return (Text(text=table(value)["output"]),), code if isinstance(code, int) else None
    if isinstance(given, list):
        return tuple(content_part(table(element)) for element in rows(given)), None
    return ((Text(text=_raw(given)),) if given not in (None, "") else ()), None
