"""OpenClaw: the entries of pi's family, in a database of each of its agents since 2026.8.1, before in a file a session;
and the memory in an agent's workspace, ``MEMORY.md`` and a log a day (docs.openclaw.ai, agent workspace)."""

from __future__ import annotations

from ..spec import MemorySpec
from . import client

MEMORY = MemorySpec(name="OpenClaw", index="MEMORY.md", log="memory/{day}.md", workspace=client.workspace)
