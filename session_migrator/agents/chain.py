"""Sessions whose records each name the one before them: which are the live conversation, and in what order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..losses import Loss


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node:
    """What the line needs of a record, and where the record lies in the file. ``before`` is the record a summary
    stands after; ``speaks``: it holds something of the conversation; ``begins``: where its parent is nowhere, it has
    none."""

    id: str
    parent: str | None
    offset: int
    length: int
    before: str | None = None
    stands_in: bool = False
    speaks: bool = True
    begins: bool = False


def active(nodes: Sequence[Node], tip: str | None = None) -> tuple[list[Node], list[Node], list[Loss]]:
    """The live records in order, those before the last compaction, and what was left out.

    The line goes from the last record (or the one that ``tip`` names) up to one without a parent. A parent that is
    nowhere is bridged by the record before; where no record names one, the line is the file. Of records with one id
    the first counts, unless each but the first names that id as its parent (CodeBuddy, up to 2.97.0): it then stands
    for the last of them.
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
        found = known.get(node.parent) if node.parent else previous if not linked else None
        if node.parent and found is None and previous and not node.begins:
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
    left = sum(1 for node in unique if node.speaks and node not in seen)
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
