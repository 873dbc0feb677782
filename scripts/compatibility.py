"""``docs/compatibility.md``, from a run of the real clients: ``make clients`` writes it, and so does any run of all of
them with SESSION_MIGRATOR_RECORD in the environment."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "docs" / "compatibility.md"
TESTS = ROOT / "tests" / "clients"

TEXT = """\
# Compatibility

    make clients

The clients that this version was run against, without a network and with a stub model that records what it is sent, on
{date}: how many tests of each kind passed, with {cases}.
Where one failed, this table was not written.

{table}
{kinds}"""


def document(versions: Mapping[str, Mapping[str, Any]], passed: Mapping[str, Mapping[str, int]]) -> str:
    """The document: ``versions`` as pinned, ``passed`` the number of tests by client and by test module."""
    modules = sorted({module for counts in passed.values() for module in counts})
    heads = ["client", "version", *(module.removeprefix("test_").replace("_", " ") for module in modules)]
    rows = [
        [client, versions[client]["version"], *(str(counts.get(module, "–")) for module in modules)]
        for client, counts in sorted(passed.items())
    ]
    table = "".join(f"| {' | '.join(row)} |\n" for row in (heads, ["---"] * len(heads), *rows))
    kinds = "".join(f"- **{head}**: {_about(module)}\n" for head, module in zip(heads[2:], modules, strict=True))
    cases = (
        "every recorded session (clients that take long: with some)"
        if os.environ.get("SESSION_MIGRATOR_CASES") == "all"
        else "some of the recorded sessions"
    )
    return TEXT.format(date=datetime.now(UTC).date().isoformat(), cases=cases, table=table, kinds=kinds)


def _about(module: str) -> str:
    """What a test module proves, by its docstring."""
    said = ast.get_docstring(ast.parse((TESTS / f"{module}.py").read_text(encoding="utf-8"))) or ""
    return " ".join(said.split())
