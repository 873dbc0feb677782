"""What the options of the command line take."""

from __future__ import annotations

import re
from typing import Any

import click

from . import agents

_SCALES = {"": 1, "k": 1_000, "m": 1_000_000}


class _Agent(click.Choice[str]):
    """An agent: its id, the beginning of one that no other has, or what its client is called."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name = str(value).casefold().replace(" ", "-").removesuffix("-cli").removesuffix("-code")
        found = [agent for agent in agents.AGENTS if agent.startswith(name)]
        return super().convert(found[0] if len(found) == 1 else value, param, ctx)


def tokens(said: str) -> int:
    """A number of tokens, in thousands or millions too: ``200000``, ``200,000``, ``200k``, ``1.5M``. Raises
    click.BadParameter."""
    plain = said.casefold().replace(",", "").replace("_", "")
    size = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)([km]?)", plain, re.ASCII)
    count = round(float(size[1]) * _SCALES[size[2]]) if size else 0
    if not count:
        raise click.BadParameter(f"{said!r} is no number of tokens, such as 200000 or 200k.")
    return count


AGENT = _Agent(list(agents.AGENTS))
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
