"""Damage of every kind to the files of real clients, and what must hold then.

The mutations work on lines and on the JSON in them, so that most of a file stays what a client wrote.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from places import FIXTURES, LONG

from session_migrator import agents, timestamps
from session_migrator.agents import AgentSpec, Capabilities
from session_migrator.comparison import difference
from session_migrator.errors import MigrationError, NoConversation
from session_migrator.jsondata import Record
from session_migrator.lowering import lower
from session_migrator.model import Compaction, Session, Text, Thinking, ToolResult

# The same examples in every run; no deadline, since the first example of a process loads tokenizers.
FIXED = settings(deadline=None, derandomize=True, database=None)

Lines = list[bytes]
Mutation = Callable[[st.DrawFn, Lines], Lines]

CODEX_FILES = sorted((FIXTURES / "codex").rglob("rollout-*.jsonl"))
CLAUDE_FILES = sorted(path for path in (FIXTURES / "claude-code").rglob("*.jsonl") if path.stat().st_size > 1000)
LISTED = {
    spec.id: sorted(
        Path(str(info.path)) for home in (FIXTURES / spec.id).iterdir() if home.is_dir() for info in spec.list(home)
    )
    for spec in agents.all_agents()
}
"""The recorded sessions of each agent."""
SOURCES = list(dict.fromkeys([
    *CODEX_FILES, FIXTURES / "codex" / "exec-json-0.171.0.jsonl", *CLAUDE_FILES,
    *(path for files in LISTED.values() for path in files if path.is_file()), LONG,
]))  # fmt: skip
WRITABLE = [spec for spec in agents.all_agents() if spec.write]


# --- mutations


def nested(depth: int) -> Any:
    """A list in a list in a list, each with a neighbour before it."""
    value: Any = "core"
    for _ in range(depth):
        value = [[], value]
    return value


_TOO_LARGE = "@too large a number@"  # stands for digits that json.dumps cannot write
VALUES: list[Any] = [
    None, True, 0, -1, 10**30, float("nan"), float("inf"), _TOO_LARGE, "", " ", "\0", "\ud83d", "\u2028", "x" * 20_000,
    [], [None], [[]], {}, {"a": None}, {"type": []}, nested(50), nested(400), "<system-reminder>a</system-reminder> b",
    "</image>", '{"output": "a"}', '{"a": NaN, "b": "\\ud83d"}', "[" * 300 + "]" * 300, "<synthetic>", "../../x",
    "a\0b/c", "/" + "d" * 5000,
]  # fmt: skip
TIMES: list[Any] = [
    None, "", "yesterday", -5, 0, 1e300, float("inf"), 1_772_442_000, 1_772_442_000_000, "1970-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00", "2031-05-06T07:08:09Z", "9999-12-31T23:59:59.999Z", "2026-03-02 09:00", [], "9" * 400,
]  # fmt: skip


def records(lines: Lines) -> list[Any]:
    """The lines as JSON values; None where one is none."""

    def parsed(line: bytes) -> Any:
        try:
            return json.loads(line)
        except (ValueError, RecursionError):
            return None

    return [parsed(line) for line in lines]


def dumped(record: Any) -> bytes:
    return json.dumps(record).replace(f'"{_TOO_LARGE}"', "1e999").encode("ascii")


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container inside of a value, with each of its keys."""
    if isinstance(value, (dict, list)):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def index(draw: st.DrawFn, lines: Lines) -> int:
    return draw(st.integers(0, max(0, len(lines) - 1)))


def doubled(draw: st.DrawFn, lines: Lines) -> Lines:
    line, at = lines[index(draw, lines)], index(draw, lines)
    return [*lines[:at], line, *lines[at:]]


def dropped(draw: st.DrawFn, lines: Lines) -> Lines:
    at = index(draw, lines)
    return lines[:at] + lines[at + draw(st.integers(1, 3)) :]


def swapped(draw: st.DrawFn, lines: Lines) -> Lines:
    one, other = index(draw, lines), index(draw, lines)
    lines = list(lines)
    lines[one], lines[other] = lines[other], lines[one]
    return lines


def reversed_(draw: st.DrawFn, lines: Lines) -> Lines:
    start, end = sorted((index(draw, lines), index(draw, lines)))
    return lines[:start] + lines[start:end][::-1] + lines[end:]


def spliced(draw: st.DrawFn, lines: Lines) -> Lines:
    other = draw(st.sampled_from(SOURCES)).read_bytes().splitlines()
    return lines[: index(draw, lines)] + other[index(draw, other) :]


def with_field(draw: st.DrawFn, lines: Lines) -> Lines:
    """A field replaced by any value, by what another line has there, or removed."""
    at = index(draw, lines)
    (record,) = records(lines[at : at + 1])
    found = list(places(record))
    if not found:
        return lines
    container, key = found[draw(st.integers(0, len(found) - 1))]
    choice = draw(st.sampled_from(["value", "copy", "remove"]))
    if choice == "value":
        container[key] = draw(st.sampled_from(VALUES))
    elif choice == "remove":
        del container[key]
    else:
        pool = [place[name] for other in records(lines) for place, name in places(other) if name == key]
        container[key] = pool[draw(st.integers(0, len(pool) - 1))]
    return [*lines[:at], dumped(record), *lines[at + 1 :]]


def with_link(draw: st.DrawFn, lines: Lines) -> Lines:
    """A parent that may be anywhere: cycles, the future, another branch."""
    every = records(lines)
    known = [number for number, record in enumerate(every) if isinstance(record, dict) and "uuid" in record]
    if not known:
        return lines
    at, to = draw(st.sampled_from(known)), draw(st.sampled_from(known))
    key = draw(st.sampled_from(["parentUuid", "logicalParentUuid", "uuid"]))
    return [*lines[:at], dumped({**every[at], key: every[to]["uuid"]}), *lines[at + 1 :]]


def with_time(draw: st.DrawFn, lines: Lines) -> Lines:
    at = index(draw, lines)
    (record,) = records(lines[at : at + 1])
    if not isinstance(record, dict):
        return lines
    stamp = draw(st.sampled_from(TIMES))
    record["timestamp"] = stamp
    if isinstance(record.get("payload"), dict) and "timestamp" in record["payload"]:
        record["payload"]["timestamp"] = stamp
    return [*lines[:at], dumped(record), *lines[at + 1 :]]


def with_bytes(draw: st.DrawFn, lines: Lines) -> Lines:
    """Bytes that are no text put into a line, or a line of NUL bytes."""
    at = index(draw, lines)
    if draw(st.booleans()):
        return [*lines[:at], b"\0" * draw(st.integers(1, 5000)), *lines[at:]]
    place = draw(st.integers(0, len(lines[at])))
    odd = draw(st.sampled_from([b"\xff\xfe", b"\xed\xa0\x80", b"\0\0", "\u2028".encode(), b"\r", b"\x1b[31m"]))
    return [*lines[:at], lines[at][:place] + odd + lines[at][place:], *lines[at + 1 :]]


def with_windows_endings(draw: st.DrawFn, lines: Lines) -> Lines:  # noqa: ARG001
    return [b"\xef\xbb\xbf" + lines[0] + b"\r", *(line + b"\r" for line in lines[1:])]


MUTATIONS: list[Mutation] = [
    doubled, dropped, swapped, reversed_, spliced, with_field, with_field, with_field, with_link, with_time, with_bytes,
    with_windows_endings,
]  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, bytes]:
    """A file's name and its bytes after up to four mutations, perhaps cut off somewhere."""
    path = draw(st.sampled_from(SOURCES))
    lines = path.read_bytes().splitlines()
    for mutation in draw(st.lists(st.sampled_from(MUTATIONS), min_size=1, max_size=4)):
        lines = mutation(draw, lines) if lines else lines
    data = b"\n".join((*lines, b""))
    return path.name, data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data


# --- what must hold


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "project").mkdir()
        yield Path(folder)


def attempt(read: Callable[[Path], Any], path: Path) -> Session | None:
    """What is read, or None where that is refused with a reason on one line and a remedy."""
    try:
        read_ = read(path)
    except MigrationError as error:
        assert str(error)
        assert "\n" not in str(error)
        assert error.remedy
        return None
    return read_ if isinstance(read_, Session) else read_.session


def assert_held(lowered: Session, capabilities: Capabilities) -> None:
    """A target with these capabilities can hold the session."""
    ids: list[str] = []
    latest = ""
    for number, message in enumerate(lowered.messages):
        assert message.parts
        assert message.origin != "injected"
        assert message.role != "system" or capabilities.system
        assert latest <= (message.timestamp or "") <= timestamps.now()
        latest = message.timestamp or ""
        assert not message.calls or message.role == "assistant"
        assert all(isinstance(call.arguments, dict) or not capabilities.object_arguments for call in message.calls)
        ids += [call.id for call in message.calls]
        asked = lowered.messages[number - 1].calls if number else ()
        assert [result.call_id for result in message.results] == [call.id for call in asked]
    assert not lowered.messages or not lowered.messages[-1].calls
    assert len(set(ids)) == len(ids)
    if lowered.messages and capabilities.first_role:
        assert lowered.messages[0].role == capabilities.first_role


def strictly(line: bytes) -> Record:
    """A line as a strict JSON reader takes it."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(line.decode("utf-8"), parse_constant=refuse)


def assert_carried(session: Session, folder: Path) -> None:
    """The session can be lowered, written for every agent and read back the same; where the agent has a form for it,
    its second half as what stands in for the whole, too."""
    for spec in WRITABLE:
        lowered, _ = lower(session, spec.capabilities)
        assert_held(lowered, spec.capabilities)
        assert lower(lowered, spec.capabilities)[0] == lowered
        if lowered.messages:
            assert_written(lowered, spec, folder)
        half, _ = lower(replace(session, messages=session.messages[len(session.messages) // 2 :]), spec.capabilities)
        if lowered.messages and half.messages and spec.capabilities.native_compaction:
            assert_written(replace(half, earlier=lowered.messages), spec, folder)


def assert_written(lowered: Session, spec: AgentSpec, folder: Path) -> None:
    assert spec.write is not None
    written = spec.write(lowered, folder / spec.id, folder / "project")
    for path in (path for path in map(Path, written.paths) if path.suffix == ".jsonl"):
        assert all(map(strictly, path.read_bytes().split(b"\n")[:-1]))
    try:
        found = spec.read(Path(written.places[0])).session
    except NoConversation:  # the target's own client would take every word for its own
        assert all(message.role in ("user", "system") for message in lowered.messages)
    else:
        assert difference(lowered.messages, found.messages) is None
        assert difference(lowered.earlier, found.earlier) is None


def all_text(session: Session) -> str:
    """Every word of a session, live or earlier."""
    found: list[str] = []
    for message in (*session.earlier, *session.messages):
        for part in message.parts:
            inner = part.parts if isinstance(part, ToolResult) else (part,)
            found += [piece.text for piece in inner if isinstance(piece, (Text, Thinking))]
            found += [piece.summary for piece in inner if isinstance(piece, Compaction)]
    return "\n".join(found)


# --- lines made by hand


def codex_lines(*payloads: Record, kind: str = "response_item") -> Iterator[bytes]:
    meta = {"id": "s", "timestamp": "2026-03-02T09:00:00Z", "cwd": "/p", "originator": "t", "cli_version": "0.98.0"}
    yield json.dumps({"type": "session_meta", "payload": meta}).encode()
    for payload in payloads:
        yield json.dumps({"timestamp": "2026-03-02T09:00:01Z", "type": kind, "payload": payload}).encode()


def codex_says(text: str, role: str = "user") -> Record:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def claude_line(uuid: str, parent: str | None, content: Any, kind: str = "user", **more: Any) -> bytes:
    message = {"role": kind, "content": content, **({"id": uuid} if kind == "assistant" else {})}
    record = {"type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": False, "message": message, **more}
    return json.dumps(record).encode()
