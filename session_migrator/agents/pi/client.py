"""What pi itself does: its home and folders, its models, when it compacts.

The settings, the files, the default and the windows are those of 1.6.0, 2026-11-30.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

from ...context_windows import Window
from ...files import is_file
from ..instructions import SKILL, documents, skills
from ..jsonl import Record, rows, table, text
from ..models import vendor
from ..paths import upward
from ..settings import joined, positive, settings_of, unreadable

VERSION = "1.6.0"
FOLDER = ".pi"
HOME_VARIABLE = "PI_CODING_AGENT_DIR"
SUMMARY_BEGINS = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
SUMMARY_ENDS = "\n</summary>"
"""What the client puts around the summary of a compaction, in the user's name (0.74 and 1.6)."""

_DEFAULT = "anthropic/claude-opus-5-5"
_INSTRUCTIONS = ("AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD")
_PROMPTS = ("SYSTEM.md", "APPEND_SYSTEM.md")
# What it keeps free of a model's window, and what it takes for the limits of a model of the user's without any.
_RESERVE, _CONTEXT, _REPLY = 16_384, 128_000, 16_384
# Models that its own list gives less than they take.
_OPENAI = (
    *("gpt-5.4", "gpt-5.5", "gpt-5.6-luna", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-6-astra", "gpt-6-luna", "gpt-6-sol"),
    *("gpt-6.1-sol", "gpt-6.1-terra", "gpt-6.2-astra", "gpt-6.2-sol"),
)
_LESS = {
    **{f"{provider}/{name}": 272_000 for provider in ("openai", "openai-codex") for name in _OPENAI},
    **{f"openai-codex/{name}": 500_000 for name in ("gpt-6.1-sol", "gpt-6.1-terra", "gpt-6.2-sol")},
}


def locate(home: Path | None) -> Path:
    """The home given, else $PI_CODING_AGENT_DIR, else ~/.pi/agent."""
    named = os.environ.get(HOME_VARIABLE)
    return home or (_expanded(named) if named else Path.home() / FOLDER / "agent")


def session_folders(home: Path) -> Iterator[Path]:
    """Where the client keeps sessions: a folder a project, and the one for all that the user has named."""
    yield from (home / "sessions").glob("*/")
    named = _named_folder(home, None)
    if named:
        yield named


def project_folder(home: Path, folder: Path) -> Path:
    """Where it keeps those of a project: the folder that is named for all, else one called as the project's real path,
    its slashes and colons dashes."""
    place = os.path.realpath(folder)
    safe = re.sub(r"[/\\:]", "-", re.sub(r"^[/\\]", "", place))
    return _named_folder(home, folder) or home / "sessions" / f"--{safe}--"


def _named_folder(home: Path, folder: Path | None) -> Path | None:
    named = os.environ.get("PI_CODING_AGENT_SESSION_DIR") if home == locate(None) else None
    own, project = (settings_of(path).get("sessionDir") for path in (home / "settings.json", _of_project(folder)))
    named = named or text(project) or text(own)  # the project's counts whether it is trusted or not
    return (folder or Path.cwd()) / _expanded(named) if named else None


def resume_arguments(session_id: str, model_id: str | None) -> tuple[str, ...]:
    """``pi --session ID``, with ``--model`` where one is named."""
    return ("--session", session_id, *(("--model", model_id) if model_id else ()))


def resumes_recorded_model(recorded: str | None, wanted: str) -> bool:  # noqa: ARG001
    """Never: a session is written with the model that it is wanted for."""
    return False


# --- models, and what a request holds


def model(home: Path, folder: Path, named: str | None) -> tuple[str, str]:
    """The model named, else the one the client would start with here: ``defaultProvider`` and ``defaultModel`` of the
    home's settings and of a trusted project's, then its default. One that is named without a provider gets the one that
    models.json has it under, else its vendor."""
    if named:
        return (named if "/" in named else f"{_provider_of(named, home, folder)}/{named}"), "named"
    settings = _settings(home, folder)
    provider, name = text(settings.get("defaultProvider")), text(settings.get("defaultModel"))
    if provider and name:
        named_in = (path for path in _paths(home, folder)[::-1] if settings_of(path).get("defaultModel"))
        return f"{provider}/{name}", str(next(named_in, home))
    return _DEFAULT, f"default of pi {VERSION}{unreadable(_paths(home, folder))}"


def _provider_of(name: str, home: Path, folder: Path) -> str:
    for provider, given in table(settings_of(home / "models.json").get("providers")).items():
        if any(table(row).get("id") == name for row in rows(table(given).get("models"))):
            return provider
    configured = text(_settings(home, folder).get("defaultProvider"))
    return vendor(name) or configured or _DEFAULT.partition("/")[0]


def window(model_id: str, known: Window | None, home: Path, folder: Path) -> Window | None:  # noqa: ARG001
    """The window by the home's models.json, else by the lists of models that the client has fetched, else by its own
    where that gives less than the model takes."""
    provider, _, name = model_id.partition("/")
    given = table(table(settings_of(home / "models.json").get("providers")).get(provider))
    fetched = table(settings_of(home / "models-store.json").get(provider))
    own = _called(name, given.get("models"))
    if own is not None:
        own = {"contextWindow": _CONTEXT, "maxTokens": _REPLY} | own
    found = (own or {}) | table(table(given.get("modelOverrides")).get(name))
    limits = found or _called(name, fetched.get("models")) or {"contextWindow": _LESS.get(model_id)}
    context = positive(limits.get("contextWindow"))
    return Window(context=context, max_output=positive(limits.get("maxTokens")), source="client") if context else None


def _called(name: str, models: Any) -> Record | None:
    return next((row for row in map(table, rows(models)) if row.get("id") == name), None)


def trigger(seen: Window, home: Path, folder: Path) -> int | None:
    """The size from which the client compacts by itself: the window less ``compaction.reserveTokens``, of those for
    single models the greatest. None where ``compaction.enabled`` is off."""
    compaction = table(_settings(home, folder).get("compaction"))
    if compaction.get("enabled") is False or seen.context is None:
        return None
    reserve = _size(compaction.get("reserveTokens"), _RESERVE)
    each = (table(row).get("reserveTokens") for row in table(compaction.get("modelOverrides")).values())
    return max(0, seen.context - max(reserve, *(_size(size, 0) for size in each), 0))


def instructions(home: Path, folder: Path) -> tuple[Path, ...]:
    """What goes into the first request: the first of AGENTS.override.md, AGENTS.md and CLAUDE.md that is there, of the
    home and of every folder down to this one; SYSTEM.md and APPEND_SYSTEM.md, of a trusted project or else the home."""
    named = [(place, _INSTRUCTIONS) for place in (home, *reversed(folder.parents), folder)]
    found = [[path for name in names if is_file(path := place / name)][:1] for place, names in named]
    own = [folder / FOLDER] if _is_trusted(home, folder) else []
    found += [[path for place in (*own, home) if is_file(path := place / name)][:1] for name in _PROMPTS]
    return tuple(dict.fromkeys(path for paths in found for path in paths))


def described(home: Path, folder: Path) -> tuple[Path, ...]:
    """The skills of the home, of ``~/.agents``, of a trusted project, and where ``skills`` of the settings says that
    there are some; a Markdown file in such a folder is one too."""
    named = [_expanded(name) for name in rows(_settings(home, folder).get("skills")) if isinstance(name, str)]
    folders = [home / "skills", Path.home() / ".agents" / "skills", *named]
    if _is_trusted(home, folder):
        folders += [folder / FOLDER / "skills", *(place / ".agents" / "skills" for place in upward(folder))]
    found = (*skills(folders, deep=True), *(path for path in documents(folders) if path.name != SKILL))
    return tuple(dict.fromkeys(found))


def mcp_servers(home: Path, folder: Path) -> tuple[str, ...]:
    """``mcpServers`` of the home's mcp.json and of a trusted project's, those that are not switched off."""
    paths = (home / "mcp.json", *([_of_project(folder, "mcp.json")] if _is_trusted(home, folder) else []))
    both = reduce(joined, map(settings_of, paths))
    servers = table(both.get("mcpServers"))
    return tuple(name for name, server in servers.items() if table(server).get("enabled") is not False)


def _size(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


# --- settings


def _settings(home: Path, folder: Path) -> Record:
    """The settings that count: of the home, then of the project."""
    return reduce(joined, map(settings_of, _paths(home, folder)))


def _paths(home: Path, folder: Path) -> list[Path]:
    return [home / "settings.json", *([_of_project(folder)] if _is_trusted(home, folder) else [])]


def _of_project(folder: Path | None, name: str = "settings.json") -> Path:
    return (folder or Path.cwd()) / FOLDER / name


def _is_trusted(home: Path, folder: Path) -> bool:
    """Whether the user has said so of the project, or of a folder above it; else what they have said of all."""
    said, place = settings_of(home / "trust.json"), Path(os.path.realpath(folder))
    nearest = (said[str(path)] for path in (place, *place.parents) if isinstance(said.get(str(path)), bool))
    return next(nearest, settings_of(home / "settings.json").get("defaultProjectTrust") == "always")


def _expanded(path: str) -> Path:
    return Path(os.path.expanduser(path))  # noqa: PTH111
