"""Convert large sessions, side by side with other tools: ``python benchmarks/convert.py RIVALS [--sizes 1,20,100]``.

RIVALS is the folder of an environment that holds them:

    python -m venv rivals && rivals/bin/pip install session-migrate==0.12.0 harness-convert==0.6.0 unisessions==0.5.0

Each tool converts the same generated session (``generate.py`` says what is in it) in a process of its own: Codex to
Claude Code and back, with 5 % and with all of it live. Ours reads, lowers, writes, reads back and compares; counting is
a column of its own. CPU seconds and peak memory are the operating system's. The result of each tool is read again
with our readers, and what it lost is named. The table goes to stdout as Markdown; ratios are to ours, in one run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from generate import CWD, generate

from session_migrator import agents
from session_migrator.errors import MigrationError

SESSION_ID = "00000000-0000-0000-0000-000000000007"
MOST_COUNTED = 200  # megabytes; a larger session would take minutes to count
OTHER = {"codex": "claude-code", "claude-code": "codex"}
SHORT = {"codex": "codex", "claude-code": "claude"}

CONVERT = (
    "import sys; from pathlib import Path; from session_migrator import agents, read_session\n"
    "from session_migrator.comparison import difference; from session_migrator.lowering import lower\n"
    "spec = agents.get(sys.argv[2]); session, _ = lower(read_session(Path(sys.argv[1])), spec.capabilities)\n"
    "written = spec.write(session, Path(sys.argv[3]), Path(sys.argv[3]))\n"
    "assert difference(session.messages, spec.read(Path(written.paths[0])).session.messages) is None\n"
)
COUNT = (
    "import sys; from pathlib import Path; from session_migrator import agents, read_session, tokens\n"
    "from session_migrator.lowering import lower\n"
    "spec = agents.get(sys.argv[2]); session, _ = lower(read_session(Path(sys.argv[1])), spec.capabilities)\n"
    "print(tokens.counter(sys.argv[3]).session(session).to_dict())\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a process took."""

    cpu: float
    megabytes: float
    failed: str = ""


def cost(command: list[str], home: Path) -> Cost:
    """Run a command with a HOME of its own; CPU seconds (user and system) and peak memory."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=home)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        said = output.read().decode(errors="replace").strip().splitlines()
    failed = said[-1][:60] if process.returncode and said else ""
    return Cost(cpu=used.ru_utime + used.ru_stime, megabytes=used.ru_maxrss / 1024, failed=failed)


def place(agent: str, home: Path) -> Path:
    """Where a session of an agent lies below a HOME."""
    if agent == "codex":
        return home / ".codex" / "sessions" / "2026" / "03" / "01" / f"rollout-2026-03-01T00-00-00-{SESSION_ID}.jsonl"
    return home / ".claude" / "projects" / CWD.replace("/", "-") / f"{SESSION_ID}.jsonl"


def commands(rivals: Path) -> dict[str, Callable[[str, Path, Path], list[str]]]:
    """By tool: the command that converts a session of an agent, in a HOME, into a folder."""
    tools = rivals / "bin"

    def session_migrate(agent: str, home: Path, out: Path) -> list[str]:
        to = SHORT[OTHER[agent]]
        return [
            str(tools / "session-migrate"),
            "convert",
            str(place(agent, home)),
            "--to",
            to,
            "--output",
            str(out / "a.jsonl"),
        ]

    def harness_convert(agent: str, _: Path, out: Path) -> list[str]:
        ends = ["--from", SHORT[agent], "--to", SHORT[OTHER[agent]]]
        return [str(tools / "hc"), "convert", SESSION_ID, *ends, "--cwd", CWD, "--dest-cwd", str(out), "--write", "-y"]

    def unisessions(agent: str, *_: Path) -> list[str]:
        way = f"{SHORT[agent]}-to-{SHORT[OTHER[agent]]}"
        return [str(tools / "python"), "-m", "unisessions", way, SESSION_ID, "--write", "--new-id"]

    def ours(agent: str, home: Path, out: Path) -> list[str]:
        return [sys.executable, "-c", CONVERT, str(place(agent, home)), OTHER[agent], str(out)]

    return {
        "session-migrator": ours,
        "session-migrate": session_migrate,
        "harness-convert": harness_convert,
        "unisessions": unisessions,
    }


def parts(path: Path, agent: str, live: bool) -> Counter[str]:
    """How many parts of each kind a session file holds, live or all of them."""
    session = agents.get(agent).read(path).session
    kept = (session.messages,) if live else (session.messages, session.earlier)
    return Counter(part.type for messages in kept for message in messages for part in message.parts)


def lost(live: Counter[str], whole: Counter[str], found: Counter[str]) -> str:
    """What is missing of the source's live parts, or of all of them where the tool carried what lay before a
    compaction too; reasoning that was carried as text is not missing."""
    undone = found["tool_result"] > live["tool_result"]
    wanted = whole if undone else live
    missing = {kind: count - found[kind] for kind, count in wanted.items() if found[kind] < count}
    if missing.get("thinking") and found["text"] >= wanted["text"] + missing["thinking"]:
        del missing["thinking"]
    said = [f"{count} {kind}" for kind, count in missing.items() if kind != "compaction"]
    return ", ".join(said + (["compactions undone"] if undone else []))


def rows(rivals: Path, sizes: list[float]) -> Iterator[str]:
    yield "| session | tool | CPU s | x ours | peak MB | x ours | count: CPU s | lost |"
    yield "|---|---|---|---|---|---|---|---|"
    for size in sizes:
        for agent in OTHER:
            for share in (0.05, 1.0):
                yield from _case(rivals, size, agent, share)


def _case(rivals: Path, size: float, agent: str, share: float) -> Iterator[str]:
    name = f"{SHORT[agent]} -> {SHORT[OTHER[agent]]}, {size:g} MB, {share:.0%} live"
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        home = Path(folder)
        generate(agent, size, share, place(agent, home))
        live, whole = (parts(place(agent, home), agent, live=live) for live in (True, False))
        model = {"codex": "claude-opus-5-5", "claude-code": "gpt-5.5"}[agent]
        command = [sys.executable, "-c", COUNT, str(place(agent, home)), OTHER[agent], model]
        counted = cost(command, home) if size <= MOST_COUNTED else None
        base: Cost | None = None
        for tool, command in commands(rivals).items():
            out = home / "out" / tool
            out.mkdir(parents=True)
            before = set(home.rglob("*.jsonl"))
            took = cost(command(agent, home, out), home)
            base = base or took
            made = sorted(path for path in set(home.rglob("*.jsonl")) - before if path.name != "session_index.jsonl")
            try:
                gone = took.failed or (
                    lost(live, whole, parts(made[0], OTHER[agent], live=False)) if made else "nothing written"
                )
            except MigrationError as error:
                gone = f"unreadable: {error}"[:60]
            for path in made:
                path.unlink()
            shutil.rmtree(out)
            cpu, memory = took.cpu / base.cpu, took.megabytes / base.megabytes
            ratios = f"{took.cpu:.2f} | {cpu:.2f} | {took.megabytes:.0f} | {memory:.2f}"
            counting = f"{counted.cpu:.2f}" if counted and tool == "session-migrator" else "-"
            yield f"| {name} | {tool} | {ratios} | {counting} | {gone or 'nothing'} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rivals", type=Path)
    parser.add_argument("--sizes", default="1,20,100", help="megabytes, with commas between")
    given = parser.parse_args()
    for row in rows(given.rivals.resolve(), [float(size) for size in given.sizes.split(",")]):
        print(row, flush=True)


if __name__ == "__main__":
    main()
