"""A small line chart as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

WIDTH, HEIGHT, LEFT, TOP = 640, 360, 48, 16
COLOURS = ("#888888", "#b58900", "#268bd2", "#6c71c4", "#dc322f")


def write(path: Path, lines: Mapping[str, Sequence[float]], ticks: Sequence[str]) -> None:
    """Lines of percentages over ticks; a line that is shorter has its points at the first ticks."""
    step = (WIDTH - LEFT - 200) / max(1, len(ticks) - 1)

    def place(index: int, value: float) -> tuple[float, float]:
        return LEFT + index * step, TOP + (HEIGHT - TOP - 32) * (1 - value / 100)

    about = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12"'
    made = [f'<svg xmlns="http://www.w3.org/2000/svg" {about}>']
    for value in range(0, 101, 20):
        _, y = place(0, value)
        made.append(f'<path d="M{LEFT} {y:.0f}H{WIDTH - 200}" stroke="#dddddd"/>')
        made.append(f'<text x="{LEFT - 8}" y="{y + 4:.0f}" text-anchor="end">{value} %</text>')
    for index, tick in enumerate(ticks):
        made.append(f'<text x="{place(index, 0)[0]:.0f}" y="{HEIGHT - 10}" text-anchor="middle">{escape(tick)}</text>')
    for number, (name, values) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = [place(index, value) for index, value in enumerate(values)]
        drawn = " ".join(f"{x:.0f},{y:.1f}" for x, y in points)
        made.append(f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2"/>')
        made += [f'<circle cx="{x:.0f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        label = escape(name.strip("*"))
        made.append(f'<text x="{WIDTH - 190}" y="{TOP + 20 * number + 12}" fill="{colour}">{label}</text>')
    path.write_text("\n".join([*made, "</svg>"]) + "\n", encoding="utf-8")
