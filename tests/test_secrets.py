"""Planted secrets, searched for in every output, error, log and cache."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import places
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from places import environment

from session_migrator import agents, from_messages

# Made up, and put together here so that no scanner takes them for a leak.
TOKEN = "ghp_" + "aB3dE5gH7jK9" * 3
KEY = "sk-proj-" + "Q7w9E1r3T5y7U9i1" * 3
PASSWORD = "hunter2" + "-Fake-9"
PEM = f"-----BEGIN PRIVATE{' '}KEY-----\n{'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC' * 3}\n-----END PRIVATE{' '}KEY-----"
SECRETS = (TOKEN, KEY, PASSWORD, PEM.splitlines()[1])


@pytest.fixture
def source(own_home: Path, project: Path) -> Path:
    """A Codex session with secrets in its title, a prompt, a call, a result, an answer and its git address, and beside
    it a file that is no session and names one."""
    messages = [
        {"role": "user", "content": f"Set password={PASSWORD} and token={TOKEN} in the file."},
        {
            "role": "assistant",
            "content": f"I take {KEY}.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {
                        "name": "exec_command",
                        "arguments": json.dumps({"cmd": f"curl -H 'Authorization: Bearer {TOKEN}' x; false"}),
                    },
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": f"Output:\n{PEM}\npassword={PASSWORD}"},
        {"role": "assistant", "content": f"Done.\n\nNext: revoke {TOKEN}."},
    ]
    git = {"repository_url": f"https://bob:{PASSWORD}@example.com/x.git"}
    made = replace(from_messages(messages, cwd=str(project)), git=git)
    write = agents.get("codex").write
    assert write
    home = own_home / ".codex"
    path = Path(write(made, home, project).paths[0])
    (path.parent / "rollout-2026-01-01T00-00-00-broken.jsonl").write_text(f'{{"type": "{TOKEN}', encoding="utf-8")
    return path


def holding(folder: Path, *but: Path) -> list[Path]:
    """The files below a folder with a secret in them, but for those below others."""
    files = [path for path in folder.rglob("*") if path.is_file() and not {*but} & {path, *path.parents}]
    return [path for path in files if any(secret.encode() in path.read_bytes() for secret in SECRETS)]


def run(*words: str | Path, code: int = 0, cwd: Path | None = None) -> str:
    """Everything that a command says."""
    done = places.run(*words, cwd=cwd)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def clean(said: str) -> str:
    assert not [secret for secret in SECRETS if secret in said]
    return said


def test_the_command_line_tells_no_secret_and_keeps_none(source: Path, project: Path, tmp_path: Path) -> None:
    assert sum(secret in source.read_text(encoding="utf-8").replace("\\n", "\n") for secret in SECRETS) == len(SECRETS)
    assert "[REDACTED:password]" in clean(run("list", "--all"))
    clean(run("list", "--all", "--json", "--count"))
    clean(run("agents", "--json"))
    clean(run("decide", source, "--model", "gpt-5"))
    clean(run("decide", "latest", "--to", "claude-code", cwd=project))
    clean(run("migrate", "latest", "--to", "claude-code", "--home", tmp_path / "claude", cwd=project))
    clean(run("migrate", source, "--to", "codex", "--into", tmp_path, "--home", tmp_path / "codex", "--redact"))
    for form in ("text", "markdown", "json", "messages"):
        clean(run("show", source, "--format", form, "--redact"))
    clean(run("migrations", "--json"))
    assert holding(tmp_path, source.parent, tmp_path / "claude") == []
    assert holding(tmp_path / "claude"), "a session is carried as it is unless --redact is given"


@pytest.mark.parametrize("file", [None, "AGENTS.md"])
def test_a_memory_and_what_is_said_of_it_hold_none(source: Path, tmp_path: Path, file: str | None) -> None:
    into = ["--to", "workbuddy", *(["--memory-file", file] if file else [])]
    assert "secrets redacted" in clean(run("migrate", source, *into))
    name = json.loads(clean(run("migrations", "--json")))[0]["migration"]
    assert holding(tmp_path, source.parent) == []
    clean(run("undo", name))


def test_errors_quote_nothing_of_a_session(source: Path, tmp_path: Path) -> None:
    broken = next(source.parent.glob("*broken*"))
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps([{"role": TOKEN, "content": KEY}]), encoding="utf-8")
    half = tmp_path / "half.jsonl"
    half.write_bytes(source.read_bytes()[:-200] + b"\n" + f"{{{TOKEN}\n".encode())
    for path in (broken, chat):
        clean(run("show", path, code=2))
    clean(run("migrate", half, "--to", "claude-code", "--home", tmp_path / "c", "--dry-run"))
    clean(run("migrate", source, "--to", "claude-code", "--budget", "2000", "--home", "/dev/null/x", code=1))
    clean(run("show", "no such session", code=3))


def test_the_server_tells_none_of_a_stored_session(source: Path, project: Path, tmp_path: Path) -> None:
    async def talk() -> str:
        params = StdioServerParameters(
            command=sys.executable, args=["-m", "session_migrator.server"], cwd=project,
            env=environment(),
        )  # fmt: skip
        with (tmp_path / "log").open("w+", encoding="utf-8") as log:
            async with Client(stdio_client(params, errlog=log)) as client:
                calls = [
                    await client.call_tool("list_sessions", {}),
                    await client.call_tool("handoff", {"session": "latest", "target_agent": "workbuddy"}),
                    await client.call_tool("handoff", {"session": str(source), "target_agent": "nobody"}),
                ]
            log.seek(0)
            return log.read() + "".join(call.model_dump_json() for call in calls)

    assert "[REDACTED:password]" in clean(anyio.run(talk))
    assert holding(tmp_path, source.parent) == []
