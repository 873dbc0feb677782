"""One reader and one writer for both agents of the core: what differs is the home."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ..spec import AgentSpec, Capabilities
from . import client, reader, writer

PROGRAM_HOME = "CODEBUDDY_CONFIG_DIR"
"""The variable by which the headless client, which resumes the sessions of both, is told its home (2.163.0)."""


def spec(agent: str, names: tuple[str, ...], folder: str, variable: str) -> AgentSpec:
    """The agent whose home is ``~/folder``, or what the variable names."""

    def locate(home: Path | None) -> Path:
        return home or Path(os.environ.get(variable) or Path.home() / folder)

    return AgentSpec(
        id=agent,
        names=names,
        capabilities=Capabilities(thinking="text", whole_results=True, answer_images=False),
        locate=locate,
        list=lambda home, remember=reader.looked_at: reader.list_sessions(home, agent, remember),
        recognises=reader.recognises,
        read=partial(reader.read, agent=agent),
        write=writer.write,
        program="codebuddy",
        resume_arguments=client.resume_arguments,
        resumes_recorded_model=client.resumes_recorded_model,
        home_variable=PROGRAM_HOME,
        program_home=lambda: Path(os.environ.get(PROGRAM_HOME) or Path.home() / client.FOLDER),
        model=client.model,
        window=client.window,
        trigger=client.trigger,
        instructions=client.instructions,
        described=client.described,
        mcp_servers=client.mcp_servers,
        longest_result=lambda _: None,
        overhead="codebuddy",
    )


def memory_of(agent: AgentSpec) -> Callable[[Path | None, Path], Path]:
    """Where the agent keeps what it remembers of a project."""
    return lambda home, folder: client.memory_folder(agent.locate(home), folder)
