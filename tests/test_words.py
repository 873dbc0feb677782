"""What is indexed of a text, and what is looked for, as SQLite itself finds it."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_migrator.retrieval.words import question, terms


def found(text: str, query: str) -> bool:
    """Whether a search for the query finds the text."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE words USING fts5 (text, parts, content = '', tokenize = 'porter unicode61')")
    database.execute("INSERT INTO words (rowid, text, parts) VALUES (1, ?, ?)", terms(text))
    asked = question(query)
    rows = database.execute("SELECT rowid FROM words WHERE words MATCH ?", [asked]).fetchall() if asked else []
    database.close()
    return bool(rows)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The tests were failing", "test fails"),
        ("東京都の天気を調べる", "天気"), ("東京都の天気を調べる", "東京"), ("設定を変更した", "変更"),
        ("修复解析器的错误", "解析器"),
        ("파일을 읽었습니다", "파일"), ("東京都", "都"), ("京", "京"),
        ("see `render_table` there", "render_table"), ("see `render_table` there", "table"),
        ("getUserName()", "user name"), ("getUserName()", "getUserName"), ("class HTTPServerError", "server"),
        ("edited src/tide/table.py", "table.py"), ("edited src/tide/table.py", "src/tide/table.py"),
        ("os.path.join", "path.join"), ("naïve Ærøskøbing", "naive"), ("ＡＢＣ１２３", "abc123"),
        ("to be or not to be", "to be"),
    ],
)  # fmt: skip
def test_a_text_is_found_by_its_words(text: str, query: str) -> None:
    assert found(text, query)


@pytest.mark.parametrize(("text", "query"), [("東京都", "大阪"), ("the table", "chair"), ("getUserName", "nam")])
def test_a_text_is_not_found_by_others(text: str, query: str) -> None:
    assert not found(text, query)


def test_words_that_stand_everywhere_are_not_looked_for_beside_others() -> None:
    assert question("what is the width of it") == '"width"'
    assert question("what is it") == '"what" OR "is" OR "it"'


def test_identifiers_are_looked_for_whole_and_in_parts() -> None:
    assert question("render_table") == '"render_table" OR "render" OR "table"'
    assert question("HTTPServer2") == '"HTTPServer2" OR "HTTP" OR "Server" OR "2"'


@pytest.mark.parametrize("query", ["", "   ", "?!", "🗼", '"" () *'])
def test_what_has_no_words_looks_for_nothing(query: str) -> None:
    assert question(query) == ""


@pytest.mark.parametrize(
    "query",
    ['table" OR "x', "table) NEAR(x, 2)", "text: table*", "NOT table", "^table AND -x", "table\0x", "table'; --"],
)
def test_operators_are_words_like_others(query: str) -> None:
    assert found("the table", query)


def test_a_very_long_query_is_answered() -> None:
    assert question("x" * 100_000) == ""
    assert found("needle in it", "needle " + "hay stack " * 10_000)
    assert found("needle in it", "needle " + " ".join(f"word{number}" for number in range(20_000)))


@given(st.text(max_size=200), st.text(max_size=50))
def test_whatever_is_said_can_be_indexed_and_asked(text: str, query: str) -> None:
    assert found(text, query) in (True, False)


@given(st.text(alphabet="東京都天気調大阪のをアイウ", min_size=2, max_size=30), st.data())
def test_any_piece_of_a_run_without_spaces_is_found(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    assert found(text, text[start : data.draw(st.integers(start + 1, len(text)))])
