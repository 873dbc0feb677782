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

from ..files import is_file
from .jsonl import rows, table, text
from .settings import joined, settings_of

SKILL = "SKILL.md"

_HOPS = 5
"""From file to file; Claude Code 2.1.332 and Gemini CLI 0.61.0 follow no more."""
_DEPTH = 6
"""Folders below one that holds skills or agents; they have no more."""
_FOLDERS = 2_000
"""How many are looked into: a link may lead anywhere."""
_CODE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_IMPORT = re.compile(r"(?:^|(?<=\s))@((?:\\ |[^\s\\])+)")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_FIRST_WORDS, _LONGEST = 300, 4_000_000  # characters


def with_imports(paths: Iterable[Path], allowed: Callable[[Path, Path], bool]) -> tuple[Path, ...]:
    """Instruction files and those that they import (``@docs/style.md``, from the folder of the file that says so), each
    once. ``allowed(of, to)`` tells whether a client takes the one where the first, one of ``paths``, leads to it."""
    found = level = {path: path for path in paths}  # each with the one of those that leads to it
    for _ in range(_HOPS):
        level = {to: of for path, of in level.items() for to in _imports(path) if to not in found and allowed(of, to)}
        found = found | level
    return tuple(found)


def _imports(path: Path) -> Iterator[Path]:
    for written in _IMPORT.findall(_CODE.sub("", text_of(path))):
        named = written.replace("\\ ", " ")
        meant = (path.parent / os.path.expanduser(name) for name in (named, named.rstrip(".,;:!?)")))  # noqa: PTH111
        yield from (Path(os.path.normpath(place)) for place in [*filter(is_file, meant)][:1])


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
    """The files of a name, in order; what is hidden is left out, and what is reached by several ways is there once."""
    found: dict[str, Path] = {}
    for folder in folders:
        for place, inner, names in islice(os.walk(folder, followlinks=True), _FOLDERS):
            is_deepest = len(Path(place).relative_to(folder).parts) == depth
            inner[:] = [] if is_deepest else sorted(name for name in inner if name[0] != "." and name != "node_modules")
            for path in (Path(place, name) for name in sorted(names) if is_wanted(name)):
                found.setdefault(os.path.realpath(path), path)
    return tuple(filter(is_file, found.values()))


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
