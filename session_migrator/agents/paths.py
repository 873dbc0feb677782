"""Folders as agents see them."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..files import is_file, is_folder


def upward(folder: Path) -> Iterator[Path]:
    """From the root of the git repository a folder stands in, down to it; without one, the folder alone."""
    chain = [folder, *folder.parents]
    top = next((place for place in chain if is_file(place / ".git") or is_folder(place / ".git")), folder)
    return reversed(chain[: chain.index(top) + 1])


def newest_first(paths: Iterable[Path]) -> list[Path]:
    """Existing files, the latest written first."""
    stamped: list[tuple[float, Path]] = []
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):  # opening a pipe waits for its other end
            stamped.append((status.st_mtime, path))
    return [path for _, path in sorted(stamped, key=lambda pair: (-pair[0], str(pair[1])))]
