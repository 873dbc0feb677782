"""Gemini CLI."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import harness
from kinds import KEY, PORT, Body, Item, Kind, Setup

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
    for content in body["contents"]:
        role, answered = "assistant" if content["role"] == "model" else "user", None
        for part in content["parts"]:
            call, response = part.get("functionCall"), part.get("functionResponse")
            if response:
                answered = response["id"]
                output = response["response"]
                yield "tool", "result", output.get("output", output.get("error")), answered
            elif call:
                yield role, "call", (call["name"], call["args"]), call["id"]
            elif "inlineData" in part:
                yield "tool" if answered else role, "image", part["inlineData"]["data"], answered
            elif "fileData" in part:
                yield "tool" if answered else role, "image", part["fileData"]["fileUri"], answered
            elif not part["text"].startswith(OWN):
                yield role, "thinking" if part.get("thought") else "text", part["text"], None


def listed(setup: Setup) -> str:
    """Its own list: number, title, age and id of each session."""
    where = {"home": setup.home, "cwd": setup.cwd, "config_dir": setup.config_dir}
    run = harness.run_client(setup.client, ["--list-sessions"], **where)
    return run.stdout + run.stderr


KIND = Kind(
    environment=environment,
    configure=configure,
    path=r"/v1beta/models/[^:]+:streamGenerateContent",
    items=items,
    listed=listed,
    resume=["--model={model}", "--yolo", "--resume"],
    tool="run_shell_command",
    argument="command",
    own=OWN,
    repeat=True,
    at_the_end={"tool": [("assistant", "text", "[The previous response was interrupted before it completed.]", None)]},
)
