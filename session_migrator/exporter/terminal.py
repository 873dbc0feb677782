"""Session -> plain text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from ..model import Compaction, Message, Part, Session, Text, Thinking, ToolCall, ToolResult
from .transcript import SPEAKERS, call_text, facts, folded, heading, moment, one_line, plain


def to_text(session: Session) -> str:
    """The live messages as plain text: title, facts, turns. What was said is indented, so that no
    content can pass for a heading; control characters are taken out or made visible."""
    return "\n\n".join(("\n".join((heading(session), " · ".join(facts(session)))), *_turns(session))) + "\n"


def _turns(session: Session) -> Iterator[str]:
    speaker = None
    for message in session.messages:
        if folded(message):
            size = sum(len(plain(part)) for part in message.parts)
            yield f"(injected context, {size:,} characters)"
            continue
        if SPEAKERS[message.role] != speaker:
            speaker = SPEAKERS[message.role]
            yield f"{speaker}:" + (f" ({moment(message.timestamp)})" if message.timestamp else "")
        yield from (_part(part, message) for part in message.parts)


def _part(part: Part, message: Message) -> str:
    match part:
        case ToolCall():
            return _indented(f"> {one_line(part.name)}", call_text(part))
        case ToolResult():
            return _indented("< error" if part.is_error else "< result", plain(part))
        case Thinking():
            return _indented("(thinking)", plain(part))
        case Compaction():
            return _indented("(summary of earlier messages)", plain(part))
        case Text() if message.origin == "summary":
            return _indented("(summary of earlier messages)", plain(part))
        case _:
            return _indented(None, plain(part))


def _indented(label: str | None, text: str) -> str:
    if label is None:
        return "\n".join(f"  {line}".rstrip() for line in text.split("\n"))
    return "\n".join((f"  {label}", *(f"    {line}".rstrip() for line in text.split("\n"))))
