"""Whatever settings and folders a project has, a target is found, and nothing is read without end."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from session_migrator import agents
from session_migrator.target import inspect


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


HOSTILE_SETTINGS = (
    *(".claude/settings.json", ".gemini/settings.json", ".qwen/settings.json", ".codebuddy/settings.json"),
    *("opencode.json", "kilo.json", ".mcp.json", ".github/mcp.json", ".pi/settings.json"),
)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def numbers(path: Path) -> None:
    huge = f"1{'0' * 400}"
    sizes = f'{{"contextWindowSize": {huge}}}'
    write(
        path,
        f'''{{"autoCompactWindow": {huge}, "model": {{"generationConfig": {sizes}}},
        "compaction": {{"threshold_percent": 1e308, "reserved": {huge}, "reserveTokens": {huge}}},
        "instructions": [".", "./", "{"a/" * 3000}b", "{"[" * 5000}", "**/../**/../*.md", 7, "{"../" * 9}**/*"]}}''',
    )


@pytest.mark.parametrize("make", [pipe, endless, numbers])
@pytest.mark.parametrize("agent", agents.AGENTS)
def test_whatever_settings_a_project_has_a_target_is_found(
    agent: str, make: Callable[[Path], None], own_home: Path, project: Path
) -> None:
    for name in HOSTILE_SETTINGS:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        make(project / name)
    write(own_home / ".pi" / "agent" / "settings.json", '{"defaultProjectTrust": "always"}')
    assert inspect(agent, model="gpt-5.5", folder=project, ask=False).overhead > 0


@pytest.mark.parametrize("agent", agents.AGENTS)
def test_whatever_folders_a_project_has_a_target_is_found(agent: str, own_home: Path, project: Path) -> None:
    (project / ".git").mkdir()
    for place in (".claude", ".agents", ".codex", ".gemini", ".qwen", ".opencode", ".kilo", ".github", ".codebuddy"):
        for number in range(200):
            skill = os.fsencode(project / place / "skills") + b"/s\xff%d" % number
            write(Path(os.fsdecode(skill), "SKILL.md"), f"---\ndescription: {'words ' * 90}\n---\n")
        for kind in ("agents", "commands", "rules", "instructions"):
            (project / place / kind).mkdir()
            for name in ("a", "b", "c"):
                (project / place / kind / name).symlink_to(".")
            (project / place / kind / "all").symlink_to("/etc")
    plugins = {"plugins": {"x@y": [{"installPath": "a\0b"}, {"installPath": ""}, {"installPath": "/"}]}}
    for home in (own_home / ".claude", own_home / ".codebuddy"):
        write(home / "plugins" / "installed_plugins.json", json.dumps(plugins))
        write(home / "settings.json", '{"enabledPlugins": {"x@y": true}}')
    for client in ("gemini", "qwen"):
        place = own_home / f".{client}" / "extensions" / "x"
        write(place / f"{client}-extension.json", "{}")
        write(place / f".{client}-extension-install.json", '{"type": "link", "source": "a\\u0000b"}')
    assert inspect(agent, model="gpt-5.5", window=2_000_000, folder=project, ask=False).overhead > 0
