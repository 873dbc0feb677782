"""The command line: list, day, compare."""

import argparse
import sys
from datetime import date, datetime

from tidetables import __version__
from tidetables.harbours import Harbour, UnknownHarbour, find, load
from tidetables.predict import day, level
from tidetables.table import bar, render


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    try:
        print(options.run(options))
    except UnknownHarbour as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tidetables", description="The tide at a harbour, as a table.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser("list", help="all harbours")
    command.set_defaults(run=_list)

    command = commands.add_parser("day", help="the levels of one day")
    command.add_argument("harbour")
    command.add_argument("date", type=date.fromisoformat)
    command.set_defaults(run=_day)

    command = commands.add_parser("compare", help="several harbours at one moment")
    command.add_argument("harbours", nargs="+", metavar="harbour")
    command.add_argument("--at", type=datetime.fromisoformat, required=True, help="local time, the same at each")
    command.set_defaults(run=_compare)
    return parser


def _list(_options: argparse.Namespace) -> str:
    rows = [(harbour.id, harbour.name, harbour.country, _offset(harbour)) for harbour in load().values()]
    return render(("id", "name", "country", "utc"), rows)


def _day(options: argparse.Namespace) -> str:
    harbour = find(options.harbour)
    levels = list(day(harbour, options.date))
    low, high = min(metres for _, metres in levels), max(metres for _, metres in levels)
    rows = [(f"{moment:%H:%M}", f"{metres:.2f}", bar(metres, low, high)) for moment, metres in levels]
    return f"{harbour.name}, {options.date}\n\n" + render(("time", "m", ""), rows, right=(1,))


def _compare(options: argparse.Namespace) -> str:
    rows = []
    for harbour in map(find, options.harbours):
        moment = options.at.replace(tzinfo=harbour.zone)
        rows.append((harbour.name, harbour.country, f"{level(harbour, moment):.2f}"))
    return render(("harbour", "country", "m"), rows, right=(2,))


def _offset(harbour: Harbour) -> str:
    return harbour.zone.tzname(None)
