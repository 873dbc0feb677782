"""The proof that a migration goes on: its client resumes it, and what the model was sent is what the source said."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any
from unittest.mock import patch

import harness
import pytest
from kinds import Item, Kind, Setup, agent_of, arguments, kind_of

from session_migrator import Session, agents, migrate, read_session, timestamps, tokens
from session_migrator.lowering import lower
from session_migrator.model import Image, Message, Text, Thinking, ToolCall, ToolResult
from session_migrator.sequences import full_history
from session_migrator.target import inspect

PROMPT, NEXT = "Go on with the next step.", "And one more."
NEWEST = tuple(client for client in harness.CLIENTS if client == agent_of(client))
ODD_NAME = "my pröject v1.2 (東京)"


def each(clients: Sequence[str]) -> pytest.MarkDecorator:
    """The test once a client."""
    marked = [pytest.param(client, marks=pytest.mark.client(client)) for client in clients]
    return pytest.mark.parametrize("client", marked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a client runs: its HOME, its configuration folder, and the project."""

    client: str
    home: Path
    config: Path
    project: Path

    @property
    def where(self) -> dict[str, Path]:
        return {"home": self.home, "cwd": self.project, "config_dir": self.config}

    @property
    def agent(self) -> str:
        return agent_of(self.client)


def make_place(client: str, folder: Path, files: Mapping[str, str] | None = None) -> Place:
    """An empty home, and a project whose path has spaces, dots, brackets and CJK."""
    (folder / "home").mkdir(parents=True)
    project = harness.make_project(folder / ODD_NAME, files)
    place = Place(client=client, home=folder / "home", config=folder / kind_of(client).config, project=project)
    first_run = kind_of(client).first_run
    if first_run and client not in NEWEST:
        harness.run_client(client, first_run, **place.where)
    return place


def variables(resume: str, agent: str) -> dict[str, str]:
    """What a printed command puts into the client's environment besides its home."""
    words, spec = shlex.split(resume), agents.get(agent)
    given = dict(word.split("=", 1) for word in words[3 : words.index(spec.program)])
    return {name: value for name, value in given.items() if name != spec.home_variable}


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A migration as it is told in JSON, and the conversation that the client must send its model."""

    done: dict[str, Any]
    history: Sequence[Item] = field(repr=False)
    model: str

    @property
    def session_id(self) -> str:
        return self.done["target"]["session_id"]

    @property
    def path(self) -> Path:
        return Path(self.done["target"]["paths"][0])

    @property
    def ledger(self) -> dict[str, int]:
        """Tokens by name."""
        return {entry["name"]: entry["tokens"] for entry in self.done["decision"]["ledger"]}

    def variables(self, place: Place) -> dict[str, str]:
        """What the printed command puts into the client's environment besides its home."""
        return variables(self.done["target"]["resume"], place.agent)

    def forecast(self, prompt: str) -> int:
        """Tokens that the first request with this prompt takes at most."""
        said = tokens.counter(self.model).text(prompt).high
        return self.ledger["overhead"] + self.ledger["instructions"] + self.done["tokens_after"] + said


def carry(source: Path | Session, place: Place, model: str | None = None, days: float = 0, **options: Any) -> Carried:
    """Migrate a session into a place, so many days ago. What is expected of the client comes from the source; from
    what was written only where that was compressed."""
    model = model or harness.VERSIONS[place.client]["model"]
    spec, habits = agents.get(place.agent), kind_of(place.client)
    if habits.imports:
        habits.configure(Setup(client=place.client, home=place.home, cwd=place.project, config_dir=place.config))
    taken = harness.on_path(place.client, place.home, spec.home_variable) if habits.imports else nullcontext()
    then = datetime.now(UTC) - timedelta(days=days)
    with taken, patch.object(timestamps, "now", lambda: timestamps.render(then)):
        done = migrate(source, place.agent, model, into=place.project, home=place.config, form="session", **options)
    for path in filter(os.path.isfile, done.target["paths"]):
        os.utime(path, (then.timestamp(), then.timestamp()))
    if done.mode == "compress":
        session = spec.read(Path(done.target["paths"][0])).session
    else:
        session = source if isinstance(source, Session) else read_session(source)
        session = full_history(session) if options.get("history") == "full" else session
    target = inspect(place.agent, model=model, home=place.config, folder=place.project)
    assert target.capabilities
    lowered, _ = lower(session, target.capabilities)
    history = list(_sent(lowered.messages, habits))
    history = joined(history) if habits.joined else history
    history = numbered(history) if habits.numbered else history
    calls, results = ([call_id for _, kind, _, call_id in history if kind == wanted] for wanted in ("call", "result"))
    assert sorted(calls) == sorted(results)
    assert len(set(calls)) == len(calls)
    return Carried(done=done.to_dict(), history=history, model=model)


def numbered(history: Iterable[Item]) -> list[Item]:
    """A conversation with numbers for the ids of calls."""
    history = list(history)
    calls = [call_id for _, kind, _, call_id in history if kind == "call"]
    numbers = {call_id: f"#{number}" for number, call_id in enumerate(calls)}
    return [(role, kind, value, call_id and numbers[call_id]) for role, kind, value, call_id in history]


def known(history: Sequence[Item], request: harness.Request) -> list[Item]:
    """A conversation without the calls of tools that a request does not offer, and their results; the others' names
    in its spelling."""
    offered = (tool["function"]["name"] for tool in harness.offered_tools(request["body"]))
    names = {name.lower(): name for name in offered}
    kept = {call_id for _, kind, value, call_id in history if kind == "call" and value[0].lower() in names}
    return [
        (role, kind, (names[value[0].lower()], value[1]) if kind == "call" else value, call_id)
        for role, kind, value, call_id in history
        if call_id is None or call_id in kept
    ]


def joined(history: Iterable[Item]) -> list[Item]:
    """A conversation with the texts of each answer as one, before its calls."""
    told: list[Item] = []
    for is_models, run in groupby(history, key=lambda item: item[0] == "assistant"):
        items = list(run)
        texts = [value for _, kind, value, _ in items if kind == "text"] if is_models else []
        told += [("assistant", "text", "".join(texts), None)] if texts else []
        told += [item for item in items if not (texts and item[1] == "text")]
    return told


def paired(history: Iterable[Item]) -> list[Item]:
    """A conversation with every result right behind its call."""
    history = list(history)
    results = {
        call_id: [item for item in history if item[0] == "tool" and item[3] == call_id] for *_, call_id in history
    }
    return [
        moved
        for item in history
        if item[0] != "tool"
        for moved in (item, *(results[item[3]] if item[1] == "call" else ()))
    ]


def _sent(messages: Sequence[Message], habits: Kind) -> Iterator[Item]:
    """A conversation as the harness reads it from a request."""
    for message, following in zip(messages, [*messages[1:], None], strict=True):
        items = [item for part in message.parts for item in _items(message.role, part, None)]
        items = [item for item in items if not str(item[2]).startswith(habits.own)]
        is_followed = following and message.role == following.role == "user" and isinstance(following.parts[0], Text)
        if is_followed and items[-1][1] == "text":
            items[-1] = ("user", "text", items[-1][2] + habits.between, None)
        yield from items
    yield from habits.at_the_end.get(messages[-1].role, ())


def _items(role: str, part: Any, call_id: str | None) -> Iterator[Item]:
    match part:
        case Text():
            yield role, "text", part.text, None
        case Thinking():
            yield role, "thinking", part.text, None
        case Image():
            yield role, "image", part.data or part.location, call_id
        case ToolCall():
            yield role, "call", (part.name, part.arguments), part.id
        case ToolResult():
            text = "\n".join(inner.text for inner in part.parts if isinstance(inner, Text))
            yield "tool", "result", text, part.call_id
            for inner in part.parts:
                if isinstance(inner, Image):
                    yield from _items("tool", inner, part.call_id)


def go_on(place: Place, carried: Carried) -> dict[str, Any]:
    """Resume a session with two turns, one with a call, and check what the model was sent. Returns the first
    request's body."""
    habits = kind_of(place.client)
    env = carried.variables(place)
    command = [*arguments(habits.resume, model=carried.model), carried.session_id]
    read_session = agents.get(place.agent).read
    length = len(read_session(carried.path).session.messages)
    usage = {"usage": {"input": carried.forecast(PROMPT), "output": 20}}  # clients compact by what they are told here
    # Some lose what a command says that ends at once.
    told = {habits.argument: "printf 'done-%d' 0x2A; sleep 0.3", **habits.more}
    call = {"tools": [{"name": habits.tool, "arguments": told}], **usage}
    turns = ((PROMPT, [call, {"text": "step done", **usage}]), (NEXT, [{"text": "all done", **usage}]))
    runs = [
        harness.run_client(place.client, [*command, prompt], script=script, model=carried.model, env=env, **place.where)
        for prompt, script in turns
    ]
    assert [run.returncode for run in runs] == [0, 0], [run.stdout + run.stderr for run in runs]
    first = harness.main_requests(place.client, runs[0].requests)[0]
    read = paired if habits.apart and place.client not in NEWEST else list[Item]
    if any(str(call_id).startswith("#") for *_, call_id in carried.history):
        read = numbered
    history = read(carried.history)
    if habits.own_tools and place.client not in NEWEST:
        history = read(joined(known(history, first)))
    sent = list(habits.sent(history, 0))
    assert read(harness.conversation(place.client, first)) == [*sent, ("user", "text", PROMPT, None)]

    history = list(habits.sent(history, 1))
    items = read(harness.conversation(place.client, harness.main_requests(place.client, runs[1].requests)[0]))
    if habits.forget and history[-1] in [item for added in habits.at_the_end.values() for item in added]:
        history.pop()
    assert items[: len(history)] == history
    turn = items[len(history) :]
    turn = once(turn) if habits.repeat else turn
    kinds = [("user", "text"), ("assistant", "call"), ("tool", "result"), ("assistant", "text"), ("user", "text")]
    assert [(role, kind) for role, kind, _, _ in turn] == kinds
    assert [turn[0][2], turn[3][2], turn[4][2]] == [PROMPT, "step done", NEXT]
    assert "done-42" in turn[2][2]
    assert turn[1][3] == turn[2][3]

    assert len(read_session(carried.path).session.messages) > length
    assert carried.model in (named := harness.model_of(first), f"{carried.model.partition('/')[0]}/{named}")
    if place.client in NEWEST:  # what a client adds was measured with the newest
        assert size(first["body"], carried.model) <= carried.forecast(PROMPT)
    return first["body"]


def once(items: Sequence[Item]) -> list[Item]:
    """A conversation without what follows itself."""
    return [item for before, item in zip([None, *items], items, strict=False) if item != before]


# Where a request has its system prompt and its conversation, in any of the protocols.
_HOLD_TEXT = ("system", "instructions", "systemInstruction", "messages", "input", "contents")
_MESSAGES = ("messages", "input", "contents")
_SAY = ("text", "content", "parts", "name", "input", "arguments", "output", "thinking", "tool_calls", "function")
_TOOLS = ("functionCall", "functionResponse")


def size(body: dict[str, Any], model: str) -> int:
    """The upper end of the count of all texts and images in a request."""
    tools = [json.dumps(tool, ensure_ascii=False, separators=(",", ":")) for tool in harness.offered_tools(body)]
    texts = [text for key in _HOLD_TEXT for text in _texts(body.get(key))]
    counter = tokens.counter(model)
    pictures = sum(counter.part(Image(data=data)).high for data in _images([body.get(key) for key in _HOLD_TEXT]))
    return sum(counter.text(text).high for text in (*texts, *tools)) + pictures


def framing(body: dict[str, Any], model: str) -> int:
    """What surrounds the messages of the conversation in a request at least (tokens)."""
    told = [
        item for key in _MESSAGES for item in body.get(key) or () if item.get("role") not in ("system", "developer")
    ]
    return tokens.counter(model).frame[0] * len(told)


def _images(value: Any) -> Iterator[str]:
    """The base64 of all images in data that a client sends."""
    if isinstance(value, str):
        if value.startswith("data:image/"):
            yield value.partition(",")[2]
    elif isinstance(value, list):
        for item in value:
            yield from _images(item)
    elif isinstance(value, dict):
        encoded = value.get("data")
        if isinstance(encoded, str) and ("mimeType" in value or value.get("type") == "base64"):
            yield encoded
        for key, inner in value.items():
            yield from _images(inner) if key not in _SAY or not isinstance(inner, str) else ()


def _texts(value: Any) -> Iterator[str]:
    """All text of a request's body that a model reads: system prompt, tools, messages; no image's bytes."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict) and value.get("type") not in ("image", "input_image"):
        for key in (*_SAY, *_TOOLS):
            found = value.get(key)
            is_data = isinstance(found, dict) and key != "function"
            yield from [json.dumps(found, ensure_ascii=False)] if is_data else _texts(found)
