"""What pi alone does with a session: its picker, what it compacts by, and a session of its first version."""

from __future__ import annotations

import json
from pathlib import Path

import harness
import pytest
from conversations import ALL, PLAIN
from going_on import PROMPT, carry, each, make_place
from kinds import Setup, arguments, kind_of

from session_migrator import agents, from_messages, read_session
from session_migrator.model import FITTED, Message, Session, Text
from session_migrator.target import inspect

CLIENTS = ("pi", "pi-older")
MODEL = harness.VERSIONS["pi"]["model"]


@each(CLIENTS)
def test_its_picker_shows_the_title(client: str, tmp_path: Path) -> None:
    place = make_place(client, tmp_path / "client")
    carry(ALL["plain"].make(tmp_path), place)
    screen, _ = harness.interact(client, ["--resume"], [("The plain one", "")], **place.where)
    assert "Resume Session" in screen


@pytest.mark.parametrize(("over", "compacts"), [(0, False), (1, True)])
@each(CLIENTS)
def test_it_compacts_beyond_the_size_that_the_ledger_names(
    client: str, over: int, compacts: bool, tmp_path: Path
) -> None:
    """By the tokens that the last answer tells of, whatever follows it."""
    place = make_place(client, tmp_path / "client")
    spec, where = agents.get("pi"), {"home": place.config, "folder": place.project}
    kind_of(client).configure(Setup(client=client, home=place.home, cwd=place.project, config_dir=place.config))
    trigger = inspect("pi", model=MODEL, **where).trigger
    assert trigger == 400_000 - 16_384
    long = Message(role="user", parts=(Text(text="word " * 999),))
    told = (long, *from_messages(PLAIN).messages, long)
    session = Session(id="s", agent="x", messages=told, extra={FITTED: {"model": MODEL, "tokens": trigger + over}})
    assert spec.write
    session_id = spec.write(session, *where.values()).session_id
    assert session_id
    command = [*arguments(kind_of(client).resume, model=MODEL), session_id, PROMPT]
    run = harness.run_client(client, command, script=[{"match": "summar", "text": "All in short."}], **place.where)
    assert any("context summarization" in json.dumps(request["body"]) for request in run.requests) is compacts
    assert len(run.requests) == 1 + compacts


@each(CLIENTS)
def test_a_session_of_its_first_version_goes_on_as_it_is_read(client: str, tmp_path: Path) -> None:
    place = make_place(client, tmp_path / "client")
    carried = carry(ALL["parallel calls"].make(tmp_path), place)
    path = carried.path
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    path.write_text("".join(f"{json.dumps(_of_version_1(line))}\n" for line in lines), encoding="utf-8")
    before = read_session(path)
    command = [*arguments(kind_of(client).resume, model=MODEL), carried.session_id, PROMPT]
    run = harness.run_client(client, command, script=[{"text": "ok"}], **place.where)
    (request,) = harness.main_requests(client, run.requests)
    assert harness.conversation(client, request) == [*carried.history, ("user", "text", PROMPT, None)]
    after = read_session(path)
    assert [message.text for message in after.messages] == [*(each.text for each in before.messages), PROMPT, "ok"]


def _of_version_1(line: dict[str, object]) -> dict[str, object]:
    kept = {key: value for key, value in line.items() if key not in ("version", "parentId")}
    return kept if line["type"] == "session" else {key: value for key, value in kept.items() if key != "id"}
