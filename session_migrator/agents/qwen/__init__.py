"""Qwen Code: one JSONL file a session under ``~/.qwen/projects/<folder>/chats/``."""

from __future__ import annotations

from ..spec import AgentSpec, Capabilities, MemorySpec
from . import client, reader, writer

MEMORY = MemorySpec(name="Qwen Code", index="AGENTS.md")

SPEC = AgentSpec(
    id="qwen",
    names=("Qwen Code", "qwen-code"),
    capabilities=Capabilities(
        thinking="text",
        whole_results=True,
        answer_images=False,
        joined_answers=True,
        native_compaction=True,
        name_pattern=r"[A-Za-z0-9_-]{1,63}",  # of a tool of an MCP server; of longer ones it makes others (0.24)
    ),
    locate=client.locate,
    list=reader.list_sessions,
    recognises=reader.recognises,
    read=reader.read,
    write=writer.write,
    program="qwen",
    resume_arguments=client.resume_arguments,
    resumes_recorded_model=client.resumes_recorded_model,
    home_variable="QWEN_HOME",
    model=client.model,
    window=client.window,
    trigger=client.trigger,
    instructions=client.instructions,
    described=client.described,
    mcp_servers=client.mcp_servers,
    longest_result=lambda _: None,
    overhead="qwen",
)
