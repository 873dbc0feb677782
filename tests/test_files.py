"""Files appear whole or not at all, and nothing is overwritten."""

from __future__ import annotations

import errno
import multiprocessing
import os
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator
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


def test_a_line_that_only_half_fits_is_taken_off_again(tmp_path: Path) -> None:
    path = tmp_path / "index.jsonl"
    path.write_bytes(b"theirs\n" * 10)
    program = """
import resource, sys
from pathlib import Path
from session_migrator import errors, files
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
for name in sys.argv[1:]:
    try:
        files.append_line(Path(name), b"x" * 200 + b"\\n")
    except errors.WriteError as error:
        print(error)
"""
    command = [sys.executable, "-c", program, str(path), str(tmp_path / "new.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.count("File too large") == 2
    assert path.read_bytes() == b"theirs\n" * 10
    assert leftovers(tmp_path) == ["index.jsonl"]


@pytest.mark.parametrize("behind", [b"", b"theirs too\n"])
def test_a_line_is_taken_out_of_the_file_that_a_link_leads_to(tmp_path: Path, behind: bytes) -> None:
    path, link = tmp_path / "real", tmp_path / "link"
    path.write_bytes(b"theirs\n")
    path.chmod(0o640)
    link.symlink_to(path)
    added = files.append_line(link, b"ours\n")
    path.write_bytes(path.read_bytes() + behind)
    assert files.remove_line(link, added)
    assert path.read_bytes() == b"theirs\n" + behind
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert not files.remove_line(link, added)


def test_a_file_that_held_nothing_else_goes_and_not_the_link_to_it(tmp_path: Path) -> None:
    path, link = tmp_path / "real", tmp_path / "link"
    link.symlink_to(path)
    assert files.remove_line(link, files.append_line(link, b"ours\n"))
    assert link.is_symlink()
    assert not path.exists()


@pytest.mark.parametrize("times", [1, 3, 99])
def test_a_line_that_comes_in_while_ours_is_taken_out_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    path = tmp_path / "index.jsonl"
    path.write_bytes(b"one\nours\ntwo\n")
    write, written = files._write_temporary, list[bytes]()

    def and_others(path: Path, chunks: Iterable[bytes]) -> Path:
        if len(written) < times:
            written.append(files.append_line(path, b"more\n"))
        return write(path, chunks)

    monkeypatch.setattr(files, "_write_temporary", and_others)
    if times < 5:
        assert files.remove_line(path, b"ours\n")
        assert path.read_bytes() == b"one\ntwo\n" + b"more\n" * times
    else:
        with pytest.raises(WriteError, match="written to by another program"):
            files.remove_line(path, b"ours\n")
        assert path.read_bytes() == b"one\nours\ntwo\n" + b"more\n" * len(written)
    assert leftovers(tmp_path) == ["index.jsonl"]


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
