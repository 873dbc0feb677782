"""CodeBuddy Code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import harness
from kinds import KEY, PORT, Body, Item, Kind, Setup, agent_of, data

OWN = ("<system-reminder",)


def environment(config_dir: Path | None) -> dict[str, str]:
    named = {"CODEBUDDY_CONFIG_DIR": str(config_dir)} if config_dir else {}
    waiting = {"CODEBUDDY_FIRST_RUN_MCP_PREWAIT_TIMEOUT_MS": "60000"}  # for MCP servers, not only 2 seconds
    return {"CODEBUDDY_API_KEY": KEY, "DISABLE_AUTOUPDATER": "1", "CODEBUDDY_IS_SANDBOX": "1", **waiting, **named}


def configure(setup: Setup) -> None:
    """The model is an argument of the client's; where it is served stands in the home's list of models."""
    model = setup.model or setup.pinned["model"]
    known = {
        "id": model, "name": model, "vendor": "stub", "apiKey": KEY, "maxOutputTokens": 8_000,
        "url": f"http://127.0.0.1:{PORT}/v1/chat/completions", "maxInputTokens": setup.window or 200_000,
        "supportsToolCall": True, "supportsImages": True,
    }  # fmt: skip
    home = setup.config_dir or setup.home / ".codebuddy"
    for place in (home, setup.home / ".codebuddy"):  # 2.97.0 finds its models in the second alone
        place.mkdir(parents=True, exist_ok=True)
        models = {"models": [known], "availableModels": [model]}
        (place / "models.json").write_text(json.dumps(models), encoding="utf-8")
    (home / ".mcp.json").write_text(json.dumps({"mcpServers": setup.servers or {}}), encoding="utf-8")


def items(body: Body) -> Iterator[Item]:
    """The client wraps what the user says, and sends the images of results as the user's after all results (2.97.0:
    with each result)."""
    answered: str | None = None
    for message in body["messages"]:
        role, content = message["role"], message.get("content")
        if role == "system":
            continue
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if role == "tool":
            answered = message["tool_call_id"]
            texts = [part["text"].removeprefix(_SEE_BELOW) for part in parts if part["type"] == "text"]
            yield role, "result", "".join(texts), answered
        attached = role == "user" and parts[0].get("text") == _ATTACHED
        for part in parts[attached:]:
            if part["type"] == "image_url":
                owner, call_id = ("tool", answered) if attached or role == "tool" else (role, None)
                yield owner, "image", data(part["image_url"]["url"]), call_id
            elif role != "tool" and not part["text"].startswith(OWN):
                yield role, "text", part["text"].removeprefix(_QUERY).removesuffix(_QUERY_END), None
        for call in message.get("tool_calls") or ():
            function = call["function"]
            yield role, "call", (function["name"], json.loads(function["arguments"])), call["id"]


def added(body: Body) -> Iterator[str]:
    for message in body["messages"]:
        content = message.get("content")
        parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content or []]
        yield from (text for text in parts if message["role"] == "system" or text.startswith(OWN))


def listed(setup: Setup) -> str:
    """What it tells over HTTP of the project's sessions; it has no list on the command line. Up to 2.97.0 it lets in
    everybody, and does not know the argument."""
    url = f"http://127.0.0.1:{PORT}/api/v1/sessions"
    env = harness.environment(setup.client, setup.home, setup.home, setup.config_dir)
    serve = ["--serve", "--port", str(PORT), *(["--auth", "none"] if setup.client == agent_of(setup.client) else [])]
    return json.dumps(json.loads(harness.ask(setup.client, url, serve, env, setup.cwd)), ensure_ascii=False)


_SEE_BELOW = "(see attached image)"
_ATTACHED = "Attached image(s) from tool result:"
_QUERY, _QUERY_END = "<user_query>", "</user_query>"
# Gemini's have a shorter prompt. Ids of the client's own list do not do: those are served by its cloud alone.
_MODELS = ("claude-sonnet-4-5", "gemini-2.5-pro", "glm-4.6")
KIND = Kind(
    environment=environment,
    configure=configure,
    path="/v1/chat/completions",
    items=items,
    listed=listed,
    resume=["-p", "-y", "--model={model}", "--resume"],
    start=["-p", "-y", "--model={model}"],
    again=["-p", "-y", "--model={model}", "--continue"],
    mcp_call=lambda server, tool: {"name": f"mcp__{server.replace('-', '_')}__{tool}"},
    search=lambda words: [
        {"name": "WaitForMcpServers", "arguments": {}},
        {"name": "ToolSearch", "arguments": {"queries": [words]}},
    ],
    at_once={"CODEBUDDY_DEFER_TOOL_LOADING": "false"},
    added=added,
    models=lambda: _MODELS,
    sample="codebuddy/2.163.0",
    recorded="glm-4.5",
    named="glm-4.6",
    smaller="glm-4.6",
    tool="Bash",
    argument="command",
    own=OWN,
    apart=True,
)
