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
    config                    their configuration folder in a test's own, in which ``home`` is the HOME
    path                      of the requests that carry the conversation, a pattern
    items(body)               the conversation in such a request, what the client itself put in left out
    aside(body)               whether such a request is one of the client's own, beside the conversation
    listed(setup)             what the client lists for the project, as text to search
    resume                    the arguments before a session's id ({model} stands for the model, also below)
    start, again              the arguments before the prompt of a new session, and of the latest one again
    beside                    those of one more session, where ``start`` goes on with the one it has begun
    before                    the arguments right before the prompt, where it is no argument of its own
    terminal                  the same two where the client runs in the terminal, if it does; the second alone, since
                              not every one takes a prompt then: it is typed
    quiet                     arguments after the prompt there, so that nothing outlives the run
    mcp                       arguments that permit the tools of an MCP server ({name} stands for the server)
    mcp_call(server, tool)    what a call of a server's tool is named, as a step of the stub has it
    through(call)             the step by which the model of the newest one calls a tool that is hidden, given the call
    search(words)             the calls by which their model finds tools, one after the other, where they hide some
    at_once                   variables with which they hide none
    added(body)               the texts of a request that are not its conversation, its tools left out
    models()                  the models that its overhead is measured with; ``all_models`` where it knows no others
    sample                    the folder of a recorded session with tools, below the fixtures; None where those are
                              cut down so far that their client takes none
    recorded, named           a model that a session may record, and one that is named in its place
    smaller                   a model of a window that 300,000 tokens do not fit in
    tool, argument            the tool they are made to call, and ``more`` arguments that it demands
    own                       how the texts begin that they put into a user's message (where a session holds such a
                              text, it cannot be told from theirs)
    failed                    what a failed result begins with where no flag says that it failed
    sent(history, turns)      what of a conversation they send, after so many turns more, where that is not all of it
    kept(item)                what it writes down of an item of the conversation, where it masks some
    between                   what they put between two messages of the user's
    shown                     how many characters of a title they list at least
    rows                      what finds id and title of each session in that, where they list both
    numbered                  whether they may change or leave out the ids of calls: ``items`` then gives numbers
    apart                     whether older ones send each call of several with its result right behind it
    own_tools                 whether older ones send no call of a tool that they do not have, nor its result, and
                              those of their own by the names that they have themselves
    repeat                    whether they send the results of their own earlier turns twice
    late                      whether they write a call down once it has its result
    joined                    whether they send the texts of an answer, and of answers in a row, as one before its calls
    by_words                  whether a prompt is one argument a word, and the standard input a terminal: else they put
                              quotes around it, or add what they read
    imports                   whether a writer has what it wrote taken up by their command, which is to be on the PATH
    first_run                 the arguments with which an older one lays out its home, where a writer needs that
    heavy                     whether one run takes a core for many seconds: such are tried with few sessions, and by
                              few tests (``conftest.py``), where not all are asked for
    at_the_end                what they add to a session that does not end with the model's words, by the role of
                              its last message; ``forget`` where that is not sent again with a later turn
    """

    environment: Callable[[Path | None], dict[str, str]]
    configure: Callable[[Setup], None]
    path: str
    items: Callable[[Body], Iterator[Item]]
    listed: Callable[[Setup], str]
    resume: Sequence[str]
    start: Sequence[str]
    again: Sequence[str]
    beside: Sequence[str] | None = None
    mcp_call: Callable[[str, str], dict[str, str]]
    added: Callable[[Body], Iterator[str]]
    models: Callable[[], Sequence[str]]
    sample: str | None
    recorded: str
    named: str
    smaller: str
    sent: Callable[[Sequence[Item], int], Sequence[Item]] = lambda history, _: history
    kept: Callable[[Item], Item] = lambda item: item
    terminal: tuple[Sequence[str], Sequence[str]] | None = None
    before: Sequence[str] = ()
    quiet: Sequence[str] = ()
    mcp: Sequence[str] = ()
    through: Callable[[dict[str, Any]], dict[str, Any]] = lambda call: call
    search: Callable[[str], Sequence[dict[str, Any]]] | None = None
    at_once: Mapping[str, str] = field(default_factory=dict[str, str])
    aside: Callable[[Body], bool] = lambda _: False
    config: str = "config"
    all_models: bool = False
    tool: str
    argument: str
    own: tuple[str, ...]
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])
    failed: str = ""
    between: str = ""
    shown: int = 70
    rows: str | None = None
    numbered: bool = False
    apart: bool = False
    own_tools: bool = False
    repeat: bool = False
    forget: bool = False
    late: bool = False
    joined: bool = False
    by_words: bool = False
    imports: bool = False
    first_run: Sequence[str] = ()
    heavy: bool = False
    at_the_end: Mapping[str, Sequence[Item]] = field(default_factory=dict[str, Sequence[Item]])


def agent_of(client: str) -> str:
    """The agent a client is a version of."""
    return VERSIONS[client]["agent"]


@cache
def kind_of(client: str) -> Kind:
    """The kind of a client."""
    return import_module(f"client_{agent_of(client).replace('-', '_')}").KIND


def arguments(parts: Sequence[str], **names: str) -> list[str]:
    """Arguments of a kind with the names put in."""
    return [part.format(**names) for part in parts]


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
