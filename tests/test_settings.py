"""Settings files: what stands in them, whatever they are."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from session_migrator.agents.settings import settings_of, unreadable


def test_comments_and_trailing_commas_are_passed_over_but_not_in_strings(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(
        '\ufeff{"a": "// no, /* no */ ,}", /* yes, */ "b": [1, 2,], // yes\n "c": 1e999,}', encoding="utf-8"
    )
    assert settings_of(path) == {"a": "// no, /* no */ ,}", "b": [1, 2], "c": None}
    assert unreadable([path]) == ""


@pytest.mark.parametrize("piece", ["/*", '"\\', '"\\"', ", ", "//", '{"a":'])
def test_what_never_ends_is_read_in_linear_time(tmp_path: Path, piece: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{" + piece * 100_000, encoding="utf-8")
    start = time.process_time()
    assert settings_of(path) == {}
    assert time.process_time() - start < 5  # quadratic: minutes
    assert unreadable([path]) == f"; {path} cannot be read"
