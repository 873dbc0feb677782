"""What the Codex client itself does with a model: its home, its window, when it compacts."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any, cast

from ...context_windows import Window, normalize
from ...files import is_file
from ..instructions import skills
from ..jsonl import rows
from ..paths import upward

VERSION = "0.171.0"

# Tokens, four bytes each, of a tool's result that is new; of one in the history a fifth more (seen in requests).
_OUTPUT_TOKENS = 10_000

_INSTRUCTIONS = ("AGENTS.override.md", "AGENTS.md")
# Of all AGENTS.md together, unless config.toml says otherwise (project_doc_max_bytes).
INSTRUCTION_BYTES = 32 * 1024

# `codex debug models --bundled`, 2026-11-29: the window it gives each model of its own list.
# To an id that is not there it gives 272,000.
_SMALL, _LARGE = 272_000, 500_000
_WINDOWS = {
    "gpt-6.2-sol": _LARGE, "gpt-6.1-sol": _LARGE, "gpt-6.1-terra": _LARGE, "gpt-6.2-astra": _SMALL,
    "gpt-6-astra": _SMALL, "gpt-6-sol": _SMALL, "gpt-6-luna": _SMALL, "gpt-5.6-sol": _SMALL,
    "gpt-5.6-terra": _SMALL, "gpt-5.6-luna": _SMALL, "gpt-5.5": _SMALL,
}  # fmt: skip
# The model of the bundled list's first priority: what a fresh install starts with.
_DEFAULT_MODEL = "gpt-6.2-sol"


def locate(home: Path | None) -> Path:
    """The home given, else $CODEX_HOME, else ~/.codex."""
    return home or Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")


def resume_arguments(session_id: str, model_id: str | None) -> tuple[str, ...]:
    """``codex resume ID``, with ``--model`` where one is named."""
    return ("resume", session_id, *(("--model", model_id) if model_id else ()))


def resumes_recorded_model(recorded: str | None, wanted: str) -> bool:  # noqa: ARG001
    """Never: the client goes on with the model it is configured for."""
    return False


def model(home: Path, folder: Path, named: str | None) -> tuple[str, str]:  # noqa: ARG001
    """The model named, else ``model`` of config.toml, else the client's default."""
    if named:
        return named, "named"
    configured = _config(home).get("model")
    if isinstance(configured, str) and configured:
        return configured, str(home / "config.toml")
    path = home / "config.toml"
    broken = f"; {path} cannot be read" if is_file(path) and _parsed(path) is None else ""
    return _DEFAULT_MODEL, f"default of Codex {VERSION}{broken}"


def window(model_id: str, known: Window | None, home: Path, folder: Path) -> Window | None:  # noqa: ARG001
    """``model_context_window`` of config.toml, else the nominal window of the client's own catalogue, for other
    known models at most its fallback."""
    configured = _config(home).get("model_context_window")
    context = configured if isinstance(configured, int) and configured > 0 else _WINDOWS.get(normalize(model_id))
    if context is None and known and known.context:
        context = min(known.context, _SMALL)
    return Window(context=context, source="client") if context else None


def trigger(seen: Window, home: Path, folder: Path) -> int | None:  # noqa: ARG001
    """90 % of the nominal window, or what config.toml sets; the figure was seen to decide in 0.171.0
    (244,800 of 272,000)."""
    if seen.context is None:
        return None
    most = seen.context * 9 // 10
    limit = _config(home).get("model_auto_compact_token_limit")
    return min(most, limit) if isinstance(limit, int) and limit > 0 else most


def instructions(home: Path, folder: Path) -> tuple[Path, ...]:
    """The first of AGENTS.override.md, AGENTS.md and (in a project) what ``project_doc_fallback_filenames`` of
    config.toml names, of the home and of every folder from the repository's root down to this one."""
    others = [name for name in rows(_config(home).get("project_doc_fallback_filenames")) if isinstance(name, str)]
    named = [(home, _INSTRUCTIONS), *((place, (*_INSTRUCTIONS, *others)) for place in upward(folder))]
    found = (next((path for name in names if is_file(path := place / name)), None) for place, names in named)
    return tuple(path for path in found if path)


def described(home: Path, folder: Path) -> tuple[Path, ...]:
    """The skills of the home, of ``~/.agents``, and of every folder from the repository's root down to this one."""
    projects = [place / name for place in upward(folder) for name in (".agents", ".codex")]
    return skills([place / "skills" for place in (home, Path.home() / ".agents", *projects)], deep=True)


def described_most(seen: Window) -> int | None:
    """Two tokens in a hundred of the window, four characters each."""
    return seen.context * 2 * 4 // 100 if seen.context else None


def mcp_servers(home: Path, folder: Path) -> tuple[str, ...]:  # noqa: ARG001
    """``mcp_servers`` of config.toml."""
    servers = _config(home).get("mcp_servers")
    return tuple(cast(dict[str, Any], servers)) if isinstance(servers, dict) else ()


def longest_result(home: Path) -> int:
    """Bytes of a tool's result that is sent with the history: the middle of a longer one is left out. By the client's
    own models, or ``tool_output_token_limit`` of config.toml."""
    limit = _config(home).get("tool_output_token_limit")
    return (limit if isinstance(limit, int) and limit > 0 else _OUTPUT_TOKENS) * 4 * 6 // 5


def _config(home: Path) -> dict[str, Any]:
    return _parsed(home / "config.toml") or {}


def _parsed(path: Path) -> dict[str, Any] | None:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
