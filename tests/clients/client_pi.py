"""pi."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import client_opencode
import harness
from kinds import KEY, PORT, Body, Item, Kind, Setup

from session_migrator.agents.pi.client import SUMMARY_BEGINS, SUMMARY_ENDS

# What it says in the place of a result without a text.
_NOTHING = ("(no tool output)", "(see attached image)")


def environment(config_dir: Path | None) -> dict[str, str]:
    named = {"PI_CODING_AGENT_DIR": str(config_dir)} if config_dir else {}
    return {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0", **named}


def configure(setup: Setup) -> None:
    """The provider is called "stub", whatever the model."""
    name = (setup.model or setup.pinned["model"]).rpartition("/")[2]
    windows = {name: 400_000, _SMALLER: 200_000}
    cost = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)
    models = [
        {
            "id": name, "name": name, "reasoning": False, "input": ["text", "image"], "cost": cost,
            "contextWindow": setup.window or context, "maxTokens": 32_000,
        }
        for name, context in windows.items()
    ]  # fmt: skip
    provider = {"baseUrl": f"http://127.0.0.1:{PORT}/v1", "api": "openai-completions", "apiKey": KEY, "models": models}
    servers = {name: {**server, "exposure": "direct"} for name, server in (setup.servers or {}).items()}
    files = {
        "models.json": {"providers": {"stub": provider}},
        "settings.json": {
            "defaultProvider": "stub",
            "defaultModel": name,
            "tuiMode": "regular",
            "compaction": {"keepRecentTokens": 200},  # else it has nothing to compact in a short session
        },
        "mcp.json": {"mcpServers": servers},
    }
    home = setup.config_dir or setup.home / ".pi" / "agent"
    home.mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        (home / file).write_text(json.dumps(content), encoding="utf-8")


def items(body: Body) -> Iterator[Item]:
    """As of any chat; the summary of a compaction is what stands between the client's own words."""
    for role, kind, value, call_id in client_opencode.items(body):
        if kind == "text" and _is_summary(value):
            yield role, kind, value[len(SUMMARY_BEGINS) : -len(SUMMARY_ENDS)], call_id
        else:
            yield role, kind, "" if kind == "result" and value in _NOTHING else value, call_id


def _is_summary(words: str) -> bool:
    return words.startswith(SUMMARY_BEGINS) and words.endswith(SUMMARY_ENDS)


def added(body: Body) -> Iterator[str]:
    for message in body["messages"]:
        if message["role"] in ("system", "developer"):
            yield message["content"]


def listed(setup: Setup) -> str:
    """What its picker is made of, by its own module: the screen shows ten titles at a time, and no ids."""
    node, program = harness.command(setup.client) or ()
    module = next(parent for parent in Path(program).parents if parent.name == "dist") / "index.js"
    script = (
        f"import {{ SessionManager }} from {json.dumps(str(module))};"
        "for (const found of await SessionManager.list(process.cwd()))"
        " console.log(found.id, (found.name ?? found.firstMessage).replace(/\\s+/g, ' '));"
    )
    asked = [*(harness.namespace() or ()), node, "--input-type=module", "--eval", script]
    env = harness.environment(setup.client, setup.home, setup.home, setup.config_dir)
    return subprocess.run(asked, cwd=setup.cwd, env=env, capture_output=True, text=True, timeout=60, check=True).stdout


_SMALLER = "claude-haiku-4-5"
KIND = Kind(
    environment=environment,
    configure=configure,
    path="/v1/chat/completions",
    items=items,
    listed=listed,
    resume=["-p", "--model", "{model}", "--session"],
    start=["-p"],
    again=["-p", "--continue"],
    terminal=([], ["--continue"]),
    mcp_call=lambda server, tool: {"name": f"mcp__{server}__{tool}".replace("-", "_")},
    added=added,
    models=lambda: ("gpt-5.5",),
    sample="pi/1.6.0",
    recorded="stub/gpt-4.1",
    named=f"stub/{_SMALLER}",
    smaller=f"stub/{_SMALLER}",
    rows=r"(?P<id>[0-9a-f-]{36}) (?P<title>[^\n]*)",
    tool="bash",
    argument="command",
    own=(),
)
