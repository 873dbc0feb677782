"""What Gemini CLI itself does: its home and the folders of its projects, its models, when it compresses.

The models, the window and the threshold are those of 0.61.0, 2026-11-29.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from ...context_windows import Window, normalize
from ...files import is_file, is_folder
from ..instructions import beside, documents, extensions, skills, with_imports
from ..jsonl import table
from ..paths import upward
from ..settings import settings_of, unreadable

VERSION = "0.61.0"
FOLDER = ".gemini"
MARKER = ".project_root"

# Of "auto", which also is the default, the model for whatever is not simple.
_ALIASES = {
    "auto": "gemini-3-pro-preview",
    "auto-gemini-3": "gemini-3-pro-preview",
    "auto-gemini-2.5": "gemini-2.5-pro",
    "pro": "gemini-3-pro-preview",
    "flash": "gemini-3-flash-preview",
    "flash-lite": "gemini-3.1-flash-lite",
}
# The client's own table: this for Gemini and for whatever it does not know, less for Gemma 4.
_WINDOW, _GEMMA_WINDOW = 1_048_576, 256_000
_GEMMA = ("gemma-4-31b", "gemma-4-26b-a4b")
_THRESHOLD = 0.5


def locate(home: Path | None) -> Path:
    """The ``.gemini`` folder: the home given, or the one in it; else in $GEMINI_CLI_HOME, else in ~."""
    if home:
        return home if home.name == FOLDER else home / FOLDER
    return Path(os.environ.get("GEMINI_CLI_HOME") or Path.home()) / FOLDER


def resume_arguments(session_id: str, model_id: str | None) -> tuple[str, ...]:
    """``gemini --resume ID``, with ``--model`` where one is named."""
    return ("--resume", session_id, *(("--model", model_id) if model_id else ()))


def resumes_recorded_model(recorded: str | None, wanted: str) -> bool:  # noqa: ARG001
    """Never: the client goes on with the model it is configured for."""
    return False


# --- the folder of a project


def slug_of(home: Path, folder: Path) -> str:
    """The name under which the client keeps a project: the one of projects.json if the folders there are that
    project's, else of a folder marked as the project's, else a new one made of the project's own name."""
    path = os.path.realpath(folder)
    known = _registry(home)
    slug = known.get(path)
    if slug and all(owner in (None, path) for owner in _owners(home, slug)):
        return slug
    for base in _bases(home):
        for marker in sorted(base.glob(f"*/{MARKER}")):
            if _owner(marker) == path:
                return marker.parent.name
    stem = re.sub(r"-+", "-", re.sub(r"[^a-z0-9]", "-", Path(path).name.lower()))
    stem = stem.removeprefix("-").removesuffix("-") or "project"
    taken = {slug for place, slug in known.items() if place != path}
    number, slug = 0, stem
    while slug in taken or any(owner not in (None, path) for owner in _owners(home, slug)):
        number += 1
        slug = f"{stem}-{number}"
    return slug


def project_of(path: Path) -> str | None:
    """The project's folder, by where a session's file lies: by the mark in the folder around it, or projects.json
    (which also tells folders named by a digest, as up to 0.25)."""
    chats = next((place for place in path.parents if place.name == "chats"), None)
    if chats is None or len(chats.parents) < 3:
        return None
    marked = _owner(chats.parent / MARKER)
    if marked:
        return marked
    name = chats.parent.name
    known = _registry(chats.parents[2])
    return next((place for place, slug in known.items() if name in (slug, project_hash(place))), None)


def project_hash(folder: str) -> str:
    """The digest of a project's path."""
    return hashlib.sha256(os.fsencode(folder)).hexdigest()


def has_older_sessions(home: Path, folder: str, place: Path) -> bool:
    """Whether the sessions of 0.25 and before, in a folder named by a digest, are still to be copied to the project's
    new one, ``place``: the client does that when it starts, as long as there is nothing but the mark (0.61)."""
    if not is_folder(home / "tmp" / project_hash(folder)):
        return False
    return not any(found.name != MARKER for found in place.glob("*"))


def _bases(home: Path) -> tuple[Path, Path]:
    return home / "tmp", home / "history"


def _owners(home: Path, slug: str) -> Iterator[str | None]:
    return (_owner(base / slug / MARKER) for base in _bases(home))


def _owner(marker: Path) -> str | None:
    """The folder that a mark names, None where there is no mark."""
    try:
        return marker.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def _registry(home: Path) -> dict[str, str]:
    known = table(settings_of(home / "projects.json").get("projects"))
    return {place: slug for place, slug in known.items() if isinstance(slug, str) and re.fullmatch("[a-z0-9-]+", slug)}


# --- models, and what a request holds


def model(home: Path, folder: Path, named: str | None) -> tuple[str, str]:
    """The model named, else the one the client would start with here: GEMINI_MODEL, then ``model.name`` of the
    project's and the home's settings, then its default. Aliases (auto, pro, flash, ...) are resolved."""
    for chosen, source in ((named, "named"), (os.environ.get("GEMINI_MODEL"), "GEMINI_MODEL")):
        if chosen:
            return _ALIASES.get(chosen, chosen), source
    for path in _settings(home, folder):
        chosen = table(settings_of(path).get("model")).get("name")
        if isinstance(chosen, str) and chosen:
            return _ALIASES.get(chosen, chosen), str(path)
    return _ALIASES["auto"], f"default of Gemini CLI {VERSION}{unreadable(_settings(home, folder))}"


def window(model_id: str, known: Window | None, home: Path, folder: Path) -> Window | None:  # noqa: ARG001
    """The window by the client's own table; a model that takes less has what it takes."""
    name = normalize(model_id)
    context = _GEMMA_WINDOW if name in _GEMMA else _WINDOW
    if known and known.context:
        return Window(context=min(known.context, context), source="client")
    return Window(context=context, source="client") if name in _GEMMA else None


def trigger(seen: Window, home: Path, folder: Path) -> int | None:
    """The size at which the client compresses by itself: half of the window that it gives the model, or the share
    that ``model.compressionThreshold`` of the settings names."""
    if seen.context is None:
        return None
    shares = (table(settings_of(path).get("model")).get("compressionThreshold") for path in _settings(home, folder))
    share = next((share for share in shares if isinstance(share, int | float) and 0 < share <= 1), _THRESHOLD)
    return int(seen.context * share)


def instructions(home: Path, folder: Path) -> tuple[Path, ...]:
    """GEMINI.md, or what ``context.fileName`` of the settings names, of the home and of every folder from the
    repository's root down to this one, with what they import from there; and those of its extensions."""
    names, chain = _context_names(home, folder), list(upward(folder))
    found = [place / name for place in (home, *chain) for name in names]
    brought = [path for paths in extensions(home, "gemini").values() for path in paths]
    return with_imports([*filter(is_file, found), *brought], beside(home, chain[0]))


def described(home: Path, folder: Path) -> tuple[Path, ...]:
    """The skills of the home, of ``.agents`` beside it, of extensions and of this folder alone, and the agents."""
    places = (home, folder / FOLDER, *extensions(home, "gemini"))
    shared = (home.parent / ".agents", folder / ".agents")
    return (
        *skills([place / "skills" for place in (*places, *shared)]),
        *documents([place / "agents" for place in places]),
    )


def mcp_servers(home: Path, folder: Path) -> tuple[str, ...]:
    """``mcpServers`` of the project's and the home's settings."""
    return tuple(dict.fromkeys(
        name for path in _settings(home, folder) for name in table(settings_of(path).get("mcpServers"))
    ))  # fmt: skip


def _context_names(home: Path, folder: Path) -> list[str]:
    for path in _settings(home, folder):
        given = table(settings_of(path).get("context")).get("fileName")
        several = cast(list[Any], given) if isinstance(given, list) else [given]
        names = [name for name in several if isinstance(name, str) and name]
        if names:
            return names
    return ["GEMINI.md"]


def _settings(home: Path, folder: Path) -> tuple[Path, ...]:
    return folder / FOLDER / "settings.json", home / "settings.json"
