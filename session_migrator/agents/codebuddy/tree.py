"""The records of a CodeBuddy session as nodes of the line of its conversation."""

from __future__ import annotations

from ..chain import Node
from ..jsonl import Record, table, text

SPEAKING = ("message", "reasoning", "function_call", "function_call_result", "function_call_output")
"""The types of the records that make up the conversation."""


def is_summary(record: Record) -> bool:
    """Whether a record is the summary that a compaction puts in the place of what was before (2.163.0)."""
    about = table(record.get("providerData"))
    return record.get("type") == "message" and about.get("isSummary") is True


def node_of(record: Record, offset: int, length: int) -> Node:
    """The node of a record; one without an id is known by its place."""
    before, stands_in = text(record.get("logicalParentId")), is_summary(record)
    return Node(
        id=text(record.get("id")) or f"@{offset}",
        parent=text(record.get("parentId")) or (None if stands_in else before),
        before=before,
        stands_in=stands_in,
        offset=offset,
        length=length,
    )
