"""A conversation in the making: what the shapes' readers put their parts into."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..errors import FormatError
from ..jsondata import MESSAGE_DEPTH, Record, as_object, as_text, clean, dumps, loads
from ..model import Message, Origin, Part, Role, Text, ToolCall, ToolResult, headline
from ..toolnames import tool_kind

ROLE_NAMES: dict[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant", "model": "assistant",
    "tool": "tool", "function": "tool",
}  # fmt: skip
RAW = "_raw"  # the key raw argument text stands under where an API wants an object
_SHOWN = 16  # characters of a wrong value in an error: enough to find it, too few for a key or a token
_ORIGINS: dict[Role, Origin] = {"user": "human", "assistant": "model", "tool": "tool"}


def role_of(item: Record, place: str) -> Role:
    """The role an element names. Raises FormatError where it names none that is known."""
    name = item.get("role")
    role = ROLE_NAMES.get(name) if isinstance(name, str) else None
    if role is None:
        has = f"is {headline(dumps(name), _SHOWN)}" if "role" in item else "is missing"
        raise FormatError(f"{place}.role {has}", "use one of " + ", ".join(ROLE_NAMES))
    return role


def arguments_of(value: Any) -> Record | str:
    """A call's arguments: JSON text of an object as the object, other text as it is, nothing as {}."""
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        try:
            record = as_object(clean(loads(value), MESSAGE_DEPTH))
        except FormatError:
            record = None
        return value if record is None else record
    record = as_object(value)
    return dumps(value) if record is None else record


def input_of(value: Any) -> Record | str:
    """The input of a free-text tool: text stays text, be it JSON or not."""
    return value if isinstance(value, str) else arguments_of(value)


def unwrapped(arguments: Record | str) -> Record | str:
    """Arguments out of an API that takes objects only: raw text that was wrapped as text again."""
    raw = arguments.get(RAW) if isinstance(arguments, dict) and len(arguments) == 1 else None
    return raw if isinstance(raw, str) else arguments


@dataclass(slots=True)
class _Draft:
    role: Role
    parts: list[Part] = field(default_factory=list[Part])
    id: str | None = None


class Conversation:
    """Messages being gathered. Results stand in messages of role tool, whatever carried them; calls
    and results without an id get one here, paired by name and order."""

    def __init__(self) -> None:
        self._drafts: list[_Draft] = []
        self._role: Role = "user"
        self._id: str | None = None
        self._fresh = True
        self._open: dict[str, str] = {}  # the names of unanswered calls by id: of this turn,
        self._late: dict[str, str] = {}  # and of turns before, which get a result of their name alone
        self._seen: set[str] = set()

    def begin(self, role: Role, id: str | None = None) -> None:
        """Start a message; it comes to be with its first part."""
        if role == "assistant" and self._last_role() != "assistant":
            self._late |= self._open
            self._open = {}
        self._role, self._id, self._fresh = role, id, True

    def resume(self, role: Role) -> None:
        """Go on with the last message if it has that role, else start one."""
        self.begin(role)
        self._fresh = self._last_role() != role

    def finished(self) -> bool:
        """Whether the last message says something and calls no tool, as one that ends a turn does."""
        parts = self._drafts[-1].parts if self._drafts else []
        return any(isinstance(part, Text) for part in parts) and not any(isinstance(part, ToolCall) for part in parts)

    def put(self, part: Part) -> None:
        """Add a part to the message that was begun; empty text is none."""
        if isinstance(part, Text) and not part.text:
            return
        role: Role = "tool" if isinstance(part, ToolResult) else self._role
        if self._fresh or self._last_role() != role:
            self._drafts.append(_Draft(role, id=self._id))
            self._fresh = False
        self._drafts[-1].parts.append(part)

    def call(self, id: Any, name: str, arguments: Record | str) -> ToolCall:
        """A tool call, with an id of our making if it has none."""
        known = as_text(id) or self._fresh_id()
        self._seen.add(known)
        self._open[known] = name
        return ToolCall(id=known, name=name, arguments=arguments, kind=tool_kind(name))

    def answered(self, id: Any, name: Any = None) -> str:
        """The id of the call a result belongs to: the one it names, else the first open call of its
        name, else the first open call, else a new id (a result without call)."""
        known = as_text(id)
        if not known:
            of_name = (call for calls in (self._open, self._late) for call in calls if calls[call] == name)
            known = next(of_name, None) or next(iter(self._open), None) or self._fresh_id()
        self._open.pop(known, None)
        self._late.pop(known, None)
        self._seen.add(known)
        return known

    def messages(self) -> tuple[Message, ...]:
        """The messages so far."""
        return tuple(
            Message(role=draft.role, parts=tuple(draft.parts), id=draft.id, origin=_ORIGINS.get(draft.role))
            for draft in self._drafts
        )

    def _last_role(self) -> Role | None:
        return self._drafts[-1].role if self._drafts else None

    def _fresh_id(self) -> str:
        number = len(self._seen) + 1
        while f"call_{number}" in self._seen:
            number += 1
        return f"call_{number}"
