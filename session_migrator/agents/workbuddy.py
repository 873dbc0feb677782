"""Tencent WorkBuddy: a desktop application around the core of CodeBuddy Code. Its sessions are that core's files in a
home of their own, and resumed by its headless client; the list of the application itself is a database, which is never
touched. The memory of a project is by the contract in the core (2.163.0): ``MEMORY.md`` and a log a day, plain
Markdown."""

from __future__ import annotations

from .codebuddy import core
from .spec import MemorySpec

SPEC = core.spec("workbuddy", ("WorkBuddy",), ".workbuddy", "WORKBUDDY_CONFIG_DIR")
MEMORY = MemorySpec(
    name="WorkBuddy",
    default="memory",
    index=".workbuddy/memory/MEMORY.md",
    log=".workbuddy/memory/{day}.md",
    archive=".workbuddy/session-migrator",
)
