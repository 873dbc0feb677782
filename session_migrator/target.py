"""What a session is to fit into: the model, the client around it, and what is there on this machine."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from . import agents, context_windows, decision, tokens
from .agents import AgentSpec
from .context_windows import Window
from .decision import Target


def inspect(
    agent: str | None, *, model: str | None = None, home: Path | None = None, folder: Path | None = None,
    window: int | None = None, limit: int | None = None,
) -> Target:  # fmt: skip
    """The target: an agent as it is set up on this machine, or (agent None) a model alone.

    ``model`` defaults to the one the client is configured for; ``window`` (tokens) overrides what is known
    of the model's context; ``limit`` is a budget set by the user. Raises UnknownModel where nothing is known
    of the model and no window is given, NotFound (agent).
    """
    if agent is None:
        assert model is not None, "a target is an agent, a model or both"
        chosen = _resized(model, window) if window else None
        return replace(decision.from_model(model, chosen), limit=limit)
    spec = agents.get(agent)
    home, folder = spec.locate(home), (folder or Path.cwd()).absolute()
    configured, source = spec.model(home, folder, model)
    seen = _resized(configured, window) if window else _window(spec, configured, home)
    counter = tokens.counter(configured)
    paths = spec.instructions(home, folder)
    client = _overheads()[spec.overhead]
    measured = client["models"].get(context_windows.normalize(configured), client["other"])
    return Target(
        agent=spec.id,
        model=configured,
        window=seen,
        capabilities=replace(spec.capabilities, model=configured),
        trigger=spec.trigger(seen, home, folder),
        overhead=counter.measured(o200k=measured["o200k"], utf8_bytes=measured["utf8_bytes"]).high,
        instructions=sum(counter.text(_text(path)).high for path in paths),
        limit=limit,
        longest_result=spec.longest_result(home),
        why={
            "model": source,
            "overhead": f"what {spec.names[0]} {client['version']} adds to a request (measured {client['measured']})"
            + _not_counted(spec.mcp_servers(home, folder)),
            "instructions": ", ".join(map(str, paths)) or "no instruction files here",
        },
    )


def _not_counted(servers: tuple[str, ...]) -> str:
    return f"; the tools of MCP servers are not counted: {', '.join(servers)}" if servers else ""


def _window(spec: AgentSpec, model: str, home: Path) -> Window:
    """The smaller of what the client gives the model and what the model takes."""
    table = context_windows.window(model)
    known = table if table and table.source != "family" else None
    client = spec.window(model, known, home)
    if client is None:
        return decision.from_model(model).window
    return replace(client, max_input=known.max_input, max_output=known.max_output) if known else client


def _resized(model: str, context: int) -> Window:
    """A window of the user's size; the part of it kept from the input, and the longest reply, are the model's."""
    known = context_windows.window(model)
    if known is None or known.max_input is None or known.context is None:
        return Window(context=context, max_input=None, max_output=known and known.max_output, source="user")
    reserve = min(known.context - known.max_input, context // 4)
    return Window(context=context, max_input=context - reserve, max_output=known.max_output, source="user")


@cache
def _overheads() -> dict[str, dict[str, Any]]:
    return json.loads((files("session_migrator") / "data" / "overhead.json").read_text(encoding="utf-8"))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
