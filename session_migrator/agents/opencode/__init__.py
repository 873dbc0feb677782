"""OpenCode: rows of one database, ``~/.local/share/opencode/opencode.db``. A fork of it, which keeps the same in a home
of its own, is another ``Client`` (``core.py``)."""

from __future__ import annotations

from ..spec import MemorySpec
from . import core
from .client import Client

CLIENT = Client(
    name="OpenCode",
    word="opencode",
    version="1.18.33",
    schema=__name__,
    agent="build",
    settings=("opencode.json", "opencode.jsonc"),
    places=(".opencode",),
    default="opencode/big-pickle",
    default_limit={"context": 200_000, "input": 160_000, "output": 32_000},  # of the list built into it
)
SPEC = core.spec(CLIENT)
MEMORY = MemorySpec(name="OpenCode", index="AGENTS.md")
