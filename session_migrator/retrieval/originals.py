"""Originals: the messages that a compression left out or changed, whole, and what its marks stand for.

One packed file a compression, ``originals/<sha256 of its text>.jsonl.gz`` in the workspace: the first line is the
session without its messages and the elisions (``compressors.Elision``), every further line a message. It stays until
the migration is undone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, cast

from .. import migrations
from ..compressors import Compressed
from ..compressors.marks import id_of, original, text_of
from ..compressors.protocol import Span
from ..errors import FormatError, NotFound, ReadError, UsageError
from ..exporter.neutral import message_of
from ..jsondata import dumps
from ..model import Message, Session, ToolCall, Value
from ..sequences import collect
from ..storage import Store, Workspace

KIND = "originals"
_REMEDY = "restore it from a backup; the session it came from may still be at its source"


@dataclass(frozen=True, slots=True, kw_only=True)
class Original(Value):
    """What an id stands for. ``data``: its exact bytes (a text in UTF-8, or messages as lines of JSON); ``text``: the
    same to read, every text in it word for word. ``agent``, ``session_id``, ``title`` and ``timestamp`` say where it
    comes from, ``path`` in which file it is kept."""

    id: str
    data: bytes
    text: str
    agent: str
    session_id: str
    title: str | None
    timestamp: str | None
    path: str


def keep(workspace: Workspace, result: Compressed) -> str:
    """Store the originals of a compression; the key."""
    about = replace(result.session, messages=(), earlier=()).to_dict()
    head = {"version": 1, "session": about, "elisions": [elision.to_dict() for elision in result.elisions]}

    def chunks() -> Iterator[bytes]:
        yield json.dumps(head).encode("ascii") + b"\n"
        yield from original(result.elided, [(0, len(result.elided), None)])

    return workspace.pack(KIND, chunks())


def find(name: str, store: Store | None = None) -> Original:
    """What stands under an id, in whatever workspace it was kept; the beginning of an id is enough where no other
    begins so. Raises NotFound, and ReadError where it is stored, but missing or damaged."""
    damaged: list[str] = []
    found: dict[str, tuple[Workspace, str, dict[str, Any], tuple[Span, ...]]] = {}
    for workspace in (store or Store()).workspaces():
        for key in workspace.packed(KIND):
            try:
                head = cast(dict[str, Any], json.loads(next(workspace.unpack(KIND, key))))
                for elision in head["elisions"]:
                    if elision["id"].startswith(name.lower()):
                        found[elision["id"]] = workspace, key, head, tuple(map(tuple, elision["spans"]))
            except (ReadError, StopIteration, ValueError, LookupError, TypeError, AttributeError):
                damaged.append(str(workspace.packed_path(KIND, key)))
    if len(found) > 1:
        raise NotFound(f"{name!r} fits {len(found)} originals", f"one of: {', '.join(sorted(found)[:5])}")
    if found and name:
        ((full, (workspace, key, head, spans)),) = found.items()
        return _read(full, workspace, key, head, spans)
    if damaged:
        raise ReadError(f"{name!r} is in no original that can be read; damaged: {', '.join(damaged[:3])}", _REMEDY)
    for workspace, row in migrations.records(store or Store()):
        if name and any(mark.startswith(name.lower()) for mark in row.get("marks", ())):
            path = workspace.packed_path(KIND, row["originals"])
            raise ReadError(f"the original {name} is missing: {path} is gone", _REMEDY)
    raise NotFound(f"nothing is kept under {name!r}", "ids stand in the marks of a compressed session: recall ID")


def session(workspace: Workspace, key: str) -> Session:
    """What a compression left out or changed, as a session of these messages alone. Raises ReadError."""
    lines = workspace.unpack(KIND, key)
    try:
        about = cast(dict[str, Any], json.loads(next(lines)))["session"]
        messages = collect(message_of(json.loads(line)) for line in lines)
        return Session(id=about["id"], agent=about["agent"], title=about.get("title"), messages=messages)
    except (FormatError, StopIteration, ValueError, LookupError, TypeError) as error:
        path = workspace.packed_path(KIND, key)
        raise ReadError(f"{path} is damaged", _REMEDY) from error


def recall(name: str, store: Store | None = None) -> bytes:
    """The exact bytes of what stands under an id. Raises as ``find``."""
    return find(name, store).data


def selected(text: str, lines: str | None, grep: str | None) -> str:
    """Of a text the lines ``A:B`` (from 1, both included, either may be missing), and of these the ones that hold
    ``grep``, with their numbers. Raises UsageError, and NotFound where no line holds it."""
    if lines is None and grep is None:
        return text
    first, last = _range(lines)
    rows = text.split("\n")
    if first > len(rows):
        raise UsageError(f"it has no line {first}", f"give lines of 1:{len(rows)}")
    numbered = list(enumerate(rows, 1))[first - 1 : last]
    if grep is None:
        return "\n".join(row for _, row in numbered)
    found = [f"{number}: {row}" for number, row in numbered if grep in row]
    if not found:
        raise NotFound(f"no line of it holds {grep!r}", "upper and lower case count; without grep it is shown whole")
    return "\n".join(found)


def _range(lines: str | None) -> tuple[int, int | None]:
    found = re.fullmatch(r"(\d{0,18})(:?)(\d{0,18})", lines or ":")
    if not found or lines == "" or (found[2] == "" and not found[1]):
        raise UsageError(f"{lines!r} names no lines", "give them as 10:20, 10: or :20")
    first = int(found[1] or 1)
    last = int(found[3]) if found[3] else first if not found[2] else None
    if first < 1 or (last is not None and last < first):
        raise UsageError(f"{lines!r} names no lines", "give them as 10:20, 10: or :20")
    return first, last


def _read(name: str, workspace: Workspace, key: str, head: dict[str, Any], spans: tuple[Span, ...]) -> Original:
    path = workspace.packed_path(KIND, key)
    try:
        elided = _Lines(workspace, key, spans)
        data = b"".join(original(elided, spans))
        first = elided[spans[0][0]]
        text = "\n\n".join(_readable(elided, span) for span in spans)
    except (ReadError, FormatError, ValueError, LookupError) as error:
        raise ReadError(f"the original {name} in {path} is damaged", _REMEDY) from error
    if id_of([data]) != name:
        raise ReadError(f"the original {name} in {path} is damaged: it is not what was stored", _REMEDY)
    about = head["session"]
    return Original(
        id=name, data=data, text=text, agent=str(about.get("agent")), session_id=str(about.get("id")),
        title=about.get("title"), timestamp=first.timestamp, path=str(path),
    )  # fmt: skip


class _Lines(dict[int, Message]):
    """The messages that spans need, by their place."""

    def __init__(self, workspace: Workspace, key: str, spans: tuple[Span, ...]) -> None:
        places = {place for start, stop, _ in spans for place in range(start, stop)}
        for place, line in enumerate(islice(workspace.unpack(KIND, key), 1, max(places) + 2)):
            if place in places:
                self[place] = message_of(json.loads(line))
        if len(self) != len(places):
            raise LookupError("lines are missing")


def _readable(elided: _Lines, span: Span) -> str:
    """Messages with a line before each that says whose it is; a part as it is."""
    start, stop, part = span
    if part is not None:
        return text_of(elided[start].parts[part])
    return "\n\n".join(_told(elided[place]) for place in range(start, stop))


def _told(message: Message) -> str:
    lines = [f"--- {message.role}{f', {message.timestamp}' if message.timestamp else ''}"]
    for part in message.parts:
        if isinstance(part, ToolCall):
            arguments = part.arguments if isinstance(part.arguments, str) else dumps(dict(part.arguments), indent=1)
            lines.append(f"{part.name} {arguments}")
        else:
            lines.append(text_of(part))
    return "\n".join(lines)
