"""The Codex CLI."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import harness
from kinds import KEY, PORT, Body, Item, Kind, Setup, data, result

OWN = ("# AGENTS.md instructions", "<environment_context>")


def environment(config_dir: Path | None) -> dict[str, str]:
    # A proxy that refuses at once: an older Codex looks for plugins and would wait for a name server.
    named = {"CODEX_HOME": str(config_dir)} if config_dir else {}
    return {"STUB_KEY": KEY, "HTTPS_PROXY": "http://127.0.0.1:9", **named}


def configure(setup: Setup) -> None:
    path = (setup.config_dir or setup.home / ".codex") / "config.toml"
    model = setup.model or setup.pinned["model"]
    # The terminal would ask once whether to go on to the newer model of the same line.
    newer = "gpt-6-luna" if model.endswith("-luna") else "gpt-6-sol"
    text = f"model_context_window = {setup.window}\n" if setup.window else ""
    text += _CONFIG.format(model=model, newer=newer, port=PORT, cwd=json.dumps(str(setup.cwd)))
    text += "".join(_SERVER.format(name=name, **_toml(server)) for name, server in (setup.servers or {}).items())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


_CONFIG = """\
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
_SERVER = """
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


def items(body: Body) -> Iterator[Item]:
    for item in body["input"]:
        kind, call_id = item.get("type", "message"), item.get("call_id")
        if kind == "message" and item["role"] in ("user", "assistant"):
            for part in item["content"]:
                if part["type"] == "input_image":
                    yield item["role"], "image", data(part["image_url"]), None
                elif not part["text"].startswith(OWN):
                    yield item["role"], "text", part["text"], None
        elif kind == "reasoning":
            yield "assistant", "thinking", "\n".join(part["text"] for part in item["summary"]), None
        elif kind == "function_call":
            yield "assistant", "call", (item["name"], json.loads(item["arguments"])), call_id
        elif kind == "custom_tool_call":
            yield "assistant", "call", (item["name"], item["input"]), call_id
        elif kind in ("function_call_output", "custom_tool_call_output"):
            yield from result(item["output"], call_id)


def added(body: Body) -> Iterator[str]:
    yield body.get("instructions", "")
    for message in body["input"]:
        for part in message.get("content") or ():
            text = part.get("text", "")
            if message["role"] == "developer" or text.startswith(OWN):
                yield text


def models() -> list[str]:
    """The models in the catalogue that is built into the client."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        found = harness.run_client("codex", ["debug", "models"], home=home, cwd=home).stdout
    return [model["slug"] for model in json.loads(found)["models"]]


def listed(setup: Setup) -> str:
    """A line "id<TAB>name or preview<TAB>cwd" per thread, by its app server."""
    configure(setup)
    return "\n".join("\t".join((row["id"], row.get("name") or row["preview"], row["cwd"])) for row in _threads(setup))


def _threads(setup: Setup) -> list[dict[str, Any]]:
    """thread/list of ``codex app-server``; its defaults would hide exec's threads and other providers'."""
    who = {"name": "harness", "version": "1"}
    params = {"sourceKinds": ["cli", "exec", "vscode"], "modelProviders": [], "cwd": str(setup.cwd), "limit": 100}
    messages = (
        {"id": 1, "method": "initialize", "params": {"clientInfo": who}},
        {"method": "initialized"},
        {"id": 2, "method": "thread/list", "params": params},
    )
    with (
        harness.stubbed(setup.client, ["app-server"], ()) as stub,
        stub.start(setup.cwd, stub.env(setup.home, setup.config_dir), stdin=subprocess.PIPE) as process,
    ):
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.writelines(json.dumps(message) + "\n" for message in messages)
            process.stdin.flush()
            for line in process.stdout:
                answer = json.loads(line)
                if answer.get("id") == 2:
                    return answer["result"]["data"]
        finally:
            harness.stop(process.pid)
    raise RuntimeError("codex app-server ended without an answer to thread/list")


KIND = Kind(
    environment=environment,
    configure=configure,
    path="/v1/responses",
    items=items,
    listed=listed,
    resume=["exec", "--model={model}", "resume"],
    start=["exec"],
    again=["exec", "resume", "--last"],
    terminal=([], ["resume", "--last"]),
    quiet=["--no-daemon"],  # its server would outlive the run
    mcp_call=lambda server, tool: {"namespace": f"mcp__{server.replace('-', '_')}", "name": tool},
    search=lambda words: [{"search": words}],
    added=added,
    models=models,
    all_models=True,
    sample="codex/0.171.0-tools-image-error-patch-resume-fork",
    recorded="gpt-5.5",
    named="gpt-6-sol",
    smaller="gpt-5.5",
    rows=r"(?P<id>[0-9a-f-]{36})\t(?P<title>.*?)\t(?=/)",
    tool="exec_command",
    argument="cmd",
    own=OWN,
    failed="[error]\n",
)
