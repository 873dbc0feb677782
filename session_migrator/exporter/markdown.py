"""Session -> a Markdown transcript."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..model import Compaction, Message, Session, Text, Thinking, ToolCall, ToolResult
from .transcript import SPEAKERS, call_text, facts, folded, heading, moment, one_line, plain, visible

_FENCE = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})(.*)")
_CODE_OR_TAG = re.compile(r"(?<!`)(`+)(?!`).{1,1000}?(?<!`)\1(?!`)|<(?=[A-Za-z/!?])")
_SPECIAL = re.compile(r"([\\`*_\[\]<>#])")


def to_markdown(session: Session) -> str:
    """The live messages as Markdown to read: title, facts, turns; calls and results whole, in fences
    longer than any within; context that a client put in folded away."""
    return "".join(markdown_pieces(session))


def markdown_pieces(session: Session) -> Iterator[str]:
    """The same piece by piece, for a session that is too long for one text."""
    yield f"# {_escaped(heading(session))}\n\n" + " · ".join(_escaped(fact) for fact in facts(session)) + "\n"
    yield from (f"\n{turn}\n" for turn in _turns(session))


def _turns(session: Session) -> Iterator[str]:
    speaker = None
    for message in session.messages:
        if folded(message):
            yield _details("Injected context", "\n\n".join(plain(part) for part in message.parts))
            continue
        if SPEAKERS[message.role] != speaker:
            speaker = SPEAKERS[message.role]
            yield f"## {speaker}" + (f" · {_escaped(moment(message.timestamp))}" if message.timestamp else "")
        yield from _message(message)


def _message(message: Message) -> Iterator[str]:
    for part in message.parts:
        match part:
            case Text() if message.origin == "summary":
                yield _summary(part.text)
            case Text():
                yield _prose(part.text)
            case Thinking():
                yield _quoted("Thinking", part.text)
            case Compaction():
                yield _summary(part.summary)
            case ToolCall():
                language = "" if isinstance(part.arguments, str) else "json"
                yield f"**Tool call: {_escaped(one_line(part.name))}**\n\n" + fenced(call_text(part), language)
            case ToolResult():
                yield f"**{'Error' if part.is_error else 'Result'}**\n\n" + fenced(plain(part))
            case _:
                yield _escaped(plain(part))


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks in the text."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _prose(text: str) -> str:
    """A message's own Markdown, HTML outside of code shown as text. Where a fence could stay open and
    swallow the turns that follow, the message is quoted, for a quote holds whatever is in it."""
    lines = visible(text).split("\n")
    shown: list[str] = []
    indent = fence = ""
    for line in lines:
        found = _FENCE.match(line)
        if not fence:
            indent, fence = (found[1], found[2]) if found else ("", "")
            shown.append(line if found else _without_html(line))
        elif line.strip() and not line.startswith(indent):
            break  # the fence may be a list's, which ends where a line is indented less
        else:
            shown.append(line)
            if found and found[2].startswith(fence) and not found[3].strip():
                fence = ""
    return _quote(lines) if fence else "\n".join(shown)


def _without_html(line: str) -> str:
    return _CODE_OR_TAG.sub(lambda found: "&lt;" if found[0] == "<" else found[0], line)


def _quoted(label: str, text: str) -> str:
    return f"> **{label}**\n>\n" + _quote(visible(text).split("\n"))


def _quote(lines: list[str]) -> str:
    return "\n".join(f"> {_without_html(line)}".rstrip() for line in lines)


def _summary(text: str) -> str:
    return _quoted("Summary of earlier messages", text)


def _details(label: str, text: str) -> str:
    return f"<details>\n<summary>{label}</summary>\n\n{fenced(text)}\n\n</details>"


def _escaped(line: str) -> str:
    return _SPECIAL.sub(r"\\\1", line)
