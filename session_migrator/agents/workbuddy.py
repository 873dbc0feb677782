"""Tencent WorkBuddy: the memory of a project, by the contract in the agent's core (2.163.0): ``MEMORY.md`` and a log a
day, plain Markdown."""

from __future__ import annotations

from .spec import MemorySpec

MEMORY = MemorySpec(
    name="WorkBuddy",
    default="memory",
    index=".workbuddy/memory/MEMORY.md",
    log=".workbuddy/memory/{day}.md",
    archive=".workbuddy/session-migrator",
)
