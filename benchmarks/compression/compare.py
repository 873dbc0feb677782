"""How much of what the agent went on to need is kept: ``python benchmarks/compression/compare.py DATA``.

DATA is a folder of recorded sessions, ``AGENT/AUTHOR_NAME.jsonl`` (``probes.py`` says what is asked of them). Each is
compressed by truncation, by masking, by the ladder of fixed levels (``baselines.py``) and by ours at four sizes: that
of the summary which the client's own model wrote, where there is one, 10,000, 20,000 and 40,000 tokens of four
characters. The ladder's weights are chosen for each author on the sessions of the others: those of the
greatest mean over the four probes and sizes, of a small grid; reported is what they give for that author. All figures
are means over authors.

``--write FILE`` puts the tables, the data's digests and a plot into a Markdown file (and an SVG beside it).
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import asdict
from math import ceil
from pathlib import Path

import baselines
import plot
from document import put, table
from probes import PROBES, Case, load, score, sent

from session_migrator.compressors.ladder import LadderCompressor, Weights
from session_migrator.errors import FormatError
from session_migrator.model import Session
from session_migrator.tokens import Counter

SIZES = (None, 10_000, 20_000, 40_000)
LEAST = 2_000
GRID = [
    Weights(reach=reach, steepness=steepness, said=said, each=each)
    for reach, steepness, said, each in itertools.product(
        (0.6, 0.7, 0.8), (16.0, 32.0), (0.25, 0.35, 0.5), (0.02, 0.03, 0.05)
    )
]
Method = Callable[[Session, int, Counter], Session]
Scores = dict[tuple[str, int | None], dict[str, float]]
"""By case and size, the score of each probe."""


def _characters(texts: Iterable[str]) -> tuple[int, int]:
    tokens = ceil(sum(map(len, texts)) / 4)
    return tokens, tokens


COUNTER = Counter(
    name="characters / 4", method="exact", model="gpt-4", count=_characters, frame=(0, 0), primer=(0, 0),
    ratio=(1, 1, 1),
)  # fmt: skip


def sizes(case: Case) -> list[tuple[int | None, int]]:
    """The sizes that a case is compressed to, with their names: None is that of its summary."""
    own: list[tuple[int | None, int]] = [(None, max(LEAST, len(case.summary) // 4))] if case.summary else []
    return [*own, *((size, size) for size in SIZES if size)]


def scores(cases: Iterable[Case], method: Method) -> Scores:
    """Of a method; the sizes are kept, or AssertionError is raised."""
    found: Scores = {}
    for case in cases:
        for size, budget in sizes(case):
            result = method(case.prefix, budget, COUNTER)
            assert COUNTER.session(result).high <= budget, (case.name, budget)
            found[case.name, size] = score(case, sent(result.messages))
    return found


def ladder(weights: Weights) -> Method:
    return lambda session, budget, counter: LadderCompressor(weights).compress(session, budget, counter).session


def means(cases: Iterable[Case], found: Scores, size: int | None) -> dict[str, float]:
    """Over authors, of each probe, in per cent."""
    of: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for case in cases:
        for probe, value in found.get((case.name, size), {}).items():
            of[probe][case.author].append(100 * value)
    averages = {probe: [sum(values) / len(values) for values in by.values()] for probe, by in of.items()}
    return {probe: sum(values) / len(values) for probe, values in averages.items()}


def overall(cases: Iterable[Case], found: Scores) -> float:
    """The mean over probes and sizes."""
    cases = list(cases)
    return sum(sum(means(cases, found, size).values()) for size in SIZES)


def left_out(cases: list[Case]) -> tuple[Scores, dict[str, Weights]]:
    """The ladder's scores, of each author with the weights chosen on the others, and these weights."""
    tried = [(weights, scores(cases, ladder(weights))) for weights in GRID]
    found: Scores = {}
    chosen: dict[str, Weights] = {}
    for author in sorted({case.author for case in cases}):
        others = [case for case in cases if case.author != author]
        best, result = max(tried, key=lambda row: overall(others, row[1]))
        chosen[author] = best
        found |= {key: value for key, value in result.items() if key[0].rpartition("_")[0] == author}
    return found, chosen


def by_size(cases: list[Case], results: dict[str, Scores]) -> str:
    rows: list[list[str]] = []
    for size in SIZES:
        for name, found in results.items():
            if probes := means(cases, found, size):
                mean = sum(probes.values()) / len(probes)
                rows.append([_label(size), name, f"{mean:.1f}", *(f"{probes[probe]:.1f}" for probe in PROBES)])
    return table(["tokens", "method", "mean", *PROBES], rows)


def by_agent(cases: list[Case], results: dict[str, Scores]) -> str:
    rows: list[list[str]] = []
    for agent in sorted({case.agent for case in cases}):
        of = [case for case in cases if case.agent == agent]
        for size in SIZES:
            for name, found in results.items():
                if probes := means(of, found, size):
                    figures = [f"{probes[probe]:.1f}" for probe in ("used", "refetch")]
                    rows.append([agent, _label(size), name, *figures])
    return table(["agent", "tokens", "method", "used", "refetch"], rows)


def _label(size: int | None) -> str:
    return f"{size:,}" if size else "the summary's"


def read(folder: Path) -> tuple[list[Case], list[Path]]:
    """The cases of a folder, and the files whose format is not known (yet)."""
    cases, unknown = list[Case](), list[Path]()
    for path in sorted(folder.rglob("*.jsonl")):
        try:
            cases.append(load(path))
        except FormatError:
            unknown.append(path)
    return cases, unknown


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare compressions on recorded sessions.")
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", type=Path, metavar="FILE")
    given = parser.parse_args()
    cases, unknown = read(given.data)
    ours, chosen = left_out(cases)
    results = {
        "truncation": scores(cases, baselines.truncated),
        "masking, then truncation": scores(cases, baselines.masked),
        "newest share + levels": scores(cases, baselines.levels),
        "summary by the client's model": {
            (case.name, None): score(case, case.summary) for case in cases if case.summary is not None
        },
        "**ladder**": ours,
    }
    probes = f"{by_size(cases, results)}\nBy agent:\n\n{by_agent(cases, results)}"
    weights = table(
        ["left out", *asdict(GRID[0])],
        [[author, *map(str, asdict(weights).values())] for author, weights in chosen.items()],
    )
    files = [(path, "not read" if path in unknown else "read") for path in sorted(given.data.rglob("*.jsonl"))]
    data = table(
        ["file", "sha256", ""],
        [
            [str(path.relative_to(given.data)), hashlib.sha256(path.read_bytes()).hexdigest(), state]
            for path, state in files
        ],
    )
    print(probes, weights, data, sep="\n")
    if given.write:
        lines = {
            name: [sum(found.values()) / len(found) for size in SIZES if (found := means(cases, result, size))]
            for name, result in results.items()
        }
        plot.write(given.write.with_suffix(".svg"), lines, [f"{size:,}" if size else "summary" for size in SIZES])
        put(given.write, probes=probes, weights=weights, data=data)


if __name__ == "__main__":
    main()
