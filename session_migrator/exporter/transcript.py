"""What the readable forms share: who speaks, the heading line, and text made safe to show.

A transcript is untrusted: tool output and web pages stand in it. Escape sequences must not reach a
terminal, nor may a title or a name break out of its line.
"""

from __future__ import annotations

import re

from ..jsondata import clean, dumps
from ..model import (
    Compaction,
    File,
    Image,
    Message,
    Part,
    Role,
    Session,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    goal,
)
from .rendering import stand_in

SPEAKERS: dict[Role, str] = {"system": "System", "user": "User", "assistant": "Assistant", "tool": "Assistant"}

# Colours and cursor moves: ESC [ parameters, intermediates, one final byte (ECMA-48, 5.4).
_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def visible(text: str) -> str:
    """Text that shows what it holds: colour and cursor sequences are taken out, every other control
    character but newline and tab is replaced by its picture, lone surrogates by U+FFFD."""
    plain = _SEQUENCE.sub("", clean(text).replace("\r\n", "\n"))
    return _CONTROL.sub(lambda found: _picture(ord(found[0])), plain)


def _picture(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def one_line(text: str, limit: int = 200) -> str:
    """Text on one line, cut at ``limit`` characters."""
    line = " ".join(visible(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def heading(session: Session) -> str:
    """The session's title, else the first words of the human, else its id."""
    return one_line(session.title or goal(session.messages) or session.id, 100) or "Session"


def facts(session: Session) -> list[str]:
    """Agent, model, folder, times, size and id, as far as they are known."""
    times = [moment(time) for time in (session.created_at, session.updated_at) if time]
    known = (session.agent, session.model, session.cwd, " to ".join(dict.fromkeys(times)))
    count = len(session.messages)
    earlier = f", {len(session.earlier)} earlier not shown" if session.earlier else ""
    size = f"{count} message{'' if count == 1 else 's'}{earlier}"
    return [one_line(fact) for fact in (*known, size, session.id) if fact]


def moment(timestamp: str) -> str:
    """A timestamp to the minute."""
    return one_line(timestamp[:16].replace("T", " "))


def folded(message: Message) -> bool:
    """Whether a client put the message in: context, not conversation."""
    return message.origin == "injected"


def call_text(call: ToolCall) -> str:
    """A call's arguments to read: JSON with indent, or the raw text."""
    raw = call.arguments
    return visible(raw if isinstance(raw, str) else dumps(clean(raw), indent=2))


def plain(part: Part) -> str:
    """Any part as text to read, whole; images, files and unknown parts as a line in brackets."""
    match part:
        case Text() | Thinking():
            return visible(part.text)
        case Compaction():
            return visible(part.summary)
        case ToolCall():
            return f"{one_line(part.name)} {call_text(part)}"
        case ToolResult():
            return "\n".join(map(plain, part.parts))
        case Image() | File():
            return one_line(stand_in(part))
        case _:
            return f"[{one_line(part.kind)}]"
