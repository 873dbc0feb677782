"""Tables in a Markdown file, each between its marks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (heads, ["---"] * len(heads), *rows))


def put(path: Path, **blocks: str) -> None:
    """Put each block between ``<!-- name -->`` and ``<!-- /name -->``."""
    text = path.read_text("utf-8")
    for name, block in blocks.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}{block}{end}{rest.partition(end)[2]}"
    path.write_text(text, "utf-8")
