"""The conversations that are carried into real clients: recorded ones, and the shapes no recording has."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from places import FIXTURES, LONG

from session_migrator import Session, agents, from_messages
from session_migrator.errors import MigrationError
from session_migrator.model import Image, Message, Text, ToolCall, ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A session, made where a scratch folder is needed for it, and how it is carried (``going_on.carry``)."""

    make: Callable[[Path], Path | Session]
    options: dict[str, Any] = field(default_factory=dict)


def _given(source: Path | Session, **options: Any) -> Case:
    return Case(make=lambda _: source, options=options)


# --- recorded --------------------------------------------------------------------------------------


def _recorded() -> Iterator[tuple[str, Case]]:
    """Every main session of the samples that holds a conversation; with its history before a compaction, too."""
    for spec in agents.all_agents():
        for home in sorted(path for path in (FIXTURES / spec.id).iterdir() if path.is_dir()):
            for info in spec.list(home):
                path = Path(str(info.path))
                try:
                    session = spec.read(path).session
                except MigrationError:
                    continue
                name = f"{spec.id} {home.name} {session.id[-4:]}"
                yield name, _given(path)
                if session.earlier:
                    yield f"{name} in full", _given(path, history="full")


# --- shapes ----------------------------------------------------------------------------------------

PLAIN = [
    {"role": "user", "content": "What is the capital of Norway?"},
    {"role": "assistant", "content": "Oslo."},
    {"role": "user", "content": "And of Japan? 日本の首都は?"},
    {"role": "assistant", "content": "東京 (Tōkyō) — 🗼"},
]
_FUNCTIONS = [("c1", "Read", {"path": "a"}), ("c2", "Bash", {"command": "false"}), ("c3", "Grep", {"pattern": "ü"})]
_PARALLEL = [
    {"role": "user", "content": "Look at three things at once."},
    {
        "role": "assistant", "content": "I look.",
        "tool_calls": [
            {"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}} for i, n, a in _FUNCTIONS
        ],
    },
    {"role": "tool", "tool_call_id": "c3", "content": "found ü"},
    {"role": "tool", "tool_call_id": "c1", "content": "first\nsecond"},
    {"role": "tool", "tool_call_id": "c2", "content": "Exit code 1"},
    {"role": "assistant", "content": "Two worked."},
]  # fmt: skip
LONG_PROMPT = "Here is a long plan.\n" + "".join(f"{step}. do step {step} of the plan\n" for step in range(1_500))


def _png(red: int) -> str:
    """A picture of 8 x 8 points as base64."""
    rows = b"".join(b"\0" + bytes((red, 80, 160)) * 8 for _ in range(8))
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    framed = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(framed)).decode()


def picture(red: int) -> Image:
    return Image(media_type="image/png", data=_png(red))


def _user(*parts: Text | Image) -> Message:
    return Message(role="user", parts=parts, origin="human")


def _turn(call: ToolCall, *parts: Text | Image, failed: bool = False) -> tuple[Message, Message]:
    """A call with its result."""
    result = ToolResult(call_id=call.id, parts=parts, is_error=failed)
    return Message(role="assistant", parts=(call,)), Message(role="tool", parts=(result,))


_DONE = Message(role="assistant", parts=(Text(text="Done."),))
_PATCH = "*** Begin Patch\n*** Update File: notes.txt\n@@\n-hello\n+hello, wörld\n*** End Patch\n"
_EDIT = {"file_path": "/p/notes.txt", "old_string": "hello\n", "new_string": 'hello "wörld"\n\ttab'}
_MESSAGES = {
    "errors": (
        _user(Text(text="Run the tests.")),
        *_turn(ToolCall(id="e1", name="Bash", arguments={"command": "make test"}), Text(text="2 failed"), failed=True),
        *_turn(ToolCall(id="e2", name="Bash", arguments={"command": "true"})),
        _DONE,
    ),
    "images": (
        _user(picture(10), Text(text="What is in this picture?")),
        *_turn(ToolCall(id="i1", name="Read", arguments={"file_path": "b.png"}), Text(text="b.png"), picture(20)),
        *_turn(ToolCall(id="i2", name="Read", arguments={"file_path": "c.png"}), picture(30)),
        *_turn(ToolCall(id="i3", name="Read", arguments={"file_path": "d.png"}), picture(40), failed=True),
        _DONE,
    ),
    "patch and edit": (
        _user(Text(text="Change the notes.")),
        *_turn(ToolCall(id="p1", name="apply_patch", arguments=_PATCH), Text(text="Success. Updated notes.txt")),
        *_turn(ToolCall(id="p2", name="Edit", arguments=_EDIT), Text(text="The file has been updated.")),
        _DONE,
    ),
}  # fmt: skip


def _turns(count: int, words: int = 0) -> list[dict[str, Any]]:
    """Turns of a question and an answer; ``words`` more in each answer."""
    filling = " and so on" * (words // 3)
    return [
        {"role": role, "content": f"{text} {number}{filling if role == 'assistant' else ''}"}
        for number in range(count)
        for role, text in (("user", "Question"), ("assistant", "Answer"))
    ]


def larger_than(limit: int) -> Session:
    """A session of 2,000 turns that takes more than ``limit`` tokens in any model."""
    return from_messages(_turns(2_000, words=limit // 2_000), title="A very long one")


def _chat(title: str | None, messages: list[dict[str, Any]]) -> Case:
    return _given(from_messages(messages, title=title))


def dated(stamp: str, title: str) -> Session:
    """A session of which all was said at one time."""
    plain = from_messages(PLAIN, title=title)
    told = tuple(replace(message, timestamp=stamp) for message in plain.messages)
    return replace(plain, messages=told, created_at=stamp, updated_at=stamp)


def _torn(path: Path, mark: str) -> Case:
    """A recorded session as a crash would leave it: its file ends within the line of a result."""

    def make(folder: Path) -> Path:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        last = max(number for number, line in enumerate(lines) if mark in line)
        torn = folder / path.name
        torn.write_text("".join([*lines[:last], lines[last][: len(lines[last]) // 2]]), encoding="utf-8")
        return torn

    return Case(make=make)


_CLAUDE_TOOLS = next((FIXTURES / "claude-code" / "2.1.332-tools-image-error-edit-resume-fork").rglob("076f4696-*"))

SHAPES: dict[str, Case] = {
    "example": _given(LONG),
    "example, compressed": _given(LONG, budget=3_000),
    "plain": _chat("The plain one", PLAIN),
    "parallel calls": _chat("The parallel one", _PARALLEL),
    **{
        name: _given(Session(id=name, agent="chat", messages=messages, title=f"The one with {name}"))
        for name, messages in _MESSAGES.items()
    },
    "long first prompt": _chat(None, [{"role": "user", "content": LONG_PROMPT}, *PLAIN[1:]]),
    "2,000 turns": _chat("The one of many turns", _turns(2_000)),
    "ends with the user": _chat("The unanswered one", PLAIN[:3]),
    "starts with the assistant": _chat("The greeting one", PLAIN[1:]),
    "long ago": _given(dated("2020-01-02T03:04:05.000Z", "The old one"), days=2),
    "torn codex file": _torn(LONG, '_call_output"'),
    "torn claude-code file": _torn(_CLAUDE_TOOLS, '"tool_result"'),
}
ALL: dict[str, Case] = {**SHAPES, **dict(_recorded())}
OTHERS = 3
"""From how many other agents a client is tried with a recorded session, where it is not from all of them."""
FEW = ("example", "example, compressed", "parallel calls", "images", "patch and edit", "long ago")
"""What an older client is tried with."""
FEWEST = ("example, compressed", "images", "long ago")
"""What one is tried with that takes long, the newest with its own recorded sessions."""


def recorded() -> dict[str, list[str]]:
    """The names of the recorded sessions, by agent."""
    names: dict[str, list[str]] = {name: [] for name in agents.AGENTS}
    for name in sorted(ALL.keys() - SHAPES.keys()):
        names[name.split()[0]].append(name)
    return names


def sample(agent: str) -> tuple[str, ...]:
    """Every shape, every recorded session of the agent's own, and one of each of those next to it in the registry, so
    that each agent's sessions go on in as many clients."""
    names = recorded()
    around = [*names, *names]
    near = around[around.index(agent) + 1 :][:OTHERS]
    return (*SHAPES, *names[agent], *(name for source in near for name in names[source][:1]))
