"""Session <-> message arrays, in the shapes of four APIs; and whatever JSON file holds one."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..errors import FormatError, NoConversation, UsageError
from ..jsondata import MESSAGE_DEPTH, Record, as_list, as_object, as_text, clean, dumps, loads
from ..model import Message, Session
from . import anthropic, gemini, openai, responses
from .conversation import Conversation
from .neutral import from_document


class Shape(NamedTuple):
    """How an API writes messages: ``write`` gives its array, ``read`` puts one element (with its
    place, for errors) into a conversation."""

    write: Callable[[Iterable[Message]], list[Record]]
    read: Callable[[Record, str, Conversation], None]


SHAPES: dict[str, Shape] = {
    "openai": Shape(openai.write, openai.read),
    "responses": Shape(responses.write, responses.read),
    "anthropic": Shape(anthropic.write, anthropic.read),
    "gemini": Shape(gemini.write, gemini.read),
}

# Where an API's request body holds its array, and what it may hold beside it as the system's words.
_ARRAYS = ("messages", "input", "contents")
_SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction")


def to_messages(session: Session, shape: str = "openai") -> list[Record]:
    """The live messages as the array an API takes; each shape's ``write`` says what it cannot hold.

    Nothing is repaired here, that is lowering's task: what is not paired in the session is not
    paired in the array. Raises UsageError where there is no such shape.
    """
    return clean(_shape(shape).write(session.messages))


def from_messages(
    messages: Any, shape: str | None = None, *, id: str | None = None, agent: str = "messages",
    model: str | None = None, cwd: str | None = None, title: str | None = None,
) -> Session:  # fmt: skip
    """A session out of a message array. Without ``shape`` each element is read in the shape it shows,
    plain role and content as OpenAI's.

    Elements without content are passed over; content blocks that are not known become ``Unknown``.
    Without ``id`` the session has one made from the messages: the same for the same. Raises
    FormatError (naming the element) where it is no such array, NoConversation where nothing is in
    it, UsageError where there is no such shape.
    """
    elements = as_list(clean(messages, MESSAGE_DEPTH))
    if elements is None:
        raise FormatError("messages must be a list", 'give [{"role": "user", "content": "..."}, ...]')
    items = [(f"messages[{index}]", element) for index, element in enumerate(elements)]
    return _session(items, shape, id=id, agent=agent, model=model, cwd=cwd, title=title)


def from_json(data: str | bytes) -> Session:
    """The session a JSON text holds: a neutral document, a message array, or the body of a request
    (``messages``, ``input`` or ``contents``, with the system's words and the model beside it).
    Raises FormatError where it is none of these or no JSON, NoConversation where it is empty."""
    value = loads(data)
    body = as_object(value)
    if body is None:
        return from_messages(value)
    if "session" in body:
        return from_document(body)
    key = next((key for key in _ARRAYS if key in body), None)
    if key is None:
        raise FormatError("the JSON holds no conversation", 'give a list of messages, or {"messages": [...]}')
    elements = clean(body[key], MESSAGE_DEPTH)
    if isinstance(elements, str):
        elements = [{"role": "user", "content": elements}]
    if (listed := as_list(elements)) is None:
        raise FormatError(f"{key} must be a list", "give the array as the API takes it")
    items = [(f"{key}[{index}]", element) for index, element in enumerate(listed)]
    system = [(name, _system(body[name])) for name in _SYSTEM if body.get(name)]
    return _session([*system, *items], None, model=as_text(body.get("model")))


def _system(value: Any) -> Record:
    """What stands beside the array as a message: text, content blocks, or a Gemini content."""
    parts = (as_object(value) or {}).get("parts")
    return {"role": "system", "content": value} if parts is None else {"role": "system", "parts": parts}


def _shape(name: str) -> Shape:
    if name not in SHAPES:
        raise UsageError(f"there is no message shape {name!r}", "use one of " + ", ".join(SHAPES))
    return SHAPES[name]


def _session(
    items: list[tuple[str, Any]], shape: str | None, *, id: str | None = None, agent: str = "messages",
    model: str | None = None, cwd: str | None = None, title: str | None = None,
) -> Session:  # fmt: skip
    conversation = Conversation()
    for place, element in items:
        if (item := as_object(element)) is None:
            raise FormatError(f"{place} must be an object", "give each message a role and a content")
        _shape(shape or _shown(item)).read(item, place, conversation)
    messages = conversation.messages()
    if not messages:
        raise NoConversation("there are no messages", "give at least one message with content")
    known = id or str(uuid.uuid5(uuid.NAMESPACE_OID, dumps([element for _, element in items])))
    return Session(id=known, agent=agent, messages=messages, model=model, cwd=cwd, title=title)


def _shown(item: Record) -> str:
    """The shape an element shows: by its keys, else by the types of its content blocks."""
    if "parts" in item and "content" not in item:
        return "gemini"
    kind = as_text(item.get("type"))
    if kind == "message" or (kind and "role" not in item):
        return "responses"
    for block in as_list(item.get("content")) or ():
        name = as_text((as_object(block) or {}).get("type")) or ""
        if name in ("input_text", "output_text", "input_image", "input_file"):
            return "responses"
        if name in ("thinking", "redacted_thinking", "image", "document") or name.endswith(("tool_use", "tool_result")):
            return "anthropic"
    return "openai"
