"""Folders as agents see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path


def upward(folder: Path) -> Iterator[Path]:
    """From the root of the git repository a folder stands in, down to it; without one, the folder alone."""
    chain = [folder, *folder.parents]
    top = next((place for place in chain if (place / ".git").exists()), folder)
    return reversed(chain[: chain.index(top) + 1])


def newest_first(paths: Iterable[Path]) -> list[Path]:
    """Existing files, the latest written first."""
    stamped: list[tuple[float, Path]] = []
    for path in paths:
        try:
            stamped.append((path.stat().st_mtime, path))
        except OSError:
            continue
    return [path for _, path in sorted(stamped, key=lambda pair: (-pair[0], str(pair[1])))]
