"""What was left out comes back word for word, from any folder, or it is said what is missing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from places import LONG
from strategies import messages

from session_migrator import Message, Migration, Session, Store, from_messages, migrate, read_session, recall, tokens
from session_migrator.cli import main
from session_migrator.compressors import Compressed, Elision, marks
from session_migrator.errors import NotFound, ReadError, UsageError
from session_migrator.model import Text
from session_migrator.retrieval import find, keep, selected

MARK = re.compile(r"recall ([0-9a-f]{10})")


def run(*args: str) -> Result:
    return CliRunner().invoke(main, args)


@pytest.fixture
def migrated(tmp_path: Path, project: Path) -> Migration:
    """The long session, compressed into Codex."""
    done = migrate(LONG, "codex", "gpt-5.5", into=project, home=tmp_path / "codex", budget=3_000)
    assert done.mode == "compress"
    return done


@pytest.fixture
def ids(migrated: Migration) -> list[str]:
    """The ids of its marks."""
    return list(dict.fromkeys(MARK.findall(Path(migrated.target["paths"][0]).read_text("utf-8"))))


def test_every_mark_of_a_migrated_session_is_recalled_from_any_folder(
    migrated: Migration, ids: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    everything = [text for message in read_session(LONG).messages for text in tokens.content.texts(message.parts)]
    assert len(ids) > 3
    for name in ids:
        found = find(name)
        assert marks.id_of([found.data]) == found.id == name
        assert (found.agent, found.session_id) == ("codex", read_session(LONG).id)
        assert recall(name[:8]) == found.data
        shown = run("recall", name)
        assert shown.exit_code == 0
        assert shown.stdout == found.text + "\n"
        assert f"codex session {found.session_id}" in shown.stderr
    texts = "".join(find(name).text for name in ids)
    kept = Path(migrated.target["paths"][0]).read_text("utf-8")
    gone = [text for text in everything if len(text) > 1_000 and json.dumps(text, ensure_ascii=False)[1:-1] not in kept]
    assert len(gone) > 3
    assert [text for text in gone if text not in texts] == []


@given(told=st.lists(messages, min_size=1, max_size=4))
def test_what_is_kept_comes_back_byte_for_byte(told: list[Message], tmp_path_factory: pytest.TempPathFactory) -> None:
    store = Store(tmp_path_factory.mktemp("store"))
    spans = [((0, len(told), None),), *(((0, 1, part),) for part in range(len(told[0].parts)))]
    named = {marks.id_of(marks.original(told, span)): span for span in spans}
    elisions = tuple(Elision(id=name, spans=span) for name, span in named.items())
    session = Session(id="s", agent="codex", messages=())
    keep(store.workspace("/somewhere"), Compressed(session=session, elided=told, elisions=elisions))
    for name, span in named.items():
        assert recall(name, store) == b"".join(marks.original(told, span))


def test_lines_and_words_narrow_what_is_shown(ids: list[str]) -> None:
    name = next(name for name in ids if find(name).text.count("\n") > 5)
    rows = find(name).text.split("\n")
    assert run("recall", name, "--lines", "2:3").stdout == "\n".join(rows[1:3]) + "\n"
    assert run("recall", name, "--lines", "2").stdout == rows[1] + "\n"
    word = max(rows[4].split() or rows[0].split(), key=len)
    assert run("recall", name, "--grep", word, "--lines", "5:5").stdout == f"5: {rows[4]}\n"
    assert json.loads(run("recall", name, "--json", "--lines", ":1").stdout)["text"] == rows[0]


def test_lines_that_it_does_not_have_and_words_that_it_does_not_hold_are_an_error(ids: list[str]) -> None:
    count = len(find(ids[0]).text.split("\n"))
    beyond, missing = run("recall", ids[0], "--lines", f"{count + 1}:"), run("recall", ids[0], "--grep", "no such")
    assert (beyond.exit_code, beyond.stdout) == (2, "")
    assert beyond.stderr == f"error: it has no line {count + 1}\ntry: give lines of 1:{count}\n"
    assert (missing.exit_code, missing.stdout) == (3, "")
    assert missing.stderr.startswith("error: no line of it holds 'no such'\ntry: ")
    assert run("recall", ids[0], "--lines", f"{count}:{count + 9}").exit_code == 0


def test_what_is_around_a_mark_cannot_be_shown(ids: list[str]) -> None:
    failed = run("recall", ids[0], "--around", "2")
    assert (failed.exit_code, failed.stdout) == (2, "")
    assert "a passage that search found" in failed.stderr
    assert run("recall", ids[0], "--around", "0").exit_code == 0


@pytest.mark.parametrize("lines", ["", "x", "0:3", "4:2", "-1:2", "1:2:3", "1:" + "9" * 5_000])
def test_lines_that_are_none_are_an_error(lines: str) -> None:
    with pytest.raises(UsageError, match="names no lines"):
        selected("a\nb", lines, None)


@pytest.mark.parametrize("name", ["", "zzzz", "0123456789", "../../etc", "\udcff"])
def test_an_unknown_id_is_not_found(ids: list[str], name: str) -> None:
    assert name not in ids
    failed = run("recall", name) if name else run("recall", "")
    assert failed.exit_code == 3
    assert failed.stdout == ""
    assert failed.stderr.splitlines()[1].startswith("try: ")


def test_an_id_that_is_two_is_named_as_such(tmp_path: Path) -> None:
    store = Store(tmp_path)
    told = [Message(role="user", parts=(Text(text=text),)) for text in ("a", "b")]
    elisions = tuple(Elision(id=f"aaaaaaaaa{place}", spans=((place, place + 1, 0),)) for place in range(2))
    keep(
        store.workspace("/x"),
        Compressed(session=Session(id="s", agent="a", messages=()), elided=told, elisions=elisions),
    )
    with pytest.raises(NotFound, match="fits 2 originals"):
        find("aaaa", store)
    with pytest.raises(ReadError, match="damaged: it is not what was stored"):
        find("aaaaaaaaa0", store)


def test_a_damaged_or_missing_original_is_named_and_hides_no_other(
    ids: list[str], tmp_path: Path, project: Path
) -> None:
    chat = from_messages([{"role": "user", "content": f"{turn} " * 1_000} for turn in range(9)])
    other = migrate(chat, "codex", "gpt-5.5", into=tmp_path, home=tmp_path / "codex", budget=2_500)
    more = MARK.findall(Path(other.target["paths"][0]).read_text("utf-8"))
    (kept,) = Store().workspace(project).packed("originals")
    path = Store().workspace(project).packed_path("originals", kept)
    whole = path.read_bytes()
    only = ids[0]
    assert more
    assert only not in more
    for data in (whole[: len(whole) // 2], whole[:200] + bytes(50) + whole[250:], b"", b"not packed"):
        path.write_bytes(data)
        failed = run("recall", only)
        assert (failed.exit_code, failed.stdout) == (1, "")
        assert str(path) in failed.stderr
        assert "damaged" in failed.stderr
        assert all(run("recall", name).exit_code == 0 for name in more)
    path.unlink()
    failed = run("recall", only)
    assert (failed.exit_code, failed.stdout) == (1, "")
    assert str(path) in failed.stderr
    assert "is missing" in failed.stderr


def test_originals_are_for_their_owner_alone_and_packed(ids: list[str], project: Path) -> None:
    assert ids
    workspace = Store().workspace(project)
    (key,) = workspace.packed("originals")
    assert workspace.packed_path("originals", key).stat().st_mode & 0o777 == 0o600
    size = sum(map(len, workspace.unpack("originals", key)))
    assert workspace.packed_path("originals", key).stat().st_size < size / 2


def test_the_ladder_is_what_compresses_unless_another_is_named(tmp_path: Path, project: Path) -> None:
    def marked(**options: str) -> int:
        done = migrate(LONG, "codex", "gpt-5.5", project, home=tmp_path / "codex", budget=3_000, **options)
        return len(set(MARK.findall(Path(done.target["paths"][0]).read_text("utf-8"))))

    assert marked() > 3
    assert marked(compressor="truncation") == 1
