"""Running a client's own command, where it is here."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .jsonl import Record, parse


@dataclass(frozen=True, slots=True)
class Run:
    """What a command left: its exit code, and the JSON object that it printed (an empty one where it printed none)."""

    code: int
    told: Record


def run(
    program: str, arguments: Sequence[str], *, folder: Path, seconds: float, variables: Mapping[str, str]
) -> Run | None:
    """Run a command of the PATH to its end, in a folder, with the user's environment and some variables more; None
    where there is none of that name, it cannot be started, or it takes longer."""
    path = shutil.which(program)
    if path is None:
        return None
    env = {**os.environ, **variables}
    try:
        done = subprocess.run(
            [path, *arguments], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return Run(done.returncode, parse(done.stdout) or {})
