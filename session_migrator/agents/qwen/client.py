"""What Qwen Code itself does: its home and the folders of its projects, its models, when it compresses.

The windows and the threshold are those of 0.24.4, 2026-11-29.
"""

from __future__ import annotations

import os
import re
from functools import reduce
from pathlib import Path
from typing import Any

from ...context_windows import Window
from ...files import is_file
from ..instructions import beside, documents, extensions, skills, with_imports
from ..jsonl import Record, rows, table, text
from ..paths import dashed, upward
from ..settings import joined, positive, settings_of, unreadable

VERSION = "0.24.4"
FOLDER = ".qwen"

_DEFAULT, _OWN_MODEL = "qwen3.7-max", "coder-model"
_MODEL_VARIABLES = ("OPENAI_MODEL", "QWEN_MODEL")
# The client's own table, by how the model's name begins; the first that fits counts.
_LARGE = 1_000_000
_WINDOWS = (
    (r"gemini-", _LARGE),
    (r"gpt-5", 272_000), (r"gpt-", 131_072), (r"o\d", 200_000),
    (r"claude-opus-(?:4-[678]|5)", _LARGE), (r"claude-", 200_000),
    (r"qwen3-coder-(?:plus|flash)|qwen3\.\d|qwen-(?:plus|flash)-latest$", _LARGE), (r"qwen", 262_144),
    (r"deepseek-(?:v4|flash)", _LARGE), (r"deepseek", 131_072),
    (r"glm-5(?:\.[01])?(?:-|$)", 202_752), (r"glm-(?:[5-9]|\d{2,})", _LARGE), (r"glm-", 202_752),
    (r"minimax-m3", _LARGE), (r"minimax-m2\.5", 196_608), (r"minimax-", 200_000),
    (r"kimi-k3", _LARGE), (r"kimi-", 262_144),
    (r"seed-oss", 524_288),
)  # fmt: skip
_UNKNOWN = 200_000
# It compresses at this share of the window, or where that is less, when so much of it is left: for the summary, and
# beside it.
_THRESHOLD, _SUMMARY, _BESIDE = 0.85, 20_000, 13_000
_NAMES = ("QWEN.md", "AGENTS.md")


def locate(home: Path | None) -> Path:
    """The home given, else $QWEN_HOME, else ~/.qwen."""
    return home or Path(os.environ.get("QWEN_HOME") or Path.home() / FOLDER).expanduser()


def projects(home: Path) -> Path:
    """Where a home's sessions are: in it, or of the client's own home where $QWEN_RUNTIME_DIR or
    ``advanced.runtimeOutputDir`` of its settings say."""
    named = os.environ.get("QWEN_RUNTIME_DIR") if home == locate(None) else None
    named = named or text(table(settings_of(home / "settings.json").get("advanced")).get("runtimeOutputDir"))
    place = Path(os.path.expanduser(named)) if named else home  # noqa: PTH111 -- Path.expanduser may raise
    return (place if place.is_absolute() else home) / "projects"


def project_folder(home: Path, folder: Path) -> Path:
    """Where the client keeps what it has of a project."""
    return projects(home) / dashed(folder)


def resume_arguments(session_id: str, model_id: str | None) -> tuple[str, ...]:
    """``qwen --resume ID``, with ``--model`` where one is named."""
    return ("--resume", session_id, *(("--model", model_id) if model_id else ()))


def resumes_recorded_model(recorded: str | None, wanted: str) -> bool:  # noqa: ARG001
    """Never: the client goes on with the model it is configured for."""
    return False


def model(home: Path, folder: Path, named: str | None) -> tuple[str, str]:
    """The model named, else the one the client would start with here: ``model.name`` of the project's and the home's
    settings, then OPENAI_MODEL and QWEN_MODEL, then its default."""
    if named:
        return named, "named"
    for path in _settings(home, folder):
        chosen = text(table(settings_of(path).get("model")).get("name"))
        if chosen:
            return chosen, str(path)
    for variable in _MODEL_VARIABLES:
        if chosen := os.environ.get(variable):
            return chosen, variable
    return _DEFAULT, f"default of Qwen Code {VERSION}{unreadable(_settings(home, folder))}"


def window(model_id: str, known: Window | None, home: Path, folder: Path) -> Window | None:
    """``contextWindowSize`` that the settings have for the model, else for all, else what the client's own table says
    of a model that is known, 200,000 where it says nothing; a model that takes less has what it takes."""
    context = _configured(model_id, _merged(home, folder)) or (_LARGE if model_id == _OWN_MODEL else None)
    if known and known.context:
        context = min(known.context, context or _listed(model_id))
    return Window(context=context, max_output=known.max_output if known else None, source="client") if context else None


def _configured(model_id: str, settings: Record) -> int | None:
    providers = table(settings.get("modelProviders")).values()
    own = [table(entry) for provider in providers for entry in rows(provider) if table(entry).get("id") == model_id]
    for entry in (*own, table(settings.get("model"))):
        size = table(entry.get("generationConfig")).get("contextWindowSize")
        if isinstance(size, int) and positive(size):
            return size
    return None


def _listed(model_id: str) -> int:
    name = re.sub(r"\s+", "-", model_id.lower().strip().rpartition("/")[2].partition(":")[0])
    name = re.sub(r"^(claude-[a-z]+-\d+)\.(\d+)", r"\1-\2", name)
    return next((size for start, size in _WINDOWS if re.match(start, name)), _UNKNOWN)


def trigger(seen: Window, home: Path, folder: Path) -> int | None:
    """The size of the next request from which the client compresses first: a share of the window, that of
    ``context.autoCompactThreshold`` where the settings name one, and no more than leaves room for the summary."""
    if seen.context is None:
        return None
    chosen: Any = table(_merged(home, folder).get("context")).get("autoCompactThreshold")
    share = chosen if isinstance(chosen, int | float) and 0 < chosen <= 1 else _THRESHOLD
    proportional, most = int(share * seen.context), seen.context - _SUMMARY - _BESIDE
    return min(proportional, most) if most > 0 else proportional


def instructions(home: Path, folder: Path) -> tuple[Path, ...]:
    """QWEN.md and AGENTS.md, or what ``context.fileName`` of the settings names, of the home and of every folder from
    the one above the repository's root down to this one, with what they import from there; the root's
    ``.qwen/QWEN.local.md``; the rules of both; what its extensions bring; and the index of what the client remembers
    of the project."""
    root = next(upward(folder))
    own = root / FOLDER
    named = [place / name for name in _context_names(home, folder) for place in (home, *_context_folders(root, folder))]
    named += [path for paths in extensions(home, "qwen").values() for path in paths]
    found = [*with_imports(filter(is_file, named), beside(home, root)), own / "QWEN.local.md"]
    found += documents([home / "rules", own / "rules"], deep=True)
    found += [project_folder(home, root) / "memory" / "MEMORY.md"]
    return tuple(dict.fromkeys(path for path in found if is_file(path)))


def described(home: Path, folder: Path) -> tuple[Path, ...]:
    """Skills, agents and commands of the home, of extensions and of this folder alone, and the skills of
    ``~/.agents``."""
    places = (home, folder / FOLDER, *extensions(home, "qwen"))
    shared = (Path.home() / ".agents", folder / ".agents")
    return (
        *skills([place / "skills" for place in (*places, *shared)]),
        *documents([place / "agents" for place in places]),
        *documents([place / "commands" for place in places], deep=True, endings=(".md", ".toml")),
    )


def _context_folders(root: Path, folder: Path) -> list[Path]:
    """From the top down; without a repository all folders, in the user's home from the one above that on."""
    top = root.parent if os.path.lexists(root / ".git") else Path.home().parent
    chain = [folder, *folder.parents][:-1]
    return chain[: chain.index(top) + 1 if top in chain else None][::-1]


def _context_names(home: Path, folder: Path) -> tuple[str, ...]:
    given: Any = table(_merged(home, folder).get("context")).get("fileName")
    names = [name for name in (rows(given) or [given]) if isinstance(name, str) and name.strip()]
    return tuple(name.strip() for name in names) or _NAMES


def mcp_servers(home: Path, folder: Path) -> tuple[str, ...]:
    """``mcpServers`` of the project's and the home's settings."""
    return tuple(table(_merged(home, folder).get("mcpServers")))


def _settings(home: Path, folder: Path) -> tuple[Path, ...]:
    return folder / FOLDER / "settings.json", home / "settings.json"


def _merged(home: Path, folder: Path) -> Record:
    """The settings of both, the project's above the home's."""
    return reduce(joined, map(settings_of, reversed(_settings(home, folder))), {})
