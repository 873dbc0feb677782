"""The values a conversation is made of. Pure data: no disk, no network, no agent's format.

Every value is frozen; ``to_dict()`` gives its JSON form (the neutral document's keys). Times are
strings in UTC with milliseconds, ``2026-03-02T09:00:00.000Z`` (see ``timestamps``), so that they sort
as text. What a reader does not understand becomes ``Unknown`` and is carried along, never raised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar, Literal, cast

Role = Literal["system", "user", "assistant", "tool"]
Origin = Literal["human", "model", "tool", "injected", "summary"]
ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]

ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")
ORIGINS: tuple[Origin, ...] = ("human", "model", "tool", "injected", "summary")


class Value:
    """Mixin of every value here: the JSON form of a frozen dataclass."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready data: values nested as dicts, sequences as lists."""
        data = {name: _plain(getattr(self, name)) for name in _names(type(self))}
        if data.get("meta", ...) is None:
            del data["meta"]
        return data

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its class and its fields: a good deal faster than what dataclasses do."""
        return _rebuilt, (type(self), *(getattr(self, name) for name in _names(type(self))))


@cache
def _names(cls: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cls))


def _rebuilt(cls: type[Any], *values: Any) -> Any:
    made = object.__new__(cls)
    for name, value in zip(_names(cls), values, strict=True):
        object.__setattr__(made, name, value)
    return made


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Value):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast(Mapping[Any, Any], value).items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_plain(item) for item in cast(Sequence[Any], value)]
    return value


class _Part(Value):
    __slots__ = ()
    type: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, **super().to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(_Part):
    """Plain text."""

    type: ClassVar[str] = "text"
    text: str
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking(_Part):
    """Reasoning as far as it is readable. A signature is valid for its own provider only."""

    type: ClassVar[str] = "thinking"
    text: str
    signature: str | None = None
    provider: str | None = None
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall(_Part):
    """A tool call. ``arguments`` is an object, or the raw text where the tool takes free text
    (Codex ``apply_patch``) or the model wrote invalid JSON."""

    type: ClassVar[str] = "tool_call"
    id: str
    name: str
    arguments: Mapping[str, Any] | str
    kind: ToolKind = "other"
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult(_Part):
    """What a call returned: ``Text``, ``Image`` and ``File`` parts."""

    type: ClassVar[str] = "tool_result"
    call_id: str
    parts: tuple[Part, ...]
    is_error: bool = False
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Image(_Part):
    """An image: base64 ``data``, or a ``location`` (path or URL) where its bytes are elsewhere."""

    type: ClassVar[str] = "image"
    media_type: str | None = None
    data: str | None = None
    location: str | None = None
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class File(_Part):
    """An attached document, as ``Image``."""

    type: ClassVar[str] = "file"
    name: str | None = None
    media_type: str | None = None
    data: str | None = None
    location: str | None = None
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(_Part):
    """A summary that stands for earlier messages; ``recall_id`` names the stored originals."""

    type: ClassVar[str] = "compaction"
    summary: str
    recall_id: str | None = None
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown(_Part):
    """Something the reader does not know: its kind, and the record as it was."""

    type: ClassVar[str] = "unknown"
    kind: str
    raw: Any = None
    meta: Mapping[str, Any] | None = None


_FAILURE_CHARACTERS = 400


def failure_text(parts: Sequence[Part]) -> str:
    """The beginning of a result's text: where a client that has no flag for failure tells it."""
    return next((part.text[:_FAILURE_CHARACTERS] for part in parts if isinstance(part, Text)), "")


Part = Text | Thinking | ToolCall | ToolResult | Image | File | Compaction | Unknown

PART_TYPES: dict[str, type[Part]] = {
    part.type: part for part in (Text, Thinking, ToolCall, ToolResult, Image, File, Compaction, Unknown)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(Value):
    """One message. ``origin`` tells a human's words from what a client or a compaction put in."""

    role: Role
    parts: tuple[Part, ...]
    id: str | None = None
    timestamp: str | None = None
    model: str | None = None
    origin: Origin | None = None

    @property
    def text(self) -> str:
        """The text parts, joined by newlines; nothing else of the message."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the message, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results of the message, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolResult))


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(Value):
    """One conversation as an agent stored it.

    ``messages`` is the live context, what the source's own model would see now; ``earlier`` lies
    before its last compaction. Both are read-only sequences: index them, do not copy them.
    ``source`` is the file it was read from; ``extra`` holds what only its own agent understands.
    """

    id: str
    agent: str
    messages: Sequence[Message]
    earlier: Sequence[Message] = ()
    title: str | None = None
    cwd: str | None = None
    model: str | None = None
    git: Mapping[str, Any] | None = None
    created_at: str | None = None
    updated_at: str | None = None
    parent_id: str | None = None
    children: tuple[str, ...] = ()
    source: str | None = None
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo(Value):
    """A row of ``list``: what the head and tail of a session's file tell without reading it whole."""

    agent: str
    id: str
    title: str | None = None
    cwd: str | None = None
    model: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    messages: int | None = None
    path: str | None = None


REPLACED = "replaced"
"""The key of ``Session.extra`` that says how many of the first live messages stand in for ``earlier``."""

FITTED = "fitted"
"""The key of ``Session.extra`` that tells a writer what the session was made to fit: the target's ``model``, and the
``tokens`` of a request with the whole of it."""


def goal(messages: Sequence[Message]) -> str | None:
    """The first words of the human in a conversation, or None."""
    for message in messages:
        if message.role == "user" and message.origin in ("human", None) and message.text.strip():
            return message.text.strip()
    return None


def title_of(session: Session) -> str | None:
    """A session's title, or the beginning of what its human asked first, before a compaction too; None without words
    of a human's."""
    return session.title or headline(goal(session.earlier)) or headline(goal(session.messages))


def headline(words: str | None, most: int = 80) -> str | None:
    """The beginning of a text on one line of at most so many characters: a title for a session without one."""
    line = " ".join((words or "").split())
    return (line if len(line) <= most else line[: most - 1].rstrip() + "…") or None
