"""Record the example sessions with the real pinned Codex: ``python scripts/record_codex_session.py``.

Codex runs without a network against a stub model that follows ``scripts/recording/story.toml``; its
tools are really executed in a scratch copy of ``scripts/recording/tide-tables``. The session files go
to ``examples/codex-home``, with neutral paths and with the client's own long texts replaced by their
length.
"""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
import tempfile
import tomllib
import zlib
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "clients"))

import harness

HERE = Path(__file__).resolve().parent
RECORDING = HERE / "recording"
EXAMPLE = HERE.parent / "examples" / "codex-home"
NEUTRAL_HOME = "/home/user"
# The scripted model edits and tests within one second, too fast for the time stamps of bytecode files.
ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1"}
LONGEST_CLIENT_TEXT = 200  # characters; a longer text of the client itself is replaced

Turn = dict[str, Any]


def record(turns: list[Turn], home: Path, project: Path) -> Path:
    """Play the turns, each in a run of its own, and return the session file. Raises ``SystemExit``
    where Codex did not ask the model exactly as often as the story has steps."""
    sessions = home / ".codex" / "sessions"
    before = set(sessions.rglob("*.jsonl"))
    for number, turn in enumerate(turns):
        image = ["--image", str(home / turn["image"])] if "image" in turn else []
        resume = ["resume", "--last"] if number else []
        steps = [stub_step(step) for step in turn["steps"]]
        args = ["exec", *resume, turn["prompt"], *image]
        run = harness.run_client("codex", args, home=home, cwd=project, script=steps, env=ENVIRONMENT)
        sent = harness.main_requests("codex", run.requests, turn["prompt"])
        if run.returncode or len(sent) != len(steps):
            raise SystemExit(f"turn {number}: exit {run.returncode}, {len(sent)} of {len(steps)} steps\n{run.stderr}")
    (file,) = set(sessions.rglob("*.jsonl")) - before
    return file


def stub_step(step: dict[str, Any]) -> dict[str, Any]:
    """A step of the story as the stub takes it."""
    tools = [{"name": "exec_command", "arguments": {"cmd": command}} for command in step.get("shell", [])]
    if "patch" in step:
        tools.append({"name": "apply_patch", "input": step["patch"].rstrip("\n")})
    return {key: step[key] for key in ("reasoning", "text") if key in step} | {"tools": tools}


def neutral(line: str, home: Path) -> str:
    """A line of a session file with ``home`` made neutral and the client's long texts taken out."""
    entry = json.loads(line.replace(str(home), NEUTRAL_HOME))
    payload = entry["payload"]
    if entry["type"] == "response_item":
        from_client = payload.get("role") == "developer"
    else:
        from_client = payload.get("type") not in ("item_completed", "task_complete")
    if from_client:
        entry["payload"] = shorten(payload)
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":"))


def shorten(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shorten(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shorten(item) for item in value]
    if isinstance(value, str) and len(value) > LONGEST_CLIENT_TEXT:
        return f"[client text, {len(value)} characters]"
    return value


def scratch_project(home: Path) -> Path:
    """The project of the story in a new git repository below ``home``."""
    source = RECORDING / "tide-tables"
    paths = sorted(path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    files = {str(path.relative_to(source)): path.read_text(encoding="utf-8") for path in paths}
    project = harness.make_project(home / "tide-tables", files)
    for key, value in (("user.name", "user"), ("user.email", "user@example.com")):
        subprocess.run(["git", "-C", str(project), "config", key, value], check=True)
    return project


def card() -> bytes:
    """The image of the story, a PNG: a printed card with two high and two low waters as bars."""
    width, height = 120, 64
    rows = [[255] * width for _ in range(height)]
    for y in (0, 12, height - 1):
        rows[y] = [90] * width
    for left, top in ((10, 20), (38, 46), (66, 24), (94, 44)):
        for y in range(top, height - 6):
            rows[y][left : left + 16] = [40] * 16

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def main() -> None:
    story: dict[str, list[Turn]] = tomllib.loads((RECORDING / "story.toml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve() / "user"
        project = scratch_project(home)
        (home / "card.png").write_bytes(card())
        recorded = [record(story[name], home, project) for name in ("earlier", "main")]
        shutil.rmtree(EXAMPLE, ignore_errors=True)
        for file in recorded:
            target = EXAMPLE / file.relative_to(home / ".codex")
            target.parent.mkdir(parents=True, exist_ok=True)
            lines = file.read_text(encoding="utf-8").splitlines()
            target.write_text("".join(f"{neutral(line, home)}\n" for line in lines), encoding="utf-8")
            print(f"{target.relative_to(HERE.parent)}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
