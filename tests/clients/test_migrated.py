"""What a migration wrote goes on in the real client: listed, resumed by id, every message sent once and in
order, a second turn completed, and the first request within the forecast."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
import pytest
from places import LONG

from session_migrator import Session, agents, from_messages, migrate, read_session, tokens
from session_migrator.lowering import lower
from session_migrator.migration import Migration
from session_migrator.model import Image, Message, Text, Thinking, ToolCall, ToolResult, headline

ODD_NAME = "my pröject v1.2 (東京)"
PROMPT, NEXT = "Go on with the next step.", "And one more."


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """How a client goes on with a session: the arguments before the prompt, and the tool it is made to call."""

    resume: Sequence[str]
    tool: str
    argument: str
    model: str
    after_user: Sequence[harness.Item] = ()  # what it adds itself where a session ends with the user's words


CLIENTS = {
    "claude-code": Client(
        resume=["-p", "--allowedTools=Bash", "--resume"],
        tool="Bash",
        argument="command",
        model="claude-opus-5-5",
        after_user=[("assistant", "text", "No response requested.", None)],
    ),
    "codex": Client(resume=["exec", "resume"], tool="exec_command", argument="cmd", model="gpt-5.5"),
}
each_client = pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.client(name)) for name in CLIENTS])


@pytest.fixture
def odd_project(tmp_path: Path) -> Path:
    """A git repository whose path has spaces, dots, brackets and CJK."""
    return harness.make_project(tmp_path / "client" / ODD_NAME)


def told(messages: Sequence[Message]) -> Iterator[harness.Item]:
    """The items of a conversation as the harness reads them from a request."""
    for message in messages:
        for part in message.parts:
            yield from _items(message.role, part, None)


def _items(role: str, part: Any, call_id: str | None) -> Iterator[harness.Item]:
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


def texts_of(value: Any) -> Iterator[str]:
    """All text of a request's body that a model reads: system prompt, tools, messages; no image's bytes."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts_of(item)
    elif isinstance(value, dict) and value.get("type") not in ("image", "input_image"):
        for key in ("text", "content", "name", "input", "arguments", "output", "thinking"):
            found = value.get(key)
            yield from [json.dumps(found, ensure_ascii=False)] if isinstance(found, dict) else texts_of(found)


def size(body: dict[str, Any], model: str) -> int:
    """The upper end of the count of everything in a request."""
    tools = [json.dumps(tool, ensure_ascii=False, separators=(",", ":")) for tool in harness.offered_tools(body)]
    said = [
        *texts_of(body.get("system") or body.get("instructions") or ""),
        *texts_of(body.get("messages") or body["input"]),
    ]
    return tokens.counter(model).text("\n".join([*said, *tools])).high


def go_on(name: str, done: Migration, home: Path, project: Path, config: Path) -> None:
    """List the session, resume it with two turns, one with a call, and check what the model was sent."""
    client = CLIENTS[name]
    spec = agents.get(name)
    written = spec.read(Path(done.target["paths"][0])).session
    listed = harness.list_sessions(name, home=home, cwd=project, config_dir=config)
    title = written.title or headline(written.messages[0].text)
    assert title
    assert title[:30] in listed

    call = {"tools": [{"name": client.tool, "arguments": {client.argument: "echo done-$((40 + 2))"}}]}
    runs = [
        harness.run_client(
            name, [*client.resume, done.target["session_id"], prompt], home=home, cwd=project, config_dir=config,
            script=script, model=client.model,
        )
        for prompt, script in ((PROMPT, [call, {"text": "step done"}]), (NEXT, [{"text": "all done"}]))
    ]  # fmt: skip
    assert [run.returncode for run in runs] == [0, 0], runs[-1].stderr
    first = harness.main_requests(name, runs[0].requests, PROMPT)[0]
    history = list(told(written.messages))
    if written.messages[-1].role == "user":
        history += client.after_user
    assert harness.conversation(name, first) == [*history, ("user", "text", PROMPT, None)]
    last = harness.main_requests(name, runs[1].requests, NEXT)[0]
    items = harness.conversation(name, last)
    assert items[: len(history)] == history
    after = [(role, kind) for role, kind, _, _ in items[len(history) :]]
    assert after == [
        ("user", "text"),
        ("assistant", "call"),
        ("tool", "result"),
        ("assistant", "text"),
        ("user", "text"),
    ]
    assert "done-42" in next(value for _, kind, value, _ in items[len(history) :] if kind == "result")

    ledger = {entry.name: entry.tokens for entry in done.decision.ledger}
    counter = tokens.counter(client.model)
    forecast = ledger["overhead"] + ledger["instructions"] + done.tokens_after + counter.text(PROMPT).high
    assert size(first["body"], client.model) <= forecast


def carry(ref: Any, name: str, config: Path, project: Path, **options: Any) -> Migration:
    return migrate(ref, name, CLIENTS[name].model, into=project, home=config, **options)


@each_client
def test_the_recorded_codex_session_goes_on_as_it_is(name: str, home: Path, odd_project: Path, tmp_path: Path) -> None:
    config = tmp_path / "config"
    done = carry(LONG, name, config, odd_project)
    assert done.mode == "direct"
    source = read_session(LONG)
    lowered, _ = lower(source, agents.get(name).capabilities)
    written = agents.get(name).read(Path(done.target["paths"][0])).session
    assert list(told(written.messages)) == list(told(lowered.messages))
    assert any(len(message.calls) > 1 for message in lowered.messages)
    assert any(result.is_error for message in lowered.messages for result in message.results)
    go_on(name, done, home, odd_project, config)


@each_client
def test_the_recorded_codex_session_goes_on_compressed(
    name: str, home: Path, odd_project: Path, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    done = carry(LONG, name, config, odd_project, budget=3_000)
    assert done.mode == "compress"
    assert done.tokens_after <= 3_000 < done.tokens_before
    go_on(name, done, home, odd_project, config)


PLAIN = [
    {"role": "user", "content": "What is the capital of Norway?"},
    {"role": "assistant", "content": "Oslo."},
    {"role": "user", "content": "And of Japan? 日本の首都は?"},
    {"role": "assistant", "content": "東京 (Tōkyō) — 🗼"},
]
FUNCTIONS = [("c1", "Read", {"path": "a"}), ("c2", "Bash", {"command": "false"}), ("c3", "Grep", {"pattern": "ü"})]
PARALLEL = [
    {"role": "user", "content": "Look at three things at once."},
    {
        "role": "assistant", "content": "I look.",
        "tool_calls": [
            {"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}} for i, n, a in FUNCTIONS
        ],
    },
    {"role": "tool", "tool_call_id": "c3", "content": "found ü"},
    {"role": "tool", "tool_call_id": "c1", "content": "first\nsecond"},
    {"role": "tool", "tool_call_id": "c2", "content": "Exit code 1"},
    {"role": "assistant", "content": "Two worked."},
]  # fmt: skip
LONG_PROMPT = "Here is a long plan.\n" + "".join(f"{step}. do step {step} of the plan\n" for step in range(1_500))
SHAPES = {
    "long first prompt": [{"role": "user", "content": LONG_PROMPT}, *PLAIN[1:]],
    "plain": PLAIN,
    "parallel": PARALLEL,
    "ends with the user": PLAIN[:3],
    "starts with the assistant": PLAIN[1:],
}


@each_client
@pytest.mark.parametrize("shape", SHAPES)
def test_a_conversation_of_chat_messages_goes_on(
    name: str, shape: str, home: Path, odd_project: Path, tmp_path: Path
) -> None:
    session: Session = from_messages(SHAPES[shape], title=f"The {shape} one")
    config = tmp_path / "config"
    go_on(name, carry(session, name, config, odd_project), home, odd_project, config)
