"""What clients read beside a session: instruction files with those that they import, and the files that they tell their
model of by a description alone: skills, agents, commands."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any

from ..files import is_file, is_folder
from .jsonl import rows, table, text
from .settings import joined, settings_of

SKILL = "SKILL.md"

_HOPS = 5
"""From file to file; Claude Code 2.1.332 and Gemini CLI 0.61.0 follow no more."""
_DEPTH = 6
"""Folders below one that holds skills or agents; they have no more."""
_FOLDERS = 2_000
"""How many are looked into, those of a level first: a link may lead anywhere."""
_FILES, _NAMES = 200, 1_000
"""How many files are imported, and how many names of one are tried; a project may say what it likes."""
_CODE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_IMPORT = re.compile(r"(?:^|(?<=\s))@((?:\\ |[^\s\\])+)")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_FIRST_WORDS, _LONGEST = 300, 4_000_000  # characters


def with_imports(paths: Iterable[Path], allowed: Callable[[Path, Path], bool]) -> tuple[Path, ...]:
    """Instruction files and those that they import (``@docs/style.md``, from the folder of the file that says so), each
    once. ``allowed(of, to)`` tells whether a client takes the one where the first, one of ``paths``, leads to it."""
    found = level = {path: path for path in paths}  # each with the one of those that leads to it
    tried, real = set(found), {os.path.realpath(path) for path in found}
    for _ in range(_HOPS):
        reached: dict[Path, Path] = {}
        for path, of in level.items():
            for to in _imports(path):
                if to in tried or not allowed(of, to):
                    continue
                tried.add(to)
                if len(real) < _FILES and is_file(to) and os.path.realpath(to) not in real:
                    real.add(os.path.realpath(to))
                    reached[to] = of
        found, level = found | reached, reached
    return tuple(found)


def _imports(path: Path) -> Iterator[Path]:
    """The files that one may import; a full stop behind a name may be of the sentence."""
    for found in islice(_IMPORT.finditer(_CODE.sub("", text_of(path))), _NAMES):
        named = found[1].replace("\\ ", " ")
        named = os.path.expanduser(named) if named.startswith("~/") else named  # noqa: PTH111
        for name in dict.fromkeys((named, named.rstrip(".,;:!?)"))):
            yield Path(os.path.normpath(path.parent / name))


def anywhere(of: Path, to: Path) -> bool:  # noqa: ARG001
    """What a client allows that takes every import."""
    return True


def beside(home: Path, root: Path) -> Callable[[Path, Path], bool]:
    """What clients allow that take an import from the home for a file there, for one of the repository from that, and
    for any other from its own folder."""

    def is_beside(of: Path, to: Path) -> bool:
        return to.is_relative_to(next((place for place in (home, root) if of.is_relative_to(place)), of.parent))

    return is_beside


def skills(folders: Iterable[Path], *, deep: bool = False) -> tuple[Path, ...]:
    """The SKILL.md of each folder in some folders; of those within them too, where a client looks so ``deep``."""
    return _below(folders, _DEPTH if deep else 1, lambda name: name == SKILL)


def documents(
    folders: Iterable[Path], *, deep: bool = False, endings: tuple[str, ...] = (".md",)
) -> tuple[Path, ...]:  # fmt: skip
    """The files in some folders that hold agents, commands or rules."""
    return _below(folders, _DEPTH if deep else 0, lambda name: name.endswith(endings))


def _below(folders: Iterable[Path], depth: int, is_wanted: Callable[[str], bool]) -> tuple[Path, ...]:
    """The files of a name, by level; what is hidden is left out, and what is reached by several ways is there once."""
    found: dict[str, Path] = {}
    level, seen = [*filter(is_folder, folders)], set[str]()
    for _ in range(depth + 1):
        below: list[Path] = []
        for place in level:
            if (real := os.path.realpath(place)) in seen or len(seen) == _FOLDERS:
                continue
            seen.add(real)
            for path in _entries(place):
                if is_wanted(path.name) and is_file(path):
                    found.setdefault(os.path.realpath(path), path)
                elif path.name[0] != "." and path.name != "node_modules" and is_folder(path):
                    below.append(path)
        level = below
    return tuple(found.values())


def _entries(folder: Path) -> list[Path]:
    try:
        return [folder / name for name in sorted(os.listdir(folder))]  # noqa: PTH208
    except OSError:
        return []


def plugins(home: Path, settings: Iterable[Path]) -> list[Path]:
    """Where the plugins of Claude Code, or of CodeBuddy Code, lie that the settings switch on; of these files the first
    counts most."""
    said = reduce(joined, (table(settings_of(path).get("enabledPlugins")) for path in reversed([*settings])), {})
    installed = table(settings_of(home / "plugins" / "installed_plugins.json").get("plugins"))
    found = [table(each) for name, is_on in said.items() if is_on is True for each in rows(installed.get(name))]
    return [Path(path) for path in (text(each.get("installPath")) for each in found) if path]


def extensions(home: Path, client: str) -> dict[Path, list[Path]]:
    """The extensions of Gemini CLI, or of a fork (``client``: what its files are called by), each with the instruction
    files that it names; of one that is linked, where it lies. Whether it is on in this folder is not looked at."""
    found: dict[Path, list[Path]] = {}
    for manifest in sorted((home / "extensions").glob(f"*/{client}-extension.json")):
        place = manifest.parent
        installed = settings_of(place / f".{client}-extension-install.json")
        linked = text(installed.get("source")) if installed.get("type") == "link" else None
        place = Path(linked) if linked else place
        named: Any = settings_of(place / manifest.name).get("contextFileName") or f"{client.upper()}.md"
        names = [name for name in (rows(named) or [named]) if isinstance(name, str)]
        found[place] = [path for name in names if is_file(path := place / name)]
    return found


def is_conditional(rule: Path) -> bool:
    """Whether a rule goes into a request only when certain files are worked on, which its front matter names."""
    front = _FRONT_MATTER.match(text_of(rule))
    return bool(front and re.search(r"^(?:paths|globs)\s*:", front[1], re.MULTILINE))


def described_as(path: Path) -> str:
    """What a client tells its model of such a file at most: its name where tools are told which there are, and an
    element with its front matter, or its first words where it has none, and its path."""
    words = text_of(path)
    front = _FRONT_MATTER.match(words)
    name = path.parent.name if path.name == SKILL else path.stem
    about = escape(front[1] if front else words[:_FIRST_WORDS])
    element = f"  <skill>\n    <name>{name}</name>\n    <description>{about}</description>\n"
    return f'"{name}", "{name}", {element}    <location>{path}</location>\n  </skill>\n'


def text_of(path: Path) -> str:
    """The text of a file, or the beginning of a very long one; of one that cannot be read, none. What a project imports
    may lead anywhere: a file without a size may never end (``/proc/kmsg``)."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            return file.read(_LONGEST) if path.stat().st_size else ""
    except OSError:
        return ""
