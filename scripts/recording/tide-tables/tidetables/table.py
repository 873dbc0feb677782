"""Plain text tables."""

from collections.abc import Iterable, Sequence

GAP = "  "


def render(header: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A table with a rule below the header; the columns in ``right`` are set flush right."""
    lines = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    rule = tuple("-" * width for width in widths)
    return "\n".join(_line(line, widths, right) for line in (lines[0], rule, *lines[1:]))


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    padded = [
        cell.rjust(widths[column]) if column in right else cell.ljust(widths[column])
        for column, cell in enumerate(cells)
    ]
    return GAP.join(padded).rstrip()


def bar(value: float, low: float, high: float, width: int = 24) -> str:
    """A bar as long as ``value`` lies between ``low`` and ``high``."""
    if high <= low:
        return ""
    return "#" * round((value - low) / (high - low) * width)
