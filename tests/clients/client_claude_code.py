"""Claude Code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import harness
from kinds import KEY, PORT, Body, Item, Kind, Setup, result

OWN = ("<system-reminder>",)
_OFF = (
    "DISABLE_TELEMETRY",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_AUTOUPDATER",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CODE_MAX_RETRIES",
    "IS_SANDBOX",
)


def environment(config_dir: Path | None) -> dict[str, str]:
    named = {"CLAUDE_CONFIG_DIR": str(config_dir)} if config_dir else {}
    stub = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{PORT}", "ANTHROPIC_API_KEY": KEY}
    waiting = {"MCP_CONNECTION_NONBLOCKING": "false", "MCP_CONNECT_TIMEOUT_MS": "60000"}  # for MCP servers
    return {**stub, **named, **waiting, **dict.fromkeys(_OFF, "1")}


def configure(setup: Setup) -> None:
    """The model is an argument of the client's, or its default. What it noted in its file itself stays."""
    path = (setup.config_dir or setup.home) / ".claude.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    projects = known.get("projects", {})
    projects[str(setup.cwd)] = projects.get(str(setup.cwd), {}) | {"hasTrustDialogAccepted": True}
    settings = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "lastOnboardingVersion": setup.pinned["version"],
        "projects": projects,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "mcpServers": setup.servers or {},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(known | settings), encoding="utf-8")


def items(body: Body) -> Iterator[Item]:
    for message in body["messages"]:
        role, content = message["role"], message["content"]
        if role == "system":
            continue
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "text" and not part["text"].startswith(OWN):
                yield role, "text", part["text"], None
            elif part["type"] == "image":
                yield role, "image", part["source"].get("data") or part["source"].get("url"), None
            elif part["type"] == "thinking":
                yield role, "thinking", part["thinking"], None
            elif part["type"] == "tool_use":
                yield role, "call", (part["name"], part["input"]), part["id"]
            elif part["type"] == "tool_result":
                yield from result(part.get("content", ""), part["tool_use_id"])


def added(body: Body) -> Iterator[str]:
    for block in body["system"]:
        yield block["text"]
    for message in body["messages"]:
        parts = message["content"]
        for text in [parts] if isinstance(parts, str) else [part.get("text", "") for part in parts]:
            if message["role"] == "system" or text.startswith(OWN):
                yield text


def listed(setup: Setup) -> str:
    """The screen of its interactive picker, which shows titles, no ids, and hides a session that ``claude -p`` has made
    or gone on with: list before such a run."""
    shown = r"Esc\s+to\s+(?:close|cancel)|No conversations found"  # a narrow line is broken
    where = {"home": setup.home, "cwd": setup.cwd, "config_dir": setup.config_dir}
    return harness.interact(setup.client, ["--resume"], [(shown, "")], lines=400, **where)[0]


# The ids of its own catalogue that lead to different prompts or are current.
_MODELS = (
    *("claude-opus-5-5", "claude-opus-5", "claude-opus-4-8", "claude-opus-4-7", "claude-opus-4-6", "claude-opus-4-5"),
    *("claude-sonnet-5-5", "claude-sonnet-5", "claude-sonnet-4-6", "claude-sonnet-4-5"),
    *("claude-haiku-5-5", "claude-haiku-4-5", "claude-fable-5-2"),
)
_NO_RESPONSE = ("assistant", "text", "No response requested.", None)
KIND = Kind(
    environment=environment,
    configure=configure,
    path="/v1/messages",
    items=items,
    listed=listed,
    resume=["-p", "--allowedTools=Bash", "--model={model}", "--resume"],
    start=["-p", "--model={model}"],
    again=["-p", "--model={model}", "--continue"],
    terminal=(["--model={model}"], ["--model={model}", "--continue"]),
    mcp=["--allowedTools=mcp__{name}"],
    mcp_call=lambda server, tool: {"name": f"mcp__{server}__{tool}"},
    search=lambda words: [{"name": "ToolSearch", "arguments": {"query": words}}],
    at_once={"ENABLE_TOOL_SEARCH": "false"},
    added=added,
    models=lambda: _MODELS,
    sample="claude-code/2.1.332-tools-image-error-edit-resume-fork",
    recorded="claude-haiku-4-5",
    named="claude-opus-5-5",
    smaller="claude-haiku-4-5",
    tool="Bash",
    argument="command",
    own=OWN,
    between="\n",
    at_the_end={"user": [_NO_RESPONSE], "tool": [_NO_RESPONSE]},
)
