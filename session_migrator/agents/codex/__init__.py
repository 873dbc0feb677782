"""OpenAI Codex CLI: rollouts under ``$CODEX_HOME/sessions``."""

from __future__ import annotations

from ..spec import AgentSpec, Capabilities, MemorySpec
from . import client, files, forms, reader, writer
from .items import FAILURE

MEMORY = MemorySpec(name="Codex", index="AGENTS.md", limit=client.INSTRUCTION_BYTES)

SPEC = AgentSpec(
    id="codex",
    names=("Codex", "codex-cli"),
    capabilities=Capabilities(
        thinking="text",
        provider="openai",
        system=True,
        first_role=None,
        object_arguments=False,
        error_pattern=FAILURE,
        native_compaction=True,
    ),
    locate=client.locate,
    list=files.list_sessions,
    recognises=forms.recognises,
    read=reader.read,
    write=writer.write,
    program="codex",
    resume_arguments=client.resume_arguments,
    resumes_recorded_model=client.resumes_recorded_model,
    home_variable="CODEX_HOME",
    model=client.model,
    window=client.window,
    trigger=client.trigger,
    instructions=client.instructions,
    described=client.described,
    described_most=client.described_most,
    mcp_servers=client.mcp_servers,
    longest_result=client.longest_result,
    overhead="codex",
)
