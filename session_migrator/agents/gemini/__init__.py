"""Gemini CLI: one file a session under ``~/.gemini/tmp/<project>/chats``."""

from __future__ import annotations

from ..spec import AgentSpec, Capabilities, MemorySpec
from . import client, reader, writer
from .messages import INJECTED

MEMORY = MemorySpec(name="Gemini CLI", index="GEMINI.md")

SPEC = AgentSpec(
    id="gemini",
    names=("Gemini CLI", "gemini-cli"),
    capabilities=Capabilities(
        thinking="text",
        provider="google",
        whole_results=True,
        image_types=("image/png", "image/jpeg", "image/webp"),
        # What the client takes for a command or for its own, and leaves out when it resumes (0.61).
        reserved_start=rf"[\s\ufeff]*(?:[/?]|{'|'.join(INJECTED)}|\Z)",
    ),
    locate=client.locate,
    list=reader.list_sessions,
    recognises=reader.recognises,
    read=reader.read,
    write=writer.write,
    program="gemini",
    resume_arguments=client.resume_arguments,
    resumes_recorded_model=client.resumes_recorded_model,
    home_variable="GEMINI_CLI_HOME",
    named_home=lambda home: home.parent,
    model=client.model,
    window=client.window,
    trigger=client.trigger,
    instructions=client.instructions,
    described=client.described,
    mcp_servers=client.mcp_servers,
    longest_result=lambda _: None,
    overhead="gemini",
    masking=(80_000, 50_000),  # its defaults (0.61.0): once 30,000 could go, all but the latest 50,000
)
