"""What the core of CodeBuddy Code does, which WorkBuddy has too: its home and folders, its models, when it compacts.

The models, the threshold and the file names are those of 2.163.0, 2026-11-29.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from ...context_windows import Window
from ...files import is_file
from ..instructions import anywhere, documents, plugins, skills, with_imports
from ..jsonl import Record, rows, table, text
from ..settings import positive, settings_of, unreadable

VERSION = "2.163.0"
FOLDER = ".codebuddy"

# The models of its own list: what it lets in, and the longest reply.
_DEFAULT_MODEL = "default-model"
_MODELS: dict[str, tuple[int, int]] = {
    "default-model": (176_000, 24_000), "fast-model": (200_000, 32_000), "balanced-model": (256_000, 32_000),
    "primary-model": (272_000, 72_000), "deep-model": (176_000, 24_000), "deepseek-v4.1-flash": (1_000_000, 128_000),
    "gpt-6-astra": (1_000_000, 128_000), "hy4-preview": (1_000_000, 64_000), "hy3": (192_000, 64_000),
    "kimi-k2.8-preview": (1_000_000, 32_000), "gpt-5.6-sol": (1_000_000, 128_000),
    "gpt-5.6-terra": (1_000_000, 128_000), "gpt-5.6-luna": (1_000_000, 128_000), "gpt-5.5": (1_000_000, 128_000),
    "gpt-5.4": (272_000, 72_000), "gemini-3.5-flash": (1_000_000, 65_536), "glm-5.3-flash": (1_000_000, 32_000),
    "glm-5.3": (1_000_000, 48_000), "glm-5.2": (1_000_000, 48_000), "kimi-k3": (1_000_000, 32_000),
    "kimi-k2.6": (256_000, 32_000),
}  # fmt: skip
# It compacts at this share of what it lets in.
_THRESHOLD = 0.92
_LONGEST_NAME, _KEPT_NAME = 255, 180
MOST_RECORDS, RECORDS_TAKEN = "CODEBUDDY_SESSION_MAX_ITEMS", 1_000
"""The variable that says how many of a session's last records are loaded, and how many are without it."""
INDEX_LIMIT, INDEX_LINES = 40_000, 200
"""Characters and lines of the memory's index that it reads."""


def project_folder(home: Path, folder: Path) -> Path:
    """Where the client keeps the sessions of a project: its real path with a dash for every run of slashes and colons,
    none at the ends; of a name over 255 bytes the first 180, and a hash of it (djb2, by exclusive or)."""
    path = os.fsencode(os.path.realpath(folder)).decode("utf-8", "surrogateescape")  # whatever the locale says
    name = re.sub("-+", "-", re.sub(r"[/\\:]", "-", path).strip("-"))
    raw = name.encode("utf-8", "surrogateescape")
    if len(raw) > _LONGEST_NAME:
        digest = 5381
        for byte in raw:
            digest = (digest * 33 ^ byte) & 0xFFFFFFFF
        name = f"{raw[:_KEPT_NAME].decode('utf-8', 'ignore')}-{_base36(digest)}"
    return home / "projects" / name


def _base36(number: int) -> str:
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


def memory_folder(home: Path, folder: Path) -> Path:
    """Where the client keeps what it remembers of a project."""
    return project_folder(home, folder) / "memory"


def resume_arguments(session_id: str, model_id: str | None) -> tuple[str, ...]:
    """``codebuddy --resume ID``, with ``--model`` where one is named."""
    return ("--resume", session_id, *(("--model", model_id) if model_id else ()))


def resumes_recorded_model(recorded: str | None, wanted: str) -> bool:  # noqa: ARG001
    """Never: the client goes on with the model it is configured for."""
    return False


def model(home: Path, folder: Path, named: str | None) -> tuple[str, str]:
    """The model named, else the one the client would start with here: CODEBUDDY_MODEL, then ``model`` of the
    project's and the home's settings, then its default, or where ``availableModels`` of a models.json leaves that out,
    the first that is left."""
    for chosen, source in ((named, "named"), (os.environ.get("CODEBUDDY_MODEL"), "CODEBUDDY_MODEL")):
        if chosen:
            return chosen, source
    for path in _settings(home, folder):
        chosen = settings_of(path).get("model")
        if isinstance(chosen, str) and chosen:
            return chosen, str(path)
    lists = _model_lists(home, folder)
    for path in lists:
        left = rows(settings_of(path).get("availableModels"))
        if left:
            own = [text(row.get("id")) for row in _own_models(home, folder)]
            first = next((chosen for chosen in (*_MODELS, *own) if chosen in left), None)
            return first or _DEFAULT_MODEL, f"availableModels of {path}"
    return _DEFAULT_MODEL, f"default of CodeBuddy Code {VERSION}{unreadable((*_settings(home, folder), *lists))}"


def window(model_id: str, known: Window | None, home: Path, folder: Path) -> Window | None:
    """``maxInputTokens`` and ``maxOutputTokens`` of the project's or the home's models.json, else of the client's own
    list. The client goes by the first alone."""
    named = [row for row in _own_models(home, folder) if _is_called(row, model_id)]
    own = named[-1] if named else {}
    most, reply = _MODELS.get(model_id, (None, None))
    most, reply = _limit(own.get("maxInputTokens")) or most, _limit(own.get("maxOutputTokens")) or reply
    if most is None:
        return known
    return Window(context=most, max_output=reply or (known.max_output if known else None), source="client")


def _own_models(home: Path, folder: Path) -> list[Record]:
    """The models that the user has named, those of the project last: of two with one id the last counts."""
    return [table(row) for path in _model_lists(home, folder)[::-1] for row in rows(settings_of(path).get("models"))]


def _is_called(row: Record, model_id: str) -> bool:
    return model_id in (row.get("id"), row.get("name"), f"custom-local:{row.get('id')}")


def _limit(value: Any) -> int | None:
    return positive(value) if isinstance(value, int) else None


def trigger(seen: Window, home: Path, folder: Path) -> int | None:
    """The size at which the client compacts by itself, a share of the window that it lets in; ``autoCompactEnabled``
    and ``autoCompactWindow`` of the settings are heeded, and the variables that stand above them."""
    settings = [settings_of(path) for path in _settings(home, folder)]
    enabled = next((found["autoCompactEnabled"] for found in settings if "autoCompactEnabled" in found), True)
    if seen.context is None or enabled is False:
        return None
    named = os.environ.get("CODEBUDDY_AUTO_COMPACT_WINDOW", "")
    chosen = int(named) if named.isdecimal() else None
    chosen = chosen or next(filter(None, (_limit(found.get("autoCompactWindow")) for found in settings)), None)
    context = min(seen.context, chosen or seen.context)
    percent = os.environ.get("CODEBUDDY_AUTOCOMPACT_PCT_OVERRIDE", "")
    share = int(percent) / 100 if percent.isdecimal() and 0 < int(percent) <= 100 else _THRESHOLD
    return int(context * share)


def instructions(home: Path, folder: Path) -> tuple[Path, ...]:
    """What goes into the first request: CODEBUDDY.md (AGENTS.md where there is none) of the home and of every folder
    down to this one, the rules of the home and the project, the project's CODEBUDDY.local.md, whatever all of these
    import, and the index of what the client remembers of the project."""
    found: list[Path] = []
    for place in (home, *reversed(folder.parents), folder):
        named = [place / "CODEBUDDY.md", place / "AGENTS.md"]
        found += [*[*filter(is_file, named)][:1], place / FOLDER / "CODEBUDDY.md"]
    found.append(folder / "CODEBUDDY.local.md")
    found += documents([home / "rules", folder / FOLDER / "rules"], deep=True)
    remembered = memory_folder(home, folder) / "MEMORY.md"
    return (*with_imports(filter(is_file, found), anywhere), *filter(is_file, [remembered]))


def described(home: Path, folder: Path) -> tuple[Path, ...]:
    """The skills and agents of the home, of plugins that are on, and of this folder alone."""
    places = (home, *plugins(home, _settings(home, folder)), folder / FOLDER)
    agents = documents([place / "agents" for place in places], deep=True)
    return (*skills([place / "skills" for place in places], deep=True), *agents)


def mcp_servers(home: Path, folder: Path) -> tuple[str, ...]:
    """``mcpServers`` of the project's .mcp.json, and of the first file of the home that has some."""
    own = (home / ".mcp.json", home / "mcp.json", home / ".codebuddy.json", home.parent / ".codebuddy.json")
    project = (folder / ".mcp.json", folder / "mcp.json")
    files = [path for places in (own, project) for path in [*filter(is_file, places)][:1]]
    return tuple(dict.fromkeys(name for path in files for name in table(settings_of(path).get("mcpServers"))))


def _settings(home: Path, folder: Path) -> tuple[Path, ...]:
    project = folder / FOLDER
    return project / "settings.local.json", project / "settings.json", home / "settings.json"


def _model_lists(home: Path, folder: Path) -> tuple[Path, ...]:
    return folder / FOLDER / "models.json", home / "models.json"
