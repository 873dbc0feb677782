"""The README's marked blocks run as they stand, in a scratch home."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"<!-- run -->\n```(\w+)\n(.*?)```(?:\n\n```\n(.*?)```)?", re.DOTALL)
BLOCKS = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("language", "code", "output"), BLOCKS, ids=[code.split("\n")[0] for _, code, _ in BLOCKS])
def test_a_block_of_the_readme_runs(language: str, code: str, output: str, tmp_path: Path) -> None:
    """A block with output shown below it prints just that."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "python").symlink_to(sys.executable)
    (tools / "session-migrator").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m session_migrator.cli "$@"\n')
    (tools / "session-migrator").chmod(0o700)
    work = tmp_path / "clone"
    work.mkdir()
    for name in ("examples", "tests", "session_migrator"):
        shutil.copytree(ROOT / name, work / name, ignore=shutil.ignore_patterns("fixtures", "__pycache__", "cases"))
    env = {**os.environ, "PATH": f"{tools}:/usr/bin:/bin", "PYTHONPATH": str(work)}
    command = ["sh", "-ec", code] if language == "sh" else [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=work, env=env, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    if output:
        assert done.stdout == output


def test_there_are_blocks_to_run() -> None:
    assert len(BLOCKS) >= 3
