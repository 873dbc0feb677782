"""The MCP server in the real clients: each starts it from its own settings, its model calls the tools, and the session
that was handed off goes on in the other client."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import harness
import pytest
from going_on import NEWEST, Carried, Place, each, go_on, make_place, numbered, once
from kinds import arguments, kind_of
from places import ROOT

from session_migrator import agents
from session_migrator.pairing import INTERRUPTED

NAME = "session-migrator"
# The server of this checkout: Gemini CLI takes no PYTHONPATH for a server.
SERVER = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from session_migrator.server import main; main()"
TAKING = tuple(client for client in harness.CLIENTS if harness.VERSIONS[client].get("mcp", True))
"""The clients that take MCP servers."""
TOO_LONG = [{"role": ("user", "assistant")[n % 2], "content": f"Turn {n}. " + "And so on. " * 60} for n in range(61)]


def make_places(client: str, folder: Path) -> tuple[Place, Place]:
    """The client's place, and that of another agent's newest client: one home and project, a folder of its own."""
    place = make_place(client, folder)
    other = next(other for other in NEWEST if other != place.agent)
    return place, replace(place, client=other, config=folder / "other")


def start(place: Place, beside: bool = False) -> list[str]:
    """The arguments before the prompt of a new session that may call our tools."""
    kind = kind_of(place.client)
    begin = (kind.beside if beside else None) or kind.start
    return arguments([*begin, *kind.mcp], model=harness.VERSIONS[place.client]["model"], name=NAME)


def resume(place: Place, session_id: str) -> list[str]:
    """Those before the next prompt of a session."""
    kind = kind_of(place.client)
    model = harness.VERSIONS[place.client]["model"]
    return [*arguments([*kind.mcp, *kind.resume], model=model, name=NAME), session_id]


def ask(place: Place, other: Place, args: Sequence[str], steps: Sequence[dict[str, Any]], **env: str) -> harness.Run:
    """A run of the client with our server, whose model takes these steps and then says that it is done."""
    homes = {agents.get(at.agent).home_variable: str(at.config) for at in (place, other)}
    store = str(place.home.parent / "store")
    server = {
        "command": sys.executable,
        "args": ["-c", SERVER],
        "env": {"SESSION_MIGRATOR_HOME": store, **homes},
    }
    script = [*steps, {"text": "That is done."}]
    run = harness.run_client(place.client, args, script=script, servers={NAME: server}, env=env, **place.where)
    assert run.returncode == 0, run.stdout + run.stderr
    return run


def call(place: Place, tool: str, **arguments: Any) -> dict[str, Any]:
    """A step of the model: it says so, and calls one of our tools by the name that it has in the client."""
    kind = kind_of(place.client)
    step = {**kind.mcp_call(NAME, tool), "arguments": arguments}
    return {"text": f"I call {tool}.", "tools": [kind.through(step) if place.client in NEWEST else step]}


def answer(place: Place, run: harness.Run) -> dict[str, Any]:
    """What the last tool called gave the model."""
    *_, (_, kind, text, _) = harness.conversation(place.client, harness.main_requests(place.client, run.requests)[-1])
    assert kind == "result"
    found, _ = json.JSONDecoder().raw_decode(text[text.index("{") :])  # clients put words around it, or tell it twice
    (content,) = found["result"]["content"][-1:] if "result" in found else found.get("content", [found])
    return json.loads(content["text"]) if content.keys() == {"type", "text"} else found


@each(TAKING)
@pytest.mark.client(*NEWEST)
def test_a_client_has_a_conversation_sized_that_does_not_fit(client: str, tmp_path: Path) -> None:
    place, other = make_places(client, tmp_path / "client")
    order = {"messages_json": json.dumps(TOO_LONG), "source_model": "gpt-5.5", "target_model": "gpt-4"}
    steps = [call(place, "migrate_session", **order)]
    run = ask(place, other, [*start(place), "Size this."], steps, **kind_of(client).at_once)
    result = answer(place, run)
    assert result["decision"]["mode"] == "compress"
    assert result["tokens_before"] > result["decision"]["budget"] >= result["tokens_after"] > 2_000
    assert result["messages"] is None
    kept = json.loads(Path(result["messages_path"]).read_text("utf-8"))
    assert len(TOO_LONG) > len(kept) > 10
    assert kept[-5:] == TOO_LONG[-5:]
    assert [message for message in kept if message not in TOO_LONG and "recall" not in message["content"]] == []
    assert "The conversation below was carried over" in kept[0]["content"]


@each(TAKING)
@pytest.mark.client(*NEWEST)
def test_the_conversation_that_calls_handoff_goes_on_in_the_other_client(client: str, tmp_path: Path) -> None:
    """Though there is a younger session in the folder: the caller's own was said something in last."""
    place, other = make_places(client, tmp_path / "client")
    model, at_once = harness.VERSIONS[other.client]["model"], kind_of(client).at_once
    ask(place, other, [*start(place), "How large?"], [call(place, "model_context_window", model="gpt-4")], **at_once)
    spec = agents.get(place.agent)
    (own,) = spec.list(spec.locate(place.config))
    ask(place, other, [*start(place, beside=True), "Something else."], [])
    order = {"session": "latest", "target_agent": other.agent, "model": model}
    args = [*resume(place, own.id), "Continue this in the other one."]
    run = ask(place, other, args, [call(place, "handoff", **order)], **at_once)
    result = answer(place, run)
    assert (result["source"]["agent"], result["source"]["session_id"]) == (place.agent, own.id)
    assert result["mode"] == "direct"
    target = result["target"]
    command = shlex.split(target["resume"])
    assert command[:3] == ["cd", str(place.project), "&&"]
    assert target["session_id"] in command

    seen = harness.conversation(place.client, harness.main_requests(place.client, run.requests)[-1])
    *said, (_, _, _, call_id) = seen
    assert [value for _, kind, value, _ in said if kind == "text"] == [
        "How large?", "I call model_context_window.", "That is done.",
        "Continue this in the other one.", "I call handoff.",
    ]  # fmt: skip
    habits = kind_of(other.client)
    unfinished = ("tool", "result", habits.failed + INTERRUPTED, call_id)
    history = [*said, unfinished, *habits.at_the_end.get("tool", ())]
    if kind_of(place.client).late:
        history = once(said[:-1])
    history = list(map(kind_of(place.client).kept, history))
    if kind_of(place.client).numbered:
        history = numbered(history)
    go_on(other, Carried(done=result, history=history, model=model))


@each([client for client in NEWEST if kind_of(client).search])
@pytest.mark.client(*NEWEST)
def test_a_client_that_hides_tools_finds_handoff_by_what_a_user_would_say(client: str, tmp_path: Path) -> None:
    place, other = make_places(client, tmp_path / "client")
    words = "move this conversation to another agent"
    search = kind_of(client).search
    assert search
    run = ask(place, other, [*start(place), "Move it."], [{"tools": [call]} for call in search(words)])
    *hidden, found = ("returns the shell command that resumes it" in json.dumps(r["body"]) for r in run.requests)
    assert not any(hidden)
    assert found
