"""A conversation as text for a model that is to summarize it, cut between units into parts of a size.

Every unit begins with a line that says where it is: turn, time, and the id of the original where there is one. What
was said stands there whole, up to what nobody types; calls, results and reasoning with their beginning and end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from .compressors.units import units
from .exporter.transcript import folded, moment, one_line, plain
from .jsondata import dumps
from .ledger import is_prompt
from .model import Message, Part, Text, Thinking, ToolCall, ToolResult
from .tokens import Counter

# Characters of a text that somebody said, and of a call, a result, a thought.
_SAID, _SHOWN = 20_000, 3_000


def told(messages: Sequence[Message], names: Mapping[int, str] | None = None) -> Iterator[str]:
    """The units of a conversation as text, each with the line that says where it is; with ``names``, the messages at
    these places alone, each with the id of its original."""
    turn = 0
    for unit in units(messages):
        there = [place for place in unit if not folded(messages[place]) and messages[place].role != "system"]
        turn += any(is_prompt(messages[place]) for place in there)
        shown = [place for place in there if names is None or place in names]
        said = [line for place in shown for part in messages[place].parts if (line := _line(messages[place], part))]
        if said:
            time = next((time for place in shown if (time := messages[place].timestamp)), None)
            where = [f"turn {turn}", time and moment(time), f"recall {names[shown[0]]}" if names else None]
            yield "\n".join([f"--- {', '.join(filter(None, where))}", *said])


def parts(texts: Iterable[str], counter: Counter, room: int) -> Iterator[str]:
    """The texts joined to as few parts as there can be with at most ``room`` tokens each. A text that is larger
    alone is cut in its middle."""
    part: list[str] = []
    taken = 0
    for text in texts:
        text, size = _fitting(text, counter, room)
        if part and taken + size > room:
            yield "\n\n".join(part)
            part, taken = [], 0
        part.append(text)
        taken += size
    if part:
        yield "\n\n".join(part)


def _fitting(text: str, counter: Counter, room: int) -> tuple[str, int]:
    """The text, cut until it fits, and its tokens with those of the space behind it."""
    size = counter.text(f"{text}\n\n").high
    length = len(text)
    while size > room and length:
        length = int(length * min(0.9, room / size))
        size = counter.text(f"{_cut(text, length)}\n\n").high
    return _cut(text, length), size


def _cut(text: str, most: int) -> str:
    """The beginning and the end of a text, about so many characters."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}\n[… {len(text) - most:,} characters …]\n{text[len(text) - most // 2 :]}"


def _line(message: Message, part: Part) -> str:
    """A part as text, with who it is of; empty where it says nothing."""
    match part:
        case ToolCall():
            arguments = part.arguments if isinstance(part.arguments, str) else dumps(dict(part.arguments))
            return _cut(f"call {one_line(part.name)}: {arguments}", _SHOWN)
        case ToolResult():
            text = plain(part).strip()
            return _cut(f"{'error' if part.is_error else 'result'}: {text}", _SHOWN) if text else ""
        case Thinking():
            return _cut(f"{message.role} (thinking): {part.text}", _SHOWN) if part.text.strip() else ""
        case Text() if not part.text.strip():
            return ""
        case _:
            speaker = "summary of what was before" if message.origin == "summary" else message.role
            return _cut(f"{speaker}: {plain(part)}", _SAID)
