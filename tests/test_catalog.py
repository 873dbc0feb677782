"""The cache of lists: never trusted over the files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from places import LONG

from session_migrator import Store, list_sessions
from session_migrator.agents.codex import files


def cache() -> Path:
    return Store().root / "cache" / "list.json"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "codex" / "sessions" / LONG.name
    path.parent.mkdir(parents=True)
    path.write_bytes(LONG.read_bytes())
    return tmp_path / "codex"


def titles(home: Path) -> list[str | None]:
    return [info.title for info in list_sessions("codex", home=home)]


def test_a_file_that_is_known_is_not_opened_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = list(list_sessions("codex", home=home))

    def opened(_: Path) -> None:
        raise AssertionError("the file was opened")

    monkeypatch.setattr(files, "_peek", opened)
    assert list(list_sessions("codex", home=home)) == first


def test_a_file_that_changed_is_looked_at_again(home: Path) -> None:
    (path,) = (home / "sessions").iterdir()
    before = titles(home)
    path.write_bytes(path.read_bytes().replace(b"In the table that", b"In the other one"))
    assert titles(home) != before
    os.utime(path, (1, 1))
    assert titles(home) != before
    path.unlink()
    assert titles(home) == []


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"form": [2]}', b'{"form": [9], "files": {}}', b"\xff\xfe"])
def test_a_damaged_cache_costs_time_and_nothing_else(home: Path, damage: bytes) -> None:
    before = titles(home)
    cache().write_bytes(damage)
    assert titles(home) == before
    whole = cache().read_text(encoding="utf-8")
    for rows in (whole.replace('"agent"', '"no_such_field"'), whole.replace('["codex",', "[")):
        assert rows != whole
        cache().write_text(rows, encoding="utf-8")
        assert titles(home) == before


def test_a_cache_that_cannot_be_kept_is_no_reason_to_fail(home: Path) -> None:
    cache().parent.parent.mkdir(parents=True)
    cache().parent.write_text("a file in the way", encoding="utf-8")
    assert len(titles(home)) == 1
