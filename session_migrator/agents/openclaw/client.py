"""What OpenClaw itself does: its home and workspace, its models, when it compacts.

The settings, the files, the default and the reserve are those of 2026.9.6, 2026-11-30 (docs.openclaw.ai, and measured).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ...context_windows import Window
from ...files import is_file
from ..instructions import skills
from ..jsonl import Record, rows, table, text
from ..models import vendor
from ..settings import positive, settings_of, unreadable

VERSION = "2026.9.6"
PROGRAM = "openclaw"
HOME_VARIABLE = "OPENCLAW_STATE_DIR"
KEY = "explicit:"
"""What the key of a session that was named by its id begins with, behind the agent's name."""

_DEFAULT = "openai/gpt-6-astra"
_MAIN = "main"
_INSTRUCTIONS = ("AGENTS", "SOUL", "TOOLS", "IDENTITY", "USER", "HEARTBEAT", "BOOTSTRAP", "MEMORY")
_DESCRIPTIONS = 18_000  # characters of those of skills; 10,926 were seen beside its own
# The longest result that it sends, in characters, from which window on, in tokens.
_RESULTS = ((200_000, 64_000), (100_000, 32_000), (0, 16_000))
# What it keeps free of a window, at most this part of it; and how much larger than they are it reckons requests of
# prose to be: by a fifth more than a quarter of the characters.
_RESERVE, _SHARE, _MARGIN = 20_000, 4, 1.3


def locate(home: Path | None) -> Path:
    """The home given, else $OPENCLAW_STATE_DIR, else ~/.openclaw."""
    named = os.environ.get(HOME_VARIABLE)
    return home or (_expanded(named) if named else Path.home() / ".openclaw")


def agent(home: Path) -> str:
    """The agent whose sessions are gone on with where none is named: the one marked so, else the first of the
    settings, else ``main``."""
    return next((name for name, _ in _agents(home)), _MAIN)


def database(home: Path, agent: str) -> Path:
    """Where an agent has its sessions since 2026.8.1."""
    return home / "agents" / agent / "agent" / "openclaw-agent.sqlite"


def sessions(home: Path, agent: str) -> Path:
    """Where it had them before, and where they are taken up from."""
    return home / "agents" / agent / "sessions"


def workspace(home: Path | None) -> Path:
    """$OPENCLAW_WORKSPACE_DIR, else the workspace that openclaw.json names for the agent or for all, else ``workspace``
    in the home."""
    home = locate(home)
    named = os.environ.get("OPENCLAW_WORKSPACE_DIR") or text(_setting(home, "workspace"))
    return _expanded(named) if named else home / "workspace"


def resume_arguments(session_id: str, model_id: str | None) -> tuple[str, ...]:  # noqa: ARG001
    """``openclaw tui --local --session KEY``: a session that is written is pinned to its model."""
    return ("tui", "--local", "--session", KEY + session_id)


def resumes_recorded_model(recorded: str | None, wanted: str) -> bool:  # noqa: ARG001
    """Never: a session is written with the model that it is wanted for."""
    return False


# --- models, and what a request holds


def model(home: Path, folder: Path, named: str | None) -> tuple[str, str]:  # noqa: ARG001
    """The model named, else the one that openclaw.json has for the agent or for all, else the client's default. One
    that is named without a provider gets the one that the settings have it under, else its vendor."""
    config = _config(home)
    if named:
        return (named if "/" in named else f"{_provider_of(named, home)}/{named}"), "named"
    chosen = _setting(home, "model")
    chosen = text(chosen) or text(table(chosen).get("primary"))
    if chosen:
        return (chosen if "/" in chosen else f"{_provider_of(chosen, home)}/{chosen}"), str(config)
    return _DEFAULT, f"default of OpenClaw {VERSION}{unreadable([config])}"


def _provider_of(name: str, home: Path) -> str:
    for provider, given in _providers(home).items():
        if any(table(row).get("id") == name for row in rows(table(given).get("models"))):
            return provider
    return vendor(name) or _DEFAULT.partition("/")[0]


def window(model_id: str, known: Window | None, home: Path, folder: Path) -> Window | None:  # noqa: ARG001
    """The window by openclaw.json, else what is known; of what a model takes (``contextWindow``) the user may let the
    client use less (``contextTokens``). Its input ends where the client, which reckons by characters, leaves the model
    no room for a reply."""
    provider, _, name = model_id.partition("/")
    given = rows(table(_providers(home).get(provider)).get("models"))
    row = next((row for row in map(table, given) if row.get("id") == name), Record())
    known = known or Window(source="client")
    sizes = list(filter(None, (positive(row.get("contextTokens")), positive(row.get("contextWindow")))))
    context = min(sizes, default=known.context)
    if context is None:
        return None
    most = int((context - _kept(context)) / _MARGIN)
    return Window(
        context=context, max_input=min(most, known.max_input or most),
        max_output=positive(row.get("maxTokens")) or known.max_output, source="client" if sizes else known.source,
    )  # fmt: skip


def trigger(seen: Window, home: Path, folder: Path) -> int | None:  # noqa: ARG001
    """The size that the last answer tells of from which the client compacts: the window less what it keeps free
    (measured: of 100,000 tokens, 79,000 stay as they are and 81,000 do not). None where ``compaction.enabled`` is
    off."""
    if table(_setting(home, "compaction")).get("enabled") is False or seen.context is None:
        return None
    return seen.context - _kept(seen.context)


def _kept(context: int) -> int:
    """The tokens that the client keeps free of a window."""
    return min(_RESERVE, context // _SHARE)


def shown_result(seen: Window) -> int | None:
    """Characters of a tool's result that the client sends: by steps of the window, and at most three tenths of it at
    four characters a token; of some scripts fewer."""
    if seen.context is None:
        return None
    most = next(size for least, size in _RESULTS if seen.context >= least)
    return min(most, int(seen.context * 0.3) * 4)


def instructions(home: Path, folder: Path) -> tuple[Path, ...]:  # noqa: ARG001
    """The files of the workspace that go into the first request (TOOLS.md and HEARTBEAT.md up to 2026.6)."""
    place = workspace(home)
    return tuple(path for name in _INSTRUCTIONS if is_file(path := place / f"{name}.md"))


def described(home: Path, folder: Path) -> tuple[Path, ...]:  # noqa: ARG001
    """The skills of the home, of ``~/.agents``, of the workspace, and of the folders that ``skills.load.extraDirs`` of
    openclaw.json names."""
    place = workspace(home)
    more = rows(table(table(settings_of(_config(home)).get("skills")).get("load")).get("extraDirs"))
    folders = [home / "skills", Path.home() / ".agents" / "skills", place / "skills", place / ".agents" / "skills"]
    return skills([*folders, *(_expanded(named) for named in more if isinstance(named, str))], deep=True)


def described_most(seen: Window) -> int | None:  # noqa: ARG001
    """Whatever the window; ``skills.limits`` of openclaw.json is not heeded."""
    return _DESCRIPTIONS


def mcp_servers(home: Path, folder: Path) -> tuple[str, ...]:  # noqa: ARG001
    """``mcp.servers`` of openclaw.json, those that are not switched off."""
    servers = table(table(settings_of(_config(home)).get("mcp")).get("servers"))
    return tuple(name for name, server in servers.items() if table(server).get("enabled") is not False)


# --- settings


def _config(home: Path) -> Path:
    named = os.environ.get("OPENCLAW_CONFIG_PATH") if home == locate(None) else None
    return _expanded(named) if named else home / "openclaw.json"


def _providers(home: Path) -> Record:
    return table(table(settings_of(_config(home)).get("models")).get("providers"))


def _setting(home: Path, name: str) -> Any:
    """A setting of the agent, else of all agents."""
    own = next((given.get(name) for _, given in _agents(home)), None)
    defaults = table(table(settings_of(_config(home)).get("agents")).get("defaults"))
    return own if own is not None else defaults.get(name)


def _agents(home: Path) -> list[tuple[str, Record]]:
    """The agents of the settings with what is set for each, the default one first (``list`` up to 2026.7)."""
    agents = table(settings_of(_config(home)).get("agents"))
    listed = [(str(row["id"]), row) for row in map(table, rows(agents.get("list"))) if text(row.get("id"))]
    named = [(name, table(given)) for name, given in table(agents.get("entries")).items()]
    return sorted([*named, *listed], key=lambda each: each[1].get("default") is not True)


def _expanded(path: str) -> Path:
    return Path(os.path.expanduser(path))  # noqa: PTH111
