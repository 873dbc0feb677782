"""A conversation as passages: what an index holds, and a search gives back."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os.path import commonprefix

from ..compressors.units import units
from ..exporter.transcript import folded, plain
from ..ledger import is_prompt
from ..model import Message, Part, Thinking, ToolCall, ToolResult, Value
from ..redaction import redact
from ..tokens import Counter

LONGEST = 2_000
"""Characters of a passage; longer texts are several."""

_BASE64 = re.compile(r"[A-Za-z0-9+/]{48,}={0,2}")
BEFORE = 4
"""Passages in which a secret may begin that goes on in another: a private key is longer than one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage(Value):
    """A message, or a call with its results, or a piece of one that is long. ``turn``: of the conversation, from 1 (0:
    before the first, or not known); ``role``: who speaks (of a call: assistant); ``time``: ISO 8601, where it is known;
    ``tokens`` to read it."""

    turn: int
    role: str
    time: str | None
    text: str
    tokens: int = 0

    def id(self, source: str, place: int) -> str:
        """What it is found by: of its words and of where they stand, so that it is the same in a new index."""
        about = "\0".join((source, str(place), self.role, self.time or "", self.text))
        return hashlib.sha256(about.encode("utf-8", "backslashreplace")).hexdigest()[:10]


def passages(messages: Sequence[Message], counter: Counter, *, whole: bool = True) -> Iterator[Passage]:
    """The passages of a conversation in order, without what a client put in. ``counter`` counts their tokens;
    ``whole``: whether these are all of its messages, so that turns can be told."""
    turn = 0
    for unit in units(messages):
        shown = [message for place in unit if not folded(message := messages[place]) and message.role != "system"]
        turn += whole and any(map(is_prompt, shown))
        text = "\n".join(said for message in shown for part in message.parts if (said := _said(part)).strip())
        time = next((message.timestamp for message in shown if message.timestamp), None)
        for piece in _pieces(text):
            size = counter.text(piece).high
            yield Passage(turn=turn, role=shown[0].role, time=time, text=piece, tokens=size)


def redacted(texts: Sequence[str]) -> str:
    """The last of texts that follow each other, without secrets; those too that begin in a text before it, and any
    that looks like bytes in base64: the middle of a long key has no other sign."""
    alone, whole = redact(texts[-1])[0], redact("".join(texts))[0]
    text = commonprefix([alone[::-1], whole[::-1]])[::-1]  # noqa: RUF071 (of characters)
    return _BASE64.sub(lambda found: "[…]" if _is_mixed(found[0]) else found[0], text)


def _is_mixed(run: str) -> bool:
    """Whether small letters, large ones and digits change with each other as in bytes, and not as in names (two thirds
    of the time in base64)."""
    kinds = [(char.islower(), char.isupper()) for char in run]
    return 3 * sum(one != other for one, other in pairwise(kinds)) > len(run)


def _said(part: Part) -> str:
    """A part with a word before it where it is not what somebody said."""
    match part:
        case ToolCall():
            return f"call {plain(part)}"
        case ToolResult():
            return f"{'error' if part.is_error else 'result'}: {plain(part)}"
        case Thinking():
            return f"thinking: {plain(part)}" if part.text.strip() else ""
        case _:
            return plain(part)


def _pieces(text: str) -> Iterator[str]:
    """A text in pieces of at most LONGEST characters, cut at line breaks where they are near, else at spaces."""
    start = 0
    while start < len(text):
        end = start + LONGEST
        if end < len(text):
            end = next((at + 1 for mark in ("\n", " ") if (at := text.rfind(mark, start + LONGEST // 2, end)) > 0), end)
        if text[start:end].strip():
            yield text[start:end]
        start = end
