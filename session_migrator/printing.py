"""What the command line prints."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from .decision import Decision
    from .migration import Migration


def show_decision(decided: Decision) -> None:
    """The sum, and what comes of it."""
    for entry in decided.ledger:
        click.echo(f"  {entry.name:<13}{entry.tokens:>11,}  {printable(entry.why)}")
    verdict = "it fits as it is" if decided.mode == "direct" else "it does not fit as it is"
    verdict = verdict if decided.budget > 0 else "nothing is left for a session"
    click.echo(f"{decided.mode}: {decided.tokens:,} tokens for a budget of {decided.budget:,}: {verdict}")


def show_migration(done: Migration) -> None:
    """What a migration did or would do."""
    click.echo(f"{done.source['agent']} {printable(done.source['session_id'])} -> {done.target['agent']}")
    if done.decision:
        show_decision(done.decision)
    else:
        click.echo(f"memory: {done.tokens_after:,} tokens, of a session of {done.tokens_before:,}")
    if done.mode == "compress":
        click.echo(f"kept:    {done.tokens_after:,} of {done.tokens_before:,} tokens")
    for loss in done.losses:
        click.echo(f"{'lost:' if loss.severity == 'lossy' else 'changed:':<9}{printable(loss.detail)}")
    for warning in done.warnings:
        click.echo(f"note:    {printable(warning)}")
    if done.migration is None:
        click.echo("dry run: nothing was written")
        return
    for path in done.target["paths"]:
        click.echo(f"{'wrote:' if done.mode == 'memory' else 'session:':<9}{printable(path)}")
    from .agents.spec import quoted

    home = os.environ.get("SESSION_MIGRATOR_HOME")
    store = f"SESSION_MIGRATOR_HOME={quoted(home)} " if home else ""
    click.echo(f"undo:    {store}session-migrator undo {done.migration}")
    if done.target["resume"]:
        click.echo(f"resume:  {done.target['resume']}")


def print_json(data: Any) -> None:
    """JSON, in characters that the output can show."""
    from .jsondata import clean

    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    click.echo(json.dumps(clean(data), ensure_ascii=not utf8, indent=2))


def printable(words: str) -> str:
    """A text of someone else's, safe for a terminal: no control characters."""
    return "".join(char if char.isprintable() or char == " " else " " for char in words)
