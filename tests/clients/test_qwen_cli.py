"""What Qwen Code alone does with a session: when it compresses, what it clears, and how it lists."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import harness
import pytest
from conversations import ALL, PLAIN
from going_on import PROMPT, carry, each, make_place
from kinds import arguments, kind_of
from places import LONG

from session_migrator import agents, from_messages, read_session
from session_migrator.agents.jsonl import dump
from session_migrator.model import FITTED, Image
from session_migrator.target import inspect

CLIENTS = ("qwen", "qwen-older")
MODEL = harness.VERSIONS["qwen"]["model"]
RESUME = arguments(kind_of("qwen").resume, model=MODEL)
_IMAGES = ALL["images"].make(Path())
PICTURE = next(part for message in _IMAGES.messages for part in message.parts if isinstance(part, Image))
CLEARED = "[Old tool result content cleared]"


@pytest.mark.client("qwen")
def test_it_lists_ids_and_titles(tmp_path: Path) -> None:
    place = make_place("qwen", tmp_path / "client")
    carried = [carry(source, place) for source in (LONG, ALL["plain"].make(tmp_path))]
    titles = {one.session_id: read_session(one.path).title for one in carried}
    rows = harness.list_sessions("qwen", **place.where).splitlines()
    assert dict(row.split(" ", 1) for row in rows) == titles


@each(CLIENTS)
def test_a_title_is_taken_for_an_id(client: str, tmp_path: Path) -> None:
    place = make_place(client, tmp_path / "client")
    carried = carry(ALL["plain"].make(tmp_path), place)
    command = [*arguments(kind_of(client).resume, model=MODEL), "The plain one", PROMPT]
    run = harness.run_client(client, command, script=[{"text": "ok"}], **place.where)
    (request,) = harness.main_requests(client, run.requests, PROMPT)
    assert harness.conversation(client, request) == [*carried.history, ("user", "text", PROMPT, None)]


@pytest.mark.parametrize(("short_of", "compresses"), [(300, False), (0, True)])
@pytest.mark.parametrize(("share", "expected"), [(None, 231_200), (0.5, 136_000)])
@pytest.mark.client("qwen")
def test_it_compresses_from_the_size_that_the_ledger_names(
    share: float | None, expected: int, short_of: int, compresses: bool, tmp_path: Path
) -> None:
    """By the tokens that the last answer's record tells of, with the prompt and the reminders beside it."""
    settings = {"context": {"autoCompactThreshold": share}} if share else {}
    place = make_place("qwen", tmp_path / "client", {".qwen/settings.json": json.dumps(settings)})
    trigger = inspect("qwen", model=MODEL, home=place.config, folder=place.project).trigger
    assert trigger == expected
    session = replace(from_messages(PLAIN), extra={FITTED: {"model": MODEL, "tokens": trigger - short_of}})
    spec = agents.get("qwen")
    assert spec.write
    session_id = spec.write(session, place.config, place.project).session_id
    script = [{"match": "state_snapshot", "text": "<state_snapshot>short</state_snapshot>"}, {"text": "ok"}]
    run = harness.run_client("qwen", [*RESUME, str(session_id), PROMPT], script=script, **place.where)
    sent = json.dumps([request["body"] for request in run.requests if not kind_of("qwen").aside(request["body"])])
    assert ("state_snapshot" in sent) is compresses


def looks(count: int, name: str, words: str) -> list[dict[str, Any]]:
    """A turn of so many calls of a tool, one after the other, with these words in each result."""
    told: list[dict[str, Any]] = [{"role": "user", "content": "Look at all of them."}]
    for number in range(count):
        call = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        told += [
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"{number} {words}"},
        ]
    return [*told, {"role": "assistant", "content": "Done."}]


@pytest.mark.parametrize(("name", "cleared"), [("read_file", 7), ("Read", 0)])
@pytest.mark.client("qwen")
def test_it_clears_old_results_of_tools_that_are_named_as_its_own(name: str, cleared: int, tmp_path: Path) -> None:
    """As the README says of it: the session that was written holds them whole."""
    place = make_place("qwen", tmp_path / "client")
    carried = carry(from_messages(looks(12, name, "word " * 10_000)), place)  # 600,000 characters in all
    run = harness.run_client("qwen", [*RESUME, carried.session_id, PROMPT], script=[{"text": "ok"}], **place.where)
    (request,) = harness.main_requests("qwen", run.requests)
    sent = [value for _, kind, value, _ in harness.conversation("qwen", request) if kind == "result"]
    whole = [value for _, kind, value, _ in carried.history if kind == "result"]
    assert sent == [*[CLEARED] * cleared, *whole[cleared:]]


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.client("qwen")
def test_of_many_pictures_it_sends_the_newest_and_goes_on_with_the_rest(within: bool, tmp_path: Path) -> None:
    """Not so with pictures within results, as it stores those of its own tools: from 20 on it compresses first."""
    place = make_place("qwen", tmp_path / "client")
    plain = from_messages(looks(24, "Read", "a.png"))
    session = replace(plain, messages=[
        replace(message, parts=tuple(replace(part, parts=(*part.parts, PICTURE)) for part in message.results))
        if message.results else message
        for message in plain.messages
    ])  # fmt: skip
    carried = carry(session, place)
    records = [json.loads(line) for line in carried.path.read_bytes().splitlines()]
    for record in records if within else ():
        if record["type"] == "tool_result":
            response, picture = record["message"]["parts"]
            response["functionResponse"]["parts"] = [picture]
            record["message"]["parts"] = [response]
    carried.path.write_bytes(b"".join(map(dump, records)))
    run = harness.run_client("qwen", [*RESUME, carried.session_id, PROMPT], script=[{"text": "ok"}], **place.where)
    assert ("state_snapshot" in json.dumps(run.requests[0]["body"])) is within
    if within:
        return
    sent = harness.conversation("qwen", harness.main_requests("qwen", run.requests)[0])
    assert sum(str(value).startswith("[Image #") for _, _, value, _ in sent) == 24
    assert [value for _, kind, value, _ in sent if kind == "image"] == [PICTURE.data]
    told = [item for item in sent if item[1] != "image" and not str(item[2]).startswith(("[Image #", "Images read"))]
    history = [item for item in carried.history if item[1] != "image"]
    assert told == [*history, ("user", "text", PROMPT, None)]
