"""Keys of ours in a file of others, one JSON object: put in, taken out, and every other one as it was."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from session_migrator.agents import objects
from session_migrator.errors import WriteError

THEIRS = json.dumps({"theirs": {"a": [1, 2.5, None], "b": "日本 \u2028"}}, indent=2, ensure_ascii=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "place").mkdir()
    return tmp_path / "place" / "index.json"


@pytest.mark.parametrize("before", [THEIRS, THEIRS + "\n"])
def test_a_key_is_put_beside_the_others_and_taken_out_to_the_byte(path: Path, before: str) -> None:
    path.write_text(before, encoding="utf-8")
    path.chmod(0o640)
    entry = objects.put(path, "ours", {"id": "x"})
    held = json.loads(path.read_text(encoding="utf-8"))
    assert list(held) == ["theirs", "ours"]
    assert held == {**json.loads(before), "ours": {"id": "x"}}
    objects.take_out(entry)
    assert path.read_text(encoding="utf-8") == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_file_that_was_made_goes_with_the_last_key(path: Path) -> None:
    first, second = (objects.put(path, name, {}) for name in ("first", "second"))
    objects.take_out(first)
    assert list(json.loads(path.read_text(encoding="utf-8"))) == ["second"]
    objects.take_out(second)
    assert not path.exists()
    objects.take_out(second)
    assert not path.exists()


def test_what_no_file_can_hold_stays_an_escape(path: Path) -> None:
    path.write_text('{"theirs": "\\ud83d"}', encoding="utf-8")
    entry = objects.put(path, "ours", {"title": "\ude00"})
    assert json.loads(path.read_text(encoding="utf-8")) == {"theirs": "\ud83d", "ours": {"title": "\ude00"}}
    objects.take_out(entry)
    assert json.loads(path.read_text(encoding="utf-8")) == {"theirs": "\ud83d"}


def test_what_is_gone_already_leaves_the_file_as_it_is(path: Path) -> None:
    entry = objects.put(path, "ours", {})
    path.write_text('{"theirs":1}', encoding="utf-8")
    objects.take_out(entry)
    assert path.read_text(encoding="utf-8") == '{"theirs":1}'


@pytest.mark.parametrize("strange", ["", "{torn", "[]", "5", "[" * 5_000], ids=lambda words: words[:5])
def test_a_file_that_holds_no_object_is_refused_and_stays(path: Path, strange: str) -> None:
    path.write_text(strange, encoding="utf-8")
    with pytest.raises(WriteError, match="cannot be read as one JSON object"):
        objects.put(path, "ours", {})
    assert path.read_text(encoding="utf-8") == strange
    assert list(path.parent.iterdir()) == [path]
