"""The registry of agents: the only place that enumerates them. A module is imported when it is used.

It offers ``SPEC``, how the agent stores sessions, and ``MEMORY``, the Markdown that it reads at the start of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import NotFound

if TYPE_CHECKING:
    from .spec import AgentSpec, Block, Capabilities, MemorySpec, Reading, Written

__all__ = [
    "AGENTS",
    "AgentSpec",
    "Block",
    "Capabilities",
    "MemorySpec",
    "Reading",
    "Written",
    "all_agents",
    "get",
    "memory",
]

AGENTS: dict[str, str] = {
    "codex": "session_migrator.agents.codex",
    "claude-code": "session_migrator.agents.claude_code",
    "gemini": "session_migrator.agents.gemini",
    "codebuddy": "session_migrator.agents.codebuddy",
    "workbuddy": "session_migrator.agents.workbuddy",
    "opencode": "session_migrator.agents.opencode",
    "qwen": "session_migrator.agents.qwen",
    "pi": "session_migrator.agents.pi",
    "kilo": "session_migrator.agents.kilo",
    "copilot": "session_migrator.agents.copilot",
    "openclaw": "session_migrator.agents.openclaw",
}


def get(agent: str) -> AgentSpec:
    """The agent with that id. Raises NotFound, naming the ids there are."""
    if agent not in AGENTS:
        raise NotFound(f"no agent is called {agent!r}", f"one of: {', '.join(AGENTS)}")
    spec: AgentSpec = import_module(AGENTS[agent]).SPEC
    return spec


def memory(agent: str) -> MemorySpec:
    """Where the agent with that id can be told of a session. Raises NotFound, naming the ids there are."""
    if agent not in AGENTS:
        raise NotFound(f"no agent is called {agent!r}", f"one of: {', '.join(AGENTS)}")
    spec: MemorySpec = import_module(AGENTS[agent]).MEMORY
    return spec


def all_agents() -> Iterator[AgentSpec]:
    """Every agent, in the registry's order."""
    return map(get, AGENTS)


def __getattr__(name: str) -> Any:
    """The names of the contract, loaded when they are used: a list of agents needs none of them."""
    if name in __all__:
        return getattr(import_module(".spec", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
