"""The benchmark of planted facts: its sessions are what it says, and what it counts can be counted."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace

import pytest
from places import ROOT

sys.path.append(str(ROOT / "benchmarks" / "compression"))

import facts
import planted

from session_migrator import tokens
from session_migrator.agents.spec import Capabilities
from session_migrator.compressors import Compressed, TruncationCompressor
from session_migrator.lowering import lower
from session_migrator.model import Session
from session_migrator.tokens import content

SEEDS = range(1, 9)
COUNTER = tokens.counter("gpt-5")


def lowered(seed: int) -> Session:
    return lower(facts.generate(seed)[0], Capabilities(thinking="text"))[0]


def test_a_seed_gives_one_session() -> None:
    assert facts.generate(3) == facts.generate(3)
    assert facts.generate(3) != facts.generate(4)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_fact_stands_in_one_place_before_compression(seed: int) -> None:
    """An open step of the plan is in each later plan too; nothing else is said twice."""
    session, found = facts.generate(seed)
    assert Counter(fact.kind for fact in found) == dict.fromkeys(facts.KINDS, facts.PER_KIND)
    assert planted.recalled(lowered(seed), found) == found
    plans = [place for place, message in enumerate(session.messages) if any(c.kind == "think" for c in message.calls)]
    for fact in found:
        places = [
            place
            for place, message in enumerate(session.messages)
            if any(fact.needle in text for text in content.texts(message.parts))
        ]
        if fact.kind == "todo":
            assert places == [place for place in plans if place >= places[0]]
        else:
            assert places[-1] - places[0] <= 1


def test_facts_stand_at_every_depth() -> None:
    """Counted in characters, each fifth of the sessions holds about a fifth of the facts."""
    fifths: Counter[int] = Counter()
    for seed in SEEDS:
        session, found = facts.generate(seed)
        shown = "".join(text for message in session.messages for text in content.texts(message.parts))
        fifths.update(5 * shown.index(fact.needle) // len(shown) for fact in found)
    assert all(0.14 < fifths[fifth] / fifths.total() < 0.26 for fifth in range(5))


def test_sessions_have_the_size_and_the_shares_of_real_ones() -> None:
    sizes: list[int] = []
    shares: Counter[str] = Counter()
    for seed in SEEDS:
        session, _ = facts.generate(seed)
        sizes.append(COUNTER.session(session).high)
        for message in session.messages:
            for part in message.parts:
                shares[message.role if part.type == "text" else part.type] += COUNTER.part(part).high
    assert all(40_000 < size < 180_000 for size in sizes)
    assert 0.6 < shares["tool_result"] / shares.total() < 0.75
    assert 0.2 < shares["tool_call"] / shares.total() < 0.3
    assert shares["assistant"] / shares.total() < 0.04
    assert shares["user"] / shares.total() < 0.03


def test_a_lowered_session_is_whole() -> None:
    session = lowered(1)
    assert planted.broken(session, session) == 0
    assert planted.lost(session, Compressed(session=session)) == 0


def test_a_call_that_is_parted_from_its_result_is_counted() -> None:
    session = lowered(1)
    place = next(place for place, message in enumerate(session.messages) if message.calls)
    messages = list(session.messages)
    del messages[place + 1]
    assert planted.broken(session, replace(session, messages=messages)) > 0
    messages = list(session.messages)
    del messages[place]
    assert planted.broken(session, replace(session, messages=messages)) > 0
    assert planted.broken(session, replace(session, messages=session.messages[: place + 1])) == 1


def test_messages_out_of_order_are_counted() -> None:
    session = lowered(1)
    first, *rest = session.messages
    assert planted.broken(session, replace(session, messages=[*rest, first])) == 1
    assert planted.broken(session, replace(session, messages=[first, first, *rest])) == 1


def test_a_text_that_is_nowhere_is_counted_as_lost() -> None:
    session = lowered(1)
    shorter = replace(session, messages=session.messages[4:])
    assert planted.lost(session, Compressed(session=shorter, elided=session.messages[:4])) == 0
    assert planted.lost(session, Compressed(session=shorter, elided=session.messages[:3])) == 1


def test_a_refusal_recalls_nothing_and_a_budget_that_fits_recalls_all() -> None:
    session, (_, found) = lowered(1), facts.generate(1)
    assert planted.measure(TruncationCompressor(), session, found, 20, COUNTER) == {"refused": 1}
    whole = planted.measure(TruncationCompressor(), session, found, 10**6, COUNTER)
    assert whole == dict.fromkeys(facts.KINDS, facts.PER_KIND) | {"overruns": 0, "broken": 0, "lost": 0}


def test_weights_are_not_chosen_on_what_is_reported() -> None:
    assert planted.seeds(1, 3, "reported") == [1, 3, 5]
    assert planted.seeds(1, 3, "tuning") == [2, 4, 6]
    assert planted.seeds(2, 3, "all") == [2, 3, 4]


def test_a_row_is_the_share_of_the_facts_that_are_recalled() -> None:
    rows = planted.run(["truncation"], [1])
    assert [row["share"] for row in rows] == list(planted.SHARES)
    recalls = [row["recall"] for row in rows]
    assert recalls == sorted(recalls)
    assert 0 < recalls[-1] < 1
    assert all(row[fault] == 0 for row in rows for fault in planted.FAULTS)
    assert len(planted.table(rows).splitlines()) == 2 + len(rows)
