"""What the core of CodeBuddy Code and WorkBuddy alone does: when it compacts, and how much of a memory it reads."""

from __future__ import annotations

import json
from pathlib import Path

import harness
import pytest
from conversations import PLAIN
from going_on import NEXT, PROMPT, Place, carry, each, make_place
from kinds import Setup, arguments, kind_of
from places import LONG

from session_migrator import from_messages, migrate
from session_migrator.agents.codebuddy.client import memory_folder

CORE = ("codebuddy", "workbuddy")
MODEL = harness.VERSIONS["codebuddy"]["model"]


def settled(place: Place) -> Place:
    """The place with the client's settings in it, which it has before its first run in other tests too."""
    kind_of(place.client).configure(
        Setup(client=place.client, home=place.home, cwd=place.project, config_dir=place.config)
    )
    return place


@pytest.mark.parametrize(("share", "compacts"), [(0.97, False), (1.03, True)])
@each(CORE)
def test_it_compacts_from_the_size_that_the_ledger_names(
    client: str, share: float, compacts: bool, tmp_path: Path
) -> None:
    place = settled(make_place(client, tmp_path / "client"))
    carried = carry(from_messages(PLAIN), place)
    trigger = carried.ledger["trigger"]
    assert trigger == 184_000  # of the window in its models.json
    usage = {"usage": {"input": int(trigger * share), "output": 20}}
    resume = [*arguments(kind_of(client).resume, model=MODEL), carried.session_id]
    runs = [
        harness.run_client(client, [*resume, prompt], script=[{"text": "ok", **usage}] * 3, **place.where)
        for prompt in (PROMPT, NEXT)
    ]
    bodies = [request["body"] for run in runs for request in run.requests]
    asked = [json.dumps(body["messages"][-1]) for body in bodies if not harness.offered_tools(body)]
    assert any("summary of the conversation so far" in words for words in asked) is compacts


@pytest.mark.parametrize(
    ("before", "whole"),
    [("words " * 6_000, True), ("words " * 6_900, False), ("\n" * 120, True), ("\n" * 210, False)],
    ids=["characters", "too many characters", "lines", "too many lines"],
)
@pytest.mark.client("codebuddy")
def test_it_reads_as_much_of_its_memory_as_the_warning_says(before: str, whole: bool, tmp_path: Path) -> None:
    place = make_place("codebuddy", tmp_path / "client")
    index = memory_folder(place.config, place.project) / "MEMORY.md"
    index.parent.mkdir(parents=True)
    index.write_text(f"- A note. {before}\n", encoding="utf-8")
    done = migrate(LONG, "codebuddy", into=place.project, home=place.config, form="memory")
    start = arguments(kind_of("codebuddy").start, model=MODEL)
    run = harness.run_client("codebuddy", [*start, PROMPT], **place.where)
    sent = json.dumps(harness.main_requests("codebuddy", run.requests)[0]["body"])
    assert "A note." in sent
    assert ("session-migrator:end" in sent) is whole
    assert any("may not see the block" in warning for warning in done.warnings) is not whole
