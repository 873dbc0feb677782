"""Files appear whole or not at all, and nothing is overwritten."""

from __future__ import annotations

import errno
import multiprocessing
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from session_migrator import Store, files
from session_migrator.errors import Refused, WriteError


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file()]


def test_a_new_file_is_whole_and_private(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "new.jsonl"
    files.write_new(path, [b"one\n", b"two\n"])
    assert path.read_bytes() == b"one\ntwo\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert leftovers(tmp_path) == ["new.jsonl"]


def test_a_file_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"mine")
    with pytest.raises(Refused):
        files.write_new(path, [b"other"])
    assert path.read_bytes() == b"mine"
    assert leftovers(tmp_path) == ["kept"]


@pytest.mark.parametrize("write", [files.write_new, files.replace])
def test_a_write_that_breaks_off_leaves_nothing(tmp_path: Path, write: object) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "x", chunks())  # type: ignore[operator]
    assert leftovers(tmp_path) == []


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WriteError, match="No space left"):
        files.write_new(tmp_path / "x", [b"data"])
    assert leftovers(tmp_path) == []


def test_replacing_keeps_the_old_version_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "doc"
    files.replace(path, [b"old"])

    def chunks() -> Iterator[bytes]:
        assert path.read_bytes() == b"old"
        yield b"new"
        assert path.read_bytes() == b"old"

    files.replace(path, chunks())
    assert path.read_bytes() == b"new"


def add_many(root: str, first: int) -> None:
    workspace = Store(root).workspace("/p")
    for number in range(first, first + 25):
        workspace.update("counts", "all", lambda old, n=number: {**(old or {}), str(n): n})


def test_two_processes_that_update_one_document_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=add_many, args=(str(tmp_path), start)) for start in (0, 25, 50)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert len(Store(tmp_path).workspace("/p").get("counts", "all")) == 75
