"""What the tests know of each agent's client: one module an agent, ``client_<agent>.py``, each with a ``KIND``."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

PINS = Path(__file__).resolve().parent / "versions.toml"
VERSIONS: dict[str, dict[str, Any]] = tomllib.loads(PINS.read_text(encoding="utf-8"))
PORT = 8787  # each run has a namespace of its own, so it is always free
KEY = "sk-ant-not-a-key"

Body = dict[str, Any]
Item = tuple[str, str, Any, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A client's place, and how it is to be set up: the model (default: the pinned one), MCP servers by name
    ({command, args, env} each), and the window that its model is to be taken for, where a setting says so."""

    client: str
    home: Path
    cwd: Path
    config_dir: Path | None = None
    model: str | None = None
    servers: Mapping[str, Mapping[str, Any]] | None = None
    window: int | None = None

    @property
    def pinned(self) -> Mapping[str, Any]:
        """The client's entry in ``versions.toml``."""
        return VERSIONS[self.client]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How the clients of an agent are run, and what they send.

    environment(config_dir)   the variables they need besides the common ones
    configure(setup)          writes the settings that point a client at the stub and trust the project
    path                      of the requests that carry the conversation, a pattern
    items(body)               the conversation in such a request, what the client itself put in left out
    listed(setup)             what the client lists for the project, as text to search
    resume                    the arguments before a session's id ({model} stands for the model)
    tool, argument            the tool they are made to call
    own                       how the texts begin that they put into a user's message (where a session holds such a
                              text, it cannot be told from theirs)
    failed                    what a failed result begins with where no flag says that it failed
    between                   what they put between two messages of the user's
    repeat                    whether they send the results of their own earlier turns twice
    at_the_end                what they add to a session that does not end with the model's words, by the role of
                              its last message
    """

    environment: Callable[[Path | None], dict[str, str]]
    configure: Callable[[Setup], None]
    path: str
    items: Callable[[Body], Iterator[Item]]
    listed: Callable[[Setup], str]
    resume: Sequence[str]
    tool: str
    argument: str
    own: tuple[str, ...]
    failed: str = ""
    between: str = ""
    repeat: bool = False
    at_the_end: Mapping[str, Sequence[Item]] = field(default_factory=dict[str, Sequence[Item]])


def agent_of(client: str) -> str:
    """The agent a client is a version of."""
    return VERSIONS[client]["agent"]


@cache
def kind_of(client: str) -> Kind:
    """The kind of a client."""
    return import_module(f"client_{agent_of(client).replace('-', '_')}").KIND


def result(output: str | list[Body], call_id: str | None) -> Iterator[Item]:
    """A tool's result: one text, and after it the images it holds."""
    parts = [{"text": output}] if isinstance(output, str) else output
    yield "tool", "result", "\n".join(part["text"] for part in parts if "text" in part), call_id
    for part in parts:
        if "image_url" in part or "source" in part:
            yield "tool", "image", part["source"].get("data") if "source" in part else data(part["image_url"]), call_id


def data(url: str) -> str:
    """The base64 of a data URL; another URL as it is."""
    return url.partition(";base64,")[2] or url
