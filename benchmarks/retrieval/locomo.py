"""How much of the evidence for a question is found: ``python benchmarks/retrieval/locomo.py DATA``.

DATA is a file of LoCoMo (snap-research/locomo, CC BY-NC 4.0): conversations over many sessions, questions, and for each
the turns that hold the evidence. Reported is the share of the evidence among the first 5, 10 and 25 turns (mean over
questions), and how often the first turn is of a session that holds evidence. Below what SQLite does by itself stand
the methods of this package; its shares (``retrieval.ranking.Shares``) are chosen for each conversation on the others,
by the mean of the four figures.

``--write FILE`` puts the table into a Markdown file.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import re
import sqlite3
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "compression"))

from document import put, table

from session_migrator.retrieval.index import Index, Source, in_memory
from session_migrator.retrieval.passages import Passage
from session_migrator.retrieval.ranking import Place, Shares, ranked
from session_migrator.retrieval.words import question

DEPTHS = (5, 10, 25)
GRID = [
    Shares(neighbours=neighbours, source=source)
    for neighbours, source in itertools.product(
        ((0.3,), (0.5,), (0.4, 0.2), (0.5, 0.25), (0.5, 0.3), (0.6, 0.3)), (0.0, 0.2, 0.4)
    )
]
Ranking = list[Place]
Figures = tuple[float, ...]


@dataclass(frozen=True)
class Question:
    """A question, and the places of its evidence."""

    text: str
    evidence: frozenset[Place]


@dataclass(frozen=True)
class Conversation:
    """Turns by their place (session, number in it), and the questions that have evidence among them."""

    turns: dict[Place, Passage]
    questions: list[Question]


def load(path: Path) -> list[Conversation]:
    return [_conversation(document) for document in json.loads(path.read_text(encoding="utf-8"))]


def _conversation(document: dict[str, Any]) -> Conversation:
    talk = document["conversation"]
    turns: dict[Place, Passage] = {}
    places: dict[str, Place] = {}
    for session in itertools.takewhile(lambda number: f"session_{number}_date_time" in talk, itertools.count(1)):
        day = _day(talk[f"session_{session}_date_time"])
        for number, turn in enumerate(talk.get(f"session_{session}", ())):
            text = " ".join([turn["text"], *filter(None, [turn.get("blip_caption")])])
            turns[session, number] = Passage(turn=number, role=turn["speaker"], time=day, text=text)
            places[turn["dia_id"]] = session, number
    asked = (
        Question(row["question"], frozenset(places[name] for name in row.get("evidence", ()) if name in places))
        for row in document["qa"]
    )
    return Conversation(turns, [each for each in asked if each.evidence])


def _day(said: str) -> str | None:
    found = re.search(r"(\d+ \w+), (\d+)", said)
    return datetime.strptime(f"{found[1]} {found[2]}", "%d %B %Y").date().isoformat() if found else None


# --- what SQLite does by itself ----------------------------------------------------------------------


def plain(conversation: Conversation, tokenizer: str, stop: bool, share: float) -> list[Ranking]:
    """FTS5 over the texts alone, any word of the question; a turn inherits a share of its neighbours' scores."""
    places = list(conversation.turns)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE VIRTUAL TABLE turns USING fts5 (text, tokenize = '{tokenizer}')")
        rows = [(passage.text,) for passage in conversation.turns.values()]
        database.executemany("INSERT INTO turns (text) VALUES (?)", rows)

        def scores(text: str) -> Iterable[tuple[int, int, float]]:
            words = dict.fromkeys(re.findall(r"\w+", text.lower()))
            asked = question(text) if stop else " OR ".join(f'"{word}"' for word in words)
            found = database.execute("SELECT rowid, -bm25(turns) FROM turns WHERE turns MATCH ?", (asked,))
            return [(*places[row - 1], score) for row, score in found]

        shares = Shares(neighbours=(share,) if share else (), source=0.0)
        return [_order(conversation, ranked(scores(each.text), shares)) for each in conversation.questions]


# --- ours ----------------------------------------------------------------------------------------------

Matches = list[list[tuple[int, int, float]]]


def matches(conversation: Conversation) -> Matches:
    """What the words of each question alone find."""
    with closing(in_memory()) as index:
        _fill(index, conversation)
        return [list(index.matches(question(each.text))) for each in conversation.questions]


def _fill(index: Index, conversation: Conversation) -> None:
    for session, rows in itertools.groupby(conversation.turns.items(), key=lambda row: row[0][0]):
        source = Source(name=str(session), stamp="", agent="locomo", session=str(session))
        index.take_in(source, [passage for _, passage in rows])


def ours(conversation: Conversation, found: Matches, shares: Shares) -> list[Ranking]:
    return [_order(conversation, ranked(each, shares)) for each in found]


def _order(conversation: Conversation, scores: dict[Place, float]) -> Ranking:
    return sorted((place for place in scores if place in conversation.turns), key=lambda place: -scores[place])


# --- figures -------------------------------------------------------------------------------------------


def figures(conversation: Conversation, rankings: list[Ranking]) -> list[Figures]:
    """Of each question: the shares of evidence, and whether the first turn is of a session that holds some."""
    return [
        (
            *(len(each.evidence.intersection(ranking[:depth])) / len(each.evidence) for depth in DEPTHS),
            float(bool(ranking) and ranking[0][0] in {session for session, _ in each.evidence}),
        )
        for each, ranking in zip(conversation.questions, rankings, strict=True)
    ]


def means(rows: Iterable[Figures]) -> Figures:
    rows = list(rows)
    return tuple(100 * sum(column) / len(rows) for column in zip(*rows, strict=True))


def left_out(conversations: list[Conversation]) -> tuple[list[Figures], list[Shares]]:
    """Ours, of each conversation with the shares that are best on the others, and these."""
    found = [matches(conversation) for conversation in conversations]
    tried = [
        [
            figures(conversation, ours(conversation, each, shares))
            for conversation, each in zip(conversations, found, strict=True)
        ]
        for shares in GRID
    ]
    rows: list[Figures] = []
    chosen: list[Shares] = []
    for at in range(len(conversations)):
        best = max(
            range(len(GRID)),
            key=lambda number: sum(means(itertools.chain(*(tried[number][:at] + tried[number][at + 1 :])))),
        )
        rows += tried[best][at]
        chosen.append(GRID[best])
    return rows, chosen


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    conversations = load(options.data)
    methods: dict[str, Callable[[Conversation], list[Ranking]]] = {
        "FTS5 unicode61": lambda each: plain(each, "unicode61", False, 0.0),
        "FTS5 porter, stop words": lambda each: plain(each, "porter unicode61", True, 0.0),
        "the same, 0.3 of each neighbour": lambda each: plain(each, "porter unicode61", True, 0.3),
    }
    rows = {
        name: means(itertools.chain(*(figures(each, method(each)) for each in conversations)))
        for name, method in methods.items()
    }
    own, chosen = left_out(conversations)
    rows["search, shares chosen on the others"] = means(own)
    names = ["method", *(f"R@{depth}" for depth in DEPTHS), "session Hit@1"]
    text = table(names, [[name, *(f"{value:.1f}" for value in row)] for name, row in rows.items()])
    turns, asked = (sum(len(getattr(each, name)) for each in conversations) for name in ("turns", "questions"))
    digest = hashlib.sha256(options.data.read_bytes()).hexdigest()[:12]
    text += (
        f"\n{len(conversations)} conversations, {asked:,} questions with evidence, {turns:,} turns; sha256 {digest}.\n"
    )
    text += f"Shares chosen: {'; '.join(f'{each.neighbours} and {each.source}' for each in chosen)}.\n"
    print(text)
    if options.write:
        put(options.write, locomo=text)


if __name__ == "__main__":
    main()
