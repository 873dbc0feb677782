"""GitHub Copilot CLI: one folder a session under ``~/.copilot/session-state``."""

from __future__ import annotations

from ..spec import AgentSpec, Capabilities, MemorySpec
from . import client, reader, writer

MEMORY = MemorySpec(name="Copilot CLI", index="AGENTS.md")

SPEC = AgentSpec(
    id="copilot",
    names=("Copilot CLI", "copilot-cli", "GitHub Copilot CLI"),
    # Of what a session holds besides, the client sends no reasoning and no image of a result when it resumes (1.0.102).
    capabilities=Capabilities(
        thinking="text",
        whole_results=True,
        result_images=False,
        answer_images=False,
        linked_images=False,
        calls_last=True,
    ),
    locate=client.locate,
    list=reader.list_sessions,
    recognises=reader.recognises,
    read=reader.read,
    write=writer.write,
    program="copilot",
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
    overhead="copilot",
)
