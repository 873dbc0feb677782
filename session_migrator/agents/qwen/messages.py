"""The records of a Qwen Code conversation -> Messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ... import timestamps
from ...model import Message, Origin, Part, Text, ToolResult
from ..contents import Reader, parts_of, words_of
from ..drafts import Draft, Drafts, by_origin
from ..jsonl import Record, rows, table, text

COMPRESSION = "chat_compression"
"""The subtype of the record that holds what its model is sent in the place of all before it."""
OF_ALL = "standsForAllBefore"
"""Our own key of a compression that stands for all before it, whereas the client's does not for what waited then."""
# Records in the user's place that the client wrote: of background tasks and goals, or that its model is not sent.
_CLIENTS_OWN = ("notification", "goal_runtime", "background_task_completed", "realtime_message")
# How a text begins that the client put into the user's message.
_INJECTED = (
    "<system-reminder>", "<qwen:user-prompt-submit-context>", "<task-notification>", "<plan-mode-active>",
    "<background-tasks>",
)  # fmt: skip
# How a text begins that it put behind a summary: files as they were then (0.24).
_RESTORED = ("Recently accessed file (", "The following files were recently accessed before context was compacted")
# The model's part of a compressed history, written by the client (0.15, 0.24).
_TAKEN_IN = "Got it. Thanks for the additional context!"


def conversation(records: Iterable[Record]) -> tuple[Sequence[Message], int]:
    """The messages in order, from the last compression on, and how many of the first stand in for what was before it:
    the records begin with that compression, where there is one."""
    drafts, contents, standing = Drafts(), Reader(), 0
    for record in records:
        if is_compression(record):
            for number, content in enumerate(replacement(record)):
                _add(drafts, contents, content, record, number)
            drafts.extend(())  # what comes now is none of it
            standing = len(drafts)
        else:
            _add(drafts, contents, table(record.get("message")), record)
    return drafts.messages(), standing


def is_compression(record: Record) -> bool:
    """Whether from this record on the model is sent another conversation."""
    return record.get("subtype") == COMPRESSION and bool(replacement(record))


def replacement(record: Record) -> list[Record]:
    """The contents that stand in for what was before a compression."""
    return [*filter(None, map(table, rows(table(record.get("systemPayload")).get("compressedHistory"))))]


def human_words(record: Record) -> str | None:
    """The human's words in a record, if it is one of theirs."""
    if record.get("type") != "user" or record.get("subtype") in _CLIENTS_OWN:
        return None
    texts = (part.get("text") for part in parts_of(table(record.get("message")).get("parts")))
    own = (words for words in texts if isinstance(words, str) and words.strip() and not _is_injected(words))
    return next(own, None)


def _is_injected(words: str) -> bool:
    return words.lstrip().startswith(_INJECTED)


def _add(drafts: Drafts, contents: Reader, content: Record, record: Record, number: int | None = None) -> None:
    """A content, with what its record says of it: results of tools, and words of the human, the model or the client.
    ``number``: which one of a compression it is; the summary is in the first, where that is not the client's reminders.
    """
    about: dict[str, Any] = {"id": text(record.get("uuid")), "timestamp": timestamps.parse(record.get("timestamp"))}
    parts = [_judged(part, table(record.get("toolCallResult"))) for part in contents.parts(content.get("parts"))]
    contents.add_results(drafts, parts, about)
    said: list[Part] = [part for part in parts if not isinstance(part, ToolResult)]
    if not said:
        return
    if (content.get("role") or record.get("type")) in ("model", "assistant"):
        last = drafts.last
        taken_in = bool(last and last.origin == "summary") and words_of(content.get("parts")) == _TAKEN_IN
        only = taken_in and len(said) == 1
        model = text(record.get("model"))
        drafts.add(Draft(role="assistant", parts=said, origin="summary" if only else "model", model=model, **about))
        return
    own = record.get("subtype") in _CLIENTS_OWN
    told: Iterator[tuple[Origin | None, Part]] = (("injected" if own else _origin(part, number), part) for part in said)
    for origin, run in by_origin(told):
        drafts.add(Draft(role="user", parts=run, origin=origin, **about))


def _origin(part: Part, number: int | None) -> Origin:
    words = part.text if isinstance(part, Text) else ""
    if _is_injected(words):
        return "injected"
    return "summary" if number == 0 or (number and words.startswith(_RESTORED)) else "human"


def _judged(part: Part, about: Record) -> Part:
    """A result that its record says has failed."""
    failed = about.get("status") in ("error", "cancelled")
    if failed and isinstance(part, ToolResult) and part.call_id == about.get("callId"):
        return replace(part, is_error=True)
    return part
