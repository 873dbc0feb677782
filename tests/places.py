"""Where the tests find what they read."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path

from session_migrator import agents, from_messages, tokens

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "tests" / "fixtures"
EXAMPLES = ROOT / "examples" / "codex-home"
LONG = next(EXAMPLES.rglob("rollout-*T18-13-15-*.jsonl"))
"""The recorded session of the examples: about 15,000 tokens, with parallel calls, errors and an image."""
PINS: dict[str, dict[str, str]] = tomllib.loads((ROOT / "tests" / "clients" / "versions.toml").read_text("utf-8"))
MODELS = {name: pin["model"] for name, pin in PINS.items() if pin.get("agent") == name}
"""A model of each agent: the one that its newest client is tested with."""


def environment(**more: str) -> dict[str, str]:
    """This process's environment, for one that runs the package of this checkout."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def run(*words: str | Path, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command line of this checkout, in a process of its own, with more variables."""
    command = [sys.executable, "-m", "session_migrator.cli", *map(str, words)]
    env = environment(PYTHONUTF8="1", **variables)
    return subprocess.run(command, capture_output=True, encoding="utf-8", cwd=cwd, env=env, check=False)


def asked(agent: str, model: str) -> int:
    """The tokens of what an agent's client itself says before a conversation compressed in its own form."""
    question = agents.get(agent).capabilities.compaction_question
    said = from_messages([{"role": "user", "content": question}]).messages if question else ()
    return sum(tokens.counter(model).message(message).high for message in said)


def content(path: Path) -> bytes:
    """What is in a file: its bytes, of a database the rows (how they lie in its pages is its own)."""
    if not path.name.endswith(".db"):
        return path.read_bytes()
    with closing(sqlite3.connect(path)) as database:
        return "\n".join(database.iterdump()).encode()


def go_on(path: Path) -> None:
    """Continue a session as its client would: a line more in its file, a message more in its database."""
    if path.is_file():
        with path.open("ab") as file:
            file.write(b"{}\n")
        return
    with closing(sqlite3.connect(path.parent)) as database:
        database.execute("INSERT INTO message VALUES ('msg_more', ?, 0, 0, '{}')", [path.name])
        database.commit()
