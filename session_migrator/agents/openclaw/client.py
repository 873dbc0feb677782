"""What OpenClaw itself does: its home and workspace (docs.openclaw.ai, 2026.9.6)."""

from __future__ import annotations

import json
import os
from pathlib import Path


def workspace(home: Path | None) -> Path:
    """$OPENCLAW_WORKSPACE_DIR, else the workspace that openclaw.json names for all agents, else ``workspace`` in the
    home, which is the one given, else $OPENCLAW_STATE_DIR, else ~/.openclaw."""
    home = home or Path(os.environ.get("OPENCLAW_STATE_DIR") or Path.home() / ".openclaw")
    named = os.environ.get("OPENCLAW_WORKSPACE_DIR") or _configured(home / "openclaw.json")
    return Path(os.path.expanduser(named)) if named else home / "workspace"  # noqa: PTH111


def _configured(config: Path) -> str | None:
    """agents.defaults.workspace; a file with comments (JSON5) is not read."""
    try:
        named = json.loads(config.read_text(encoding="utf-8"))["agents"]["defaults"]["workspace"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return named if isinstance(named, str) else None
