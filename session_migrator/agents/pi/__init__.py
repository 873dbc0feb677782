"""pi: one JSONL file a session under ``~/.pi/agent/sessions/<folder>/``. OpenClaw keeps the same entries."""

from __future__ import annotations

from ..spec import AgentSpec, Capabilities, MemorySpec
from . import client, reader, writer

MEMORY = MemorySpec(name="pi", index="AGENTS.md")

SPEC = AgentSpec(
    id="pi",
    names=("pi",),
    # Reasoning of another model than the current one would be left out (1.6): it is text here at once.
    capabilities=Capabilities(
        thinking="text",
        answer_images=False,
        linked_images=False,
        native_compaction=True,
        compaction_question=client.SUMMARY_BEGINS + client.SUMMARY_ENDS,
    ),
    locate=client.locate,
    list=reader.list_sessions,
    recognises=reader.recognises,
    read=reader.read,
    write=writer.write,
    program="pi",
    resume_arguments=client.resume_arguments,
    resumes_recorded_model=client.resumes_recorded_model,
    home_variable=client.HOME_VARIABLE,
    model=client.model,
    window=client.window,
    trigger=client.trigger,
    instructions=client.instructions,
    described=client.described,
    mcp_servers=client.mcp_servers,
    longest_result=lambda _: None,
    overhead="pi",
)
