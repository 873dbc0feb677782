"""How a client is set up for a test: which version it is, its environment, and its configuration file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PINS = Path(__file__).resolve().parent / "versions.toml"
VERSIONS: dict[str, dict[str, Any]] = tomllib.loads(PINS.read_text(encoding="utf-8"))
PORT = 8787  # each run has a namespace of its own, so it is always free
KEY = "sk-ant-not-a-key"

# MCP servers by name: {command, args, env} each.
Servers = Mapping[str, Mapping[str, Any]]


def agent_of(client: str) -> str:
    """The agent a client is a version of."""
    return VERSIONS[client]["agent"]


def environment(home: Path, tmp: Path, agent: str = "", config_dir: Path | None = None) -> dict[str, str]:
    """The whole environment of an agent's client: nothing is inherited, the keys are fakes."""
    base = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "TMPDIR": str(tmp),
        "CLAUDE_CODE_TMPDIR": str(tmp),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
    }
    if agent == "codex":
        # A proxy that refuses at once: an older Codex looks for plugins and would wait for a name server.
        base |= {"STUB_KEY": KEY, "HTTPS_PROXY": "http://127.0.0.1:9"}
        base |= {"CODEX_HOME": str(config_dir)} if config_dir else {}
    if agent == "claude-code":
        base |= {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{PORT}", "ANTHROPIC_API_KEY": KEY}
        base |= {"CLAUDE_CONFIG_DIR": str(config_dir)} if config_dir else {}
        base |= dict.fromkeys(
            (
                "DISABLE_TELEMETRY",
                "DISABLE_ERROR_REPORTING",
                "DISABLE_AUTOUPDATER",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
                "CLAUDE_CODE_MAX_RETRIES",
                "IS_SANDBOX",
            ),
            "1",
        )
    return base


def write_client_config(
    client: str,
    *,
    home: Path,
    cwd: Path,
    config_dir: Path | None = None,
    model: str | None = None,
    servers: Servers | None = None,
    window: int | None = None,
) -> Path:
    """Write the settings that point a client at the stub and trust ``cwd``; returns the file.

    ``model``: Codex's, else the pinned one; Claude Code takes its model as an argument or uses its
    default. ``servers``: the MCP servers by name. ``window``: what Codex is to take the model's for. What Claude Code
    itself noted in its file stays.
    """
    if agent_of(client) == "codex":
        path = (config_dir or home / ".codex") / "config.toml"
        model = model or VERSIONS[client]["model"]
        # The terminal would ask once whether to go on to the newer model of the same line.
        newer = "gpt-6-luna" if model.endswith("-luna") else "gpt-6-sol"
        text = f"model_context_window = {window}\n" if window else ""
        text += _CODEX_CONFIG.format(model=model, newer=newer, port=PORT, cwd=json.dumps(str(cwd)))
        text += "".join(_CODEX_SERVER.format(name=name, **_toml(server)) for name, server in (servers or {}).items())
    else:
        path = (config_dir or home) / ".claude.json"
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        projects = known.get("projects", {})
        projects[str(cwd)] = projects.get(str(cwd), {}) | {"hasTrustDialogAccepted": True}
        settings = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "lastOnboardingVersion": VERSIONS[client]["version"],
            "projects": projects,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "mcpServers": servers or {},
        }
        text = json.dumps(known | settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


_CODEX_CONFIG = """\
model = "{model}"
model_provider = "stub"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.stub]
name = "stub"
base_url = "http://127.0.0.1:{port}/v1"
env_key = "STUB_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[projects.{cwd}]
trust_level = "trusted"

[notice.model_migrations]
"{model}" = "{newer}"
"""

# Without "required" the first turn does not wait for the server (seen with 0.171.0).
_CODEX_SERVER = """
[mcp_servers.{name}]
command = {command}
args = {args}
env = {env}
required = true
startup_timeout_sec = 60
"""


def _toml(server: Mapping[str, Any]) -> dict[str, str]:
    """The values of an MCP server's entry as TOML."""
    env = ", ".join(f"{name} = {json.dumps(value)}" for name, value in server["env"].items())
    return {"command": json.dumps(server["command"]), "args": json.dumps(server["args"]), "env": f"{{ {env} }}"}
