"""What Gemini CLI alone does with a session: when it compresses, what it deletes, and what it would leave out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import harness
import pytest
from conversations import ALL, PLAIN, dated
from going_on import NEXT, PROMPT, carry, each, make_place
from kinds import arguments, kind_of
from places import FIXTURES

from session_migrator import Session, agents, from_messages, timestamps
from session_migrator.agents.gemini.client import project_hash
from session_migrator.errors import WriteError
from session_migrator.lowering import USER_NOTE
from session_migrator.model import Message, Text, ToolCall, ToolResult
from session_migrator.target import inspect

MODEL = harness.VERSIONS["gemini"]["model"]
RESUME = arguments(kind_of("gemini").resume, model=MODEL)


@pytest.mark.parametrize("case", ["parallel calls", "images", "errors"])
@pytest.mark.client("gemini")
def test_each_result_is_sent_once_however_often_a_session_is_resumed(case: str, tmp_path: Path) -> None:
    """Not so with results beside their calls, as it stores its own: from the second resume on it sends those twice."""
    place = make_place("gemini", tmp_path / "client")
    carried = carry(ALL[case].make(tmp_path), place)
    said = list(carried.history)
    for number in range(3):
        prompt, answer = f"{PROMPT} {number}", f"answer {number}"
        run = harness.run_client(
            "gemini", [*RESUME, carried.session_id, prompt], script=[{"text": answer}], **place.where
        )
        said.append(("user", "text", prompt, None))
        (request,) = harness.main_requests("gemini", run.requests)
        assert harness.conversation("gemini", request) == said
        said.append(("assistant", "text", answer, None))


@each(("gemini", "gemini-older"))
def test_a_session_resumed_in_a_later_minute_is_there_at_the_next_starts(client: str, tmp_path: Path) -> None:
    """One that is named as the client names its own is deleted then: the minute of the resume gets a file of the same
    name, without a word in it, and both go (0.61.0)."""
    place = make_place(client, tmp_path / "client")
    carried = carry(from_messages(PLAIN), place, days=0.01)
    for prompt in (PROMPT, NEXT):
        harness.run_client(client, [*RESUME, carried.session_id, prompt], script=[{"text": "ok"}], **place.where)
    for _ in range(2):
        assert carried.session_id in harness.list_sessions(client, **place.where)
    said = agents.get("gemini").read(carried.path).session.messages
    assert [message.text for message in said[-4:]] == [PROMPT, "ok", NEXT, "ok"]


@pytest.mark.parametrize("words", [2_000, 8_000])
@pytest.mark.client("gemini")
def test_it_is_told_when_the_client_masks_older_results(words: int, tmp_path: Path) -> None:
    place = make_place("gemini", tmp_path / "client")
    calls = [ToolCall(id=f"c{number}", name="Read", arguments={"path": f"{number}.txt"}) for number in range(20)]
    result = Text(text="word " * words)
    turns = [
        message
        for call in calls
        for message in (
            Message(role="assistant", parts=(call,)),
            Message(role="tool", parts=(ToolResult(call_id=call.id, parts=(result,)),)),
        )
    ]
    asked, done = from_messages(PLAIN).messages[:2]
    carried = carry(Session(id="s", agent="chat", messages=(asked, *turns, done)), place)
    run = harness.run_client("gemini", [*RESUME, carried.session_id, PROMPT], script=[{"text": "Yes."}], **place.where)
    (request,) = harness.main_requests("gemini", run.requests)
    is_masked = "tool_output_masked" in json.dumps(request["body"])
    assert is_masked == (words == 8_000)
    assert is_masked == any("in the place of the others" in warning for warning in carried.done["warnings"])


@pytest.mark.client("gemini", "gemini-older")
@pytest.mark.parametrize("client", ["gemini", "gemini-older"])
def test_an_old_session_is_not_deleted(client: str, tmp_path: Path) -> None:
    place = make_place(client, tmp_path / "client")
    carried = carry(dated("2020-01-02T03:04:05.000Z", "The old one"), place)
    for _ in range(2):
        assert carried.session_id in harness.list_sessions(client, **place.where)
    assert carried.path.exists()


@pytest.mark.client("gemini")
def test_a_session_that_is_dated_as_it_was_would_be_deleted(tmp_path: Path) -> None:
    """What the test above would not see, if the client deleted nothing."""
    place = make_place("gemini", tmp_path / "client")
    carried = carry(from_messages(PLAIN), place)
    header, *lines = carried.path.read_text("utf-8").splitlines(keepends=True)
    dated = json.loads(header) | {"lastUpdated": "2020-01-02T03:04:05.000Z"}
    carried.path.write_text("".join([json.dumps(dated) + "\n", *lines]), encoding="utf-8")
    harness.run_client("gemini", [*kind_of("gemini").start, "Hello."], script=[{"text": "Yes."}], **place.where)
    assert not carried.path.exists()


@pytest.mark.client("gemini")
def test_it_takes_over_older_sessions_when_it_starts_and_then_a_migrated_one_stands_beside_them(tmp_path: Path) -> None:
    place = make_place("gemini", tmp_path / "client")
    older = next((FIXTURES / "gemini" / "0.25.0").rglob("session-*.json"))
    chats = place.config / ".gemini" / "tmp" / project_hash(str(place.project)) / "chats"
    chats.mkdir(parents=True)
    stamp = timestamps.now()
    data = re.sub(r'"lastUpdated": "[^"]*"', f'"lastUpdated": "{stamp}"', older.read_text("utf-8"))
    (chats / older.name).write_text(data, encoding="utf-8")
    with pytest.raises(WriteError):
        carry(from_messages(PLAIN), place)
    harness.run_client("gemini", [*kind_of("gemini").start, "Hello."], script=[{"text": "Yes."}], **place.where)
    carried = carry(from_messages(PLAIN), place)
    listed = harness.list_sessions("gemini", **place.where)
    assert carried.session_id in listed
    assert json.loads(data)["sessionId"] in listed


@pytest.mark.client("gemini")
def test_a_text_that_begins_as_a_command_reaches_the_model(tmp_path: Path) -> None:
    place = make_place("gemini", tmp_path / "client")
    messages = [{"role": "user", "content": "/srv/app fails"}, PLAIN[1], {"role": "user", "content": "?"}, PLAIN[3]]
    carried = carry(from_messages(messages), place)
    run = harness.run_client("gemini", [*RESUME, carried.session_id, PROMPT], script=[{"text": "ok"}], **place.where)
    (request,) = harness.main_requests("gemini", run.requests)
    said = [value for role, _, value, _ in harness.conversation("gemini", request) if role == "user"]
    assert said == [f"{USER_NOTE}\n/srv/app fails", f"{USER_NOTE}\n?", PROMPT]


@pytest.mark.parametrize(("share", "compresses"), [(0.97, False), (1.03, True)])
@pytest.mark.client("gemini")
def test_it_compresses_from_the_size_that_the_ledger_names(share: float, compresses: bool, tmp_path: Path) -> None:
    settings = json.dumps({"model": {"compressionThreshold": 0.05}})
    place = make_place("gemini", tmp_path / "client", {".gemini/settings.json": settings})
    spec = agents.get("gemini")
    home = spec.locate(place.config)
    trigger = inspect("gemini", model=MODEL, home=home, folder=place.project).trigger
    assert trigger == 52_428
    words = "word " * int(trigger * share * 4 / 5 / 10)  # it takes four ASCII characters for a token
    told = [{"role": role, "content": words} for _ in range(5) for role in ("user", "assistant")]
    assert spec.write
    session_id = spec.write(from_messages(told), home, place.project).session_id
    assert session_id
    script = [*[{"match": "state_snapshot", "text": "<state_snapshot>\nshort\n</state_snapshot>"}] * 2, {"text": "ok"}]
    run = harness.run_client("gemini", [*RESUME, session_id, PROMPT], script=script, **place.where)
    assert ("state_snapshot" in json.dumps([request["body"] for request in run.requests])) is compresses


@pytest.mark.client("gemini")
def test_it_moves_old_results_to_files_of_its_own_and_keeps_the_newest(tmp_path: Path) -> None:
    """As the README says of it: the session that was written holds them whole."""
    place = make_place("gemini", tmp_path / "client")
    told = [{"role": "user", "content": "Look at all of them."}]
    for number in range(12):  # 10,000 tokens each by its own estimate
        call = {"id": f"c{number}", "type": "function", "function": {"name": "Read", "arguments": "{}"}}
        told += [
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"{number} " + "word " * 8_000},
        ]
    carried = carry(from_messages([*told, {"role": "assistant", "content": "Done."}]), place)
    run = harness.run_client("gemini", [*RESUME, carried.session_id, PROMPT], script=[{"text": "ok"}], **place.where)
    (request,) = harness.main_requests("gemini", run.requests)
    sent = [value for _, kind, value, _ in harness.conversation("gemini", request) if kind == "result"]
    whole = [value for _, kind, value, _ in carried.history if kind == "result"]
    moved = [value.startswith("<tool_output_masked>") for value in sent]
    assert moved == [True] * 8 + [False] * 4
    assert sent[8:] == whole[8:]
