"""What could not be carried, as values: a conversion never drops anything in silence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from .model import Value

LossKind = Literal[
    "thinking", "signature", "image", "file", "child_session", "tool_pair", "name", "id", "time", "role",
    "unknown_record", "bad_line", "branch", "usage",
]  # fmt: skip
Severity = Literal["info", "lossy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss(Value):
    """One loss. ``where`` is the index of the message it concerns, None where it concerns none;
    ``info`` says something changed its form, ``lossy`` that content is missing."""

    kind: LossKind
    detail: str
    where: int | None = None
    severity: Severity = "lossy"


def merged(losses: Iterable[Loss]) -> tuple[Loss, ...]:
    """Losses that say the same become one, with how often it happened; ``where`` is the first place."""
    groups: dict[tuple[str, str, str], list[Loss]] = {}
    for loss in losses:
        groups.setdefault((loss.kind, loss.severity, loss.detail), []).append(loss)
    return tuple(
        group[0] if len(group) == 1 else replace(group[0], detail=f"{group[0].detail} ({len(group)} times)")
        for group in groups.values()
    )
