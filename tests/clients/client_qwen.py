"""Qwen Code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import harness
from kinds import KEY, PORT, Body, Item, Kind, Setup, agent_of, data, result

# The last two up to 0.15, at the start.
OWN = ("<system-reminder>", "This is the Qwen Code. We are setting up the context", "Got it. Thanks for the context!")
# What it says before the images that its own tools return, which it sends as the user's.
_ATTACHED = "(attached media from previous tool call)"
_EXTRACTS = "You are now acting as the managed memory extraction subagent"


def environment(config_dir: Path | None) -> dict[str, str]:
    named = {"QWEN_HOME": str(config_dir)} if config_dir else {}
    alone = {"QWEN_CODE_NO_RELAUNCH": "true"}  # else it starts itself again in another process
    return {"OPENAI_BASE_URL": f"http://127.0.0.1:{PORT}/v1", "OPENAI_API_KEY": KEY, **alone, **named}


def configure(setup: Setup) -> None:
    """The model is an argument of the client's, or that of the settings. It is to take images: older ones do not know
    of newer models that they do."""
    window = {"contextWindowSize": setup.window} if setup.window else {}
    config = {"generationConfig": {"modalities": {"image": True}, **window}}
    settings = {
        "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "tools": {"shell": {"enableInteractiveShell": False}},  # in a terminal short outputs get lost at times
        "model": {"name": setup.model or setup.pinned["model"], **config},
        "mcpServers": {name: {**server, "trust": True} for name, server in (setup.servers or {}).items()},
    }
    path = (setup.config_dir or setup.home / ".qwen") / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings), encoding="utf-8")


def items(body: Body) -> Iterator[Item]:
    """Images of results follow all results of an answer as the user's; they count as the last one's."""
    answered: str | None = None
    for message in body["messages"]:
        role, content = message["role"], message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if role == "tool":
            answered = message["tool_call_id"]
            yield from result([part for part in parts if part["type"] == "text"], answered)
        elif role in ("user", "assistant"):
            attached = answered and all(part["type"] == "image_url" or part["text"] == _ATTACHED for part in parts)
            owner, call_id = ("tool", answered) if attached else (role, None)
            for part in parts:
                if part["type"] == "image_url":
                    yield owner, "image", data(part["image_url"]["url"]), call_id
                elif part["text"] and part["text"] != _ATTACHED and not part["text"].startswith(OWN):
                    yield role, "text", part["text"], None
            for call in message.get("tool_calls") or ():
                function = call["function"]
                yield role, "call", (function["name"], json.loads(function["arguments"])), call["id"]
            answered = None


def added(body: Body) -> Iterator[str]:
    for message in body["messages"]:
        content = message.get("content")
        parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content or []]
        yield from (text for text in parts if message["role"] == "system" or text.startswith(OWN))


def aside(body: Body) -> bool:
    """Its own sub-agent that looks for what to remember, with all of the conversation."""
    return str(body["messages"][0].get("content")).startswith(_EXTRACTS)


_SHOWN = r"Resume Session[^›]*›|No sessions found"


def listed(setup: Setup) -> str:
    """Its own list, an id and a title a line; an older one has a picker alone, which shows no ids."""
    where = {"home": setup.home, "cwd": setup.cwd, "config_dir": setup.config_dir}
    if setup.client != agent_of(setup.client):
        return harness.interact(setup.client, ["--resume"], [(_SHOWN, "")], lines=400, **where)[0]
    run = harness.run_client(setup.client, ["sessions", "list", "--json", "--limit=1000"], **where)
    rows = map(json.loads, run.stdout.splitlines())
    return "\n".join(f"{row['sessionId']} {row['customTitle'] or row['prompt']}" for row in rows)


_SMALLER = "gpt-4.1"
# One of each family that has a prompt of its own.
_MODELS = ("gpt-5.5", "qwen3-coder-plus", "qwen3-vl-plus")
KIND = Kind(
    environment=environment,
    configure=configure,
    path="/v1/chat/completions",
    items=items,
    aside=aside,
    listed=listed,
    resume=["--model={model}", "--yolo", "--resume"],
    start=["--yolo"],
    again=["--yolo", "--continue"],
    mcp_call=lambda server, tool: {"name": f"mcp__{server}__{tool}"},
    added=added,
    models=lambda: _MODELS,
    sample="qwen/0.24.4",
    recorded="qwen3-coder-plus",
    named=_SMALLER,
    smaller=_SMALLER,
    terminal=(["--prompt-interactive"], ["--continue"]),
    tool="run_shell_command",
    argument="command",
    more={"is_background": False},
    own=OWN,
    joined=True,
)
