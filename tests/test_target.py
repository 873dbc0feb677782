"""What an agent, as it is set up here, leaves for a session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from session_migrator.agents import AGENTS
from session_migrator.target import inspect


def overhead(agent: str, home: Path, project: Path) -> str:
    why = inspect(agent, home=home, folder=project).why
    assert why
    return why["overhead"]


@pytest.mark.parametrize("agent", AGENTS)
def test_without_mcp_servers_nothing_is_said_of_them(agent: str, own_home: Path, project: Path) -> None:
    assert "MCP" not in overhead(agent, own_home / "config", project)


def test_the_mcp_servers_of_codex_are_named_as_not_counted(own_home: Path, project: Path) -> None:
    text = '[mcp_servers.docs]\ncommand = "x"\n[mcp_servers."my db".env]\nKEY = "secret"\n'
    (own_home / "config.toml").write_text(text, encoding="utf-8")
    assert overhead("codex", own_home, project).endswith("; the tools of MCP servers are not counted: docs, my db")
    (own_home / "config.toml").write_text("mcp_servers = 3\n", encoding="utf-8")
    assert "MCP" not in overhead("codex", own_home, project)


@pytest.mark.parametrize("beside", [True, False])
def test_those_of_claude_code_are_found_in_all_three_places(own_home: Path, project: Path, beside: bool) -> None:
    home = own_home / ".claude"
    home.mkdir()
    projects = {str(project): {"mcpServers": {"local": {}}}, "/elsewhere": {"mcpServers": {"foreign": {}}}}
    settings = {"mcpServers": {"user": {"env": {"KEY": "secret"}}}, "projects": projects}
    (own_home if beside else home).joinpath(".claude.json").write_text(json.dumps(settings), encoding="utf-8")
    (project / ".mcp.json").write_text('{"mcpServers": {"shared": {}, "user": {}}}', encoding="utf-8")
    assert overhead("claude-code", home, project).endswith("are not counted: user, local, shared")


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": []}', '{"mcpServers": null, "projects": []}'])
def test_settings_that_make_no_sense_name_no_servers(own_home: Path, project: Path, text: str) -> None:
    (own_home / ".claude.json").write_text(text, encoding="utf-8")
    (project / ".mcp.json").write_text(text, encoding="utf-8")
    assert "MCP" not in overhead("claude-code", own_home / ".claude", project)


@pytest.mark.parametrize(
    ("setting", "most"),
    [("", 48_000), ("tool_output_token_limit = 500\n", 2_400), ("tool_output_token_limit = -1\n", 48_000)],
)
def test_codex_sends_so_many_bytes_of_a_result_and_claude_code_all(
    own_home: Path, project: Path, setting: str, most: int
) -> None:
    (own_home / "config.toml").write_text(setting, encoding="utf-8")
    target = inspect("codex", home=own_home, folder=project)
    assert (target.longest_result, target.counter.longest_result) == (most, most)
    assert inspect("claude-code", home=own_home, folder=project).longest_result is None
