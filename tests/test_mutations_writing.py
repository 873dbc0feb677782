"""Whatever can be read can be written; whatever fails leaves nothing; and nobody's names break anything."""

from __future__ import annotations

import errno
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import strategies
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mutations import (
    CLAUDE_FILES,
    CODEX_FILES,
    FIXED,
    TIMES,
    WRITABLE,
    assert_carried,
    assert_held,
    codex_lines,
    codex_says,
    scratch,
)
from places import LONG, MODELS, content, environment

from session_migrator import agents, list_sessions, migrate, read_session, timestamps, tokens
from session_migrator.agents import AgentSpec
from session_migrator.compressors import TruncationCompressor
from session_migrator.errors import MigrationError, ReadError, Refused, WriteError
from session_migrator.lowering import lower
from session_migrator.model import Message, Session, Text, ToolCall, ToolResult

# --- writing


@settings(FIXED, max_examples=120)
@given(session=strategies.sessions | strategies.closed_sessions())
def test_any_session_that_is_written_reads_back_the_same_in_every_agent(session: Session) -> None:
    with scratch() as folder:
        assert_carried(session, folder)


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
CLIENT_WORDS = [
    "Why does <system-reminder>be brief</system-reminder> stand there?", "a\n\n<system-reminder>b", "</image>",
    "<image name=[Image #1]>", '{"output": "x"}', '{"output": "x", "metadata": {"exit_code": 1}}', "[error]", "aborted",
    "Exit code: 3", "<environment_context>\n<cwd>/x</cwd></environment_context>", "# AGENTS.md instructions for /p",
    "<turn_aborted>", "Another language model started to solve this problem", "[Request interrupted by user]",
    "<command-name>/clear</command-name>", "<bash-input>ls</bash-input>", "Caveat: The messages below", "\ufeff",
    "\x85", "a\u2028b\u2029c", "\r\n", "\0", "null", "<permissions instructions>", "<x>",
]  # fmt: skip


@pytest.mark.parametrize("words", CLIENT_WORDS)
def test_words_that_clients_use_for_themselves_are_carried_like_any_others(words: str) -> None:
    from session_migrator.model import Image

    image = Image(media_type="image/png", data=PIXEL)
    call = ToolCall(id="c", name="Bash", arguments={"command": words})
    told = (
        Message(role="user", parts=(Text(text="Go."), image, Text(text=words), image)),
        Message(role="assistant", parts=(Text(text=words), call)),
        Message(role="tool", parts=(ToolResult(call_id="c", parts=(Text(text=words),)),)),
        Message(role="system", parts=(Text(text=words),)),
        Message(role="assistant", parts=(Text(text="Done."),)),
        Message(role="user", parts=(Text(text=words),)),
    )
    with scratch() as folder:
        assert_carried(Session(id="s", agent="test", messages=told, title=words, cwd=words), folder)


@pytest.mark.parametrize("moment", [stamp for stamp in map(timestamps.parse, TIMES) if stamp])
@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
def test_a_session_of_any_time_can_be_written_in_any_zone(
    moment: str, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    told = (Message(role="user", parts=(Text(text="go"),), timestamp=moment),)
    with scratch() as folder:
        assert_carried(Session(id="s", agent="test", messages=told, created_at=moment, updated_at=moment), folder)
    monkeypatch.undo()
    time.tzset()


# --- compression


@st.composite
def long_sessions(draw: st.DrawFn) -> Session:
    """Some ten thousand tokens in messages of very different sizes, with calls and results."""
    told: list[Message] = []
    for number in range(draw(st.integers(1, 12))):
        sizes = draw(st.lists(st.sampled_from([0, 1, 20, 300, 2_500]), min_size=3, max_size=3))
        asked, output, answer = (draw(st.sampled_from(["word ", "日本 ", "{}[]();"])) * size for size in sizes)
        call_id = draw(st.sampled_from(["same", f"call-{number}"]))
        told.append(Message(role="user", parts=(Text(text=asked),), origin="human"))
        if draw(st.booleans()):
            told.append(Message(role="assistant", parts=(ToolCall(id=call_id, name="Bash", arguments={"a": asked}),)))
            told.append(Message(role="tool", parts=(ToolResult(call_id=call_id, parts=(Text(text=output),)),)))
        told.append(Message(role="assistant", parts=(Text(text=answer),), origin="model"))
    return Session(id=draw(st.sampled_from(["s", "s" * 300])), agent="test", messages=tuple(told))


@settings(FIXED, max_examples=60)
@given(session=long_sessions(), budget=st.integers(2_000, 30_000), spec=st.sampled_from(WRITABLE))
def test_a_compressed_session_keeps_its_budget_its_pairs_and_its_end(
    session: Session, budget: int, spec: AgentSpec
) -> None:
    counter = tokens.counter(MODELS[spec.id])
    lowered, _ = lower(session, spec.capabilities)
    assume(lowered.messages)
    try:
        compressed = TruncationCompressor().compress(lowered, budget, counter)
    except Refused:
        newest = [message for message in lowered.messages[-2:] if message.role != "user"]
        assert counter.session(replace(lowered, messages=tuple(newest) or lowered.messages[-1:])).high > budget // 2
        return
    assert counter.session(compressed.session).high <= budget
    assert_held(lower(compressed.session, spec.capabilities)[0], spec.capabilities)
    if not compressed.elided:
        assert compressed.session == lowered
        return
    note, *kept = compressed.session.messages
    assert note.origin == "summary"
    assert (*compressed.elided, *kept) == tuple(lowered.messages)
    assert not compressed.elided[-1].calls


# --- migrating


@pytest.mark.parametrize("to", [spec.id for spec in WRITABLE])
@pytest.mark.parametrize("path", [LONG, CODEX_FILES[0], CLAUDE_FILES[-1]], ids=["long", "codex", "claude-code"])
def test_a_source_has_the_same_bytes_after_it_was_migrated_into_its_own_home(
    path: Path, to: str, tmp_path: Path, project: Path
) -> None:
    home = tmp_path / "home-of-both"
    source = home / "sessions" / path.name
    source.parent.mkdir(parents=True)
    source.write_bytes(path.read_bytes())
    before = source.read_bytes(), source.stat().st_mtime_ns
    done = migrate(source, to, model=MODELS[to], into=project, home=home, form="session")
    assert Path(done.target["paths"][0]) != source
    assert (source.read_bytes(), source.stat().st_mtime_ns) == before


class Failing:
    """A function of the system's that fails at one call, or from one on, and counts its calls."""

    def __init__(self, real: Callable[..., Any], at: int, *, lasting: bool, error: BaseException) -> None:
        self.real, self.at, self.lasting, self.error = real, at, lasting, error
        self.calls = 0

    def __call__(self, *args: Any, **options: Any) -> Any:
        self.calls += 1
        if self.calls == self.at or (self.lasting and self.calls > self.at):
            raise self.error
        return self.real(*args, **options)


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: content(path) for path in folder.rglob("*") if path.is_file()}


INDEXES = {
    "none": None,
    "whole": b'{"id": "x", "thread_name": "y"}\n',
    "torn": b'{"id": "x", "thread_name": "y"}\n{"id": "z"',
    "windows": b'\xef\xbb\xbf{"id": "x"}\r\n\0\0\r{"id": "z"}\r\n',
}
FAILURES: list[BaseException] = [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()]


@pytest.mark.parametrize("index_before", INDEXES)
@pytest.mark.parametrize("to", [spec.id for spec in WRITABLE])
@pytest.mark.parametrize("function", ["fsync", "link"])
@pytest.mark.parametrize("error", FAILURES, ids=["full", "interrupted"])
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "lasting"])
def test_a_migration_that_fails_at_any_point_leaves_the_targets_home_as_it_was(
    index_before: str, to: str, function: str, error: BaseException, lasting: bool, tmp_path: Path, project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    home = tmp_path / "target"
    home.mkdir()
    if content := INDEXES[index_before]:
        (home / "session_index.jsonl").write_bytes(content)
    before = contents(home)
    session = replace(read_session(CODEX_FILES[0]), title="A title")
    migrate(
        session, to, model=MODELS[to], into=project, home=tmp_path / "another", form="session"
    )  # so that the store is there
    real = getattr(os, function)
    for at in itertools.count(1):
        failing = Failing(real, at, lasting=lasting, error=error)
        monkeypatch.setattr(os, function, failing)
        try:
            migrate(session, to, model=MODELS[to], into=project, home=home, form="session")
        except (MigrationError, KeyboardInterrupt):
            assert contents(home) == before, f"failed at call {at}"
        monkeypatch.setattr(os, function, real)
        if failing.calls < at:
            break
    assert at > 1
    assert len(contents(home)) > len(before)


@pytest.mark.parametrize("index_before", INDEXES)
@pytest.mark.parametrize("to", [spec.id for spec in WRITABLE])
@pytest.mark.parametrize(
    "error", [ReadError("it is gone", "look for it"), OSError(errno.EIO, "I/O"), KeyboardInterrupt()]
)
def test_a_migration_whose_result_cannot_be_read_back_leaves_nothing(
    index_before: str, to: str, error: BaseException, tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(path: Path) -> Any:  # noqa: ARG001
        raise error

    home = tmp_path / "target"
    home.mkdir()
    if content := INDEXES[index_before]:
        (home / "session_index.jsonl").write_bytes(content)
    before = contents(home)
    session = replace(read_session(CODEX_FILES[0]), title="A title")
    get = agents.get
    monkeypatch.setattr(agents, "get", lambda agent: replace(get(agent), read=fails))
    with pytest.raises((WriteError, OSError, KeyboardInterrupt)):
        migrate(session, to, model=MODELS[to], into=project, home=home, form="session")
    assert contents(home) == before


# --- names and folders nobody means well with


@pytest.mark.parametrize(
    "ref", ["a" * 300, "~nobody-of-this-name", "~nobody/x.jsonl", "a\0b", "x/" * 3000, "\udcff", "é\n"]
)
def test_what_cannot_be_a_file_is_refused_like_any_name_that_is_not_known(ref: str) -> None:
    with pytest.raises(MigrationError):
        read_session(ref)


@pytest.mark.parametrize(
    "cwd", ["a\0b", "/" + "d" * 5000, "relative", ".", "~", "", "/etc/passwd", "/no\nfolder", 5, []]
)
def test_a_session_with_an_impossible_folder_hides_nothing_and_needs_one_named(
    cwd: Any, tmp_path: Path, project: Path
) -> None:
    path = tmp_path / "sessions" / "rollout-x.jsonl"
    path.parent.mkdir()
    meta, *lines = codex_lines(codex_says("go"))
    header = json.loads(meta)
    header["payload"]["cwd"] = cwd
    path.write_bytes(b"\n".join((json.dumps(header).encode(), *lines, b"")))
    assert list(list_sessions("codex", project, tmp_path)) == []
    assert len(list(list_sessions("codex", home=tmp_path))) == 1
    with pytest.raises(MigrationError, match="folder"):
        migrate(path, "codex", model="gpt-5.5", home=tmp_path / "target")
    assert migrate(path, "codex", model="gpt-5.5", into=project, home=tmp_path / "target").mode == "direct"


def test_what_is_no_file_in_a_home_is_passed_over(tmp_path: Path) -> None:
    whole = CODEX_FILES[0]
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / whole.name).write_bytes(whole.read_bytes())
    os.mkfifo(folder / "rollout-pipe.jsonl")
    os.mkfifo(folder / "rollout-pipe.json")
    (folder / "rollout-folder.jsonl").mkdir()
    (folder / "rollout-nowhere.jsonl").symlink_to(tmp_path / "nowhere")
    (tmp_path / "state_5.sqlite").symlink_to(tmp_path / "nowhere")
    (tmp_path / "state_6.sqlite").mkdir()
    (tmp_path / "session_index.jsonl").mkdir()
    assert [row.path for row in list_sessions("codex", home=tmp_path)] == [str(folder / whole.name)]


def run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """The command line; from a folder that is gone where ``cwd`` is none."""
    command = [sys.executable, "-m", "session_migrator.cli", *map(str, arguments)]
    there = cwd if cwd.is_dir() else None
    gone = (lambda: (cwd.mkdir(), os.chdir(cwd), cwd.rmdir())) if there is None else None
    env = environment()
    return subprocess.run(command, capture_output=True, cwd=there, env=env, check=False, preexec_fn=gone)


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (3, ["show", "a" * 300]),
        (3, ["show", "~nobody-of-this-name"]),
        (1, ["show", "/dev/zero"]),
        (2, ["migrate", LONG, "--to", "codex", "--budget", "many"]),
        (2, ["migrate", LONG, "--to", "nobody"]),
        (2, ["migrate", LONG, "--to", "codex", "--into", "~nobody-of-this-name"]),
        (2, ["migrate", LONG, "--to", "codex", "--into", "/" + "d" * 300]),
        (2, ["list", "--limit", "0"]),
        (2, ["no-such-command"]),
    ],
)
def test_the_command_line_answers_any_nonsense_in_two_lines(
    code: int, arguments: list[str | Path], tmp_path: Path
) -> None:
    done = run(*arguments, cwd=tmp_path)
    error, remedy = done.stderr.splitlines()
    assert (done.returncode, done.stdout, error[:7], remedy[:5]) == (code, b"", b"error: ", b"try: ")


@pytest.mark.parametrize("arguments", [["list"], ["show", "latest"], ["decide", LONG, "--to", "codex"]])
def test_the_command_line_says_so_where_the_current_folder_is_gone(arguments: list[str | Path], tmp_path: Path) -> None:
    done = run(*arguments, cwd=tmp_path / "gone")
    assert b"Traceback" not in done.stderr
    assert done.returncode == 0 or done.stderr.startswith(b"error: ")


def test_the_longest_list_is_no_error(tmp_path: Path) -> None:
    assert run("list", "--all", "--limit", "9" * 30, cwd=tmp_path).returncode == 0


def test_names_in_a_session_cannot_steer_the_terminal(tmp_path: Path, project: Path) -> None:
    path = tmp_path / "sessions" / "rollout-x.jsonl"
    path.parent.mkdir()
    evil = "\x07\x1b]0;title\x07\nx"
    meta, *lines = codex_lines(codex_says("go"), {"type": evil})
    header = json.loads(meta)
    header["payload"]["id"] = evil
    path.write_bytes(b"\n".join((json.dumps(header).encode(), *lines, b"")))
    into = ["--to", "claude-code", "--into", project, "--home", tmp_path / "claude"]
    for arguments in (["show", path], ["migrate", path, *into], ["list", "--all", "--from-home", tmp_path]):
        done = run(*arguments, cwd=tmp_path)
        assert done.returncode == 0
        assert b"\x07" not in done.stdout + done.stderr
    model = run("decide", path, "--model", evil, "--window", "9000", cwd=tmp_path)
    assert b"\x07" not in model.stdout
