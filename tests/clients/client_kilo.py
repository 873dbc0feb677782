"""Kilo CLI, a fork of OpenCode."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from client_opencode import environment as environment_of_core
from client_opencode import kind


def environment(config_dir: Path | None) -> dict[str, str]:
    """Without a network it would wait at its end until its telemetry was sent (7.0.33: for minutes)."""
    return {**environment_of_core(config_dir, "kilo"), "KILO_TELEMETRY_LEVEL": "off"}


KIND = replace(kind("kilo", "kilo/7.7.9", own=("\n\n<environment_details>",)), environment=environment, heavy=True)
