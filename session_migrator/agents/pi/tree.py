"""The tree of a session of pi's family: which entries are the live conversation, and in what order.

Entries (``session-format.md`` of pi 1.6.0) name their parents; the last one is the leaf, and the line up from it is the
conversation. Version 1 (2025) had no ids: there each entry follows the one before it. OpenClaw (2026.9.6) has entries
that only say where the line goes on (``leaf``), some that stand beside it (``side``), and a fresh start (``reset``),
which hides what was before it as a compaction does, without a summary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from ...losses import Loss
from ..jsonl import Record, table, text

Place = tuple[int, int]
"""Where an entry is found again."""
STANDS_IN = "standsIn"
"""Our own key of an entry behind a compaction that is not new, as the compaction's summary is not."""
_SPEAKING = ("message", "custom_message", "branch_summary", "compaction")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node:
    """What the tree needs of an entry, and where it lies. ``speaks``: its client's model is sent something of it.
    ``is_side``: it is no leaf.
    ``kept``, of a compaction: the first entry before it that is kept word for word. ``stands_in``: in the place of what
    was said before a compaction. ``target`` and ``replacement``, of an edit: the entry whose content it replaces."""

    id: str
    parent: str | None
    place: Place
    speaks: bool
    is_side: bool = False
    is_compaction: bool = False
    kept: str | None = None
    stands_in: bool = False
    target: str | None = None
    replacement: Any = None


def node_of(entry: Record, before: Sequence[Node], place: Place) -> Node:
    """The node of an entry. One without an id is known by its place, one that names no parent follows the one before
    it."""
    kind = entry.get("type")
    parent = entry.get("targetId" if kind == "leaf" else "parentId", ...)
    last = before[-1].id if before else None
    is_compaction = kind in ("compaction", "reset")
    is_edit = kind == "context_edit"
    return Node(
        id=text(entry.get("id")) or f"@{place[0]}",
        parent=None if parent is None else text(parent) or last,
        place=place,
        speaks=kind in _SPEAKING and table(entry.get("message")).get("role") != "system",
        is_side=entry.get("appendMode") == "side",
        is_compaction=is_compaction,
        kept=_kept(entry, before) if is_compaction else None,
        stands_in=entry.get(STANDS_IN) is True,
        target=text(entry.get("targetId")) if is_edit else None,
        replacement=entry.get("replacement") if is_edit else None,
    )


def _kept(entry: Record, before: Sequence[Node]) -> str | None:
    """By id, or in version 1 by the place in the file, in which the header is the first."""
    number = entry.get("firstKeptEntryIndex")
    if isinstance(number, int) and 0 < number <= len(before):
        return before[number - 1].id
    return text(entry.get("firstKeptEntryId"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Active:
    """The live entries in order, the compaction first where there is one; those before it, and those of the live ones
    that stand in for them; what the model is sent in the place of an entry's content (None: nothing), by its id; and
    what was left out."""

    live: list[Node]
    earlier: list[Node]
    standing: list[Node]
    edits: Mapping[str, Any]
    losses: list[Loss]


def active(nodes: Sequence[Node]) -> Active:
    """What of a session counts, from the last entry up. A parent that is nowhere is bridged by the entry before."""
    places: dict[str, int] = {}
    for index, node in enumerate(nodes):
        places.setdefault(node.id, index)
    unique = [nodes[index] for index in places.values()]
    losses: list[Loss] = []
    again = sum(1 for index, node in enumerate(nodes) if node.speaks and places[node.id] != index)
    if again:
        losses.append(Loss(kind="branch", detail=f"{again} entries that have the id of another one are not carried"))
    last = next((node for node in reversed(unique) if not node.is_side), None)
    way = list(_line(last, nodes, places, losses))[::-1]
    left = sum(1 for node in unique if node.speaks) - sum(1 for node in way if node.speaks)
    if left:
        detail = f"{left} entries of branches that were given up are not carried"
        losses.append(Loss(kind="branch", detail=detail))
    at = max((index for index, node in enumerate(way) if node.is_compaction), default=-1)
    if at < 0:
        live, before = way, list[Node]()
    else:
        first = next((index for index, node in enumerate(way[:at]) if node.id == way[at].kept), at)
        live = [way[at], *(node for node in way[first:at] if not node.is_compaction), *way[at + 1 :]]
        before = [node for node in way[:first] if not node.is_compaction and not node.stands_in]
    edits = {node.target: node.replacement for node in live if node.target}
    speaking = (node for node in live if node.speaks)
    standing = list(takewhile(lambda node: node.is_compaction or node.stands_in, speaking))
    return Active(live=live, earlier=before, standing=standing if before else [], edits=edits, losses=losses)


def _line(node: Node | None, nodes: Sequence[Node], places: Mapping[str, int], losses: list[Loss]) -> Iterator[Node]:
    """From a leaf up to the root, or to what was passed before."""
    seen: set[str] = set()
    while node is not None and node.id not in seen:
        seen.add(node.id)
        yield node
        found = places.get(node.parent) if node.parent else None
        if node.parent and found is None and places[node.id]:
            found = places[node.id] - 1
            detail = "an entry's parent is not in the file; it follows the entry before it"
            losses.append(Loss(kind="branch", severity="info", detail=detail))
        node = None if found is None else nodes[found]
