"""The window of a model, found by whatever spelling a client, a router or a cloud gives its id."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_migrator.context_windows import Window, family, known_models, near, normalize, window

TABLE = json.loads((files("session_migrator") / "data" / "models.json").read_text("utf-8"))

SPELLINGS = [
    ("claude-opus-5[1m]", "claude-opus-5"),
    ("claude-opus-4.7", "claude-opus-4-7"),
    ("Claude-Opus-4_7", "claude-opus-4-7"),
    ("  claude-opus-4-7\n", "claude-opus-4-7"),
    ("ｃｌａｕｄｅ-opus-4-7", "claude-opus-4-7"),
    ("openrouter/anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
    ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
    ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
    ("arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.anthropic.claude-opus-4-6-v1:0", "claude-opus-4-6"),
    ("anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-3-5-sonnet"),
    ("anthropic/claude-opus-4.7:thinking", "claude-opus-4-7"),
    ("anthropic:claude-opus-5", "claude-opus-5"),
    ("claude-4.5-sonnet", "claude-sonnet-4-5"),
    ("claude-4.5-sonnet-20250929-thinking", "claude-sonnet-4-5"),
    ("claude-opus-4-0", "claude-opus-4"),
    ("claude-opus-4-20250514", "claude-opus-4"),
    ("models/gemini-2.5-pro", "gemini-2.5-pro"),
    ("publishers/google/models/gemini-2.5-flash", "gemini-2.5-flash"),
    ("gemini-2.5-pro-preview-05-06", "gemini-2.5-pro"),
    ("gemini-3-pro", "gemini-3-pro-preview"),
    ("z-ai/glm-4.6", "glm-4.6"),
    ("glm-4-6", "glm-4.6"),
    ("gpt-5.5 high", "gpt-5.5"),
    ("gpt-5.5 (xhigh)", "gpt-5.5"),
    ("gpt-5.1-codex-max-high", "gpt-5.1-codex-max"),
    ("gpt-5-2025-08-07", "gpt-5"),
    ("gpt-4-0613", "gpt-4"),
    ("ft:gpt-4o", "gpt-4o"),
    ("azure/gpt-5-mini", "gpt-5-mini"),
    ("openai/gpt-oss-120b:free", "gpt-oss-120b"),
    ("MiniMaxAI/MiniMax-M2", "MiniMax-M2"),
    ("Qwen/Qwen3-Max", "qwen3-max"),
    ("accounts/fireworks/models/qwen3p8-max", "qwen3.8-max"),
    ("mistral-large-2512", "mistral-large-latest"),
    ("deepseek-ai/DeepSeek-V4-Pro", "deepseek-v4-pro"),
    ("moonshotai/kimi-k2.6", "kimi-k2.6"),
    ("x-ai/grok-code-fast-1", "grok-code-fast-1"),
    ("llama-3.3-70b-instruct", "llama-3.3-70b"),
]


@pytest.mark.parametrize(("spelling", "model"), SPELLINGS)
def test_a_real_life_spelling_finds_its_model(spelling: str, model: str) -> None:
    assert normalize(spelling) == model
    found = window(spelling)
    assert found is not None
    assert found.source == "table"


@pytest.mark.parametrize("row", TABLE["models"], ids=lambda row: row["id"])
def test_a_row_is_found_by_its_own_id_and_names_its_sources(row: dict) -> None:
    assert window(row["id"]) == Window(
        context=row["context"], max_input=row["max_input"], max_output=row["max_output"], source="table"
    )
    assert family(row["id"]) == row["family"]
    assert row["sources"]
    assert set(row["sources"]) <= set(TABLE["sources"])
    assert (row["max_input"] or 0) <= row["context"]


def test_known_models_are_the_ids_of_the_table() -> None:
    assert known_models() == tuple(row["id"] for row in TABLE["models"])
    assert len(set(known_models())) == len(known_models()) >= 60


def test_input_and_total_are_kept_apart() -> None:
    assert window("gpt-5") == Window(context=400_000, max_input=272_000, max_output=128_000, source="table")
    assert window("gpt-5.5") == Window(context=1_050_000, max_input=922_000, max_output=128_000, source="table")
    assert window("qwen3-max") == Window(context=262_144, max_input=258_048, max_output=65_536, source="table")
    assert window("claude-opus-5") == Window(context=1_000_000, max_input=None, max_output=128_000, source="table")


def test_the_long_context_mark_widens_only_models_that_have_one() -> None:
    widths = {model: window(model) for model in ("claude-sonnet-4-5", "claude-sonnet-4-5[1m]", "claude-haiku-4-5[1M]")}
    assert [found and found.context for found in widths.values()] == [200_000, 1_000_000, 200_000]


def test_a_full_known_id_wins_over_a_stripped_one() -> None:
    assert normalize("devstral-2512") == "devstral-2512"
    assert normalize("kimi-k2-thinking") == "kimi-k2-thinking"
    assert normalize("gpt-5-chat-latest") == "gpt-5-chat-latest"


@pytest.mark.parametrize(
    ("model", "context"), [("gpt-6.3-foo", 872_000), ("claude-opus-9", 200_000), ("gpt-5.7", 400_000)]
)
def test_an_unknown_model_of_a_known_line_gets_the_tightest_window_of_that_line_flagged(
    model: str, context: int
) -> None:
    found = window(model)
    assert found is not None
    assert (found.source, found.context) == ("family", context)


@pytest.mark.parametrize(
    "model", ["gpt-7", "claude-zeta-9", "o5-mini", "llama", "", " ", "/", ":free", "a" * 10_000, "💥"]
)
def test_an_unknown_model_has_no_window(model: str) -> None:
    assert window(model) is None


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gpt-6.3-foo", "openai"),
        ("o9", "openai"),
        ("gpt-4-1106-preview", "openai-cl100k"),
        ("gpt-4.1-something", "openai"),
        ("openai/gpt-oss-20b-x", "openai-harmony"),
        ("claude-2.1", "claude-4.6"),
        ("claude-3-haiku-20240307", "claude-4.6"),
        ("claude-opus-4-6-20260101", "claude-4.6"),
        ("claude-opus-4-10", "claude-4.7"),
        ("claude-zeta-9", "claude-4.7"),
        ("us.deepseek.r1-v1:0", "deepseek"),
        ("meta-llama/Llama-9", "llama"),
        ("somebody/something", None),
        ("", None),
    ],
)
def test_the_tokenizer_family_is_told_by_how_an_id_begins(model: str, expected: str | None) -> None:
    assert family(model) == expected


def test_near_names_the_likest_known_ids() -> None:
    assert near("claude-opus-55")[0].startswith("claude-opus-5")
    assert "gpt-5" in near("gpt-7", 5)
    assert len(near("gpt-5.9x", 2)) == 2
    assert near("opus") == ("claude-opus-5-5", "claude-opus-5", "claude-opus-4-8")
    assert near("zzzzzzzz") == near("") == ()


@given(
    st.text(max_size=300) | st.from_regex(r"[a-z]{0,9}[/:.@-]{1,3}(gpt|claude)-[0-9.:@\[\]()-]{0,12}m?", fullmatch=True)
)
def test_no_id_raises(model: str) -> None:
    assert isinstance(normalize(model), str)
    assert len(near(model)) <= 3
    found = window(model)
    assert found is None or found.source in ("table", "family")
    family(model)


def test_ten_kilobytes_of_anything_do_not_raise() -> None:
    for piece in ("a", "-", "claude-", "gpt-5.", "[1m]", "\x00", "/", ".", ":a", "(", "٣"):
        model = piece * (10_000 // len(piece))
        normalize(model)
        window(model)
        near(model)
        family(model)


def test_a_window_has_a_json_form() -> None:
    assert Window(context=8, source="user").to_dict() == {
        "context": 8,
        "max_input": None,
        "max_output": None,
        "source": "user",
    }
