"""The vectors of an index: made of the beginnings of its passages, kept as half floats, compared one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..redaction import redact
from .passages import BEFORE, redacted

if TYPE_CHECKING:
    from .embedders import Embedder, Rows
    from .index import Index

NEAREST = 200
"""Passages that count as near to a query; the scale of their scores ends with the last of them."""

_READ = 600  # characters of a passage that its vector is made of: the time it takes grows with them


def embed(index: Index, embedder: Embedder, most: int) -> int:
    """Make vectors of at most so many texts of passages that have none of this embedder; how many were made. Raises
    Unavailable."""
    found = [index.at(source, place - BEFORE, place) for source, place in index.without_vector(embedder.name, most)]
    if found:
        texts = [f"{each[-1].passage.role}: {redacted([one.passage.text for one in each])[:_READ]}" for each in found]
        rows = embedder.embed(texts, "passage")
        index.add_vectors(embedder.name, [(each[-1].id, _packed(row)) for each, row in zip(found, rows, strict=True)])
    return len(found)


def of_query(embedder: Embedder, query: str) -> Rows:
    """The vector of a query. Raises Unavailable."""
    return embedder.embed([redact(query)[0][:_READ]], "query")[0]


def nearest(
    index: Index, embedder: str, query: Rows, where: str = "1", values: Sequence[Any] = (), most: int = NEAREST
) -> list[tuple[int, int, float]]:
    """Source, place and score (cosine) of the passages nearest to a query, of those that meet an SQL condition."""
    import numpy

    keys: list[int] = []
    scores: list[Rows] = []
    for names, packed in index.vectors(embedder, 2 * len(query), where, values):
        keys += names
        scores.append(numpy.frombuffer(packed, "<f2").reshape(len(names), -1).astype(numpy.float32) @ query)
    if not keys:
        return []
    found = numpy.concatenate(scores)
    best: list[int] = numpy.argsort(-found)[:most].tolist()
    places = index.places([keys[at] for at in best])
    return [(*places[keys[at]], float(found[at])) for at in best if keys[at] in places]


def _packed(row: Rows) -> bytes:
    return row.astype("<f2").tobytes()
