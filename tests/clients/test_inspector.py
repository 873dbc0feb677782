"""The MCP server under the protocol's own Inspector: its command line lists and calls the tools, and finds nothing in
their schemas that some client could not read."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import harness
import pytest
from places import ROOT

pytestmark = pytest.mark.client("inspector")
CHAT = [{"role": ("user", "assistant")[n % 2], "content": f"Turn {n}. " + "And so on. " * 60} for n in range(21)]
IS_ERROR = 5


def inspect(home: Path, project: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """A run of the Inspector on our server, with its whole answer as one line of JSON."""
    env = {"PYTHONPATH": str(ROOT), "SESSION_MIGRATOR_HOME": str(home / "store")}
    given = [argument for pair in env.items() for argument in ("-e", "=".join(pair))]
    command = ["--cli", *given, sys.executable, "-m", "session_migrator.cli", "mcp", *args, "--format", "json"]
    return harness.run_alone("inspector", command, home=home, cwd=project)


def call(home: Path, project: Path, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool answers."""
    named = ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments)]
    run = inspect(home, project, *named)
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(run.stdout)["result"]["structuredContent"]


def test_every_schema_is_portable(home: Path, project: Path) -> None:
    run = inspect(home, project, "--method", "tools/list", "--strict")
    assert (run.returncode, run.stderr) == (0, "")
    names = {tool["name"] for tool in json.loads(run.stdout)["result"]["tools"]}
    models, sessions = {"model_context_window", "list_known_models"}, {"list_sessions", "handoff", "migrate_session"}
    assert names == {*models, *sessions, "recall", "search_memory", "context_around"}


def test_the_tools_are_called(home: Path, project: Path) -> None:
    window = call(home, project, "model_context_window", model="gpt-4")
    assert (window["context"], window["source"]) == (8192, "table")
    page = call(home, project, "list_known_models", query="claude opus", limit=2)
    assert len(page["models"]) == 2
    assert page["next_cursor"] == "2"
    order = {"messages_json": json.dumps(CHAT), "source_model": "gpt-5.5", "target_model": "gpt-5", "budget": 2_000}
    sized = call(home, project, "migrate_session", **order)
    assert sized["decision"]["mode"] == "compress"
    assert sized["tokens_before"] > 2_000 >= sized["tokens_after"] > 1_000
    messages = sized["messages"] or json.loads(Path(sized["messages_path"]).read_text("utf-8"))
    assert messages[-2:] == CHAT[-2:]
    (name, *_) = re.findall(r"recall ([0-9a-f]{10})", json.dumps(messages))
    recalled = call(home, project, "recall", id=name)
    whole = recalled["text"] if recalled["path"] is None else Path(recalled["path"]).read_text("utf-8")
    assert any(message["content"] in whole for message in CHAT)


def test_a_call_that_a_better_one_would_mend_is_an_error(home: Path, project: Path) -> None:
    named = ["--method", "tools/call", "--tool-name", "model_context_window", "--tool-arg", "model=claude-opus-55"]
    run = inspect(home, project, *named)
    assert run.returncode == IS_ERROR
    result = json.loads(run.stdout)["result"]
    assert result["isError"] is True
    assert "try: one of: claude-opus-5" in result["content"][0]["text"]
