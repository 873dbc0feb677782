"""Reading a client's database without touching it: from a copy, and with no trust in its schema."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_BESIDE = ("", "-wal")  # the journal holds what is not yet in the file


def select(path: Path, table: str, columns: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a table with these columns; none where the file, the table or a column is not as expected.
    ``table`` and ``columns`` are names of our own, never a user's."""
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(OSError, sqlite3.Error):
        copy = Path(folder) / "copy.sqlite"
        for suffix in _BESIDE:
            source = path.with_name(path.name + suffix)
            if source.exists():
                shutil.copyfile(source, f"{copy}{suffix}")
        with contextlib.closing(sqlite3.connect(copy)) as database:
            found = database.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
            return [dict(zip(columns, row, strict=True)) for row in found]
    return []
