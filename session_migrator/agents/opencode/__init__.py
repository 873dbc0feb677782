"""OpenCode: rows of one database, ``~/.local/share/opencode/opencode.db``."""

from __future__ import annotations

from ..spec import AgentSpec, Capabilities, MemorySpec
from . import client, reader, writer

MEMORY = MemorySpec(name="OpenCode", index="AGENTS.md")

SPEC = AgentSpec(
    id="opencode",
    names=("OpenCode",),
    # Reasoning of another model than the current one would be joined to the answer (1.18): it is text here at once.
    capabilities=Capabilities(
        thinking="text",
        whole_results=True,
        failed_images=False,
        native_compaction=True,
        compaction_question="What did we do so far?",  # 1.2.27 and 1.18.33
    ),
    locate=client.locate,
    list=reader.list_sessions,
    recognises=reader.recognises,
    read=reader.read,
    write=writer.write,
    program="opencode",
    resume_arguments=client.resume_arguments,
    resumes_recorded_model=client.resumes_recorded_model,
    home_variable=client.HOME_VARIABLE,
    named_home=lambda home: home.parent,
    model=client.model,
    window=client.window,
    trigger=client.trigger,
    instructions=client.instructions,
    mcp_servers=client.mcp_servers,
    longest_result=lambda _: None,
    overhead="opencode",
)
