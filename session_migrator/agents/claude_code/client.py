"""What the Claude Code client itself does: its home and folders, its windows, when it compacts.

The windows, the trigger's constants and the aliases are those of Claude Code 2.1.332, 2026-11-29.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from ...context_windows import Window, normalize
from ...files import is_file
from ..instructions import documents, is_conditional, plugins, skills, with_imports
from ..jsonl import Record, table
from ..paths import dashed, upward, utf16
from ..settings import settings_of, unreadable

VERSION = "2.1.332"

_ALIASES = {
    "opus": "claude-opus-5-5",
    "best": "claude-opus-5-5",
    "default": "claude-opus-5-5",
    "sonnet": "claude-sonnet-5-5",
    "haiku": "claude-haiku-5-5",
    "fable": "claude-fable-5-2",
}
_DEFAULT_MODEL = "claude-opus-5-5"

_SMALL, _LARGE = 200_000, 1_000_000
# 200,000 whatever is asked for; 200,000 unless the id ends in [1m]; every other Claude model 1,000,000.
_ALWAYS_SMALL = re.compile(r"claude-(?:haiku-4-5|opus-4(?:-[15])?)$")
_SMALL_BY_DEFAULT = re.compile(r"claude-(?:sonnet-4(?:-[56])?|opus-4-6)$")
_LARGE_SUFFIX = re.compile(r"\[[12]m\]$", re.IGNORECASE)

# The client compacts at window - min(max_output, 20,000) - 13,000, and takes no window below 100,000.
_REPLY_RESERVE, _MARGIN, _LEAST_WINDOW = 20_000, 13_000, 100_000
_LONGEST_NAME = 200


def locate(home: Path | None) -> Path:
    """The home given, else $CLAUDE_CONFIG_DIR, else ~/.claude."""
    return home or Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


def project_folder(home: Path, folder: Path) -> Path:
    """Where the client keeps the sessions of a project: its real path, every UTF-16 unit outside
    [A-Za-z0-9] a dash; a name over 200 is cut and a hash of the whole path (Java's) follows."""
    name = dashed(folder)
    if len(name) > _LONGEST_NAME:
        digest = 0
        for unit in utf16(folder):
            digest = (digest * 31 + unit) & 0xFFFFFFFF
        digest = abs(digest - 0x100000000 if digest & 0x80000000 else digest)
        name = f"{name[:_LONGEST_NAME]}-{_base36(digest)}"
    return home / "projects" / name


def _base36(number: int) -> str:
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


def resume_arguments(session_id: str, model_id: str | None) -> tuple[str, ...]:
    """``claude --resume ID``, with ``--model`` where one is named."""
    return ("--resume", session_id, *(("--model", model_id) if model_id else ()))


def resumes_recorded_model(recorded: str | None, wanted: str) -> bool:
    """The model of a session's answers wins over the settings and the default, where it is a Claude (2.1.332);
    only ``--model`` and ANTHROPIC_MODEL win over it."""
    name = normalize(recorded or "")
    return name.startswith("claude-") and name != normalize(wanted)


def model(home: Path, folder: Path, named: str | None) -> tuple[str, str]:
    """The model named, else the one the client would start with here: ANTHROPIC_MODEL, then ``model`` of the
    project's and the home's settings, then its default. Aliases (opus, sonnet, ...) are resolved."""
    chosen: Any = named or os.environ.get("ANTHROPIC_MODEL")
    source = "named" if named else "ANTHROPIC_MODEL"
    for path in () if chosen else _settings(home, folder):
        chosen, source = settings_of(path).get("model"), str(path)
        if chosen:
            break
    if not isinstance(chosen, str) or not chosen:
        return _DEFAULT_MODEL, f"default of Claude Code {VERSION}{unreadable(_settings(home, folder))}"
    base = _LARGE_SUFFIX.sub("", chosen)
    return _ALIASES.get(base.lower(), base) + chosen[len(base) :], source


def window(model_id: str, known: Window | None, home: Path, folder: Path) -> Window | None:  # noqa: ARG001
    """The window by the client's own catalogue; other known models get the 200,000 it assumes, at most."""
    base = normalize(model_id)
    if known is None or known.context is None:
        return None
    long = _LARGE_SUFFIX.search(model_id.strip())
    small = not base.startswith("claude-") or _ALWAYS_SMALL.match(base) or (_SMALL_BY_DEFAULT.match(base) and not long)
    allowed = _SMALL if small or os.environ.get("CLAUDE_CODE_DISABLE_1M_CONTEXT") else _LARGE
    return Window(context=min(known.context, allowed), source="client")


def trigger(seen: Window, home: Path, folder: Path) -> int | None:
    """The size at which the client compacts by itself; ``CLAUDE_CODE_AUTO_COMPACT_WINDOW`` and
    ``autoCompactEnabled: false`` of the settings are heeded."""
    enabled = (settings_of(path).get("autoCompactEnabled") for path in _settings(home, folder))
    if seen.context is None or any(each is False for each in enabled):
        return None
    chosen = os.environ.get("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "")
    context = min(seen.context, max(int(chosen), _LEAST_WINDOW)) if chosen.isdecimal() else seen.context
    usable = context - min(seen.max_output or _REPLY_RESERVE, _REPLY_RESERVE)
    percent = os.environ.get("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "")
    share = usable * int(percent) // 100 if percent.isdecimal() and 0 < int(percent) <= 100 else usable
    return max(0, min(usable - _MARGIN, share))


def instructions(home: Path, folder: Path) -> tuple[Path, ...]:
    """What goes into the first request: CLAUDE.md and the rules for all files, of the home and of every folder down to
    this one, with what they import (the home's anything, a project's what lies in this folder, or anything where the
    user has allowed that); and the index of what the client remembers of the project."""
    found = [home / "CLAUDE.md", *_rules(home)]
    for place in reversed([folder, *folder.parents]):
        found += [place / "CLAUDE.md", place / ".claude" / "CLAUDE.md", *_rules(place / ".claude")]
        found.append(place / "CLAUDE.local.md")
    there = dict.fromkeys(path.resolve() for path in found if is_file(path))
    top, own = folder.resolve(), home.resolve()
    is_open = _of_project(_known(home), folder).get("hasClaudeMdExternalIncludesApproved") is True
    told = with_imports(there, lambda of, to: is_open or to.is_relative_to(top) or of.is_relative_to(own))
    remembered = project_folder(home, next(upward(folder))) / "memory" / "MEMORY.md"
    return (*told, *filter(is_file, [remembered]))


def described(home: Path, folder: Path) -> tuple[Path, ...]:
    """Skills, agents and commands of the home, of plugins that are on, and of every folder from the repository's root
    down to this one."""
    places = [home, *plugins(home, _settings(home, folder)), *(place / ".claude" for place in upward(folder))]
    others = documents([place / name for place in places for name in ("agents", "commands")], deep=True)
    return (*skills([place / "skills" for place in places]), *others)


def described_most(seen: Window) -> int | None:
    """One token in a hundred of the window, four characters each; the names beyond that, for which half of it."""
    return seen.context * 6 // 100 if seen.context else None


def mcp_servers(home: Path, folder: Path) -> tuple[str, ...]:
    """``mcpServers`` of .claude.json (beside ~/.claude, or in $CLAUDE_CONFIG_DIR), for all folders and for this one,
    and of the project's .mcp.json."""
    known = _known(home)
    found = (known, _of_project(known, folder), settings_of(folder / ".mcp.json"))
    return tuple(dict.fromkeys(name for part in found for name in table(part.get("mcpServers"))))


def _known(home: Path) -> Record:
    """What the client itself has noted, beside ~/.claude or in $CLAUDE_CONFIG_DIR."""
    found = filter(is_file, (home / ".claude.json", home.parent / ".claude.json"))
    return settings_of(next(found, home / ".claude.json"))


def _of_project(known: Record, folder: Path) -> Record:
    return table(table(known.get("projects")).get(str(folder)))


def _rules(place: Path) -> list[Path]:
    return [path for path in documents([place / "rules"], deep=True) if not is_conditional(path)]


def _settings(home: Path, folder: Path) -> tuple[Path, ...]:
    project = folder / ".claude"
    return project / "settings.local.json", project / "settings.json", home / "settings.json"
