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


@pytest.mark.parametrize(
    "before",
    [THEIRS, THEIRS + "\n", THEIRS.replace("\n", "\r\n"), (THEIRS + "\n").replace("\n", "\r\n"), "\ufeff" + THEIRS],
    ids=["bare", "with a line break", "CRLF", "CRLF to the end", "with a byte order mark"],
)
def test_a_key_is_put_beside_the_others_and_taken_out_to_the_byte(path: Path, before: str) -> None:
    path.write_bytes(before.encode())
    path.chmod(0o640)
    entry = objects.put(path, "ours", {"id": "x"})
    held = json.loads(path.read_text(encoding="utf-8-sig"))
    assert list(held) == ["theirs", "ours"]
    assert held == {**json.loads(before.removeprefix("\ufeff")), "ours": {"id": "x"}}
    words = path.read_bytes().decode()
    assert words.startswith("\ufeff") == before.startswith("\ufeff")
    assert words.count("\r\n") == ("\r\n" in before) * words.count("\n")
    objects.take_out(entry)
    assert path.read_bytes() == before.encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("before", ['{"theirs": 1}', None], ids=["with a file", "with none"])
def test_the_file_that_a_link_leads_to_is_the_one_that_changes(path: Path, tmp_path: Path, before: str | None) -> None:
    real = tmp_path / "real.json"
    path.symlink_to(real)
    if before:
        real.write_text(before, encoding="utf-8")
    entry = objects.put(path, "ours", {})
    assert "ours" in json.loads(real.read_text(encoding="utf-8"))
    objects.take_out(entry)
    assert path.is_symlink()
    assert real.exists() == (before is not None)
    assert not before or json.loads(real.read_text(encoding="utf-8")) == json.loads(before)


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


@pytest.mark.parametrize(
    "strange",
    ["", "{torn", "[]", "5", "[" * 5_000, '{"a": 1e999}', '{"a": [-1e999, "\\ud83d"]}', '{"a": NaN}'],
    ids=lambda words: words[:5],
)
def test_a_file_that_holds_no_object_is_refused_and_stays(path: Path, strange: str) -> None:
    path.write_text(strange, encoding="utf-8")
    with pytest.raises(WriteError, match="cannot be read as one JSON object"):
        objects.put(path, "ours", {})
    assert path.read_text(encoding="utf-8") == strange
    assert list(path.parent.iterdir()) == [path]
