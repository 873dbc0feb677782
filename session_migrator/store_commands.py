"""The commands about what the store holds: migrations, undo, recall, search, index."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import click

from .options import AGENT, as_json_option
from .printing import print_json, printable

_FOLDER = click.Path(path_type=Path)
_EVERY = 10.0  # seconds between lines that say how far it is
_WIDTH = 79  # of such a line on a terminal


@click.command("migrations")
@as_json_option
def migrations_command(as_json: bool) -> None:
    """What was migrated, the newest first."""
    from .migrations import listing
    from .storage import Store

    rows = listing(Store())
    if as_json:
        print_json(rows)
        return
    for row in rows:
        source, target = row["source"], row["target"]
        result = (target["session_id"] or "memory")[:8]
        ends = f"{source['agent']} {source['session_id'][:18]} -> {target['agent']} {result}"
        sizes = f"{row['tokens_before']:,} -> {row['tokens_after']:,} tokens"
        click.echo(f"{row['migration']:<14}{row['created_at'][:16]:<18}{printable(ends):<60}{row['mode']:<10}{sizes}")


@click.command()
@click.argument("migration")
def undo(migration: str) -> None:
    """Take back what a migration wrote, that and nothing else."""
    from .migrations import undo as take_back
    from .storage import Store

    done = take_back(Store(), migration)
    for each in done["removed"]:
        click.echo(f"removed: {printable(each)}")
    if not done["removed"]:
        click.echo("nothing of it was left")


@click.command("recall")
@click.argument("name", metavar="ID")
@click.option("--lines", help="Of it the lines A:B, from 1, both included.")
@click.option("--grep", help="Only lines that hold this text, with their numbers.")
@click.option("--around", type=click.IntRange(0, 50), help="A passage that a search found, with so many on each side.")
@as_json_option
def recall_command(name: str, lines: str | None, grep: str | None, around: int | None, as_json: bool) -> None:
    """What was left out of a compressed session, or found by a search, by its ID, word for word."""
    from .retrieval import selected
    from .search import recalled

    found = recalled(name, around or 0)
    text = selected(found.text, lines, grep)
    if as_json:
        print_json({**found.to_dict(), "data": found.data.decode("utf-8", "surrogatepass"), "text": text})
        return
    when = f", {found.timestamp}" if found.timestamp else ""
    click.echo(f"{found.agent} session {printable(found.session_id)}{when}", err=True)
    click.echo(text)


@click.command("search")
@click.argument("query")
@click.option("--from", "agent", type=AGENT, help="Only sessions of this agent.")
@click.option("--since", help="Only what is not older than this day.")
@click.option("--cwd", type=_FOLDER, help="In the sessions of this folder; default: the current one.")
@click.option("--all", "everywhere", is_flag=True, help="In the sessions of all folders.")
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="At most so many.")
@as_json_option
def search_command(
    query: str, agent: str | None, since: str | None, cwd: Path | None, everywhere: bool, limit: int, as_json: bool
) -> None:
    """What was said in any session, found by its words and their sense; recall ID gives a passage whole."""
    from .search import search

    answer = search(query, cwd, everywhere=everywhere, agent=agent, since=since, limit=limit)
    for warning in answer.warnings:
        click.echo(f"note: {printable(warning)}", err=True)
    if as_json:
        print_json(answer.to_dict())
        return
    click.echo(f"by {printable(answer.by)}", err=True)
    for hit in answer.hits:
        where = [f"{hit.agent} {printable(hit.session_id)[:8]}"]
        where += [f"turn {hit.turn}"] if hit.turn else []
        where += [hit.time[:16]] if hit.time else []
        click.echo(f"{hit.id}  {', '.join(where)}, {hit.tokens:,} tokens\n  {hit.role}: {printable(hit.line)}")
    if not answer.hits:
        click.echo("nothing was found" if everywhere else "nothing was found here; everywhere: --all", err=True)


@click.command("index")
@click.option("--cwd", type=_FOLDER, help="The sessions of this folder; default: the current one.")
@click.option("--all", "everywhere", is_flag=True, help="All sessions of all agents on this machine.")
@click.option("--vectors/--no-vectors", default=True, help="What takes time: also make vectors, if anything here can.")
@as_json_option
def index_command(cwd: Path | None, everywhere: bool, vectors: bool, as_json: bool) -> None:
    """Take sessions into the index that search uses. It can be broken off, and goes on where it was."""
    from .indexing import index_sessions

    progress = _Progress()

    def tell(problem: str) -> None:
        progress.clear()
        click.echo(f"note: {printable(problem)}", err=True)

    try:
        done = index_sessions(cwd, everywhere=everywhere, vectors=vectors, progress=progress, tell=tell)
    except KeyboardInterrupt:
        progress.clear()
        click.echo(f"{progress.reached} done; run it again to go on", err=True)
        raise click.Abort from None
    progress.clear()
    if as_json:
        print_json(done.to_dict())
        return
    click.echo(f"{done.new:,} new passages, {done.vectors:,} new vectors; {done.passages:,} passages in all")


class _Progress:
    """How far a long work is, on stderr: on a terminal a line that is written over, else a line at times."""

    def __init__(self) -> None:
        self.reached = "nothing"
        self._terminal, self._told = sys.stderr.isatty(), time.monotonic()

    def __call__(self, done: int, of: int, what: str) -> None:
        self.reached = f"{done:,} of {of:,} {printable(what)}"
        if self._terminal:
            click.echo(f"\r\x1b[K{self.reached[:_WIDTH]}", nl=False, err=True)
        elif time.monotonic() - self._told >= _EVERY:
            self._told = time.monotonic()
            click.echo(self.reached, err=True)

    def clear(self) -> None:
        if self._terminal:
            click.echo("\r\x1b[K", nl=False, err=True)


COMMANDS: tuple[Any, ...] = (migrations_command, undo, recall_command, search_command, index_command)
