"""Claude Code: one JSONL file a session under ``~/.claude/projects/<folder>/``."""

from __future__ import annotations

from ..spec import AgentSpec, Capabilities, MemorySpec
from . import client, reader, writer

MEMORY = MemorySpec(name="Claude Code", index="CLAUDE.md")

SPEC = AgentSpec(
    id="claude-code",
    names=("Claude Code", "claude"),
    # The client sends no image of a failed result when it resumes (2.1.159 to 2.1.332).
    capabilities=Capabilities(thinking="native", provider="anthropic", failed_images=False, native_compaction=True),
    locate=client.locate,
    list=reader.list_sessions,
    recognises=reader.recognises,
    read=reader.read,
    write=writer.write,
    program="claude",
    resume_arguments=client.resume_arguments,
    resumes_recorded_model=client.resumes_recorded_model,
    home_variable="CLAUDE_CONFIG_DIR",
    model=client.model,
    window=client.window,
    trigger=client.trigger,
    instructions=client.instructions,
    described=client.described,
    described_most=client.described_most,
    mcp_servers=client.mcp_servers,
    longest_result=lambda _: None,
    overhead="claude-code",
)
