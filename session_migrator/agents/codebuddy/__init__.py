"""CodeBuddy Code: one JSONL file a session under ``~/.codebuddy/projects/<folder>/``. WorkBuddy has the same core, and
the same files in a home of its own (``core.py``)."""

from __future__ import annotations

from ..spec import MemorySpec
from . import client, core

SPEC = core.spec("codebuddy", ("CodeBuddy Code", "codebuddy-code"), client.FOLDER, "CODEBUDDY_CONFIG_DIR")
MEMORY = MemorySpec(
    name="CodeBuddy Code",
    index="MEMORY.md",
    limit=client.INDEX_LIMIT,
    lines=client.INDEX_LINES,
    place=core.memory_of(SPEC),
)
