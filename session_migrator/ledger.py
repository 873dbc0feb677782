"""The ledger of a conversation, made from its calls and never guessed: files, commands, failures, the plan."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal, cast

from .model import Message, Text, ToolCall, ToolResult, Value, failure_text

Use = Literal["read", "edit", "delete"]

# Arguments that name a file, in the tools of the clients that are read here.
_PATH_KEYS = ("file_path", "filePath", "path", "notebook_path", "target_file", "absolute_path", "filename")
_COMMAND_KEYS = ("command", "cmd", "script")
_PLAN_KEYS = ("plan", "todos")
# Codex's apply_patch names its files in the text of the patch.
_PATCH_BEGINS = "*** Begin Patch"
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)
_PATCH_USE: dict[str, Use] = {"Add": "edit", "Update": "edit", "Delete": "delete"}
_READERS = {"cat", "head", "tail", "less", "more", "nl", "bat", "wc", "sed"}
_REDIRECTED = re.compile(r"(?<![0-9&<>])>{1,2}\s*([^\s&|;<>()'\"]+)")
_SHELLS = {"bash", "sh", "zsh"}
_DONE = {"completed", "done"}


@dataclass(slots=True, kw_only=True)
class FileUse(Value):
    """How a file was used: how often it was read and edited, and the turn of the last use (from 1)."""

    reads: int = 0
    edits: int = 0
    deleted: bool = False
    turn: int = 0


@dataclass(slots=True, kw_only=True)
class CommandUse(Value):
    """How often a command ran, whether its last run failed, and in which turn that was; ``error`` is the last line
    that run printed, where it failed."""

    runs: int = 0
    failed: bool = False
    turn: int = 0
    error: str = ""


@dataclass(slots=True, kw_only=True)
class Step(Value):
    """A step of the newest plan, and how it stands there."""

    text: str
    status: str

    @property
    def open(self) -> bool:
        """Whether it is still to be done."""
        return self.status not in _DONE


@dataclass(slots=True)
class Ledger(Value):
    """Files by path, in the order of their last use, and commands by text, in that of their first; the newest plan; the
    number of turns."""

    files: dict[str, FileUse] = field(default_factory=dict[str, FileUse])
    commands: dict[str, CommandUse] = field(default_factory=dict[str, CommandUse])
    plan: list[Step] = field(default_factory=list[Step])
    turns: int = 0

    def by_importance(self) -> list[tuple[str, FileUse]]:
        """The files, the edited ones first, then by how recently they were used."""
        latest = enumerate(self.files.items())
        return [item for _, item in sorted(latest, key=lambda row: (not row[1][1].edits, -row[0]))]


def is_prompt(message: Message) -> bool:
    """Whether a message begins a turn: the human's, whatever is in it."""
    return message.role == "user" and message.origin in ("human", None)


def ledger(messages: Iterable[Message]) -> Ledger:
    """The ledger of a conversation, in one pass. A call whose result failed touched no file."""
    kept = Ledger()
    open_calls: dict[str, ToolCall] = {}
    for message in messages:
        kept.turns += is_prompt(message)
        open_calls.update({call.id: call for call in message.calls})
        for call in message.calls:
            steps = list(_plan(call))
            kept.plan = steps or kept.plan
        for result in message.results:
            call = open_calls.pop(result.call_id, None)
            if call is not None:
                _enter(kept, call, result)
    return kept


def _enter(kept: Ledger, call: ToolCall, result: ToolResult) -> None:
    for command in _commands(call):
        entry = kept.commands.setdefault(command, CommandUse())
        entry.runs += 1
        entry.failed = result.is_error
        entry.turn = kept.turns
        entry.error = _last_line(result) if result.is_error else ""
    if result.is_error:
        return
    for path, use in touched(call):
        file = kept.files[path] = kept.files.pop(path, FileUse())
        file.reads += use == "read"
        file.edits += use != "read"
        file.deleted = use == "delete"
        file.turn = kept.turns


def touched(call: ToolCall) -> Iterator[tuple[str, Use]]:
    """The files a call reads, edits or deletes: by its path arguments, its patch, or its shell command."""
    for kind, path in _PATCHED.findall(_patch(call)):
        yield path.strip(), _PATCH_USE[kind]
    if call.kind in ("read", "edit", "delete"):
        uses: dict[str, Use] = {"read": "read", "edit": "edit", "delete": "delete"}
        for key in _PATH_KEYS:
            value = _argument(call, key)
            if isinstance(value, str) and value.strip():
                yield value, uses[call.kind]
                break
    for command in _commands(call):
        if _PATCH_BEGINS not in command:
            yield from _by_shell(command)


def _patch(call: ToolCall) -> str:
    """The patch in a call, alone or inside a shell command; empty where there is none."""
    if isinstance(call.arguments, str):
        return call.arguments
    texts = (value for value in call.arguments.values() if isinstance(value, str))
    return next((text for text in chain(texts, _commands(call)) if _PATCH_BEGINS in text), "")


def _commands(call: ToolCall) -> Iterator[str]:
    """The shell command of a call, without the shell around it."""
    if call.kind != "execute":
        return
    for key in _COMMAND_KEYS:
        value = _argument(call, key)
        if isinstance(value, list):
            words = [str(word) for word in cast(list[Any], value)]
            wrapped = len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and words[1].startswith("-")
            value = words[2] if wrapped else shlex.join(words)
        if isinstance(value, str) and value.strip():
            yield value.strip()
            return


def _by_shell(command: str) -> Iterator[tuple[str, Use]]:
    """Files that a plain command reads, and those that its output goes to. What is not plain says nothing."""
    for path in _REDIRECTED.findall(command.partition("<<")[0]):
        if path != "/dev/null":
            yield path, "edit"
    for part in re.split(r"&&|\|\||[;|\n]", command):
        try:
            words = shlex.split(part)
        except ValueError:
            continue
        if words and words[0] in _READERS and not any(word.startswith("-i") for word in words[1:]):
            for word in words[1:]:
                if _names_a_file(word):
                    yield word, "read"


def _names_a_file(word: str) -> bool:
    """Whether an argument can only be a file: it has a folder or an ending, and nothing of an expression."""
    return bool(re.fullmatch(r"[\w.@+/~-]*(?:/[\w.@+~-]+|[\w@+~-]\.[A-Za-z]\w{0,9})", word)) and not word.startswith(
        "-"
    )


def _plan(call: ToolCall) -> Iterator[Step]:
    """The steps of a plan that a call sets (Codex update_plan, Claude Code TodoWrite)."""
    for key in _PLAN_KEYS:
        value = _argument(call, key)
        for step in cast(list[Any], value) if call.kind == "think" and isinstance(value, list) else ():
            row: Mapping[str, Any] = cast(Mapping[str, Any], step) if isinstance(step, Mapping) else {}
            text = row.get("step") or row.get("content")
            if isinstance(text, str):
                yield Step(text=text, status=str(row.get("status") or "pending"))


def _argument(call: ToolCall, key: str) -> Any:
    return None if isinstance(call.arguments, str) else call.arguments.get(key)


def _last_line(result: ToolResult) -> str:
    words = "\n".join(part.text for part in result.parts if isinstance(part, Text)) or failure_text(result.parts)
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return lines[-1] if lines else ""
