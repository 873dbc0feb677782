"""Session <-> the neutral JSON document ``{"version": 1, "session": {...}}`` (docs/schema/session.schema.json)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, replace
from typing import Any, TypeVar, cast

from ..errors import FormatError
from ..jsondata import Record, as_list, as_object, as_text, clean, dumps
from ..model import (
    ORIGINS,
    PART_TYPES,
    ROLES,
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
)

VERSION = 1
TOOL_KINDS = ("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other")

T = TypeVar("T")
Decoder = Callable[[Any, str], Any]


def to_document(session: Session) -> Record:
    """The session as a document of plain JSON data: the live messages and the earlier ones, whole.

    ``from_document`` gives an equal session back; only what no JSON text can hold is changed (lone
    surrogates become U+FFFD, numbers that are not finite null). Raises FormatError where a part
    carries what is no JSON data.
    """
    return {"version": VERSION, "session": clean(session.to_dict())}


def dump(session: Session) -> Iterator[bytes]:
    """The document as the bytes of its JSON text, piece by piece: a long session is never whole in memory.
    Raises FormatError as ``to_document``."""
    whole = to_document(replace(session, messages=(), earlier=()))
    rest = dumps({key: value for key, value in whole["session"].items() if key not in ("messages", "earlier")})
    yield f'{{"version": {VERSION}, "session": {rest[:-1]}'.encode()
    for key, messages in (("messages", session.messages), ("earlier", session.earlier)):
        yield f', "{key}": ['.encode()
        for index, message in enumerate(messages):
            yield (", " if index else "").encode() + dumps(clean(message.to_dict())).encode()
        yield b"]"
    yield b"}}\n"


def from_document(document: Any) -> Session:
    """The session of a document, read as far as it is understood.

    A newer version's part types become ``Unknown``, its further keys are passed over; keys that
    are missing or null take their defaults. Raises FormatError naming the place that is broken.
    """
    record = _object(clean(document), "the document")
    version = record.get("version", VERSION)
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise _broken("version", "a number from 1")
    return _value(Session, _object(record.get("session"), "session"), "session")


def message_of(record: Any) -> Message:
    """The message of its JSON data, every text as it is there. Raises FormatError."""
    return _message(record, "message")


def _broken(place: str, wanted: str) -> FormatError:
    return FormatError(f"{place} must be {wanted}", "see docs/schema/session.schema.json for the form")


def _text(value: Any, place: str) -> str:
    if (text := as_text(value)) is None:
        raise _broken(place, "text")
    return text


def _flag(value: Any, place: str) -> bool:
    if not isinstance(value, bool):
        raise _broken(place, "true or false")
    return value


def _object(value: Any, place: str) -> Record:
    if (record := as_object(value)) is None:
        raise _broken(place, "an object")
    return record


def _anything(value: Any, _place: str) -> Any:
    return value


def _arguments(value: Any, place: str) -> Record | str:
    if not isinstance(value, (dict, str)):
        raise _broken(place, "an object or text")
    return cast("Record | str", value)


def _role(value: Any, place: str) -> str:
    if value not in ROLES:
        raise _broken(place, "one of " + ", ".join(ROLES))
    return value


def _either(choices: tuple[str, ...], other: str | None) -> Decoder:
    # A word of a newer version is not understood, and no reason to refuse the conversation.
    return lambda value, _place: value if value in choices else other


def _sequence(decode: Callable[[Any, str], T]) -> Callable[[Any, str], tuple[T, ...]]:
    def decoded(value: Any, place: str) -> tuple[T, ...]:
        if (items := as_list(value)) is None:
            raise _broken(place, "a list")
        return tuple(decode(item, f"{place}[{index}]") for index, item in enumerate(items))

    return decoded


def _part(value: Any, place: str) -> Part:
    record = _object(value, place)
    kind = _text(record.get("type"), f"{place}.type")
    part = PART_TYPES.get(kind)
    return Unknown(kind=kind, raw=record) if part is None else _value(part, record, place)


def _message(value: Any, place: str) -> Message:
    return _value(Message, _object(value, place), place)


_ATTACHMENT: dict[str, Decoder] = {"media_type": _text, "data": _text, "location": _text, "meta": _object}

DECODERS: dict[type, dict[str, Decoder]] = {
    Text: {"text": _text, "meta": _object},
    Thinking: {"text": _text, "signature": _text, "provider": _text, "meta": _object},
    ToolCall: {
        "id": _text, "name": _text, "arguments": _arguments, "kind": _either(TOOL_KINDS, "other"), "meta": _object,
    },
    ToolResult: {"call_id": _text, "parts": _sequence(_part), "is_error": _flag, "meta": _object},
    Image: _ATTACHMENT,
    File: {"name": _text, **_ATTACHMENT},
    Compaction: {"summary": _text, "recall_id": _text, "meta": _object},
    Unknown: {"kind": _text, "raw": _anything, "meta": _object},
    Message: {
        "role": _role, "parts": _sequence(_part), "id": _text, "timestamp": _text, "model": _text,
        "origin": _either(ORIGINS, None),
    },
    Session: {
        "id": _text, "agent": _text, "messages": _sequence(_message), "earlier": _sequence(_message),
        "title": _text, "cwd": _text, "model": _text, "git": _object, "created_at": _text, "updated_at": _text,
        "parent_id": _text, "children": _sequence(_text), "source": _text, "extra": _object,
    },
}  # fmt: skip


def _value(kind: type[T], record: Record, place: str) -> T:
    decoders = DECODERS[kind]
    arguments: Record = {}
    for field in fields(cast(Any, kind)):
        given = record.get(field.name)
        if given is not None or field.default is MISSING:
            arguments[field.name] = decoders[field.name](given, f"{place}.{field.name}")
    return kind(**arguments)
