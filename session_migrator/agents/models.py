"""Models as clients that serve many vendors name them: ``provider/model``."""

from __future__ import annotations

import re
from collections.abc import Callable

from .. import tokens
from ..model import FITTED, Session
from .jsonl import table, text

_VENDORS = {
    "claude": "anthropic", "gpt": "openai", "o": "openai", "codex": "openai", "gemini": "google", "grok": "xai",
    "deepseek": "deepseek", "mistral": "mistral", "kimi": "moonshotai", "glm": "zai",
}  # fmt: skip


def vendor(model_id: str) -> str | None:
    """The provider that a model's own vendor is, told by the beginning of its name."""
    return _VENDORS.get((re.match(r"[a-z]+", model_id.lower()) or [""])[0])


def fitted(session: Session, choose: Callable[[str | None], str]) -> tuple[str, str, int]:
    """The provider, the model and the tokens of a request with the session: what it was made to fit, else the model
    that ``choose`` gives and the session's own tokens. ``choose`` is given the model's name, None where none is."""
    given = table((session.extra or {}).get(FITTED))
    model = choose(text(given.get("model")))
    size = given.get("tokens")
    provider, _, name = model.partition("/")
    return provider, name, size if isinstance(size, int) else tokens.counter(model).session(session).high
