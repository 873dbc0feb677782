"""The command line. Each command shows what the API returns; ``--json`` prints exactly its ``to_dict()``."""

from __future__ import annotations

import errno
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from . import __version__, agents, compressors
from .errors import MigrationError, NotFound, UsageError
from .options import AGENT, as_json_option, tokens
from .printing import print_json, printable, show_decision, show_migration
from .store_commands import COMMANDS

if TYPE_CHECKING:
    from .decision import Decision, Target
    from .fitting import History
    from .migration import Form

_FOLDER = click.Path(path_type=Path)
_from = click.option("--from", "source", type=AGENT, help="The agent the session is of.")
_from_home = click.option("--from-home", type=_FOLDER, help="The source's configuration folder.")
_model = click.option("--model", help="The target model; default: the one the target is configured for.")
_redact = click.option("--redact", is_flag=True, help="Without the secrets in its texts.")
_count_online = click.option(
    "--count-online", is_flag=True, help="Send the session to the model's vendor for its count (with the key set here)."
)
_window = click.option("--window", type=tokens, help="The model's context in tokens.")


class _Group(click.Group):
    """A group whose commands fail with one line of error, one line of remedy, and the error's exit code."""

    def main(self, *args: Any, **options: Any) -> NoReturn:
        try:
            result = super().main(*args, **{**options, "standalone_mode": False})
            sys.stdout.flush()
        except MigrationError as error:
            _fail(str(error), error.remedy, error.exit_code)
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else "session-migrator"
            _fail(error.format_message(), f"{command} --help", error.exit_code)
        except click.Abort:
            sys.exit(130)
        except RecursionError:
            _fail("the session's data is nested too deeply", "name another session", 1)
        except OSError as error:
            if error.errno != errno.EPIPE:
                _fail(str(error), "check that it exists, and its permissions", 1)
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123  (so that exit flushes nothing)
            sys.exit(1)  # whoever reads the output has had enough
        sys.exit(result if isinstance(result, int) else 0)


def _fail(message: str, remedy: str, code: int) -> NoReturn:
    lines = [f"error: {message}"] + ([f"try: {remedy}"] if remedy else [])
    for line in lines:
        click.echo(" ".join(printable(line).split()), err=True)
    sys.exit(code)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="session-migrator")
def main() -> None:
    """Move a conversation from one AI agent to another, sized to the target model's real window.

    SESSION is an id, a unique prefix of one, a title, a file, or `latest`: the newest of this folder.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show a character is no reason to fail
            stream.reconfigure(errors="backslashreplace")


@main.command("agents")
@as_json_option
def agents_command(as_json: bool) -> None:
    """The agents, and where they keep sessions."""
    rows = [_agent_row(agent) for agent in agents.AGENTS]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        state = (
            f"{row['sessions']} session{'s' * (row['sessions'] != 1)} in {row['home']}" if row["found"] else row["why"]
        )
        reach = "reads, writes" if row["writes"] else "reads"
        click.echo(f"{row['agent']:<14}{reach:<15}{state}")


def _agent_row(agent: str) -> dict[str, Any]:
    from .files import is_folder
    from .sessions import list_sessions

    spec = agents.get(agent)
    home = spec.locate(None)
    found = is_folder(home)
    return {
        "agent": spec.id, "home": str(home), "found": found,
        "why": "its folder is here" if found else f"{home} does not exist",
        "sessions": sum(1 for _ in list_sessions(agent)) if found else 0,
        "reads": True, "writes": spec.write is not None,
    }  # fmt: skip


@main.command("list")
@_from
@_from_home
@click.option("--cwd", type=_FOLDER, help="Sessions of this folder; default: the current one.")
@click.option("--all", "everywhere", is_flag=True, help="Sessions of all folders.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many.")
@click.option("--count", is_flag=True, help="Count messages (reads every session).")
@as_json_option
def list_command(
    source: str | None, from_home: Path | None, cwd: Path | None, everywhere: bool, limit: int | None, count: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Sessions, the newest first."""
    from .model import headline
    from .sessions import list_sessions

    infos = list(list_sessions(source, None if everywhere else cwd or Path.cwd(), from_home))[:limit]
    rows: list[dict[str, Any]] = [
        {**info.to_dict(), "messages": _count(info.agent, info.path) if count else None} for info in infos
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        messages = f"{row['messages']:>6}  " if row["messages"] is not None else ""
        title, name = headline(printable(row["title"] or ""), 60) or "", printable(row["id"])
        folder = f"  ({printable(row['cwd'])})" if everywhere and row["cwd"] else ""
        click.echo(f"{row['agent']:<12}{name:<38}{(row['updated_at'] or '')[:16]:<18}{messages}{title}{folder}")
    if not rows:
        here = "no sessions were found" if everywhere else "no sessions here; all of them: session-migrator list --all"
        click.echo(here, err=True)


def _count(agent: str, path: str | None) -> int | None:
    try:
        return len(agents.get(agent).read(Path(path or "")).session.messages)
    except MigrationError:
        return None


@main.command()
@click.argument("session")
@_from
@_from_home
@click.option("--format", "form", type=click.Choice(["text", "markdown", "json", "messages"]), default="text")
@_redact
def show(session: str, source: str | None, from_home: Path | None, form: str, redact: bool) -> None:
    """Print a session."""
    from . import exporter
    from .sessions import read

    reading = read(session, source, from_home)
    shown = reading.session
    if redact:
        from .redaction import redact_session, report

        shown, counts = redact_session(shown)
        click.echo(report(counts), err=True)
    if form in ("json", "messages"):
        print_json(exporter.to_document(shown) if form == "json" else exporter.to_messages(shown))
    else:
        click.echo(exporter.to_markdown(shown) if form == "markdown" else exporter.to_text(shown))
    for loss in reading.losses:
        click.echo(f"{loss.severity}: {printable(loss.detail)}", err=True)


@main.command()
@click.argument("session")
@_from
@_from_home
@click.option("--to", "agent", type=AGENT, help="The target agent; without it and --model, every agent.")
@_model
@_window
@_count_online
@as_json_option
def decide(
    session: str, source: str | None, from_home: Path | None, agent: str | None, model: str | None,
    window: int | None, count_online: bool, as_json: bool,
) -> None:  # fmt: skip
    """Tell whether a session fits: with the sum, or (no target named) in a line for each agent of this machine."""
    from .fitting import decide_for, existing_folder
    from .sessions import read
    from .target import inspect

    found = read(session, source, from_home, other_than=agent).session
    folder = existing_folder(found.cwd)

    def decided(name: str | None) -> tuple[Target, Decision]:
        target = inspect(name, model=model, folder=folder, window=window)
        result, said = decide_for(found, target, count_online)
        for warning in (*target.warnings, *said):
            click.echo(f"note: {printable(warning)}", err=True)
        return target, result

    if agent is not None or model is not None:
        _, result = decided(agent)
        print_json(result.to_dict()) if as_json else show_decision(result)
        return
    rows: list[dict[str, Any]] = []
    for name in _agents_here():
        try:
            target, result = decided(name)
        except MigrationError as error:  # one agent that is badly set up hides no other
            click.echo(f"note: {name}: {printable(str(error))}", err=True)
            continue
        rows.append({"agent": name, **result.to_dict()})
        if not as_json:
            click.echo(_verdict(name, target, result))
    if as_json:
        print_json(rows)


def _agents_here() -> list[str]:
    """The agents whose folder is on this machine; where none is, all."""
    from .files import is_folder

    return [name for name in agents.AGENTS if is_folder(agents.get(name).locate(None))] or list(agents.AGENTS)


def _verdict(name: str, target: Target, decided: Decision) -> str:
    """A decision in one line."""
    fits = "fits" if decided.mode == "direct" else "too long" if decided.budget > 0 else "no room"
    sure = (
        "exact" if decided.counter.method == "exact" else f"at most; exact: {target.counter.remedy or '--count-online'}"
    )
    size = f"{decided.tokens:,} tokens for {decided.budget:,}"
    return f"{name:<14}{fits:<10}{size:<34}{printable(target.model)} ({sure})"


@main.command()
@click.argument("session")
@click.option("--to", "agent", type=AGENT, required=True, help="The target agent.")
@_from
@_model
@click.option("--into", type=_FOLDER, help="The project folder to go on in; default: the session's own.")
@click.option("--home", type=_FOLDER, help="The target's configuration folder.")
@_from_home
@click.option("--budget", type=tokens, help="Tokens for the session, at most.")
@_window
@_count_online
@click.option(
    "--compressor",
    type=click.Choice([*compressors.COMPRESSORS]),
    default=compressors.DEFAULT,
    show_default=True,
    help="What keeps the most of a session that does not fit; llm: with a summary by an LLM, of a memory too.",
)
@click.option(
    "--history",
    type=click.Choice(["live", "full", "auto"]),
    default="live",
    show_default=True,
    help="What the source's model would see; all that was said before its compactions too; all where it fits.",
)
@click.option("--as", "form", type=click.Choice(["session", "memory"]), help="A session, or Markdown the agent reads.")
@click.option("--memory-file", type=_FOLDER, help="The file for it, such as AGENTS.md; it gets one marked block.")
@click.option("--redact/--no-redact", default=None, help="Without the secrets in its texts; so is every memory.")
@click.option("--native", is_flag=True, help="If compressed: the whole session in the target's file, not sent.")
@click.option(
    "--retrieval/--no-retrieval", help="If compressed: with passages of this project that answer the last message."
)
@click.option("--dry-run", is_flag=True, help="Show everything, write nothing.")
@click.option("--again", is_flag=True, help="Migrate even where just this was done before.")
@click.option("--run", "start", is_flag=True, help="Start the target with the session.")
@as_json_option
def migrate(
    session: str, agent: str, source: str | None, model: str | None, into: Path | None, home: Path | None,
    from_home: Path | None, budget: int | None, window: int | None, count_online: bool, compressor: str,
    history: History, form: Form | None, memory_file: Path | None, redact: bool | None, native: bool,
    retrieval: bool, dry_run: bool, again: bool, start: bool, as_json: bool,
) -> None:  # fmt: skip
    """Carry a session into another agent."""
    if start and as_json:
        raise UsageError("--run and --json cannot go together", "leave out one of them")
    from . import migration

    if start:
        _check_start(agent, migration.form_of(agent, form, memory_file))
    done = migration.migrate(
        session, agent, model, into, agent=source, home=home, from_home=from_home, budget=budget, window=window,
        compressor=compressor, history=history, form=form, memory_file=memory_file, redact=redact,
        count_online=count_online, native=native, retrieval=retrieval, dry_run=dry_run, again=again,
    )  # fmt: skip
    if as_json:
        print_json(done.to_dict())
    else:
        show_migration(done)
    if start and done.target["resume"]:
        sys.stdout.flush()
        shell = shutil.which("bash")  # an older sh takes no control characters in a word
        sys.exit(subprocess.run(done.target["resume"], shell=True, executable=shell, check=False).returncode)


def _check_start(agent: str, form: Form) -> None:
    if form == "memory":
        raise UsageError("a memory cannot be started", "leave out --run, and open the agent in that folder")
    program = agents.get(agent).program
    if shutil.which(program) is None:
        raise NotFound(f"{program} is not on the PATH", "install it, or leave out --run")


@main.command("models")
@click.argument("name", required=False)
@click.option("--refresh", is_flag=True, help="First ask the providers whose key or address is in the environment.")
@as_json_option
def models_command(name: str | None, refresh: bool, as_json: bool) -> None:
    """What models take, and who says so."""
    from . import model_report
    from .capacities import Capacities
    from .storage import Store

    said = Capacities(Store())
    if refresh:
        for line in model_report.refreshed(said):
            click.echo(printable(line), err=as_json or name is not None)
        if name is None and not as_json:
            return
    if as_json:
        print_json(model_report.known(said) if name is None else model_report.document(name, said))
        return
    for line in model_report.listing(said) if name is None else model_report.lines(name, said):
        click.echo(printable(line))


@main.command("mcp")
def mcp_command() -> None:
    """Serve the MCP tools over stdin and stdout."""
    from .server import main as serve

    serve()


for _command in COMMANDS:
    main.add_command(_command)


if __name__ == "__main__":
    main()
