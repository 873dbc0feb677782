"""Copilot CLI, with a provider of the user's own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import harness
from kinds import KEY, PORT, Body, Item, Kind, Setup, data

# What it puts around each prompt: the time, and reminders (1.0.24).
_AROUND = re.compile(r"\A<current_datetime>[^<]*</current_datetime>\n\n|\n\n<reminder>.*</reminder>\s*\Z", re.DOTALL)
# What it says before an image that has no name.
_IMAGE = "Attached image"


def environment(config_dir: Path | None) -> dict[str, str]:
    named = {"COPILOT_HOME": str(config_dir)} if config_dir else {}
    quiet = {"COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false"}
    model = {"COPILOT_MODEL": harness.VERSIONS["copilot"]["model"]}  # where none is named, as in its list
    provider = {"COPILOT_PROVIDER_BASE_URL": f"http://127.0.0.1:{PORT}/v1", "COPILOT_PROVIDER_API_KEY": KEY}
    return {**provider, **model, **quiet, **named}


def configure(setup: Setup) -> None:
    """The model is an argument of the client's, or that of the settings."""
    home = setup.config_dir or setup.home / ".copilot"
    home.mkdir(parents=True, exist_ok=True)
    model = setup.model or setup.pinned["model"]
    trusted = {"trusted_folders": [str(setup.cwd)], "trustedFolders": [str(setup.cwd)]}
    servers = {name: {"type": "local", "tools": ["*"], **server} for name, server in (setup.servers or {}).items()}
    settings = {"model": model, "banner": "never", **trusted}
    for name, value in (("settings", settings), ("config", trusted), ("mcp-config", {"mcpServers": servers})):
        (home / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")


def items(body: Body) -> Iterator[Item]:
    for message in body["messages"]:
        role, content = message["role"], message.get("content")
        if role == "system":
            continue
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if role == "tool":
            yield role, "result", "".join(part["text"] for part in parts), message["tool_call_id"]
            continue
        for part in parts:
            if part["type"] == "image_url":
                yield role, "image", data(part["image_url"]["url"]), None
            elif (words := _AROUND.sub("", part["text"])) and words != _IMAGE:
                yield role, "text", words, None
        for call in message.get("tool_calls") or ():
            told = call.get("custom") or call["function"]
            given = told["input"] if "custom" in call else json.loads(told["arguments"])
            yield role, "call", (told["name"], given), call["id"]


def added(body: Body) -> Iterator[str]:
    for message in body["messages"]:
        content = message.get("content")
        if message["role"] == "system":
            yield content
        elif isinstance(content, str):
            yield from _AROUND.findall(content)


def listed(setup: Setup) -> str:
    """Its own list, which it shows in the terminal only."""
    where = {"home": setup.home, "cwd": setup.cwd, "config_dir": setup.config_dir}
    home = setup.config_dir or setup.home / ".copilot"
    count = sum(1 for _ in home.glob("session-state/*/events.jsonl"))
    shown = rf"(?im)(?:^.*(?:○|\d\.) .*\n\s*){{{count}}}(?s:.*)\besc\b"  # it shows them as it has read them
    return harness.interact(setup.client, ["--resume"], [(shown, "")], lines=400, **where)[0]


# One of each family that has a prompt of its own.
_MODELS = ("gpt-5.5", "gpt-4.1", "claude-sonnet-4.5", "claude-opus-5.5", "gemini-2.5-pro")
KIND = Kind(
    environment=environment,
    configure=configure,
    path="/v1/chat/completions",
    items=items,
    listed=listed,
    resume=["--allow-all-tools", "--model={model}", "--resume"],
    before=["-p"],
    terminal=(["--model={model}", "-i"], ["--model={model}", "--continue"]),
    start=["--allow-all-tools", "--model={model}"],
    again=["--allow-all-tools", "--model={model}", "--continue"],
    mcp_call=lambda server, tool: {"name": f"{server}-{tool}"},
    added=added,
    models=lambda: _MODELS,
    sample="copilot/1.0.102",
    recorded="gpt-4.1",
    named="gpt-5.5",
    smaller="claude-haiku-4.5",
    tool="bash",
    argument="command",
    more={"description": "prints"},
    shown=40,
    own=(),
)
