"""A session that is compressed in the agent's own form: its file holds all of it, and its client's model is sent the
compressed form alone. Once for each client whose agent has such a form."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import harness
from conversations import larger_than
from going_on import NEWEST, NEXT, PROMPT, Carried, Place, carry, each, go_on, make_place
from kinds import agent_of, arguments, kind_of
from places import LONG, asked

from session_migrator import Session, agents, read_session
from session_migrator.comparison import difference
from session_migrator.files import is_file
from session_migrator.lowering import lower
from session_migrator.model import Compaction, Text, ToolResult
from session_migrator.sequences import full_history

BUDGET = 4_000
ABLE = tuple(client for client in harness.CLIENTS if agents.get(agent_of(client)).capabilities.native_compaction)


def whole(place: Place) -> Session:
    """What the file must hold before its compaction."""
    return lower(read_session(LONG), agents.get(place.agent).capabilities)[0]


def carried_both_ways(place: Place, folder: Path) -> Carried:
    """The recorded session, compressed in the agent's own form. Its model must be sent what it would be without, where
    there is as much room less by what the client says itself."""
    question = asked(place.agent, harness.VERSIONS[place.client]["model"])
    plain = carry(LONG, make_place(place.client, folder), budget=BUDGET - question)
    carried = carry(LONG, place, budget=BUDGET, native=True)
    assert carried.done["mode"] == "compress"
    assert carried.history == plain.history
    assert carried.done["tokens_after"] == plain.done["tokens_after"] + question <= BUDGET
    return carried


@each(ABLE)
def test_the_model_is_sent_the_compressed_form_and_the_file_keeps_all(client: str, tmp_path: Path) -> None:
    place = make_place(client, tmp_path / "client")
    carried = carried_both_ways(place, tmp_path / "plain")
    body = json.dumps(go_on(place, carried), ensure_ascii=False)
    texts = [text for message in whole(place).messages for part in message.parts for text in _texts(part)]
    sent = json.dumps(carried.history, ensure_ascii=False)
    left_out = [text for text in texts if len(text) > 80 and _quoted(text) not in sent]
    assert len(left_out) > 10
    assert not [text for text in left_out if _quoted(text) in body]

    found = read_session(carried.path)
    assert difference(whole(place).messages, found.earlier) is None
    complete = full_history(found)
    assert difference(whole(place).messages, complete.messages[: len(found.earlier)]) is None
    turns = [message.text for message in complete.messages[len(found.earlier) :] if message.origin == "model"]
    assert list(filter(None, turns))[-2:] == ["step done", "all done"]
    assert len(complete.messages) - len(found.earlier) < 15


def _texts(part: object) -> list[str]:
    inner = part.parts if isinstance(part, ToolResult) else (part,)
    return [piece.text for piece in inner if isinstance(piece, Text)]


def _quoted(text: str) -> str:
    """As it stands within JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


@each([client for client in ABLE if client in NEWEST])
def test_when_the_client_compacts_itself_later_nothing_is_lost_and_nothing_stands_twice(
    client: str, tmp_path: Path
) -> None:
    place = make_place(client, tmp_path / "client")
    carried = carry(LONG, place, budget=BUDGET, native=True)
    full = {"input": carried.ledger["trigger"] + 10_000, "output": 20}
    # Asked for right away, or with the next prompt; one demands the tag.
    summary = {"match": "(?i)summary|snapshot", "text": "<state_snapshot>All in short.</state_snapshot>"}
    turns = [(PROMPT, [{"text": "step done", "usage": full}, summary]), (NEXT, [summary])]
    command = [*arguments(kind_of(client).resume, model=carried.model), carried.session_id]
    for prompt, script in turns:
        run = harness.run_client(client, [*command, prompt], script=script, model=carried.model, **place.where)
        assert run.returncode == 0, run.stderr
    found = read_session(carried.path)
    summaries = [part.summary for message in found.messages for part in message.parts if isinstance(part, Compaction)]
    assert [summary for summary in summaries if "All in short." in summary]
    complete = [message for message in full_history(found).messages if message.origin != "injected"]
    told = [message.text for message in complete]
    at = told.index(PROMPT)
    assert difference(whole(place).messages, complete[:at]) is None
    assert NEXT in [message.text for message in found.messages]
    assert [text for text in told[at:] if text in (PROMPT, "step done", NEXT, told[0])] == [PROMPT, "step done", NEXT]


@each(ABLE)
def test_the_client_lists_it_by_the_title_of_the_whole(client: str, tmp_path: Path) -> None:
    place = make_place(client, tmp_path / "client")
    carried = carry(LONG, place, budget=BUDGET, native=True)
    listed = harness.list_sessions(client, **place.where)
    title = read_session(carried.path).title
    assert title
    if rows := kind_of(client).rows:
        (row,) = re.finditer(rows, listed, re.DOTALL)
        shown = " ".join(row["title"].split())
        assert row["id"] == carried.session_id
        assert shown == title or (not shown and client not in NEWEST)  # an older one may show none
    else:
        assert listed.count(title.rstrip("…")[:70]) == 1


@each([client for client in ABLE if client in NEWEST])
def test_what_lies_before_the_compaction_does_not_count(client: str) -> None:
    """Neither the tokens of a whole that no model takes, nor the size of its file, make the client compact. The path
    is a short one: texts alone are counted to the token, so that a path longer than the measured one would show."""
    with tempfile.TemporaryDirectory() as folder:
        place = make_place(client, Path(folder).resolve() / "client")
        carried = carry(larger_than(2_000_000), place, window=200_000, native=True)  # every client here has that much
        assert next(filter(is_file, (carried.path, carried.path.parent))).stat().st_size > 7_000_000
        assert carried.done["mode"] == "compress"
        go_on(place, carried)
