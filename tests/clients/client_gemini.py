"""Gemini CLI."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import harness
from kinds import KEY, PORT, Body, Item, Kind, Setup

Call = tuple[str | None, str, str]
OWN = ("<session_context>", "<hook_context>")


def environment(config_dir: Path | None) -> dict[str, str]:
    named = {"GEMINI_CLI_HOME": str(config_dir)} if config_dir else {}
    # Without the first it would start itself again in another process.
    quiet = {"GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    return {"GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{PORT}", "GEMINI_API_KEY": KEY, **quiet, **named}


def configure(setup: Setup) -> None:
    """The model is an argument of the client's, or that of the settings."""
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "model": {"name": setup.model or setup.pinned["model"]},
        "mcpServers": {name: {**server, "trust": True} for name, server in (setup.servers or {}).items()},
    }
    path = (setup.config_dir or setup.home) / ".gemini" / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings), encoding="utf-8")


def items(body: Body) -> Iterator[Item]:
    """Calls by numbers: 0.40 sends no ids, 0.61 takes off the tool's name that some of its own begin with."""
    open_: list[Call] = []
    closed: list[Call] = []
    for content in body["contents"]:
        role, answered = "assistant" if content["role"] == "model" else "user", None
        for part in content["parts"]:
            call, response = part.get("functionCall"), part.get("functionResponse")
            if response:
                (*_, answered), output = _taken(open_, closed, response), response["response"]
                yield "tool", "result", output.get("output", output.get("error")), answered
            elif call:
                open_.append((call.get("id"), call["name"], f"#{len(open_) + len(closed)}"))
                yield role, "call", (call["name"], call["args"]), open_[-1][-1]
            elif "inlineData" in part:
                yield "tool" if answered else role, "image", part["inlineData"]["data"], answered
            elif "fileData" in part:
                yield "tool" if answered else role, "image", part["fileData"]["fileUri"], answered
            elif not part["text"].startswith(OWN):
                yield role, "thinking" if part.get("thought") else "text", part["text"], None


def _taken(open_: list[Call], closed: list[Call], response: Body) -> Call:
    """The call that a response answers: the first open one of its id (if it has one) and name, or one it answers once
    more."""
    ids, name = (response.get("id"), None), response["name"]
    found = next((call for call in (*open_, *closed) if call[0] in ids and call[1] == name), None)
    assert found, f"a result of no call: {ids[0]} {name}"
    if found in open_:
        open_.remove(found)
        closed.append(found)
    return found


def added(body: Body) -> Iterator[str]:
    for part in body["systemInstruction"]["parts"]:
        yield part["text"]
    for content in body["contents"]:
        yield from (part["text"] for part in content["parts"] if part.get("text", "").startswith(OWN))


def listed(setup: Setup) -> str:
    """Its own list: number, title, age and id of each session."""
    where = {"home": setup.home, "cwd": setup.cwd, "config_dir": setup.config_dir}
    run = harness.run_client(setup.client, ["--list-sessions"], **where)
    return run.stdout + run.stderr


# Those whose prompts differ, or that the client starts with.
_MODELS = (
    *("gemini-3.1-pro-preview", "gemini-3-pro-preview", "gemini-2.5-pro"),
    *("gemini-3-flash-preview", "gemini-3.5-flash", "gemini-2.5-flash", "gemini-3.1-flash-lite"),
)
KIND = Kind(
    environment=environment,
    configure=configure,
    path=r"/v1beta/models/[^:]+:streamGenerateContent",
    items=items,
    listed=listed,
    resume=["--model={model}", "--yolo", "--resume"],
    start=["--yolo"],
    again=["--yolo", "--resume=latest"],
    terminal=(["--prompt-interactive"], ["--resume=latest"]),
    mcp_call=lambda server, tool: {"name": f"mcp_{server}_{tool}"},
    added=added,
    models=lambda: _MODELS,
    sample="gemini/0.61.0",
    recorded="gemini-3-pro-preview",
    named="gemini-2.5-flash",
    smaller="gemma-4-31b-it",
    rows=r"\d+\. (?P<title>[^\n]*) \([^()\n]*\) \[(?P<id>[0-9a-f-]{36})\]",
    tool="run_shell_command",
    argument="command",
    own=OWN,
    numbered=True,
    repeat=True,
    forget=True,
    late=True,
    at_the_end={"tool": [("assistant", "text", "[The previous response was interrupted before it completed.]", None)]},
)
