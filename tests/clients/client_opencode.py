"""OpenCode, and what a fork of it is run by and sends (``kind``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import harness
from kinds import KEY, PORT, Body, Item, Kind, Setup, data, result

# What it says before the images of a tool's result, which it sends as the user's.
_ATTACHED = ("Attached media from tool result:", "Attached image(s) from tool result:")

# It sends the summary of a compaction as its model's answer to this; in a session that is a message of the user's.
_QUESTION = "What did we do so far?"


def environment(config_dir: Path | None, word: str) -> dict[str, str]:
    named = {"XDG_DATA_HOME": str(config_dir)} if config_dir else {}
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    return {f"{word.upper()}_DISABLE_{name}": "1" for name in off} | named


def configure(setup: Setup, word: str) -> None:
    """The settings are in the HOME; the provider is called "stub", whatever the model."""
    name = (setup.model or setup.pinned["model"]).rpartition("/")[2]
    able = {"tool_call": True, "attachment": True, "modalities": {"input": ["text", "image"], "output": ["text"]}}
    windows = {name: 400_000, _SMALLER: 200_000}
    models = {
        name: {**able, "limit": {"context": setup.window or context, "output": 32_000}}
        for name, context in windows.items()
    }
    options = {"baseURL": f"http://127.0.0.1:{PORT}/v1", "apiKey": KEY}
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,  # of the project's files; Kilo asks about it where that takes long
        "model": f"stub/{name}",
        "small_model": f"stub/{name}",
        "enabled_providers": ["stub"],
        "permission": {"bash": "allow"},
        "provider": {"stub": {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}},
        "mcp": {
            name: {
                "type": "local", "command": [server["command"], *server["args"]], "environment": server["env"],
                "enabled": True,
            }
            for name, server in (setup.servers or {}).items()
        },
    }  # fmt: skip
    path = setup.home / ".config" / word / f"{word}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings), encoding="utf-8")


def items(body: Body, own: tuple[str, ...] = ()) -> Iterator[Item]:
    """Images of results follow all results of an answer as the user's; they count as the last one's. ``own``: how
    texts begin that are the client's."""
    answered, asked = None, False
    for message in body["messages"]:
        role, content = message["role"], message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        asked, tells = _asks(message), asked and role == "assistant"
        if asked:
            continue
        role = "user" if tells else role
        if role == "tool":
            answered = message["tool_call_id"]
            yield from result(content, answered)
        elif role in ("user", "assistant"):
            attached = parts[:1] and parts[0].get("text") in _ATTACHED
            for part in parts[1:] if attached else parts:
                if part["type"] == "image_url":
                    owner, call_id = ("tool", answered) if attached else (role, None)
                    yield owner, "image", data(part["image_url"]["url"]), call_id
                elif part["text"] and not part["text"].startswith(own or "\0"):
                    yield role, "text", part["text"], None
            for call in message.get("tool_calls") or ():
                function = call["function"]
                yield role, "call", (function["name"], json.loads(function["arguments"])), call["id"]


def _asks(message: Body) -> bool:
    """Whether a message is the client's own question for what was done before a compaction."""
    return message["role"] == "user" and message["content"] in (_QUESTION, [{"type": "text", "text": _QUESTION}])


def added(body: Body, own: tuple[str, ...] = ()) -> Iterator[str]:
    for message in body["messages"]:
        content = message.get("content")
        if message["role"] == "system":
            yield content
        elif _asks(message):
            yield _QUESTION
        elif message["role"] == "user" and not isinstance(content, str):
            yield from (part["text"] for part in content if own and part.get("text", "").startswith(own))


def listed(setup: Setup) -> str:
    """Its own list of the project's sessions, as JSON."""
    where = {"home": setup.home, "cwd": setup.cwd, "config_dir": setup.config_dir}
    run = harness.run_client(setup.client, ["session", "list", "--format", "json"], **where)
    return run.stdout + run.stderr


_SMALLER = "claude-haiku-4-5"
# One of each family that has a prompt of its own; the client takes any model that its settings name.
_MODELS = ("gpt-5.5", "gpt-4.1", "claude-sonnet-4-5", "gemini-2.5-pro", "kimi-k2")


def kind(word: str, sample: str, own: tuple[str, ...] = ()) -> Kind:
    """A client whose folders and variables have this name, with a recorded session of it, and how the texts begin that
    it adds to what the user says."""
    return Kind(
        environment=partial(environment, word=word),
        configure=partial(configure, word=word),
        path="/v1/chat/completions",
        items=partial(items, own=own),
        listed=listed,
        resume=["run", "--model={model}", "--session"],
        start=["run"],
        again=["run", "--continue"],
        mcp_call=lambda server, tool: {"name": f"{server}_{tool}"},
        added=partial(added, own=own),
        models=lambda: _MODELS,
        sample=sample,
        recorded="stub/gpt-4.1",
        named=f"stub/{_SMALLER}",
        smaller=f"stub/{_SMALLER}",
        terminal=(["--prompt"], ["--continue"]),
        tool="bash",
        argument="command",
        more={"description": "prints"},  # demanded up to 1.2
        own=own,
        by_words=True,
        first_run=["session", "list"],
    )


KIND = kind("opencode", "opencode/1.18.33")
