"""The contract of an agent: what its module must offer, all of it data or plain functions."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..context_windows import Window
from ..losses import Loss
from ..model import Role, Session, SessionInfo, Value
from .paths import Found


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities(Value):
    """What an agent's sessions can hold; ``lowering`` makes any session fit these.

    ``thinking``: ``native`` keeps reasoning signed by ``provider`` and turns other reasoning into
    text; ``text`` turns all into text; ``drop`` leaves it out. ``model``: where it is named, ``native`` keeps
    that model's own reasoning only. ``error_pattern`` is given where a
    result has no flag for failure: what its text must match to be seen as one. ``whole_results``: a result holds one
    text, and images behind it. ``reserved_start``: what the text of a user's message must not begin with, a pattern.
    ``result_images``: whether results can hold images, ``failed_images``: whether that of a call that failed can (else
    they go into a message of the user's behind it); ``answer_images``: whether an answer can; ``linked_images``:
    whether an image can be its address alone. ``calls_last``: the calls of an answer stand behind its texts.
    ``joined_answers``: the texts of an answer, and of answers in a row, are sent as one with nothing between them.
    ``native_compaction``: the agent's files have a record from which on its model is sent another conversation than
    the one before it, so that ``write`` takes both (a session's ``earlier``, lowered, and its ``messages``);
    ``compaction_question``: what its client itself says before that one, or around its first words, in the user's
    name.
    ``image_types``: what the target's model takes, where it takes images. ``id_pattern`` and ``name_pattern`` are what
    call ids and tool names must match in full.
    """

    thinking: Literal["native", "text", "drop"]
    provider: str | None = None
    model: str | None = None
    images: bool = True
    system: bool = False
    first_role: Role | None = "user"
    object_arguments: bool = True
    error_pattern: str | None = None
    whole_results: bool = False
    result_images: bool = True
    failed_images: bool = True
    answer_images: bool = True
    calls_last: bool = False
    joined_answers: bool = False
    linked_images: bool = True
    reserved_start: str | None = None
    native_compaction: bool = False
    compaction_question: str | None = None
    image_types: tuple[str, ...] = ("image/png", "image/jpeg", "image/gif", "image/webp")
    id_pattern: str = r"[A-Za-z0-9_-]{1,64}"
    name_pattern: str = r"[A-Za-z0-9_-]{1,64}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Value):
    """A session as read, with what the reader could not make sense of."""

    session: Session
    losses: tuple[Loss, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended(Value):
    """A line that was added to a file which others write too."""

    path: str
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Value):
    """A key that was put into a file which others write too, one JSON object."""

    path: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(Value):
    """A block between two marks that was put into a text file which others write too: its ``name`` and all of its
    ``text`` as it stands there, the line breaks put ``before`` it, the block it ``replaced``, and whether the file
    was there already, with nothing in it (``was_empty``)."""

    path: str
    name: str
    text: str
    before: str = ""
    replaced: str | None = None
    was_empty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows(Value):
    """Rows that were put into a database (SQLite) which others write too: all those of a ``table`` that have a
    ``value`` in a ``column``, such as the messages of a session. ``shared``: others may come to use such a row, as
    files do a folder; it stays as long as any row refers to it. ``derived``: the client makes it of the others and
    changes it by itself, so that it is no sign of the session having gone on."""

    database: str
    table: str
    column: str
    value: str
    shared: bool = False
    derived: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Database(Value):
    """A database that was made, and the digest of what was in it before the rows were (``databases.digest``): it goes
    with them where nothing else has come."""

    path: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Written(Value):
    """What was written: the id of the session, if it is one, every file that was made (absolute paths, the session's
    own first), every line, key and block that was added to a file of others, every folder that was made (the innermost
    first), and the rows that were put into databases (those that refer to others first), with the databases that were
    made for them. ``variables``: what the client must find in its environment to take the whole session, by name.
    ``pending``: a shell line that the user may have to run, for the client to take up what lies in the files."""

    session_id: str | None
    paths: tuple[str, ...]
    appended: tuple[Appended, ...] = ()
    entries: tuple[Entry, ...] = ()
    blocks: tuple[Block, ...] = ()
    folders: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    rows: tuple[Rows, ...] = ()
    databases: tuple[Database, ...] = ()
    pending: str | None = None

    @property
    def places(self) -> tuple[str, ...]:
        """Where what was written is found again: the files, and a session that lies in a database as that one's path
        with the session's id behind it."""
        held = dict.fromkeys(rows.database for rows in self.rows)
        return (*self.paths, *(str(Path(database) / str(self.session_id)) for database in held))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySpec:
    """The Markdown that an agent reads at the start of each session in a folder, where it can be told of another one.

    ``index``: the file that gets one block, which is replaced by the next; ``log``: the file of a day (``{day}``), to
    which each block is appended, where the agent keeps such; ``archive``: the folder of the whole texts. All within
    the project's folder, or in the agent's own ``workspace`` (given its home), where it has one for all projects, or
    in the ``place`` where it keeps what it remembers of a project (given its home and the project's folder).
    ``default``: the form that a migration to the agent has where none is asked for. ``limit``: bytes of the index that
    the agent reads, where it is known, and ``lines`` of it.
    """

    name: str
    index: str
    default: Literal["session", "memory"] = "session"
    log: str | None = None
    archive: str = ".session-migrator"
    limit: int | None = None
    lines: int | None = None
    workspace: Callable[[Path | None], Path] | None = None
    place: Callable[[Path | None, Path], Path] | None = None


Peek = Callable[[Path], SessionInfo | None]
"""Makes the row of a session's file, or says that it holds none."""
Remember = Callable[[Found, Peek], SessionInfo | None]
"""The row of a file, made by a peek or known from before."""


def looked_at(file: Found, peek: Peek) -> SessionInfo | None:
    """The row of a file, made now."""
    return peek(file.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSpec:
    """One agent. ``home`` arguments are its own configuration folder (``~/.codex``, ``~/.claude``).

    locate(home)             the folder to use: the one given, else the client's variable, else its default
    list(home, remember)     its sessions, newest first, from the heads and tails of the files
    recognises(head)         whether the first bytes of a file look like this agent's
    read(path)               raises ReadError, FormatError, NoConversation; a session within a database is the path of
                             that with the session's id behind it
    write(session, home, folder)   None where sessions cannot be written; raises WriteError. ``earlier`` is empty
                             but where ``native_compaction`` is declared
    program                  the client's command
    resume_arguments(id, model)    how the command goes on with a session, with a model where one is named
    resumes_recorded_model(recorded, wanted)   whether it would go on with the model that a session records, in the
                             place of the one it is wanted for
    home_variable            the environment variable that names another home, or the folder ``named_home`` of one
    program_home()           the home that the command takes by itself, where that may be another than the agent's
    model(home, folder, named)     the model the client would use (aliases resolved), and where that is said
    window(model, known, home, folder)   as the client sees it, given what the table knows; None where both know nothing
    trigger(window, home, folder)  tokens at which it compacts by itself, None where it never does
    instructions(home, folder)     the instruction files it would add to the first request, with those they import
    described(home, folder)  the files of which it would tell its model there by a description: skills, agents, commands
    described_most(window)   characters of the skills' descriptions that it tells at most, by the window it sees; None
                             where it tells all
    mcp_servers(home, folder)      the names of the MCP servers it would start, whose tools nobody has counted
    longest_result(home)     bytes of a tool's result that it sends its model, None where it sends all
    shown_result(window)     characters of a tool's result that it sends its model, by the window it sees, where which
                             ones they are cannot be told (so the result is counted whole); None where it sends all
    image_turns              it sends its model the images of so many of the latest turns that were answered; None: all
    overhead                 the key of its measurement in data/overhead.json
    masking                  (all, kept): from so many tokens of tool results in all, it sends its model the latest
                             ``kept``, and in the place of the others where they lie; None where it never does
    """

    id: str
    names: tuple[str, ...]
    capabilities: Capabilities
    locate: Callable[[Path | None], Path]
    list: Callable[[Path, Remember], Iterator[SessionInfo]]
    recognises: Callable[[bytes], bool]
    read: Callable[[Path], Reading]
    write: Callable[[Session, Path, Path], Written] | None
    program: str
    resume_arguments: Callable[[str, str | None], tuple[str, ...]]
    resumes_recorded_model: Callable[[str | None, str], bool]
    home_variable: str
    model: Callable[[Path, Path, str | None], tuple[str, str]]
    window: Callable[[str, Window | None, Path, Path], Window | None]
    trigger: Callable[[Window, Path, Path], int | None]
    instructions: Callable[[Path, Path], tuple[Path, ...]]
    described: Callable[[Path, Path], tuple[Path, ...]]
    mcp_servers: Callable[[Path, Path], tuple[str, ...]]
    longest_result: Callable[[Path], int | None]
    overhead: str
    shown_result: Callable[[Window], int | None] = lambda _: None
    described_most: Callable[[Window], int | None] = lambda _: None
    image_turns: int | None = None
    masking: tuple[int, int] | None = None
    named_home: Callable[[Path], Path] = lambda home: home
    program_home: Callable[[], Path] | None = None

    def resume_command(
        self, session_id: str, home: Path, folder: Path, model: str | None,
        variables: tuple[tuple[str, str], ...] = (),
    ) -> str:  # fmt: skip
        """One shell line that goes on with a session from anywhere: in its folder, with its home where that is not
        the one the client would take, with the variables, and with the model where one is named."""
        taken = self.program_home() if self.program_home else self.locate(None)
        named = () if home == taken else ((self.home_variable, str(self.named_home(home))),)
        assignments = [f"{name}={quoted(value)}" for name, value in (*named, *variables)]
        command = map(quoted, [self.program, *self.resume_arguments(session_id, model)])
        return f"cd {quoted(str(folder))} && {' '.join([*assignments, *command])}"


def quoted(word: str) -> str:
    """A word as a shell takes it (bash, zsh, ksh), with no character in it that a terminal would act on."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(map(_escaped, word)) + "'"


def _escaped(char: str) -> str:
    if char.isprintable():
        return f"\\{char}" if char in "\\'" else char
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))
