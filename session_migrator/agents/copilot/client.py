"""What Copilot CLI itself does: where its home and its settings are, its models, when it compacts.

The settings, the default and the threshold are those of 1.0.102, 2026-11-30.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...context_windows import Window
from ...context_windows import window as table_window
from ...files import is_file
from ..instructions import beside, documents, is_conditional, skills, text_of, with_imports
from ..jsonl import table, text
from ..paths import upward
from ..settings import settings_of, unreadable

VERSION = "1.0.102"
HOME_VARIABLE = "COPILOT_HOME"
_DEFAULT = "claude-sonnet-4.5"
# It compacts in the background from this share of the longest prompt on.
_THRESHOLD = 0.8
_INSTRUCTIONS = (".github/copilot-instructions.md", "AGENTS.md", "CLAUDE.md", "GEMINI.md")
_DESCRIPTIONS = 15_000  # characters of those of skills; 10,060 were seen beside its own


def locate(home: Path | None) -> Path:
    """The home given, else $COPILOT_HOME, else ~/.copilot."""
    return home or Path(os.environ.get(HOME_VARIABLE) or Path.home() / ".copilot")


def resume_arguments(session_id: str, model_id: str | None) -> tuple[str, ...]:
    """``copilot --resume=ID``, with ``--model`` where one is named."""
    return (f"--resume={session_id}", *((f"--model={model_id}",) if model_id else ()))


def resumes_recorded_model(recorded: str | None, wanted: str) -> bool:  # noqa: ARG001
    """Never: the client goes on with the model it is configured for."""
    return False


def model(home: Path, folder: Path, named: str | None) -> tuple[str, str]:  # noqa: ARG001
    """The model named, else the one the client would start with: COPILOT_MODEL, ``model`` of its settings, its
    default."""
    for chosen, source in ((named, "named"), (os.environ.get("COPILOT_MODEL"), "COPILOT_MODEL")):
        if chosen:
            return chosen, source
    for path in _settings(home):
        chosen = text(settings_of(path).get("model"))
        if chosen:
            return chosen, str(path)
    return _DEFAULT, f"default of Copilot CLI {VERSION}{unreadable(_settings(home))}"


def window(model_id: str, known: Window | None, home: Path, folder: Path) -> Window | None:  # noqa: ARG001
    """The longest prompt and reply that the variables for a provider of the user's own name; without such a provider
    what GitHub serves of the model; else what is known."""
    prompt, reply = (_positive(os.environ.get(f"COPILOT_PROVIDER_MAX_{name}_TOKENS")) for name in ("PROMPT", "OUTPUT"))
    if prompt is None:
        hosted = None if os.environ.get("COPILOT_PROVIDER_BASE_URL") else table_window(f"github-copilot/{model_id}")
        return replace(hosted, source="client") if hosted and hosted.source == "table" else known
    reply = reply or (known.max_output if known else None)
    return Window(context=prompt + (reply or 0), max_input=prompt, max_output=reply, source="client")


def trigger(seen: Window, home: Path, folder: Path) -> int | None:  # noqa: ARG001
    """The size of a request from which the client compacts: a share of the longest prompt."""
    most = seen.max_input or seen.context
    return int(most * _THRESHOLD) if most else None


def instructions(home: Path, folder: Path) -> tuple[Path, ...]:
    """The home's own file and those of every folder from the repository's root down to this one, of the same text one,
    with what they import from there; the instruction files of the home, of the root and of this folder, which it takes
    for the files that they name; and Claude Code's rules for all files, of the root and of this folder."""
    chain = list(upward(folder))
    found = [home / "copilot-instructions.md", *(place / name for place in chain for name in _INSTRUCTIONS)]
    found += [place / ".claude" / "CLAUDE.md" for place in chain[1:-1]]
    once: dict[str, Path] = {}
    for path in filter(is_file, found):
        once.setdefault(text_of(path), path)
    places = dict.fromkeys((home, chain[0] / ".github", folder / ".github"))
    for_some = documents([place / "instructions" for place in places], deep=True, endings=(".instructions.md",))
    rules = documents(dict.fromkeys(place / ".claude" / "rules" for place in (chain[0], folder)), deep=True)
    told = with_imports(once.values(), beside(home, chain[0]))
    return tuple(dict.fromkeys((*told, *for_some, *(path for path in rules if not is_conditional(path)))))


def described(home: Path, folder: Path) -> tuple[Path, ...]:
    """Skills, agents and Claude Code's commands, of the home, of ``~/.agents`` and of every folder from the
    repository's root down to this one."""
    chain = list(upward(folder))
    own = [home, *(place / name for place in chain for name in (".claude", ".github"))]
    shared = [Path.home() / ".agents", *(place / ".agents" for place in chain)]
    others = [*(place / "agents" for place in own), *(place / ".claude" / "commands" for place in chain)]
    return (*skills([place / "skills" for place in (*own, *shared)], deep=True), *documents(others, deep=True))


def described_most(seen: Window) -> int | None:  # noqa: ARG001
    """Whatever the window."""
    return _DESCRIPTIONS


def mcp_servers(home: Path, folder: Path) -> tuple[str, ...]:
    """``mcpServers`` of the home's, the repository's and the project's files."""
    files = [home / "mcp-config.json"]
    files += [place / name for place in upward(folder) for name in (".mcp.json", ".github/mcp.json")]
    return tuple(dict.fromkeys(name for path in files for name in table(settings_of(path).get("mcpServers"))))


def _settings(home: Path) -> tuple[Path, ...]:
    return home / "settings.json", home / "config.json"


def _positive(value: Any) -> int | None:
    return int(value) if isinstance(value, str) and value.isdecimal() and int(value) > 0 else None
