"""Kilo CLI: a fork of OpenCode. Its sessions are rows of a database of the same form in a home of its own,
``~/.local/share/kilo/kilo.db``."""

from __future__ import annotations

from ..opencode import core
from ..opencode.client import Client
from ..spec import MemorySpec

CLIENT = Client(
    name="Kilo CLI",
    word="kilo",
    version="7.7.9",
    schema=__name__,
    agent="code",
    settings=("kilo.json", "kilo.jsonc", "opencode.json", "opencode.jsonc"),
    places=(".kilocode", ".kilo"),
    default="kilo/kilo-auto/free",
    default_limit={"context": 256_000, "output": 10_000},  # of the list built into it
    rules=(
        ".kilocoderules",
        *(f"{place}/rules{mode}/*.md" for place in (".kilocode", ".kilo") for mode in ("", "-code")),
    ),
    servers=(".kilocode/mcp.json", ".kilo/mcp.json"),
    native=False,  # of a session with a compaction it sends no image that stands before the last prompt
    context="<environment_details>",
    estimated=20_000,  # prompt and tools once more, a quarter of their characters by 1.3: about 19,000
)
SPEC = core.spec(CLIENT)
MEMORY = MemorySpec(name="Kilo CLI", index="AGENTS.md")
