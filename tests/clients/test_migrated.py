"""Every recorded session and every shape of one goes on in the real clients: listed, resumed by id, every message
sent once and in order, every call with its result, a further turn completed, the first request within the forecast."""

from __future__ import annotations

import os
import re
from pathlib import Path

import harness
import pytest
from conversations import ALL, FEW, FEWEST, LONG_PROMPT, recorded, sample
from going_on import NEWEST, carry, each, go_on, make_place
from kinds import agent_of, kind_of

from session_migrator import agents
from session_migrator.model import headline


def cases(client: str) -> tuple[str, ...]:
    """What a client is tried with: the newest of each agent with all there is where that is wanted, else with some; one
    that takes long with less in each case; an older one, and a core that is another agent's client, with a few."""
    agent, heavy = agent_of(client), kind_of(client).heavy
    is_all = os.environ.get("SESSION_MIGRATOR_CASES") == "all"
    if client not in NEWEST or "core" in harness.VERSIONS[client]:
        return FEWEST if heavy and not is_all else FEW
    if heavy:
        return sample(agent) if is_all else (*FEWEST, *recorded()[agent])
    return tuple(ALL) if is_all else sample(agent)


CASES = {client: cases(client) for client in harness.CLIENTS}
each_case = pytest.mark.parametrize(
    ("client", "case"),
    [
        pytest.param(client, case, marks=pytest.mark.client(client), id=f"{client} - {case}")
        for client, cases in CASES.items()
        for case in cases
    ],
)


@each_case
def test_a_session_goes_on(client: str, case: str, tmp_path: Path) -> None:
    place = make_place(client, tmp_path / "client")
    go_on(place, carry(ALL[case].make(tmp_path), place, **ALL[case].options))


@each(tuple(CASES))
def test_the_client_lists_every_session(client: str, tmp_path: Path) -> None:
    """By id and title where it shows both (an older one may show no title), else each title as often as there are
    sessions of it."""
    place = make_place(client, tmp_path / "client")
    spec = agents.get(place.agent)
    titles: dict[str, str] = {}
    shown = kind_of(client).shown
    for case in CASES[client]:
        carried = carry(ALL[case].make(tmp_path), place, **ALL[case].options)
        session = spec.read(carried.path).session
        title = session.title or headline(session.messages[0].text)
        assert title
        titles[carried.session_id] = title.rstrip("…")[:shown]
    listed = harness.list_sessions(client, **place.where)
    if rows := kind_of(client).rows:
        each = re.finditer(rows, listed, re.DOTALL)
        found = {row["id"]: " ".join(row["title"].split()).rstrip("…")[:shown] for row in each}
        is_untitled = client not in NEWEST and not any(found.values())
        assert (found.keys() if is_untitled else found) == (titles.keys() if is_untitled else titles)
    else:
        wanted = {title: sum(title in other for other in titles.values()) for title in titles.values()}
        assert {title: listed.count(title) for title in wanted} == wanted


@each(NEWEST)
def test_a_long_prompt_stays_one_message(client: str, tmp_path: Path) -> None:
    carried = carry(ALL["long first prompt"].make(tmp_path), make_place(client, tmp_path / "client"))
    assert len(LONG_PROMPT) > 40_000
    assert carried.history[0] == ("user", "text", LONG_PROMPT, None)
