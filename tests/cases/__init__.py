"""The cases: small hostile inputs of the agents, and how the tests read, list and carry them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from places import MODELS

from session_migrator import Message, Session, migrate, read_session
from session_migrator.migration import Migration
from session_migrator.model import Part, Text, Thinking, ToolCall, ToolResult

CASES = Path(__file__).parent
ROOT = CASES.parents[1]
MODEL = MODELS["claude-code"]


def case(number: str, name: str = "*.jsonl") -> Path:
    """The one file of a case that has the name."""
    (folder,) = CASES.glob(f"{number}-*")
    (path,) = folder.glob(name)
    return path


def codex_home(tmp_path: Path, *rollouts: Path) -> Path:
    """A Codex home that holds copies of the rollouts."""
    folder = tmp_path / "codex-home" / "sessions" / "2026" / "03" / "02"
    folder.mkdir(parents=True)
    for path in rollouts:
        shutil.copy(path, folder)
    return tmp_path / "codex-home"


def claude_home(tmp_path: Path, *sessions: Path) -> Path:
    """A Claude Code home that holds copies of the files and folders."""
    folder = tmp_path / "claude-source" / "projects" / "-home-dev-toy-shop"
    folder.mkdir(parents=True)
    for path in sessions:
        if path.is_dir():
            shutil.copytree(path, folder / path.name)
        else:
            shutil.copy(path, folder)
    return tmp_path / "claude-source"


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A session carried into an agent: what was done, the place of what was written, and its reading."""

    done: Migration
    path: Path
    session: Session

    @property
    def raw(self) -> bytes:
        """The file that was written."""
        return self.path.read_bytes()

    @property
    def records(self) -> list[dict[str, Any]]:
        """The lines of the file."""
        return [json.loads(line) for line in self.raw.decode("utf-8").split("\n")[:-1]]

    @property
    def turns(self) -> list[dict[str, Any]]:
        """The messages in Claude Code's records of the conversation, in order."""
        return [record["message"] for record in self.records if record["type"] in ("user", "assistant")]

    def blocks(self, kind: str) -> list[dict[str, Any]]:
        """Claude Code's content blocks of one type, in order."""
        contents = (turn["content"] for turn in self.turns if not isinstance(turn["content"], str))
        return [block for content in contents for block in content if block["type"] == kind]


def carry(ref: Path | Session, project: Path, to: str = "claude-code", **options: Any) -> Carried:
    """Write a session for an agent, into a home beside the project, and read it back."""
    done = migrate(
        ref, to, model=MODELS[to], into=project, home=target_home(project, to), **{"form": "session", **options}
    )
    path = Path(done.target["paths"][0])
    return Carried(done=done, path=path, session=read_session(path))


def target_home(project: Path, agent: str) -> Path:
    """The home that ``carry`` writes into."""
    return project.parent / f"{agent}-target"


def told(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Who says what, without the context that a client adds by itself."""
    return [(message.role, message.text) for message in messages if message.text and message.origin != "injected"]


def human(messages: Sequence[Message]) -> list[str]:
    """The human's own words."""
    return [message.text for message in messages if message.origin == "human"]


def pairs(messages: Sequence[Message]) -> list[tuple[ToolCall, ToolResult]]:
    """Calls with their results. Each message with calls is followed by one with exactly their results, in
    their order, and there are no other results."""
    found: list[tuple[ToolCall, ToolResult]] = []
    for before, message in zip([None, *messages], messages, strict=False):
        calls = before.calls if before else ()
        assert [result.call_id for result in message.results] == [call.id for call in calls]
        found += zip(calls, message.results, strict=True)
    assert not messages[-1].calls
    return found


def unsigned(session: Session) -> Session:
    """The session without signatures and ciphers of reasoning."""

    def plain(part: Part) -> Part:
        return replace(part, signature=None) if isinstance(part, Thinking) else part

    bare = (replace(message, parts=tuple(map(plain, message.parts))) for message in session.messages)
    return replace(session, messages=tuple(bare))


def words(result: ToolResult) -> str:
    """The text of a result."""
    return "".join(part.text for part in result.parts if isinstance(part, Text))


def command_line(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    """The command line in a process of its own."""
    command = [sys.executable, "-m", "session_migrator.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, cwd=ROOT, env=dict(os.environ), check=False)
