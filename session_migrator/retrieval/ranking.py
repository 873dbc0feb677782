"""How well passages answer a question.

A passage is worth what its own words say (BM25), and a share of what its neighbours say, since an answer seldom repeats
the words of the question beside it; and a share of what the best passages of its source say together. The shares were
chosen on LoCoMo, each conversation with those that did best on the others (``docs/retrieval.md``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nlargest

Place = tuple[int, int]
"""A source, and a place among its passages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """What a passage inherits: from the neighbours one, two, ... places away; from the ``best`` passages of its source
    (their mean)."""

    neighbours: tuple[float, ...] = (0.4, 0.2)
    source: float = 0.4
    best: int = 3


USED = Shares()


def ranked(scores: Iterable[tuple[int, int, float]], shares: Shares = USED) -> dict[Place, float]:
    """Scores (source, place, score) with what is inherited. There are more places than were given: neighbours of these,
    which may not exist."""
    own = {(source, place): score for source, place, score in scores}
    found: defaultdict[Place, float] = defaultdict(float, own)
    for (source, place), score in own.items():
        for distance, share in enumerate(shares.neighbours, 1):
            found[source, place - distance] += share * score
            found[source, place + distance] += share * score
    by_source: defaultdict[int, list[float]] = defaultdict(list)
    for (source, _), score in found.items():
        by_source[source].append(score)
    of_source = {
        source: shares.source * sum(nlargest(shares.best, scores)) / shares.best for source, scores in by_source.items()
    }
    return {place: score + of_source[place[0]] for place, score in found.items()}
