"""What OpenCode and its forks do themselves: where their data and settings are, their models, when they compact.

What is the same in all of them is that of OpenCode 1.18.33, 2026-11-29; what differs is a ``Client``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from ...context_windows import Window
from ...files import is_file
from ..instructions import documents, skills
from ..jsonl import Record, rows, table, text
from ..models import vendor
from ..paths import upward
from ..settings import joined, positive, settings_of, unreadable

HOME_VARIABLE = "XDG_DATA_HOME"
DEFAULT_TITLE = re.compile(r"(?:New|Child) session - \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
"""The title that a session has until the client's small model makes another."""

_INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md", "CONTEXT.md")
_LONGEST_PATTERN = 500
# The longest reply that it asks for, and what it keeps free of a model's input limit.
_REPLY, _RESERVE = 32_000, 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """OpenCode, or a fork of it: what differs between them, and what follows from that.

    ``word``: what its command, its agent here, its folders, its database and its file in a repository are called, in
    capitals what its variables begin with. ``schema``: the package that holds the schema of its database
    (``schema.json``). ``agent``: its own agent that does what it is asked. ``settings``: its settings files, those that
    count more later; ``places``: its folders in the home and in a project that hold such. ``default``: the model that
    a new user without any account gets, and the limits that the client has for it. ``rules``: patterns of files, in the
    home and in a project, that go with the instructions; ``servers``: of files that name MCP servers. ``native``:
    whether its model is sent all that stands behind a compaction, images too. ``context``: how the text begins that the
    client adds to what it sends of each message of the user's, but where a part of it begins so. ``estimated``: where a
    share of the window is set as its limit, what it adds to a request's size before it compares them.
    """

    name: str
    word: str
    version: str
    schema: str
    agent: str
    settings: tuple[str, ...]
    places: tuple[str, ...]
    default: str
    default_limit: Record
    rules: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    native: bool = True
    context: str | None = None
    estimated: int = 0

    def locate(self, home: Path | None) -> Path:
        """The data folder: the home given, or the one in it; else in $XDG_DATA_HOME, else ~/.local/share."""
        if home:
            return home if home.name == self.word else home / self.word
        return self._xdg(HOME_VARIABLE, ".local/share")

    def databases(self, home: Path) -> list[Path]:
        """The databases in a data folder, the one that the client uses first. A variable (``OPENCODE_DB``) names it
        for the client's own folder; other channels than the latest have one of their own each."""
        named = os.environ.get(self.variable("DB"))
        chosen = home / named if named and named != ":memory:" and home == self.locate(None) else None
        others = [path for word in (self.word, "opencode") for path in sorted(home.glob(f"{word}*.db"))]
        return list(dict.fromkeys((chosen or home / f"{self.word}.db", *others)))

    def variable(self, name: str) -> str:
        """What a variable of the client's is called."""
        return f"{self.word.upper()}_{name}"

    # --- models, and what a request holds

    def model(self, home: Path, folder: Path, named: str | None) -> tuple[str, str]:  # noqa: ARG002
        """The model named, else the one the client would start with here: ``model`` of the settings, then the one
        that was used last, then its default. One that is named without a provider gets the one that the settings have
        it under, else its vendor."""
        settings = self._settings(folder)
        if named:
            return (named if "/" in named else f"{self._provider_of(named, settings)}/{named}"), "named"
        chosen = text(settings.get("model"))
        if chosen:
            return chosen, next(str(path) for path in reversed(self._paths(folder)) if settings_of(path).get("model"))
        state = self._xdg("XDG_STATE_HOME", ".local/state") / "model.json"
        for used in map(table, rows(settings_of(state).get("recent"))):
            provider, model_id = text(used.get("providerID")), text(used.get("modelID"))
            if provider and model_id:
                return f"{provider}/{model_id}", str(state)
        return self.default, f"default of {self.name} {self.version}{unreadable(self._paths(folder))}"

    def _provider_of(self, model_id: str, settings: Record) -> str:
        for provider, given in table(settings.get("provider")).items():
            if model_id in table(table(given).get("models")):
                return provider
        return vendor(model_id) or (text(settings.get("model")) or self.default).partition("/")[0]

    def window(self, model_id: str, known: Window | None, home: Path, folder: Path) -> Window | None:  # noqa: ARG002
        """The window by the limits of the user's and the project's settings, else by the list of models that the
        client has fetched; a model that takes less has what it takes."""
        limit = self._limit(model_id, self._settings(folder))
        context = positive(limit.get("context"))
        if context is None:
            return None
        if known and known.context:
            context = min(context, known.context)
        return Window(
            context=context, max_input=positive(limit.get("input")), max_output=positive(limit.get("output")),
            source="client",
        )  # fmt: skip

    def trigger(self, seen: Window, home: Path, folder: Path) -> int | None:  # noqa: ARG002
        """The size of the last answer's request, with the answer, from which the client compacts: the input limit less
        ``compaction.reserved``, else the context less the longest reply; no more than ``compaction.threshold_percent``
        of the context, which forks alone know. None where ``compaction.auto`` is off."""
        compaction = table(self._settings(folder).get("compaction"))
        if compaction.get("auto") is False or seen.context is None:
            return None
        longest = positive(_number(os.environ.get(self.variable("EXPERIMENTAL_OUTPUT_TOKEN_MAX")))) or _REPLY
        reply = min(seen.max_output or longest, longest)
        if seen.max_input:
            reserved = compaction.get("reserved")
            kept = reserved if isinstance(reserved, int) and reserved >= 0 else min(_RESERVE, reply)
            most = seen.max_input - kept
        else:
            most = seen.context - reply
        percent = compaction.get("threshold_percent")
        if self.estimated and isinstance(percent, (int, float)) and 0 < percent <= 100:
            most = min(most, int(seen.context * percent / 100) - self.estimated)
        return max(0, most)

    def instructions(self, home: Path, folder: Path) -> tuple[Path, ...]:  # noqa: ARG002
        """AGENTS.md, else CLAUDE.md, else CONTEXT.md of every folder from the repository's root down to this one; the
        user's own AGENTS.md, else Claude Code's; what ``instructions`` of the settings names on this machine; and the
        rules."""
        chain = list(upward(folder))
        each = ([path for place in chain if is_file(path := place / name)] for name in _INSTRUCTIONS)
        own = next(filter(None, each), list[Path]())
        users = (self._config() / "AGENTS.md", Path.home() / ".claude" / "CLAUDE.md")
        own += [path for path in users if is_file(path)][:1]
        for pattern in rows(self._settings(folder).get("instructions")):
            own += _matching(pattern, chain)
        return tuple(dict.fromkeys((*own, *_found(self.rules, folder))))

    def described(self, home: Path, folder: Path) -> tuple[Path, ...]:  # noqa: ARG002
        """The skills and agents of its folders in the home and in every folder from the repository's root down to this
        one, the skills of Claude Code's and of ``.agents`` there too."""
        named = os.environ.get(self.variable("CONFIG_DIR"))
        own = [self._config(), *([Path(named)] if named else [])]
        chain = [Path.home(), *upward(folder)]
        own += [place / name for place in chain for name in self.places]
        others = [place / name / "skills" for place in chain for name in (".claude", ".agents")]
        named_so = [place / name for place in own for name in ("skill", "skills")]
        agents = documents([place / name for place in own for name in ("agent", "agents")], deep=True)
        return (*skills([*named_so, *others], deep=True), *agents)

    def mcp_servers(self, home: Path, folder: Path) -> tuple[str, ...]:  # noqa: ARG002
        """``mcp`` of the settings and ``mcpServers`` of the files beside them, those that are not switched off."""
        files = map(settings_of, _found(self.servers, folder))
        named = [table(self._settings(folder).get("mcp")), *(table(given.get("mcpServers")) for given in files)]
        off = {"enabled": False, "disabled": True}
        return tuple(dict.fromkeys(
            name for servers in named for name, server in servers.items()
            if not any(table(server).get(key) is value for key, value in off.items())
        ))  # fmt: skip

    def _limit(self, model_id: str, settings: Record) -> Record:
        """The limits of a model: of the settings, else of the fetched list."""
        provider, _, name = model_id.partition("/")
        fetched = table(settings_of(self._xdg("XDG_CACHE_HOME", ".cache") / "models.json").get(provider))
        own = table(table(settings.get("provider")).get(provider))
        for source in (own, fetched):
            limit = table(table(table(source.get("models")).get(name)).get("limit"))
            if positive(limit.get("context")):
                return limit
        return self.default_limit if model_id == self.default else {}

    # --- settings

    def _settings(self, folder: Path) -> Record:
        """The settings that count: of the user, of the file that a variable names, of the project from its root
        down."""
        return reduce(joined, map(settings_of, self._paths(folder)), {})

    def _paths(self, folder: Path) -> list[Path]:
        """The settings files there may be, those that count more later."""
        config = self._config()
        named, own = (os.environ.get(self.variable(name)) for name in ("CONFIG", "CONFIG_DIR"))
        paths = [config / name for name in ("config.json", *self.settings)]
        paths += [Path(named)] if named else []
        chain = list(upward(folder))
        paths += [place / name for place in chain for name in self.settings]
        paths += [
            place / inner / name for place in (*chain, Path.home()) for inner in self.places for name in self.settings
        ]
        return paths + ([Path(own) / name for name in self.settings] if own else [])

    def _config(self) -> Path:
        return self._xdg("XDG_CONFIG_HOME", ".config")

    def _xdg(self, variable: str, default: str) -> Path:
        return Path(os.environ.get(variable) or Path.home() / default) / self.word


def resume_arguments(session_id: str, model_id: str | None) -> tuple[str, ...]:
    """``--session ID``, with ``--model`` where one is named."""
    return ("--session", session_id, *(("--model", model_id) if model_id else ()))


def resumes_recorded_model(recorded: str | None, wanted: str) -> bool:  # noqa: ARG001
    """Never: a session is written with the model that it is wanted for."""
    return False


def _found(patterns: tuple[str, ...], folder: Path) -> Iterator[Path]:
    """The files of the home and of a project that fit."""
    return (path for place in (Path.home(), folder) for pattern in patterns for path in _globbed(place, pattern))


def _matching(pattern: Any, chain: list[Path]) -> list[Path]:
    if not isinstance(pattern, str) or not pattern or pattern.startswith(("http://", "https://")):
        return []
    walks = pattern.count("**")
    if len(pattern) > _LONGEST_PATTERN or walks > 1 or (walks and ".." in pattern):
        return []  # no walk over the whole machine
    path = Path(os.path.expanduser(pattern))  # noqa: PTH111
    if not path.name:  # "." and "/" name a folder
        return []
    places, pattern = ([path.parent], path.name) if path.is_absolute() else (chain, pattern)
    return sorted(found for place in places for found in _globbed(place, pattern))


def _globbed(place: Path, pattern: str) -> list[Path]:
    try:
        return sorted(filter(is_file, place.glob(pattern)))
    except (OSError, ValueError, NotImplementedError, RecursionError):
        return []


def _number(words: str | None) -> int | None:
    return int(words) if words and words.isdecimal() else None
