"""OpenClaw."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import client_opencode
import harness
from kinds import KEY, PORT, Body, Item, Kind, Setup

from session_migrator.agents.openclaw import client
from session_migrator.agents.pi.client import SUMMARY_BEGINS, SUMMARY_ENDS

# What it puts around a text of the user's, and what it says in the user's name.
_STAMP = re.compile(r"\A\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d [A-Z]+\] ")
_RUNTIME = re.compile(r"(?:\A|\n\n)Runtime: agent=[^\n]*\Z")
_CONTEXT = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"
# In the place of an image before the turns whose images it sends again, and of a result without a text.
_REMOVED = "[image data removed - already processed by model]"
_NOTHING = ("(no tool output)", "(see attached image)", "[empty content omitted]", _REMOVED)
_TURNS = 3
# Before the images of a result.
_LABEL = re.compile(r"Image\(s\) from tool result #(\d+)(?: \(.*\))?:")


def environment(config_dir: Path | None) -> dict[str, str]:
    return {client.HOME_VARIABLE: str(config_dir)} if config_dir else {}


def configure(setup: Setup) -> None:
    """The provider is called "stub", whatever the model; the project is the workspace."""
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
    defaults = {
        "model": {"primary": f"stub/{name}"},
        "workspace": str(setup.cwd),
        # Else it has nothing to compact in a short session, and takes no summary but a long one.
        "compaction": {"mode": "default", "keepRecentTokens": 200},
    }
    settings = {
        "models": {"mode": "merge", "providers": {"stub": provider}},
        "agents": {"defaults": defaults},
        **({"mcp": {"servers": dict(setup.servers)}} if setup.servers else {}),
    }
    home = setup.config_dir or setup.home / ".openclaw"
    home.mkdir(parents=True, exist_ok=True)
    (home / "openclaw.json").write_text(json.dumps(settings), encoding="utf-8")


def items(body: Body) -> Iterator[Item]:
    """As of any chat, without what stands around a text of the user's, and in the place of what it leaves out. Images
    of results follow all of them as the user's, with the number of each."""
    answered: list[str | None] = []
    owner: str | None = None
    for role, kind, value, call_id in client_opencode.items(body):
        if kind == "result":
            answered.append(call_id)
            value = "" if value in _NOTHING else value.removesuffix(f"\n{_REMOVED}")
        elif (role, kind) == ("user", "text"):
            if label := _LABEL.fullmatch(value):
                owner = answered[int(label[1]) - 1]
                continue
            value = _RUNTIME.sub("", _STAMP.sub("", value))
            if not value or value == _REMOVED or value.startswith(_CONTEXT):
                continue
            if value.startswith(SUMMARY_BEGINS) and value.endswith(SUMMARY_ENDS):
                value = value[len(SUMMARY_BEGINS) : -len(SUMMARY_ENDS)]
            owner = None
        elif (role, kind) == ("user", "image") and owner:
            role, call_id = "tool", owner
        elif role == "assistant":
            answered, owner = [], None
            if kind == "text":
                value = value.replace("\n\n\n", "\n\n")  # the newer one joins texts with a line break of its own
        yield role, kind, value, call_id


def sent(history: Sequence[Item], turns: int) -> Sequence[Item]:
    """Without the images before the last turns that were answered."""
    starts: list[int] = []
    for at, (before, item) in enumerate(zip([None, *history], history, strict=False)):
        if item[0] == "user" and (before is None or before[0] != "user"):
            starts.append(at)
    starts = [start for start, end in pairwise([*starts, len(history)]) if _is_answered(history[start:end])]
    starts += [len(history)] * turns
    cut = starts[-_TURNS] if len(starts) > _TURNS else 0
    return [item for at, item in enumerate(history) if at >= cut or item[1] != "image"]


def _is_answered(turn: Sequence[Item]) -> bool:
    return any(role == "assistant" for role, *_ in turn)


def kept(item: Item) -> Item:
    """It masks the value of an argument that is called "session" (2026.9.6)."""
    role, kind, value, call_id = item
    if kind == "call" and "session" in value[1].get("args", {}):
        name, given = value
        value = name, {**given, "args": {**given["args"], "session": "***"}}
    return role, kind, value, call_id


def added(body: Body) -> Iterator[str]:
    for message in body["messages"]:
        content = message.get("content")
        texts = [content] if isinstance(content, str) else [part.get("text", "") for part in content or ()]
        for text in texts:
            if message["role"] in ("system", "developer") or text.startswith(_CONTEXT):
                yield text
            elif message["role"] == "user":
                yield from (found[0] for around in (_STAMP, _RUNTIME) if (found := around.search(text)))


def listed(setup: Setup) -> str:
    """Its own list, an id and a label a line; an older one does not tell what a session is called."""
    command = [*(harness.namespace() or ()), *(harness.command(setup.client) or ())]
    env = harness.environment(setup.client, setup.home, setup.home, setup.config_dir)
    asked = [*command, "sessions", "--json", "--limit", "all"]
    run = subprocess.run(asked, cwd=setup.cwd, env=env, capture_output=True, text=True, timeout=60, check=True)
    return "\n".join(f"{row['sessionId']} {row.get('label', '')}" for row in json.loads(run.stdout)["sessions"])


_SMALLER = "claude-haiku-4-5"
KIND = Kind(
    environment=environment,
    configure=configure,
    path="/v1/chat/completions",
    items=items,
    listed=listed,
    resume=["agent", "--local", "--session-id"],
    start=["agent", "--local", "--session-key", "agent:main:one"],
    again=["agent", "--local", "--session-key", "agent:main:one"],
    terminal=(["tui", "--local", "--session", "one", "--message"], ["tui", "--local", "--session", "one"]),
    before=["--message"],
    heavy=True,
    beside=["agent", "--local", "--session-key", "agent:main:two"],
    mcp_call=lambda server, tool: {"name": f"{server}__{tool}"},
    through=lambda call: {"name": "tool_call", "arguments": {"id": call["name"], "args": call["arguments"]}},
    search=lambda words: [{"name": "tool_search", "arguments": {"query": words}}],
    added=added,
    models=lambda: ("gpt-5.5",),
    sample=None,
    recorded="stub/gpt-4.1",
    named=f"stub/{_SMALLER}",
    smaller=f"stub/{_SMALLER}",
    rows=r"(?P<id>[0-9a-f-]{36}) (?P<title>[^\n]*)",
    tool="exec",
    argument="command",
    own=(),
    sent=sent,
    kept=kept,
    numbered=True,
    joined=True,
    own_tools=True,
    imports=True,
)
