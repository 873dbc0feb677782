"""How well passages answer a question.

A passage is worth what its own words say (BM25), and a share of what its neighbours say, since an answer seldom repeats
the words of the question beside it; and a share of what the best passages of its source say together. Where there are
vectors, its own worth is a part of what its words and a part of what its vector says, each between 0 and 1 (scores
fused; ranks fused did worse). The shares were chosen on LoCoMo, each conversation with those that did best on the
others (``docs/retrieval.md``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nlargest
from typing import Any

Place = tuple[Any, int]
"""A source, by any key, and a place among its passages."""

Score = tuple[Any, int, float]
"""Of a passage: source, place, and how well it answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """What a passage inherits: from the neighbours one, two, ... places away; from the ``best`` passages of its source
    (their mean)."""

    neighbours: tuple[float, ...] = (0.4, 0.2)
    source: float = 0.4
    best: int = 3


USED = Shares()
BY_VECTOR = 0.4
"""What of a passage's worth is its vector's, where there are vectors."""


def fused(words: Iterable[Score], vectors: Iterable[Score], share: float = BY_VECTOR) -> list[Score]:
    """Scores by words (0 where a passage is not among them) and by vectors (where it is not among these: as the least)
    as one, between 0 and 1."""
    by_word = {(source, place): score for source, place, score in words}
    by_vector = {(source, place): score for source, place, score in vectors}
    most = max(by_word.values(), default=0.0) or 1.0
    least = min(by_vector.values(), default=0.0)
    span = (max(by_vector.values(), default=0.0) - least) or 1.0
    return [
        (*at, (1 - share) * by_word.get(at, 0.0) / most + share * (by_vector.get(at, least) - least) / span)
        for at in by_word.keys() | by_vector.keys()
    ]


def ranked(scores: Iterable[Score], shares: Shares = USED) -> dict[Place, float]:
    """Scores (source, place, score) with what is inherited. There are more places than were given: neighbours of these,
    which may not exist."""
    own = {(source, place): score for source, place, score in scores}
    found: defaultdict[Place, float] = defaultdict(float, own)
    for (source, place), score in own.items():
        for distance, share in enumerate(shares.neighbours, 1):
            found[source, place - distance] += share * score
            found[source, place + distance] += share * score
    by_source: defaultdict[Any, list[float]] = defaultdict(list)
    for (source, _), score in found.items():
        by_source[source].append(score)
    of_source = {
        source: shares.source * sum(nlargest(shares.best, scores)) / shares.best for source, scores in by_source.items()
    }
    return {place: score + of_source[place[0]] for place, score in found.items()}
