"""Whether two sessions say the same: what is checked after every write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .jsondata import clean
from .model import Compaction, Message, Part, Text, ToolResult

_SIDE = ("meta", "kind")


def comparable(messages: Sequence[Message]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Roles and parts in order, neighbours of one role joined (every client joins them when it sends),
    without provider-tagged extras. Calls and results keep their ids, so pairs are compared too."""
    runs: list[tuple[str, list[dict[str, Any]]]] = []
    for message in messages:
        if not runs or runs[-1][0] != message.role:
            runs.append((message.role, []))
        runs[-1][1].extend(map(_bare, message.parts))
    return runs


def _bare(part: Part) -> dict[str, Any]:
    part = Text(text=part.summary) if isinstance(part, Compaction) else part
    data = {key: value for key, value in part.to_dict().items() if key not in _SIDE}
    if isinstance(part, ToolResult):
        data["parts"] = list(map(_bare, part.parts))
    return clean(data)


def difference(expected: Sequence[Message], found: Sequence[Message]) -> str | None:
    """Where two conversations differ first, in one sentence that quotes nothing of them; None if nowhere."""
    wanted, got = comparable(expected), comparable(found)
    if wanted == got:
        return None
    for index, (one, other) in enumerate(zip(wanted, got, strict=False)):
        if one != other:
            return f"turn {index + 1} of {len(wanted)} ({one[0]}, {len(one[1])} parts) reads back as another"
    return f"{len(wanted)} turns were written, {len(got)} read back"
