"""Session files of pi's family -> Session: of version 1 (2025) to 3, and of OpenClaw's 4."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from ... import timestamps
from ...errors import FormatError, NoConversation
from ...losses import Loss, merged
from ...model import REPLACED, Message, Session, SessionInfo, headline
from ..jsonl import Record, ends, lines, records_of, text
from ..paths import newest_first
from ..spec import Reading, Remember, looked_at
from . import client
from .messages import conversation, human_words, model_of
from .tree import Node, Place, active, node_of

_KNOWN_VERSION = 4
_HEADER = re.compile(rb'(?:^|\n)[ \0]*\{[^\n]{0,400}?"type"\s*:\s*"session"\s*[,}]')


def recognises(head: bytes) -> bool:
    """Whether a file begins with the header of such a session."""
    return bool(_HEADER.search(head.removeprefix(b"\xef\xbb\xbf")))


@dataclass(slots=True)
class Log:
    """What one pass over the entries of a session keeps of it."""

    facts: Record = field(default_factory=Record)
    nodes: list[Node] = field(default_factory=list[Node])
    losses: list[Loss] = field(default_factory=list[Loss])

    def take(self, entry: Record | None, place: Place, name: str) -> None:
        """The next entry and where it lies; None, called ``name``, where it cannot be read."""
        if entry is None:
            self.losses.append(Loss(kind="bad_line", detail=f"{name} is not a JSON record and was skipped"))
            return
        note_facts(self.facts, entry)
        if entry.get("type") != "session":
            self.nodes.append(node_of(entry, self.nodes, place))


def read(path: Path, agent: str = "pi") -> Reading:
    """Read one session file, of that agent. Raises ReadError, FormatError, NoConversation.

    The first pass keeps of each entry what the tree needs, and where it lies; the second reads the entries of the
    live line (and of the earlier one) again, in their order.
    """
    log = Log()
    for number, entry, offset, length in lines(path):
        log.take(entry, (offset, length), f"line {number}")
    with records_of(path) as load:
        return told(log, lambda place: load(*place), path, agent)


def told(log: Log, load: Callable[[Place], Record], path: Path, agent: str) -> Reading:
    """The session whose entries were passed over; ``load`` gives the one at a place again. Raises FormatError,
    NoConversation."""
    facts = log.facts
    if "id" not in facts:
        raise FormatError(f"{path} is no session of {agent}", f"name a session file of {agent}")
    found = active(log.nodes)
    losses = [*log.losses, *found.losses, *_strange(facts)]

    def messages(nodes: Iterable[Node], losses: list[Loss], edits: bool = True) -> Sequence[Message]:
        entries = (load(node.place) for node in nodes)
        return conversation(entries, found.edits if edits else {}, losses)

    live = messages(found.live, losses)
    if not live:
        raise NoConversation(f"{path} holds no conversation", "name another session (session-migrator list --all)")
    session = Session(
        id=facts["id"] or path.stem,
        agent=agent,
        messages=live,
        earlier=messages(found.earlier, [], edits=False),
        title=facts.get("name"),
        cwd=facts.get("cwd"),
        model=next((message.model for message in reversed(live) if message.model), None) or facts.get("model"),
        created_at=facts.get("first"),
        updated_at=facts.get("last"),
        parent_id=facts.get("parent"),
        source=str(path),
        extra={REPLACED: len(messages(found.standing, []))},
    )
    return Reading(session=session, losses=merged(losses))


def note_facts(facts: Record, entry: Record) -> None:
    """Keep what an entry says of the whole session."""
    stamp = timestamps.parse(entry.get("timestamp"))
    if stamp:
        facts.setdefault("first", stamp)
        facts["last"] = max(stamp, facts.get("last") or stamp)
    if entry.get("type") == "session":
        parent = text(entry.get("parentSession")) or text(entry.get("branchedFrom"))  # the latter in version 1
        facts |= {
            "id": text(entry.get("id")), "cwd": text(entry.get("cwd")), "version": entry.get("version"),
            "parent": Path(parent).stem.rpartition("_")[2] if parent else None,
        }  # fmt: skip
    elif entry.get("type") == "session_info":
        facts["name"] = text(entry.get("name"))
    facts["model"] = model_of(entry) or facts.get("model")


def _strange(facts: Record) -> Iterator[Loss]:
    version = facts.get("version")
    if version is not None and version not in range(1, _KNOWN_VERSION + 1):
        detail = f"format version {str(version)[:40]} is not known; what is understood of it was read"
        yield Loss(kind="unknown_record", severity="info", detail=detail)


def list_sessions(home: Path, remember: Remember = looked_at) -> Iterator[SessionInfo]:
    """The sessions of a home, the latest written first."""
    found = (path for folder in client.session_folders(home) for path in folder.glob("*.jsonl"))
    for file in newest_first(dict.fromkeys(found)):
        info = remember(file, peek)
        if info:
            yield info


def peek(path: Path, agent: str = "pi") -> SessionInfo | None:
    """A row from the head and tail of a file, which are parsed only as far as it needs."""
    head, tail = ends(path)
    facts: Record = {}
    words: str | None = None
    for entry in head:
        note_facts(facts, entry)
        words = words or human_words(entry)
        if words and facts.get("model"):
            break
    if not words or "id" not in facts:
        return None
    first, last = (end.holding(b'"session_info"') for end in (head, tail))
    named = next(iter((*islice(last, 1), *reversed([*first]))), Record())
    latest: Record = {}
    for entry in tail.holding(b'"timestamp"'):
        note_facts(latest, entry)
        if "last" in latest:
            break
    return SessionInfo(
        agent=agent,
        id=facts["id"] or path.stem,
        title=text(named.get("name")) or headline(words),
        cwd=facts["cwd"],
        model=facts["model"],
        created_at=facts.get("first"),
        updated_at=latest.get("last") or facts.get("last"),
        path=str(path),
    )
