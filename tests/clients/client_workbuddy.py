"""WorkBuddy, as far as its core goes: the headless client of CodeBuddy Code with WorkBuddy's home."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from client_codebuddy import KIND as CORE
from client_codebuddy import environment as environment_of_core


def environment(config_dir: Path | None) -> dict[str, str]:
    """The core takes its home from a variable alone, so there is one to name in every test."""
    assert config_dir, "the core is to be given WorkBuddy's home"
    return environment_of_core(config_dir)


KIND = replace(
    CORE,
    environment=environment,
    config="home/.workbuddy",  # its own: whose a session is, is told by the folder
    sample="workbuddy/.workbuddy",
)
