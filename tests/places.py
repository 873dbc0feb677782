"""Where the tests find what they read."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "tests" / "fixtures"
EXAMPLES = ROOT / "examples" / "codex-home"
LONG = next(EXAMPLES.rglob("rollout-*T18-13-15-*.jsonl"))
"""The recorded session of the examples: about 15,000 tokens, with parallel calls, errors and an image."""


def environment(**more: str) -> dict[str, str]:
    """This process's environment, for one that runs the package of this checkout."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}
