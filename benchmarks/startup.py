"""Start-up: ``python benchmarks/startup.py``.

CPU seconds of ``session-migrator --help`` beside importing click, the least of nine runs each.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def cpu(*arguments: str) -> float:
    """The least CPU time of nine runs of Python with these arguments."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    times: list[float] = []
    for _ in range(9):
        process = subprocess.Popen([sys.executable, *arguments], env=env, stdout=subprocess.DEVNULL)
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
        times.append(used.ru_utime + used.ru_stime)
    return min(times)


def main() -> None:
    base = cpu("-c", "import click")
    print("| | CPU s | x import click |")
    print("|---|---|---|")
    for name, arguments in (
        ("import click", ("-c", "import click")),
        ("session-migrator --help", ("-m", "session_migrator.cli", "--help")),
        ("import session_migrator", ("-c", "import session_migrator")),
    ):
        took = cpu(*arguments)
        print(f"| {name} | {took:.3f} | {took / base:.2f} |")


if __name__ == "__main__":
    main()
