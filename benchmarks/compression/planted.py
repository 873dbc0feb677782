"""Recall of planted facts after compression: ``python benchmarks/compression/planted.py [--sessions N] [--seed S]
[--compressors truncation,ladder] [--part reported|tuning|all] [--json]``.

Made sessions with facts of twelve kinds (``facts``) are compressed to 5, 10, 20 and 50 % of their tokens. A fact is
recalled where its needle stands in the texts that reach the model. Beside it are counted: sessions over their budget
(*overruns*), calls without their results right behind them, results without their calls and messages out of order
(*broken*), original texts that are neither in the result as they were nor handed over as elided (*lost*), and sessions
that the compressor refused, whose facts count as not recalled (*refused*).

Sessions with an even seed are for choosing weights, those with an odd one for reporting. Budgets and counts are in
tokens of ``o200k_base``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count, islice, pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import document
from facts import KINDS, PER_KIND, Fact, generate

from session_migrator import compressors, tokens
from session_migrator.agents.spec import Capabilities
from session_migrator.compressors import Compressed, Compressor
from session_migrator.compressors.marks import id_of, original
from session_migrator.errors import Refused
from session_migrator.lowering import lower
from session_migrator.model import Message, Session
from session_migrator.tokens import content

SHARES = (5, 10, 20, 50)
MODEL = "gpt-5"
PARTS = {"tuning": (0,), "reported": (1,), "all": (0, 1)}
FAULTS = ("overruns", "broken", "lost", "refused")


def seeds(first: int, number: int, part: str) -> list[int]:
    """So many seeds of a part, from the first on."""
    return list(islice((seed for seed in count(first) if seed % 2 in PARTS[part]), number))


def measure(
    compressor: Compressor, session: Session, facts: Iterable[Fact], budget: int, counter: tokens.Counter
) -> Counter[str]:
    """How many facts, by kind, a lowered session has kept when compressed to a budget (tokens), and its faults."""
    try:
        compressed = compressor.compress(session, budget, counter)
    except Refused:
        return Counter(refused=1)
    found = Counter(fact.kind for fact in recalled(compressed.session, facts))
    found["overruns"] = counter.session(compressed.session).high > budget
    found["broken"] = broken(session, compressed.session)
    found["lost"] = lost(session, compressed)
    return found


def recalled(session: Session, facts: Iterable[Fact]) -> list[Fact]:
    """The facts whose needles stand in what reaches the model."""
    shown = "\n".join(_texts(session.messages))
    return [fact for fact in facts if fact.needle in shown]


def broken(before: Session, after: Session) -> int:
    """How often a message's calls are not answered by the next one, each once and in order, or the next one answers
    what was not called; and how often something stands behind what it stood before, or twice."""
    asked: list[tuple[str, ...]] = [(), *(tuple(call.id for call in message.calls) for message in after.messages)]
    given = [*(tuple(result.call_id for result in message.results) for message in after.messages), ()]
    unpaired = sum(calls != answers for calls, answers in zip(asked, given, strict=True))
    places = {mark: place for place, mark in enumerate(_marks(before.messages))}
    order = [places[mark] for mark in _marks(after.messages) if mark in places]
    return unpaired + sum(left >= right for left, right in pairwise(order))


def _marks(messages: Iterable[Message]) -> Iterator[tuple[str, str]]:
    """What a message can be known by, in order: its id, its calls, its results."""
    for message in messages:
        if message.id:
            yield "message", message.id
        yield from (("call", call.id) for call in message.calls)
        yield from (("result", result.call_id) for result in message.results)


def lost(before: Session, compressed: Compressed) -> int:
    """How many of the original texts can be had back from nowhere: they stand, byte for byte, neither in the compressed
    session nor among what was elided from it; and how many marks do not give back the bytes that they are named by."""
    kept = {*_texts(compressed.session.messages), *_texts(compressed.elided)}
    wrong = [one for one in compressed.elisions if id_of(original(compressed.elided, one.spans)) != one.id]
    return len({*_texts(before.messages)} - kept) + len(wrong)


def _texts(messages: Iterable[Message]) -> Iterator[str]:
    return (text for message in messages for text in content.texts(message.parts))


def run(names: list[str], chosen: list[int]) -> list[dict[str, Any]]:
    """A row for each compressor and share: what was recalled (0 to 1), in total and by kind, and the faults."""
    counter = tokens.counter(MODEL)
    totals: dict[tuple[str, int], Counter[str]] = {(name, share): Counter() for name in names for share in SHARES}
    for seed in chosen:
        made, facts = generate(seed)
        session, _ = lower(made, Capabilities(thinking="text"))
        size = counter.session(session).high
        for (name, share), total in totals.items():
            total.update(measure(compressors.get(name), session, facts, size * share // 100, counter))
    each = PER_KIND * len(chosen)
    return [
        {
            "compressor": name, "share": share, "sessions": len(chosen),
            "recall": sum(total[kind] for kind in KINDS) / each / len(KINDS),
            "kinds": {kind: total[kind] / each for kind in KINDS}, **{fault: total[fault] for fault in FAULTS},
        }
        for (name, share), total in totals.items()
    ]  # fmt: skip


def table(rows: list[dict[str, Any]]) -> str:
    """The rows in Markdown: recall in %, and as a multiple of truncation's where that is among them."""
    plain = {row["share"]: row["recall"] for row in rows if row["compressor"] == "truncation"}
    lines: list[list[str]] = []
    for row in rows:
        base = plain.get(row["share"])
        times = f"{row['recall'] / base:.2f}" if base else ""
        kinds = [f"{row['kinds'][kind]:.0%}" for kind in KINDS]
        faults = [str(row[fault]) for fault in FAULTS]
        lines.append([row["compressor"], f"{row['share']} %", f"{row['recall']:.1%}", times, *kinds, *faults])
    return document.table(["compressor", "budget", "recall", "x truncation", *KINDS, *FAULTS], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="the first")
    parser.add_argument("--compressors", default="ladder,truncation", help="names, by commas")
    parser.add_argument("--part", choices=PARTS, default="reported")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into a Markdown file")
    given = parser.parse_args()
    rows = run(given.compressors.split(","), seeds(given.seed, given.sessions, given.part))
    print(json.dumps(rows) if given.json else table(rows))
    if given.write:
        document.put(given.write, planted=table(rows))


if __name__ == "__main__":
    main()
