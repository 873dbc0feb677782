"""Codex sessions by id, for a memory: ``get_thread_meta``, ``extract_rollout``, ``to_memory_markdown``, and by an LLM
``summarize_session``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from . import agents, sessions
from .llm_summarizer import summarize_session
from .memory import to_memory_markdown
from .model import Session

__all__ = ["extract_rollout", "get_thread_meta", "summarize_session", "to_memory_markdown"]


def get_thread_meta(thread_id: str) -> dict[str, Any]:
    """What is known of a Codex thread (its id, or a unique prefix of it), without reading it whole: ``id``,
    ``rollout_path``, ``model``, ``title``, ``cwd``, ``created_at``. Raises NotFound, Ambiguous."""
    info = sessions.find(thread_id, "codex")
    return {
        "id": info.id, "rollout_path": info.path, "model": info.model, "title": info.title, "cwd": info.cwd,
        "created_at": info.created_at,
    }  # fmt: skip


def extract_rollout(path: str | Path, id: str | None = None, model: str | None = None) -> Session:
    """The session of a rollout file; ``id`` and ``model`` take the place of what the file says, where they are
    given. Raises ReadError, FormatError, NoConversation."""
    session = agents.get("codex").read(Path(path)).session
    return replace(session, id=id or session.id, model=model or session.model)
