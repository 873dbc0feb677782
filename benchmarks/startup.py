"""Start-up: ``python benchmarks/startup.py``.

CPU seconds of ``session-migrator --help`` and of the package's import beside the import of click, and of the MCP server
up to its reply to ``initialize`` beside an empty server on the same SDK: the least of nine runs each, side by side.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNS = 9

CLICK = ("-c", "import click")
EMPTY_SERVER = """
from mcp.server import MCPServer

server = MCPServer("empty")


@server.tool()
def add(one: int, other: int) -> int:
    return one + other


server.run()
"""
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}
INITIALIZE = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": CLIENT}) + "\n"


def cpu(arguments: tuple[str, ...], said: str) -> float:
    """The CPU time of Python with these arguments: to its end, or where something is said to it, to its answer."""
    pipe = subprocess.PIPE
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, *arguments], env=env, stdin=pipe, stdout=pipe, text=True)
    assert process.stdin
    assert process.stdout
    with process.stdin, process.stdout:
        process.stdin.write(said)
        process.stdin.flush()
        answer = process.stdout.readline() if said else process.stdout.read()
        if said:
            assert "result" in json.loads(answer)
            process.kill()
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    return used.ru_utime + used.ru_stime


def main() -> None:
    print("| | CPU s | beside | CPU s | x |")
    print("|---|---|---|---|---|")
    server = ("-m", "session_migrator.server")
    for name, ours, beside, base, said in (
        ("session-migrator --help", ("-m", "session_migrator.cli", "--help"), "import click", CLICK, ""),
        ("import session_migrator", ("-c", "import session_migrator"), "import click", CLICK, ""),
        ("server, to its reply to initialize", server, "an empty server", ("-c", EMPTY_SERVER), INITIALIZE),
    ):
        runs = [(cpu(ours, said), cpu(base, said)) for _ in range(RUNS)]
        took, compared = map(min, zip(*runs, strict=True))
        print(f"| {name} | {took:.3f} | {beside} | {compared:.3f} | {took / compared:.2f} |")


if __name__ == "__main__":
    main()
