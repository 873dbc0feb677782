"""OpenClaw: the entries of pi's family, in a database of each of its agents since 2026.8.1, before in a file a session;
and the memory in an agent's workspace, ``MEMORY.md`` and a log a day (docs.openclaw.ai, agent workspace)."""

from __future__ import annotations

from ..pi.client import SUMMARY_BEGINS, SUMMARY_ENDS
from ..spec import AgentSpec, Capabilities, MemorySpec
from . import client, reader, writer

MEMORY = MemorySpec(name="OpenClaw", index="MEMORY.md", log="memory/{day}.md", workspace=client.workspace)

SPEC = AgentSpec(
    id="openclaw",
    names=("OpenClaw",),
    capabilities=Capabilities(
        thinking="text",
        answer_images=False,
        linked_images=False,
        joined_answers=True,
        native_compaction=True,
        compaction_question=SUMMARY_BEGINS + SUMMARY_ENDS,
    ),
    locate=client.locate,
    list=reader.list_sessions,
    recognises=reader.recognises,
    read=reader.read,
    write=writer.write,
    program=client.PROGRAM,
    resume_arguments=client.resume_arguments,
    resumes_recorded_model=client.resumes_recorded_model,
    home_variable=client.HOME_VARIABLE,
    model=client.model,
    window=client.window,
    trigger=client.trigger,
    instructions=client.instructions,
    described=client.described,
    described_most=client.described_most,
    mcp_servers=client.mcp_servers,
    longest_result=lambda _: None,
    shown_result=client.shown_result,
    image_turns=3,  # 2026.9.6 and 2026.6.11
    overhead="openclaw",
)
