"""The tree of a Claude Code session: which records are the live conversation, and in what order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...losses import Loss
from ..jsonl import Record, rows, table, text

BEFORE = "<the record before>"
"""A parent that stands for the record before in the file."""
STANDS_IN = "isCompactReplacement"
"""Our own key of a record behind a boundary that is not new, as the client's summary is not."""
SYNTHETIC = "<synthetic>"
"""The model of the client's own words in the assistant's place: API errors and the like."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node:
    """What the tree needs of a record, and where the record lies in the file. ``is_prompt``: a turn of the user's
    own, where a rewind begins another branch. ``stands_in``: in the place of what was said before a compaction.
    ``kept``, of a boundary: the record after which those before it go on that the client keeps word for word, and they.
    """

    id: str
    parent: str | None
    offset: int
    length: int
    speaks: bool
    is_user: bool
    is_prompt: bool
    stands_in: bool
    is_synthetic: bool
    is_boundary: bool
    message_id: str | None
    logical_parent: str | None
    kept: tuple[str, ...] = ()


def node_of(record: Record, before: Node | None, offset: int, length: int) -> Node:
    """The node of a record that has an id."""
    message = table(record.get("message"))
    is_user = record.get("type") == "user"
    results = any(table(block).get("type") == "tool_result" for block in rows(message.get("content")))
    parent = record.get("parentUuid")
    return Node(
        id=record["uuid"],
        parent=(before.id if before else None) if parent == BEFORE else parent if isinstance(parent, str) else None,
        offset=offset,
        length=length,
        speaks=is_user or record.get("type") == "assistant",
        is_user=is_user,
        is_prompt=is_user and not results,
        stands_in=bool(record.get("isCompactSummary") or record.get(STANDS_IN)),
        is_synthetic=message.get("model") == SYNTHETIC,
        is_boundary=record.get("subtype") == "compact_boundary",
        message_id=text(message.get("id")),
        logical_parent=text(record.get("logicalParentUuid")),
        kept=_kept(record),
    )


def _kept(record: Record) -> tuple[str, ...]:
    """2.1.159 to 2.1.332 keep the latest messages when they compact by themselves."""
    kept = table(table(record.get("compactMetadata")).get("preservedMessages"))
    ids = (kept.get("anchorUuid"), *rows(kept.get("uuids"))) if kept else ()
    return tuple(map(str, ids))


def active(nodes: Sequence[Node]) -> tuple[list[Node], list[Node], list[Loss]]:
    """The live records in order, those before the last compaction, and what was left out.

    The newest message is the live leaf. Its ancestors are live, and so is what hangs off them unless it
    begins with a prompt of the user's (a branch given up by a rewind): results of parallel calls and
    replies that the client parented elsewhere. A parent that is nowhere is bridged by the record before.
    """
    losses: list[Loss] = []
    first: dict[str, Node] = {}
    for node in nodes:
        first.setdefault(node.id, node)
    unique = list(first.values())
    parent: dict[str, Node | None] = {}
    for index, node in enumerate(unique):
        found = first.get(node.parent) if node.parent else None
        if node.parent and found is None and index:
            found = unique[index - 1]
            detail = "a record's parent is not in the file; it follows the record before it"
            losses.append(Loss(kind="branch", severity="info", detail=detail))
        parent[node.id] = found
    leaf = next((node for node in reversed(unique) if node.speaks), None)
    below: dict[str, list[Node]] = {}
    for node in unique:
        above = parent[node.id]
        if above is not None and not node.is_prompt:
            below.setdefault(above.id, []).append(node)
    seen: set[str] = set()
    live = _line(leaf, parent, below, seen)
    lines: list[list[Node]] = []
    before = _before(live, unique, first, seen)
    while before is not None:
        lines.append(_line(before, parent, below, seen))
        before = _before(lines[-1], unique, first, seen)
    earlier = [node for line in reversed(lines) for node in line]
    left = sum(1 for node in unique if node.speaks and node.id not in seen)
    if left:
        detail = f"{left} records of branches that were given up (rewinds) are not carried"
        losses.append(Loss(kind="branch", detail=detail))
    return _with_kept(live, first), earlier, losses


def _with_kept(line: list[Node], first: dict[str, Node]) -> list[Node]:
    """The line with what its compaction keeps, which stands in for itself."""
    after, *kept = next((node.kept for node in line if node.kept), ("",))
    place = 1 + next((index for index, node in enumerate(line) if node.id == after), 0)
    return [*line[:place], *(replace(first[name], stands_in=True) for name in kept if name in first), *line[place:]]


def _before(line: Sequence[Node], unique: Sequence[Node], first: dict[str, Node], seen: set[str]) -> Node | None:
    """The last record before the compaction that a line starts with: the one that is named there, or where that was
    never written (seen with 2.1.33 to 2.1.42), the last message before it in the file."""
    boundary = next((node for node in line if node.is_boundary), None)
    if boundary is None:
        return None
    found = first.get(boundary.logical_parent or "")
    if found is None:
        place = bisect_left(unique, boundary.offset, key=lambda node: node.offset)
        found = next((unique[index] for index in range(place - 1, -1, -1) if unique[index].speaks), None)
    return found if found and found.id not in seen else None


def _line(
    leaf: Node | None, parent: dict[str, Node | None], below: dict[str, list[Node]], seen: set[str]
) -> list[Node]:
    """From the root (or what was seen before) to a leaf, with what hangs off the way and is no branch of its own.
    ``below`` holds the children of each record that are no prompts; what is returned is then seen."""
    way: list[Node] = []
    node = leaf
    while node is not None and node.id not in seen:
        way.append(node)
        seen.add(node.id)
        node = parent[node.id]
    return [member for node in reversed(way) for member in (node, *_hanging(node, below, seen))]


def _hanging(node: Node, below: dict[str, list[Node]], seen: set[str]) -> list[Node]:
    """What hangs off a record and was not seen before, in the order of the file."""
    found: list[Node] = []
    open_ = [node]
    while open_:
        for child in below.get(open_.pop().id, ()):
            if child.id not in seen:
                seen.add(child.id)
                found.append(child)
                open_.append(child)
    return sorted(found, key=lambda child: child.offset)


def grouped(nodes: Sequence[Node]) -> Iterator[list[Node]]:
    """Records that make one message: an answer's blocks share its ``message.id``, wherever they stand before the
    next prompt (some gateways count their ids from one again). Every user record is one of its own."""
    turn: list[list[Node]] = []
    by_id: dict[str, list[Node]] = {}
    for node in nodes:
        if node.is_prompt:
            yield from turn
            turn, by_id = [], {}
        if not node.is_user and node.message_id in by_id:
            by_id[node.message_id].append(node)
            continue
        turn.append([node])
        if not node.is_user and node.message_id:
            by_id[node.message_id] = turn[-1]
    yield from turn
