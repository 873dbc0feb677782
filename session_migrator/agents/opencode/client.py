"""What OpenCode itself does: where its data and settings are, its models, when it compacts.

The settings, the default and the reserve are those of 1.18.33, 2026-11-29.
"""

from __future__ import annotations

import os
import re
from functools import reduce
from pathlib import Path
from typing import Any

from ...context_windows import Window
from ...files import is_file
from ..jsonl import Record, rows, table, text
from ..models import vendor
from ..paths import upward
from ..settings import joined, settings_of, unreadable

VERSION = "1.18.33"
FOLDER = "opencode"
DATABASE = "opencode.db"
HOME_VARIABLE = "XDG_DATA_HOME"
DEFAULT_TITLE = re.compile(r"(?:New|Child) session - \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
"""The title that a session has until the client's small model makes another."""

# What a new user without any account gets: the client's own free model.
_DEFAULT = "opencode/big-pickle"
_DEFAULT_LIMIT: Record = {"context": 200_000, "input": 160_000, "output": 32_000}  # of the list built into it
_NAMES = ("opencode.json", "opencode.jsonc")
_INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md", "CONTEXT.md")
# The longest reply that it asks for, and what it keeps free of a model's input limit.
_REPLY, _RESERVE = 32_000, 20_000


def locate(home: Path | None) -> Path:
    """The data folder ``opencode``: the home given, or the one in it; else in $XDG_DATA_HOME, else ~/.local/share."""
    if home:
        return home if home.name == FOLDER else home / FOLDER
    return _xdg(HOME_VARIABLE, ".local/share")


def databases(home: Path) -> list[Path]:
    """The databases in a data folder, the one that the client uses first. $OPENCODE_DB names it for the client's own
    folder; other channels than the latest have one of their own each."""
    named = os.environ.get("OPENCODE_DB")
    chosen = home / named if named and named != ":memory:" and home == locate(None) else home / DATABASE
    return list(dict.fromkeys((chosen, *sorted(home.glob("opencode*.db")))))


def resume_arguments(session_id: str, model_id: str | None) -> tuple[str, ...]:
    """``opencode --session ID``, with ``--model`` where one is named."""
    return ("--session", session_id, *(("--model", model_id) if model_id else ()))


def resumes_recorded_model(recorded: str | None, wanted: str) -> bool:  # noqa: ARG001
    """Never: a session is written with the model that it is wanted for."""
    return False


# --- models, and what a request holds


def model(home: Path, folder: Path, named: str | None) -> tuple[str, str]:  # noqa: ARG001
    """The model named, else the one the client would start with here: ``model`` of the settings, then the one that was
    used last, then its default. One that is named without a provider gets the one that the settings have it under,
    else its vendor."""
    settings = _settings(folder)
    if named:
        return (named if "/" in named else f"{_provider_of(named, settings)}/{named}"), "named"
    chosen = text(settings.get("model"))
    if chosen:
        return chosen, next(str(path) for path in reversed(_paths(folder)) if settings_of(path).get("model"))
    state = _xdg("XDG_STATE_HOME", ".local/state") / "model.json"
    for used in map(table, rows(settings_of(state).get("recent"))):
        provider, model_id = text(used.get("providerID")), text(used.get("modelID"))
        if provider and model_id:
            return f"{provider}/{model_id}", str(state)
    return _DEFAULT, f"default of OpenCode {VERSION}{unreadable(_paths(folder))}"


def _provider_of(model_id: str, settings: Record) -> str:
    for provider, given in table(settings.get("provider")).items():
        if model_id in table(table(given).get("models")):
            return provider
    return vendor(model_id) or (text(settings.get("model")) or _DEFAULT).partition("/")[0]


def window(model_id: str, known: Window | None, home: Path, folder: Path) -> Window | None:  # noqa: ARG001
    """The window by the limits of the user's and the project's settings, else by the list of models that the client
    has fetched; a model that takes less has what it takes."""
    limit = _limit(model_id, _settings(folder))
    context = _positive(limit.get("context"))
    if context is None:
        return None
    if known and known.context:
        context = min(context, known.context)
    return Window(
        context=context, max_input=_positive(limit.get("input")), max_output=_positive(limit.get("output")),
        source="client",
    )  # fmt: skip


def trigger(seen: Window, home: Path, folder: Path) -> int | None:  # noqa: ARG001
    """The size of the last answer's request, with the answer, from which the client compacts: the input limit less
    ``compaction.reserved``, else the context less the longest reply. None where ``compaction.auto`` is off."""
    compaction = table(_settings(folder).get("compaction"))
    if compaction.get("auto") is False or seen.context is None:
        return None
    longest = _positive(_number(os.environ.get("OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX"))) or _REPLY
    reply = min(seen.max_output or longest, longest)
    if seen.max_input:
        reserved = compaction.get("reserved")
        kept = reserved if isinstance(reserved, int) and reserved >= 0 else min(_RESERVE, reply)
        return max(0, seen.max_input - kept)
    return max(0, seen.context - reply)


def instructions(home: Path, folder: Path) -> tuple[Path, ...]:  # noqa: ARG001
    """AGENTS.md, else CLAUDE.md, else CONTEXT.md of every folder from the repository's root down to this one; the
    user's own AGENTS.md, else Claude Code's; and what ``instructions`` of the settings names on this machine."""
    chain = list(upward(folder))
    each = ([path for place in chain if is_file(path := place / name)] for name in _INSTRUCTIONS)
    own = next(filter(None, each), list[Path]())
    users = (_config() / "AGENTS.md", Path.home() / ".claude" / "CLAUDE.md")
    own += [path for path in users if is_file(path)][:1]
    for pattern in rows(_settings(folder).get("instructions")):
        own += _matching(pattern, chain)
    return tuple(dict.fromkeys(own))


def _matching(pattern: Any, chain: list[Path]) -> list[Path]:
    if not isinstance(pattern, str) or not pattern or pattern.startswith(("http://", "https://")):
        return []
    path = Path(os.path.expanduser(pattern))  # noqa: PTH111
    try:
        found = [*path.parent.glob(path.name)] if path.is_absolute() else [
            one for place in chain for one in place.glob(pattern)
        ]  # fmt: skip
    except (OSError, ValueError, NotImplementedError):
        return []
    return sorted(filter(is_file, found))


def mcp_servers(home: Path, folder: Path) -> tuple[str, ...]:  # noqa: ARG001
    """``mcp`` of the settings, those that are not switched off."""
    servers = table(_settings(folder).get("mcp"))
    return tuple(name for name, server in servers.items() if table(server).get("enabled") is not False)


def _limit(model_id: str, settings: Record) -> Record:
    """The limits of a model: of the settings, else of the fetched list."""
    provider, _, name = model_id.partition("/")
    fetched = table(settings_of(_xdg("XDG_CACHE_HOME", ".cache") / "models.json").get(provider))
    own = table(table(settings.get("provider")).get(provider))
    for source in (own, fetched):
        limit = table(table(table(source.get("models")).get(name)).get("limit"))
        if _positive(limit.get("context")):
            return limit
    return _DEFAULT_LIMIT if model_id == _DEFAULT else {}


def _positive(value: Any) -> int | None:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 1 else None


def _number(words: str | None) -> int | None:
    return int(words) if words and words.isdecimal() else None


# --- settings


def _settings(folder: Path) -> Record:
    """The settings that count: of the user, of $OPENCODE_CONFIG, of the project from its root down."""
    return reduce(joined, map(settings_of, _paths(folder)), {})


def _paths(folder: Path) -> list[Path]:
    """The settings files there may be, those that count more later."""
    config, named = _config(), os.environ.get("OPENCODE_CONFIG")
    paths = [config / name for name in ("config.json", *_NAMES)]
    paths += [Path(named)] if named else []
    chain = list(upward(folder))
    paths += [place / name for place in chain for name in _NAMES]
    paths += [place / ".opencode" / name for place in chain for name in _NAMES]
    own = os.environ.get("OPENCODE_CONFIG_DIR")
    return paths + ([Path(own) / name for name in _NAMES] if own else [])


def _config() -> Path:
    return _xdg("XDG_CONFIG_HOME", ".config")


def _xdg(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / default) / FOLDER
