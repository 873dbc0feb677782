"""Move a conversation from one AI agent to another, sized to the target model's real window.

    from session_migrator import read_session, decide, migrate
    migrate("latest", to="claude-code")

Names are loaded when they are used; importing the package imports nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .compressors import Compressed, LadderCompressor, TruncationCompressor
    from .decision import Decision
    from .exporter import from_messages, to_messages
    from .fitting import decide
    from .migration import Migration, migrate
    from .model import Message, Session, SessionInfo
    from .retrieval import recall
    from .sessions import list_sessions, read_session
    from .storage import Store

_HOMES = {
    "Compressed": "compressors",
    "Decision": "decision",
    "LadderCompressor": "compressors",
    "Message": "model",
    "Migration": "migration",
    "Session": "model",
    "SessionInfo": "model",
    "Store": "storage",
    "TruncationCompressor": "compressors",
    "decide": "fitting",
    "from_messages": "exporter",
    "list_sessions": "sessions",
    "migrate": "migration",
    "read_session": "sessions",
    "recall": "retrieval",
    "to_messages": "exporter",
}

__all__ = [
    "Compressed", "Decision", "LadderCompressor", "Message", "Migration", "Session", "SessionInfo", "Store",
    "TruncationCompressor", "decide", "from_messages", "list_sessions", "migrate", "read_session", "recall",
    "to_messages",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
