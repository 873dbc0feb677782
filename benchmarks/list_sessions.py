"""List 600 sessions (200 MB): ``python benchmarks/list_sessions.py``.

CPU seconds of ``list_sessions`` with an empty cache (cold) and a full one (warm), as ratios to a plain Python loop that
opens the same files and reads their first and last 64 kB. Best of five, in one process each.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from generate import generate

from session_migrator import list_sessions

SESSIONS, BYTES = 600, 64 * 1024


def make(home: Path) -> None:
    """600 Codex sessions of about 330 kB, each with an id of its own."""
    first = home / "first.jsonl"
    generate("codex", 0.33, 1, first)
    whole = first.read_bytes()
    first.unlink()
    folder = home / "sessions" / "2026" / "03" / "01"
    folder.mkdir(parents=True)
    for number in range(SESSIONS):
        name = str(uuid.UUID(int=number + 8))
        data = whole.replace(str(uuid.UUID(int=7)).encode(), name.encode())
        (folder / f"rollout-2026-03-01T00-00-00-{name}.jsonl").write_bytes(data)


def plain(home: Path) -> int:
    """What cannot be done without: walk, open, read both ends."""
    count = 0
    for path in home.rglob("*.jsonl"):
        with path.open("rb") as file:
            file.read(BYTES)
            file.seek(max(0, os.fstat(file.fileno()).st_size - BYTES))
            file.read(BYTES)
        count += 1
    return count


def best(run: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(5):
        started = time.process_time()
        run()
        times.append(time.process_time() - started)
    return min(times)


def main() -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        home = Path(folder) / "codex"
        make(home)
        os.environ["SESSION_MIGRATOR_HOME"] = str(Path(folder) / "store")
        cache = Path(folder) / "store" / "cache" / "list.json"

        def cold() -> int:
            cache.unlink(missing_ok=True)
            return len(list(list_sessions("codex", home=home)))

        def warm() -> int:
            return len(list(list_sessions("codex", home=home)))

        assert plain(home) == cold() == warm() == SESSIONS
        base, first, again = best(lambda: plain(home)), best(cold), best(warm)
        print("| | CPU s | x plain loop |")
        print("|---|---|---|")
        for name, took in (("plain loop", base), ("list, cold", first), ("list, warm", again)):
            print(f"| {name} | {took:.3f} | {took / base:.2f} |")


if __name__ == "__main__":
    main()
