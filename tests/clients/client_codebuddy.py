"""CodeBuddy Code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import harness
from kinds import KEY, PORT, Body, Item, Kind, Setup, data

OWN = ("<system-reminder",)


def environment(config_dir: Path | None) -> dict[str, str]:
    named = {"CODEBUDDY_CONFIG_DIR": str(config_dir)} if config_dir else {}
    return {"CODEBUDDY_API_KEY": KEY, "DISABLE_AUTOUPDATER": "1", "CODEBUDDY_IS_SANDBOX": "1", **named}


def configure(setup: Setup) -> None:
    """The model is an argument of the client's; where it is served stands in the home's list of models."""
    model = setup.model or setup.pinned["model"]
    known = {
        "id": model, "name": model, "vendor": "stub", "apiKey": KEY, "maxOutputTokens": 8_000,
        "url": f"http://127.0.0.1:{PORT}/v1/chat/completions", "maxInputTokens": setup.window or 200_000,
        "supportsToolCall": True, "supportsImages": True,
    }  # fmt: skip
    home = setup.config_dir or setup.home / ".codebuddy"
    home.mkdir(parents=True, exist_ok=True)
    (home / "models.json").write_text(json.dumps({"models": [known], "availableModels": [model]}), encoding="utf-8")
    (home / ".mcp.json").write_text(json.dumps({"mcpServers": setup.servers or {}}), encoding="utf-8")


def items(body: Body) -> Iterator[Item]:
    """The client wraps what the user says, and sends the images of results as the user's after all results."""
    answered: str | None = None
    for message in body["messages"]:
        role, content, call_id = message["role"], message.get("content"), message.get("tool_call_id")
        if role == "system":
            continue
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        images = role == "user" and parts[0].get("text") == _ATTACHED
        for part in parts[images:]:
            if part["type"] == "image_url":
                yield "tool" if images else role, "image", data(part["image_url"]["url"]), answered if images else None
            elif role == "tool":
                answered = call_id
                yield role, "result", part["text"].removeprefix(_SEE_BELOW), call_id
            elif not part["text"].startswith(OWN):
                yield role, "text", part["text"].removeprefix(_QUERY).removesuffix(_QUERY_END), None
        for call in message.get("tool_calls") or ():
            function = call["function"]
            yield role, "call", (function["name"], json.loads(function["arguments"])), call["id"]


def listed(setup: Setup) -> str:
    """What it tells over HTTP of the project's sessions; it has no list on the command line."""
    url = f"http://127.0.0.1:{PORT}/api/v1/sessions"
    env = harness.environment(setup.client, setup.home, setup.home, setup.config_dir)
    return json.dumps(json.loads(harness.ask(setup.client, url, _SERVE, env, setup.cwd)), ensure_ascii=False)


_SEE_BELOW = "(see attached image)"
_ATTACHED = "Attached image(s) from tool result:"
_QUERY, _QUERY_END = "<user_query>", "</user_query>"
_SERVE = ["--serve", "--port", str(PORT), "--auth", "none"]
KIND = Kind(
    environment=environment,
    configure=configure,
    path="/v1/chat/completions",
    items=items,
    listed=listed,
    resume=["-p", "-y", "--model={model}", "--resume"],
    tool="Bash",
    argument="command",
    own=OWN,
)
