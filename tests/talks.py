"""Conversations as agents store them, for a search to find."""

from __future__ import annotations

from pathlib import Path

from session_migrator import Session, agents, from_messages


def said(*turns: str, title: str = "A talk") -> Session:
    """A session of questions, each with the answer to it after a bar."""
    messages = [
        {"role": role, "content": text}
        for turn in turns
        for role, text in zip(("user", "assistant"), turn.split("|"), strict=True)
    ]
    return from_messages(messages, title=title)


def stored(session: Session, project: Path, agent: str = "claude-code") -> Path:
    """The file of a session that an agent has stored."""
    spec = agents.get(agent)
    assert spec.write
    return Path(spec.write(session, spec.locate(None), project).paths[0])
