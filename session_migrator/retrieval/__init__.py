"""What was left out of a session is found again, by the id that stands in its place."""

from __future__ import annotations

from .originals import Original, find, keep, recall, selected

__all__ = ["Original", "find", "keep", "recall", "selected"]
