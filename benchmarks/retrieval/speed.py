"""How long an index takes to make and to ask, and what it weighs: ``python benchmarks/retrieval/speed.py DATA``.

DATA is a folder of recorded sessions. The passages of these, again and again with other numbers in them until there are
enough, are put into a file and asked the questions of the sessions themselves: the beginning of each message of the
user's. Times are of this machine. ``--write FILE`` puts the table into a Markdown file.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "compression")]

from document import put, table

from session_migrator import read_session, tokens
from session_migrator.errors import MigrationError
from session_migrator.retrieval.index import Source, opened
from session_migrator.retrieval.passages import Passage, passages
from session_migrator.retrieval.ranking import ranked
from session_migrator.retrieval.words import question
from session_migrator.sequences import full_history

SIZES = (1_000, 10_000)
ASKED = 50


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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    made = recorded(options.data)
    with tempfile.TemporaryDirectory() as folder:
        rows = [measured(made, count, Path(folder)) for count in SIZES]
    heads = ["passages", "to index", "a query (median)", "(longest)", "on disk, of 1,000", "their text"]
    text = table(heads, rows)
    print(text)
    if options.write:
        put(options.write, speed=text)


if __name__ == "__main__":
    main()
