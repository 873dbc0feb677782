"""Blocks between two marks in text files that others write too: put in, replaced and taken out, every other byte
staying as it is."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from .agents.spec import Block
from .errors import Refused, WriteError
from .files import make_folder, remove_empty, rewrite

_MARK = "<!-- session-migrator:"
_BLOCK = re.compile(rf"{_MARK}begin ([0-9a-f]+) -->(.*?){_MARK}end \1(?: ([0-9a-f]+))? -->", re.DOTALL)
_SUM = 8
FRAME_BYTES = len(f"{_MARK}begin  -->\n\n{_MARK}end   -->\n") + 2 * 12 + _SUM
"""What the marks take of a block whose name has 12 characters."""


def put(path: Path, name: str, body: str, known: Mapping[str, Block] | None = None) -> tuple[Block, tuple[str, ...]]:
    """Put a block at the end of a file, or, with ``known`` (blocks that were put there, by name), in the place of one
    that is there and was not edited. The block, and the folders that were made for it. Raises Refused (the file is no
    UTF-8 text), WriteError."""
    path = Path(os.path.realpath(path))  # AGENTS.md is often a link to CLAUDE.md
    old = read(path)
    folders = make_folder(path.parent)
    ending = "\r\n" if old and "\r\n" in old else "\n"
    body = body.replace(_MARK, _MARK.replace("!", "! ")).strip("\n")
    body = f"\n{body}\n"
    text = f"{_MARK}begin {name} -->{body}{_MARK}end {name} {_sum(body)} -->".replace("\n", ending)
    found = None if not old or known is None else _unedited(old, known)
    if old and found:
        last = (known or {}).get(found[1], Block(path="", name="", text=""))
        block = replace(last, path=str(path), name=name, text=text, replaced=found[0])
        new = old[: found.start()] + text + old[found.end() :]
    else:
        breaks = 0 if not old or old.endswith(2 * ending) else 1 if old.endswith(ending) else 2
        block = Block(path=str(path), name=name, text=text, before=ending * breaks, was_empty=old == "")
        new = (old or "") + block.before + text + ending
    try:
        rewrite(path, old, new)
    except BaseException:
        remove_empty(folders)
        raise
    return block, folders


def is_there(block: Block) -> bool:
    """Whether the file still holds the block as it was put there."""
    try:
        return block.text in (read(Path(block.path)) or "")
    except (Refused, WriteError):
        return False


def is_changed(block: Block) -> bool:
    """Whether the file holds the block with another text."""
    try:
        found = _find(read(Path(block.path)) or "", block.name)
    except (Refused, WriteError):
        return False
    return found is not None and found[0] != block.text


def take_out(block: Block) -> None:
    """Take a block out of its file, if it is still there; the one it had replaced comes back. A file that holds nothing
    else goes, unless it was there before. Raises WriteError."""
    path = Path(block.path)
    old = read(path)
    found = _find(old or "", block.name)
    if old is None or found is None:
        return
    before, after = old[: found.start()], old[found.end() :]
    if block.replaced:
        new = before + block.replaced + after
    else:
        ending = "\r\n" if after.startswith("\r\n") else "\n"
        before, after = before.removesuffix(block.before), after.removeprefix(ending)
        apart = ending if before and after and not before.endswith(ending) else ""
        new = before + apart + after
    if new or block.was_empty:
        rewrite(path, old, new)
    else:
        path.unlink()


def name_of(text: str | None) -> str | None:
    """The name of a block, given its text."""
    found = _BLOCK.fullmatch(text or "")
    return found and found[1]


def _unedited(text: str, known: Mapping[str, Block]) -> re.Match[str] | None:
    """The first block that is as it was put there; one of another machine tells that by the sum in its end mark."""

    def is_whole(found: re.Match[str]) -> bool:
        last = known.get(found[1])
        return last.text == found[0] if last else found[3] == _sum(found[2])

    return next(filter(is_whole, _BLOCK.finditer(text)), None)


def _sum(body: str) -> str:
    return hashlib.sha256(body.replace("\r\n", "\n").encode("utf-8", "replace")).hexdigest()[:_SUM]


def _find(text: str, name: str) -> re.Match[str] | None:
    return next((found for found in _BLOCK.finditer(text) if found[1] == name), None)


def read(path: Path) -> str | None:
    """The text of a file, None where there is none. Raises WriteError, Refused (no UTF-8 text)."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WriteError(f"cannot write {path}: {error.strerror}", "check its permissions") from error
    try:
        if b"\0" in data:
            raise ValueError("UTF-16 or no text at all")
        return data.decode("utf-8")
    except ValueError as error:
        raise Refused(f"{path} is no UTF-8 text", "convert it, or name another file with --memory-file") from error
