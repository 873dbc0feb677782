"""The line of a CodeBuddy session: which records are the live conversation, and in what order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...losses import Loss
from ..jsonl import Record, table, text

SPEAKING = ("message", "reasoning", "function_call", "function_call_result", "function_call_output")
"""The types of the records that make up the conversation."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node:
    """What the line needs of a record, and where the record lies in the file. ``before`` is the record a summary
    stands after."""

    id: str
    parent: str | None
    before: str | None
    is_summary: bool
    offset: int
    length: int


def is_summary(record: Record) -> bool:
    """Whether a record is the summary that a compaction puts in the place of what was before (2.163.0)."""
    about = table(record.get("providerData"))
    return record.get("type") == "message" and about.get("isSummary") is True


def node_of(record: Record, offset: int, length: int) -> Node:
    """The node of a record; one without an id is known by its place."""
    return Node(
        id=text(record.get("id")) or f"@{offset}",
        parent=text(record.get("parentId")),
        before=text(record.get("logicalParentId")),
        is_summary=is_summary(record),
        offset=offset,
        length=length,
    )


def active(nodes: Sequence[Node], tip: str | None) -> tuple[list[Node], list[Node], list[Loss]]:
    """The live records in order, those before the last compaction, and what was left out.

    The line goes from the last record (or the one that ``tip`` names) up to one without a parent, as the client
    takes it (2.163.0). A parent that is nowhere is bridged by the record before; where no record names one, the
    line is the file. Up to 2.97.0 the parts of an answer have one id, and each but the first names that as its parent:
    such an id stands for the last of them.
    """
    losses: list[Loss] = []
    known: dict[str, Node] = {}
    unique: list[Node] = []
    above: dict[Node, Node | None] = {}
    for node in nodes:
        if node.id not in known or node.parent == node.id:
            if node.id in known:
                above[node] = known[node.id]
            known[node.id] = node
            unique.append(node)
    linked = any(node.parent or node.before for node in unique)
    for node, previous in zip(unique, [None, *unique], strict=False):
        if node in above:
            continue
        named = node.parent or (None if node.is_summary else node.before)
        found = known.get(named) if named else previous if not linked else None
        if named and found is None and previous:
            found = previous
            detail = "a record's parent is not in the file; it follows the record before it"
            losses.append(Loss(kind="branch", severity="info", detail=detail))
        above[node] = found
    seen: set[Node] = set()
    live = _line(known.get(tip or "", unique[-1] if unique else None), above, seen)
    earlier: list[Node] = []
    top = live[0] if live else None
    while top and top.before and (before := known.get(top.before)) and before not in seen:
        earlier = [*_line(before, above, seen), *earlier]
        top = earlier[0]
    left = len(unique) - len(seen)
    if left:
        detail = f"{left} records of branches that were given up (rewinds) are not carried"
        losses.append(Loss(kind="branch", detail=detail))
    return live, earlier, losses


def _line(leaf: Node | None, above: Mapping[Node, Node | None], seen: set[Node]) -> list[Node]:
    """From the top (or what was seen before) down to a leaf; what is returned is then seen."""
    way: list[Node] = []
    while leaf is not None and leaf not in seen:
        way.append(leaf)
        seen.add(leaf)
        leaf = above[leaf]
    return way[::-1]
