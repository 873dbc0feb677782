"""The window of a model, found by whatever spelling a client, a router or a cloud gives its id."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_migrator.context_windows import (
    Window,
    facts,
    family,
    known_models,
    near,
    normalize,
    stem,
    vendors,
    window,
)

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
    ("Claude Opus 4.8", "claude-opus-4-8"),
    ("claude-opus-4-5-20251101", "claude-opus-4-5"),
    ("claude-sonnet-4@20250514", "claude-sonnet-4"),
    ("claude-3-5-sonnet-latest", "claude-3-5-sonnet"),
    ("claude-sonnet-3.7", "claude-3-7-sonnet"),
    ("anthropic--claude-4.5-sonnet", "claude-sonnet-4-5"),
    ("databricks-claude-opus-4-6", "claude-opus-4-6"),
    ("anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
    ("global.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
    ("claude-opus-4.1:thinking:8192", "claude-opus-4-1"),
    ("requesty/claude-sonnet-4-5@eu", "claude-sonnet-4-5"),
    ("vertex_ai/claude-opus-5@default", "claude-opus-5"),
    ("claude-haiku-5-5@latest", "claude-haiku-5-5"),
    ("Anthropic/Claude-Opus-5-5[1M]", "claude-opus-5-5"),
    ("duo-chat-gpt-5-2", "gpt-5.2"),
    ("azure/eu/gpt-4o-2024-08-06", "gpt-4o"),
    ("gpt-35-turbo-16k", "gpt-3.5-turbo-16k"),
    ("openai/gpt-5.4-mini-2026-03-17", "gpt-5.4-mini"),
    ("github_copilot/gpt-5.1-codex", "gpt-5.1-codex"),
    ("openai.gpt-oss-120b-1:0", "gpt-oss-120b"),
    ("gpt-oss:20b", "gpt-oss-20b"),
    ("@cf/openai/gpt-oss-120b", "gpt-oss-120b"),
    ("o3 (high)", "o3"),
    ("openai/o4-mini-2025-04-16", "o4-mini"),
    ("bedrock_mantle/us-gov-west-1/openai.gpt-5.6-terra", "gpt-5.6-terra"),
    ("models/gemini-flash-latest", "gemini-flash-latest"),
    ("gemini/gemini-3.1-pro-preview", "gemini-3.1-pro-preview"),
    ("google/gemma-3-27b-it:free", "gemma-3-27b"),
    ("us.deepseek.r1-v1:0", "deepseek-r1"),
    ("bedrock_mantle/deepseek.v3.1", "deepseek-v3.1"),
    ("chutes/deepseek-ai/DeepSeek-V4-Flash-0731-TEE", "deepseek-v4-flash"),
    ("fireworks_ai/accounts/fireworks/models/deepseek-v4p1-flash", "deepseek-v4.1-flash"),
    ("us.meta.llama4-scout-17b-instruct-v1:0", "llama-4-scout"),
    ("meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8", "llama-4-maverick"),
    ("databricks-meta-llama-3-3-70b-instruct", "llama-3.3-70b"),
    ("accounts/fireworks/models/llama-v3p1-8b-instruct", "llama-3.1-8b"),
    ("llama3.1:8b", "llama-3.1-8b"),
    ("qwen-3-32b", "qwen3-32b"),
    ("qwen/qwen3-235b-a22b-thinking-2507", "qwen3-235b-a22b"),
    ("qwen2p5-72b-instruct", "qwen2.5-72b"),
    ("z-ai-glm-5-turbo", "glm-5-turbo"),
    ("zai-org/GLM-4.7-FP8", "glm-4.7"),
    ("novita/zai-org/glm-5.2", "glm-5.2"),
    ("openrouter/moonshotai/kimi-k2.5:free", "kimi-k2.5"),
    ("moonshotai/Kimi-K3-TEE", "kimi-k3"),
    ("minimaxai/minimax-m25", "MiniMax-M2.5"),
    ("xai/grok-4.20-beta-0309-reasoning", "grok-4.20-reasoning"),
    ("mistralai/Mistral-Large-Instruct-2411", "mistral-large-2411"),
    ("amazon.nova-pro-v1:0", "nova-pro"),
    ("us.amazon.nova-2-lite-v1:0", "nova-2-lite"),
    ("ai21.jamba-1-5-large-v1:0", "jamba-1.5-large"),
    ("xiaomi/mimo-v2.5-pro", "mimo-v2.5-pro"),
    ("cohere-command-r-08-2024", "command-r-08-2024"),
]


# Context, max_input, max_output where the catalogues contradict each other (docs/models.md).
SETTLED = {
    "gpt-5": (400_000, 272_000, 128_000),
    "gpt-5.4": (1_050_000, 922_000, 128_000),
    "gpt-5.5": (1_050_000, 922_000, 128_000),
    "gpt-6-sol": (1_050_000, 922_000, 128_000),
    "gpt-6.2-sol": (872_000, None, None),
    "gpt-4.1": (1_047_576, None, 32_768),
    "claude-sonnet-4-5": (200_000, None, 64_000),
    "claude-sonnet-4-6": (200_000, None, 128_000),
    "claude-opus-4-6": (200_000, None, 128_000),
    "gemini-3.5-flash": (1_048_576, None, 65_536),
    "gemini-3.8-flash": (1_048_576, None, 65_536),
    "deepseek-chat": (131_072, None, 8_192),
    "deepseek-v4-pro": (1_000_000, None, 384_000),
    "qwen3-max": (262_144, 258_048, 65_536),
    "qwen3-coder-plus": (1_048_576, 997_952, 65_536),
    "qwen3.7-max": (1_000_000, 991_808, 65_536),
    "qwen3.8-max": (1_000_000, 991_808, 131_072),
    "kimi-k3": (1_048_576, None, 131_072),
    "glm-4.6": (204_800, 200_000, 128_000),
    "glm-5": (204_800, 200_000, 128_000),
    "MiniMax-M2": (196_608, None, 128_000),
    "MiniMax-M2.5": (204_800, None, 131_072),
    "grok-4.3": (1_000_000, None, 30_000),
    "llama-4-scout": (128_000, None, 4_096),
    "groq/llama-4-scout": (131_072, None, 8_192),
}


def limits(model: str) -> tuple[int | None, int | None, int | None]:
    found = window(model)
    assert found is not None, model
    return found.context, found.max_input, found.max_output


@pytest.mark.parametrize(("spelling", "model"), SPELLINGS)
def test_a_real_life_spelling_finds_its_model(spelling: str, model: str) -> None:
    assert normalize(spelling) == model
    found = window(spelling)
    assert found is not None
    assert found.source == "table"


def test_every_row_is_found_by_its_own_id_and_says_where_it_is_from() -> None:
    for row in TABLE["models"]:
        limits = row["context"], row.get("max_input"), row.get("max_output")
        assert window(row["id"]) == Window(context=limits[0], max_input=limits[1], max_output=limits[2], source="table")
        assert normalize(row["id"]) == row["id"]
        assert all(size is None or 0 < size <= row["context"] for size in limits)
        assert row["sources"], row["id"]
        assert set(row["sources"]) <= set(TABLE["sources"])
        assert re.fullmatch(r"(by )?20\d\d(-\d\d){0,2}", row["released"]), row["id"]


def test_a_vendor_has_one_tokenizer_family_or_its_generations() -> None:
    known = {vendor: {family(model) for model in models} for vendor, models in vendors().items()}
    assert known["openai"] == {"openai", "openai-cl100k", "openai-harmony"}
    assert known["anthropic"] == {"claude-4.6", "claude-4.7"}
    for vendor in ("google", "deepseek", "alibaba", "moonshotai", "zai", "minimax", "xai", "mistral"):
        assert len(known[vendor]) == 1
        assert known[vendor] != {None}, vendor


def test_known_models_are_the_ids_of_the_table_by_vendor_the_newest_first() -> None:
    assert known_models() == tuple(row["id"] for row in TABLE["models"])
    assert known_models() == tuple(model for models in vendors().values() for model in models)
    assert len(set(known_models())) == len(known_models()) >= 700
    assert vendors()["openai"][0].startswith("gpt-6.2-")
    assert known_models().index("claude-opus-5-5") < known_models().index("claude-opus-5")
    assert len((files("session_migrator") / "data" / "models.json").read_bytes()) < 300_000


def test_what_the_catalogues_disagree_about_is_settled() -> None:
    assert {model: limits(model) for model in SETTLED} == SETTLED


def test_input_and_total_are_kept_apart() -> None:
    assert window("gpt-5") == Window(context=400_000, max_input=272_000, max_output=128_000, source="table")
    assert window("gpt-5.5") == Window(context=1_050_000, max_input=922_000, max_output=128_000, source="table")
    assert window("qwen3-max") == Window(context=262_144, max_input=258_048, max_output=65_536, source="table")
    assert window("claude-opus-5") == Window(context=1_000_000, max_input=None, max_output=128_000, source="table")


def test_the_long_context_mark_widens_only_models_that_have_one() -> None:
    widths = {model: window(model) for model in ("claude-sonnet-4-5", "claude-sonnet-4-5[1m]", "claude-haiku-4-5[1M]")}
    assert [found and found.context for found in widths.values()] == [200_000, 1_000_000, 200_000]


def test_a_full_known_id_wins_over_a_stripped_one() -> None:
    assert normalize("mistral-large-2411") == "mistral-large-2411"
    assert normalize("kimi-k2-thinking") == "kimi-k2-thinking"
    assert normalize("gpt-5.2-chat-latest") == "gpt-5.2-chat-latest"


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
    "model",
    [
        *("gpt", "claude", "gemini", "llama", "qwen", "grok", "glm", "kimi", "deepseek", "mistral", "minimax", "nova"),
        *("gpt-latest", "openai/gpt", "claude:free", "anthropic.claude", "models/gemini", "latest", "opus", "codex"),
        *("gpt-7", "claude-zeta-9", "o5-mini", "my-own-model", "dobby-llama-3-3-70b", "dracarys-llama-3.1-70b"),
        *("", " ", "/", ":free", "-", "a" * 10_000, "💥"),
    ],
)
def test_an_unknown_model_has_no_window(model: str) -> None:
    assert window(model) is None
    assert facts(model) is None


@pytest.mark.parametrize(
    ("model", "served"),
    [
        ("github_copilot/gpt-5", (128_000, None, 128_000)),
        ("github-copilot/gpt-5", (128_000, None, 128_000)),
        ("nvidia/openai/gpt-oss-120b", (128_000, None, 8_192)),
        ("openai.gpt-oss-120b-1:0", (128_000, None, 16_384)),
        ("cursor/grok-4.6", (256_000, None, None)),
        ("azure/gpt-5", (400_000, 272_000, 128_000)),
        ("gpt-5", (400_000, 272_000, 128_000)),
        ("nobody/gpt-5", (400_000, 272_000, 128_000)),
    ],
)
def test_a_provider_that_serves_another_window_is_told_by_the_id(
    model: str, served: tuple[int | None, int | None, int | None]
) -> None:
    assert limits(model) == served


def test_the_facts_of_a_model_are_its_row() -> None:
    found = facts("openrouter/anthropic/claude-sonnet-4.5")
    assert found is not None
    assert (found.model, found.vendor, found.released) == ("claude-sonnet-4-5", "anthropic", "2025-09-29")
    assert found.price == {"input": 3.0, "output": 15.0}
    assert (found.window, found.long_context) == (window("claude-sonnet-4-5"), 1_000_000)
    assert found.providers["github-copilot"].max_input == 168_000
    assert found.sources[0].startswith("litellm 1.")
    assert "beta" in (found.note or "")
    assert found.to_dict()["window"]["context"] == 200_000
    unpriced = facts("gpt-6.2-sol")
    assert unpriced is not None
    assert unpriced.price is None
    assert "872,000" in (facts("gpt-6.1-sol").note or "")  # type: ignore[union-attr]


def test_prices_are_dollars_per_million_tokens() -> None:
    prices = [price for model in known_models() if (price := facts(model).price)]  # type: ignore[union-attr]
    assert len(prices) > 300
    assert all(0 <= price["input"] < 1_000 and 0 <= price["output"] < 1_000 for price in prices)
    assert facts("gpt-5").price == {"input": 1.25, "output": 10.0}  # type: ignore[union-attr]


def test_a_stem_is_the_id_without_what_others_add_known_or_not() -> None:
    assert stem("openrouter/acme/zeta-9-instruct:free") == "zeta-9"
    assert stem("us.acme.zeta-9-20261101-v1:0") == "zeta-9"
    assert stem("zeta-9-preview") == "zeta-9-preview"


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
