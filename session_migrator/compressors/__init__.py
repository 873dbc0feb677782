"""Compressors by name. A compressor is a value with one method; a module is imported when it is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from .protocol import Compressed, Compressor, Elision

if TYPE_CHECKING:
    from ..storage import Store
    from .ladder import LadderCompressor
    from .truncation import TruncationCompressor

__all__ = ["COMPRESSORS", "Compressed", "Compressor", "Elision", "LadderCompressor", "TruncationCompressor", "get"]

# The module of each, from here, its class, and whether it keeps something in the store. The one that asks an LLM stands
# above this room, with what it needs.
COMPRESSORS: dict[str, tuple[str, str, bool]] = {
    "ladder": (".ladder", "LadderCompressor", False),
    "llm": ("..llm_compressor", "LlmCompressor", True),
    "truncation": (".truncation", "TruncationCompressor", False),
}
DEFAULT = "ladder"


def get(name: str | Compressor, store: Store | None = None) -> Compressor:
    """The compressor of that name, or the one that is given; ``store``: where it keeps what it keeps. Raises UsageError
    where there is none of the name, or it lacks what it needs (an LLM)."""
    if not isinstance(name, str):
        return name
    if name not in COMPRESSORS:
        raise UsageError(f"no compressor is called {name!r}", f"one of: {', '.join(COMPRESSORS)}")
    _, attribute, stores = COMPRESSORS[name]
    return __getattr__(attribute)(*[store] * stores)


def name_of(compressor: str | Compressor) -> str:
    """What a compressor is called: one of your own by its class."""
    return compressor if isinstance(compressor, str) else f"{type(compressor).__module__}.{type(compressor).__name__}"


def __getattr__(name: str) -> Any:
    for module, attribute, _ in COMPRESSORS.values():
        if attribute == name:
            return getattr(import_module(module, __name__), attribute)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
