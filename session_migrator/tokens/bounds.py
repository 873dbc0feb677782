"""Bounds of a count where no exact counter is at hand: from what the texts are made of (``features``), by the weights
of ``data/token_factors.json``."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

from . import bpe
from .features import FEATURES, encodable


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of a family. ``encoding``: the one whose exact count the weights build on, None where there is no
    package for it and the texts' bytes are all there is."""

    rule: Mapping[str, Any]
    encoding: str | None

    def __call__(self, texts: Iterable[str]) -> tuple[int, int]:
        """The tokens of texts that are sent together: of all of them taken together, where chance deviations even
        out, or one by one where that is narrower."""
        rows = (*self.rule["low"], *self.rule["high"]) if self.encoding else ()
        names = {name for row in rows for name in row} | {"bytes", "starts"}
        together = Tally[str]()
        low = high = 0
        for text in texts:
            found = measure(text, names, self.encoding)
            at_least, at_most = self._interval(found)
            low, high = low + at_least, high + at_most
            together.update(found)
        at_least, at_most = self._interval(together)
        high = min(high, at_most)
        return min(max(low, at_least), high), high

    def _interval(self, found: Mapping[str, int]) -> tuple[int, int]:
        """The narrowest interval that the rows give, none of it beyond what the bytes allow."""
        least, most = found["starts"], self.rule["bytes"] * found["bytes"]
        if self.encoding:
            features = {**found, "root": sqrt(found["tokens"])}
            least = max(0, *(_weighed(row, features) for row in self.rule["low"])) if self.rule["low"] else 0
            most = min(most, *(_weighed(row, features) for row in self.rule["high"]))
        high = ceil(most)
        return min(int(least), high), high


def measure(text: str, names: Iterable[str], encoding: str | None) -> dict[str, int]:
    """The named features of a text. With an ``encoding`` also "tokens" and "certain", the two ends of its
    count; without one, no package is needed."""
    text, data = encodable(text)
    found = {name: FEATURES[name](text, data) for name in names if name in FEATURES}
    if encoding:
        found["certain"], found["tokens"] = bpe.count(encoding, text)
    return found


def _weighed(row: Mapping[str, float], features: Mapping[str, float]) -> float:
    return sum(weight * features.get(name, 0) for name, weight in row.items())
