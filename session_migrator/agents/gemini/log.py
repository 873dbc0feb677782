"""The log of a Gemini CLI session: which messages are there in the end, and where in the file each one lies.

A file is a header and then messages, each a line; a later one of the same id stands in the place of the first, ``$set``
changes the header or all messages at once, ``$rewindTo`` takes back a message and all after it (0.40 to 0.61).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, NamedTuple

from ...losses import Loss
from ..contents import parts_of, words_of
from ..jsonl import Line, Record, rows, table, text

SNAPSHOT = "<state_snapshot>"
"""How the text begins that stands for what the client compressed."""
FACTS = ("sessionId", "startTime", "lastUpdated", "kind", "summary")
"""What the header and later lines say of the whole session."""


class Place(NamedTuple):
    """Where a message lies: its line, and its number in that line's list, where it has one."""

    offset: int
    length: int
    number: int | None = None

    def message(self, record: Record) -> Record:
        """The message out of its line."""
        return record if self.number is None else table(rows(messages_of(record))[self.number])


@dataclass(slots=True)
class Log:
    """What a file's lines come to: ``facts`` of the header, the ``live`` messages by id, those before the last
    compression; ``known`` whether anything in it is Gemini CLI's."""

    facts: Record = field(default_factory=dict[str, Any])
    live: dict[str, Place] = field(default_factory=dict[str, Place])
    earlier: list[Place] = field(default_factory=list[Place])
    losses: list[Loss] = field(default_factory=list[Loss])
    known: bool = False

    _digests: dict[str, str] = field(default_factory=dict[str, str])
    _snapshots: set[str] = field(default_factory=set[str])

    def take(self, line: Line) -> None:
        """Apply the next line."""
        record, place = line.record, Place(line.offset, line.length)
        if record is None:
            detail = f"line {line.number} is not a JSON record and was skipped"
            self.losses.append(Loss(kind="bad_line", detail=detail))
        elif isinstance(record.get("$rewindTo"), str):
            self._rewind(record["$rewindTo"])
        elif isinstance(record.get("id"), str):
            self.known = self.known or record.get("type") == "gemini"
            self._put(record, place)
        elif isinstance(record.get("$set"), dict):
            self.known = True
            self._note(record["$set"])
            if isinstance(record["$set"].get("messages"), list):
                self._replace(record["$set"]["messages"], place)
        elif is_header(record):
            self.known = True
            self._note(record)
            self._fill(rows(record.get("messages")), place)
        else:
            name = next((key for key in record if key.startswith("$")), None) or record.get("type") or "no type"
            detail = f"a record of a kind that is not known ({str(name)[:40]}) was skipped"
            self.losses.append(Loss(kind="unknown_record", detail=detail))

    def _note(self, facts: Mapping[str, Any]) -> None:
        self.facts |= {key: facts[key] for key in FACTS if key in facts}
        if "version" in facts:  # none up to 0.61
            detail = f"format version {str(facts['version'])[:40]} is not known; what is understood of it was read"
            self.losses.append(Loss(kind="unknown_record", detail=detail))

    def _put(self, message: Record, place: Place) -> None:
        self.live[message["id"]] = place
        self._digests[message["id"]] = _digest(message)
        if message.get("type") == "user" and words_of(message.get("content")).lstrip().startswith(SNAPSHOT):
            self._snapshots.add(message["id"])

    def _fill(self, messages: list[Any], place: Place) -> None:
        for number, message in enumerate(messages):
            if isinstance(table(message).get("id"), str):
                self._put(message, place._replace(number=number))

    def _replace(self, messages: list[Any], place: Place) -> None:
        """All messages at once: a resume, or a compression, which keeps the last ones under other ids."""
        old, digests, known = list(self.live.items()), self._digests, set(self._snapshots)
        self.live, self._digests = {}, {}
        self._fill(messages, place)
        if self._snapshots - known:
            kept = set(self._digests.values())
            left = len(old) - sum(1 for _ in takewhile(lambda item: digests[item[0]] in kept, reversed(old)))
            self.earlier += [place for _, place in old[:left]]

    def _rewind(self, message_id: str) -> None:
        self.known = True
        if message_id not in self.live:
            detail = "a rewind to a message that is not in the file was passed over"
            self.losses.append(Loss(kind="branch", severity="info", detail=detail))
            return
        before = len(self.live)
        while self.live.popitem()[0] != message_id:
            pass
        taken = before - len(self.live)
        detail = f"{taken} messages that were taken back (a rewind) are not carried"
        self.losses.append(Loss(kind="branch", detail=detail))


def is_header(record: Record) -> bool:
    """Whether a record is the header, or a whole session of the form before 0.40."""
    return text(record.get("sessionId")) is not None and "projectHash" in record


def messages_of(record: Record) -> Any:
    """The list of messages in a line."""
    return table(record.get("$set")).get("messages") if "$set" in record else record.get("messages")


def _digest(message: Record) -> str:
    """The same for a message and for what a compression makes of it: who says what, and the ids of its calls."""
    parts = list(parts_of(message.get("content")))
    tools = [table(part.get(key)).get("id") for part in parts for key in ("functionCall", "functionResponse")]
    tools += [table(call).get("id") for call in rows(message.get("toolCalls"))]
    ids = sorted({str(tool) for tool in tools if tool})
    said = json.dumps([str(message.get("type")), words_of(message.get("content")), ids])
    return hashlib.sha256(said.encode()).hexdigest()
