"""OpenCode."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import harness
from kinds import KEY, PORT, Body, Item, Kind, Setup, data, result

# What it says before the images of a tool's result, which it sends as the user's.
_ATTACHED = ("Attached media from tool result:", "Attached image(s) from tool result:")


def environment(config_dir: Path | None) -> dict[str, str]:
    named = {"XDG_DATA_HOME": str(config_dir)} if config_dir else {}
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    return {f"OPENCODE_DISABLE_{name}": "1" for name in off} | named


def configure(setup: Setup) -> None:
    """The settings are in the HOME; the provider is called "stub", whatever the model."""
    name = (setup.model or setup.pinned["model"]).partition("/")[2]
    seen = {"input": ["text", "image"], "output": ["text"]}
    limit = {"context": setup.window or 400_000, "output": 32_000}
    model = {"tool_call": True, "attachment": True, "modalities": seen, "limit": limit}
    options = {"baseURL": f"http://127.0.0.1:{PORT}/v1", "apiKey": KEY}
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "model": f"stub/{name}",
        "small_model": f"stub/{name}",
        "enabled_providers": ["stub"],
        "permission": {"bash": "allow"},
        "provider": {"stub": {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {name: model}}},
        "mcp": {
            name: {
                "type": "local", "command": [server["command"], *server["args"]], "environment": server["env"],
                "enabled": True,
            }
            for name, server in (setup.servers or {}).items()
        },
    }  # fmt: skip
    path = setup.home / ".config" / "opencode" / "opencode.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings), encoding="utf-8")


def items(body: Body) -> Iterator[Item]:
    """Images of results follow all results of an answer as the user's; they count as the last one's."""
    answered = None
    for message in body["messages"]:
        role, content = message["role"], message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if role == "tool":
            answered = message["tool_call_id"]
            yield from result(content, answered)
        elif role in ("user", "assistant"):
            attached = parts[:1] and parts[0].get("text") in _ATTACHED
            for part in parts[1:] if attached else parts:
                if part["type"] == "image_url":
                    owner, call_id = ("tool", answered) if attached else (role, None)
                    yield owner, "image", data(part["image_url"]["url"]), call_id
                elif part["text"]:
                    yield role, "text", _unquoted(part["text"]), None
            for call in message.get("tool_calls") or ():
                function = call["function"]
                yield role, "call", (function["name"], json.loads(function["arguments"])), call["id"]


def _unquoted(words: str) -> str:
    """What ``run`` was told, which it puts into quotes where it has spaces (1.2 with a line break behind them)."""
    found = re.fullmatch(r'"([^"\n]* [^"\n]*)"\n?', words)
    return found[1] if found else words


def listed(setup: Setup) -> str:
    """Its own list of the project's sessions, as JSON."""
    where = {"home": setup.home, "cwd": setup.cwd, "config_dir": setup.config_dir}
    run = harness.run_client(setup.client, ["session", "list", "--format", "json"], **where)
    return run.stdout + run.stderr


KIND = Kind(
    environment=environment,
    configure=configure,
    path="/v1/chat/completions",
    items=items,
    listed=listed,
    resume=["run", "--model={model}", "--session"],
    tool="bash",
    argument="command",
    more={"description": "prints"},  # demanded up to 1.2
    own=(),
    first_run=["session", "list"],
)
