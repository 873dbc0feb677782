"""Token estimation under the exporter's name."""

from __future__ import annotations

from ..model import Session


def estimate_tokens(content: str | Session, model: str = "gpt-5") -> int:
    """How many tokens a text, or a session's live messages with their framing, are to a model; the
    upper bound where the count is not exact (``tokens.counter(model)`` gives both bounds)."""
    from ..tokens import counter

    counted = counter(model)
    return (counted.text(content) if isinstance(content, str) else counted.session(content)).tokens
