"""The ledger against the real clients: ``python scripts/prove_ledger.py`` writes ``docs/ledger.md``.

Sessions of 1, 20 and 100 MB (``benchmarks/generate.py``, everything live) are migrated into each agent at several
windows; the client resumes each (in its terminal, or as a command), and what it sends its model first is counted with
the counter that decided, over the texts of the recorded body. Needs the pinned clients (``make clients-install``), and
some minutes.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "clients"), str(ROOT / "tests"), str(ROOT / "benchmarks")]

import harness
from generate import generate
from going_on import framing, size, variables
from kinds import Setup, agent_of, arguments, kind_of

from session_migrator import Store, agents, migrate, tokens
from session_migrator.migration import Migration
from session_migrator.model import Message, Text

MEGABYTES = (1, 20, 100)
PROMPT = "Go on with the next step."
OUTPUT = ROOT / "docs" / "ledger.md"


@dataclass(frozen=True)
class Case:
    """A client, a model of it, the window it is to be taken for (a setting of the client's; None: its own), whether it
    is run as a command, whose session it goes on with (another agent's, so that each crosses over), and what share of
    the forecast it sends at least where the count is exact."""

    client: str
    model: str
    window: int | None
    command: bool = True
    source: str = "claude"
    least: float = 0.99


CASES = (
    Case("codex", "gpt-5.5", 32_000, command=False),
    Case("codex", "gpt-5.5", 128_000, command=False),
    Case("codex", "gpt-5.5", None, command=False),
    Case("claude-code", "claude-haiku-4-5", None, command=False, source="codex"),
    Case("claude-code", "claude-opus-5-5", None, command=False, source="codex"),
    Case("gemini", "gemini-2.5-pro", None, source="codex"),
    Case("opencode", "stub/gpt-5.5", 128_000),
    Case("codebuddy", "glm-4.6", 128_000),
    # As a command it is offered fewer tools than in its terminal, which the forecast is of.
    Case("qwen", "gpt-5.5", 128_000, least=0.96),
    Case("pi", "stub/gpt-5.5", 128_000),
    Case("kilo", "stub/gpt-5.5", 128_000),
    Case("copilot", "gpt-5.5", None),
    Case("openclaw", "stub/gpt-5.5", 128_000, least=0.5),  # it shortens long results
)


def prove(case: Case, source: Path, folder: Path) -> list[str]:
    """A row of the table. Raises SystemExit where something does not hold."""
    home, config = folder / "home", folder / "config"
    home.mkdir(parents=True)
    project = harness.make_project(folder / "project")
    where: dict[str, Any] = {"home": home, "cwd": project, "config_dir": config}
    kind_of(case.client).configure(Setup(client=case.client, model=case.model, window=case.window, **where))
    agent = agent_of(case.client)
    spec = agents.get(agent)
    taken = harness.on_path(case.client, home, spec.home_variable) if kind_of(case.client).imports else nullcontext()
    with taken, patch.dict(os.environ, {"HOME": str(home)}):  # where some clients have their settings
        done = migrate(source, agent, case.model, project, home=config, store=Store(folder / "store"))
    forecast, sent = _forecast(done, case.model), _sent(case, done, where)
    assert done.decision
    ledger = {entry.name: entry.tokens for entry in done.decision.ledger}
    room = ledger["context"] - ledger["reply_room"]
    exact = done.decision.counter.method == "exact"
    for holds, problem in (
        (sent <= room, f"{sent:,} tokens are over the window less the reply room, {room:,}"),
        (sent <= forecast, f"{sent:,} tokens are over the forecast of {forecast:,}"),
        (
            not exact or sent >= case.least * forecast,
            f"{sent:,} tokens are under {case.least:.0%} of the forecast of {forecast:,}",
        ),
    ):
        if not holds:
            raise SystemExit(f"{case} {source.name}: {problem}")
    figures = (ledger["context"], ledger["budget"], done.tokens_before, done.tokens_after, forecast, sent)
    method = done.decision.counter.method
    return [
        f"{case.client}, {case.model}",
        done.mode,
        *(f"{figure:,}" for figure in figures),
        f"{sent / forecast:.3f}",
        method,
    ]


def _forecast(done: Migration, model: str) -> int:
    assert done.decision
    ledger = {entry.name: entry.tokens for entry in done.decision.ledger}
    prompt = Message(role="user", parts=(Text(text=PROMPT),))
    return ledger["overhead"] + ledger["instructions"] + done.tokens_after + tokens.counter(model).message(prompt).high


def _sent(case: Case, done: Migration, where: dict[str, Any]) -> int:
    """The tokens of the first request, which is that of the prompt. Raises SystemExit where the client compacted."""
    spec = agents.get(agent_of(case.client))
    args = [*spec.resume_arguments(done.target["session_id"], case.model), PROMPT, *kind_of(case.client).quiet]
    answer = {"text": "The answer.", "usage": {"input": done.tokens_after, "output": 20}}
    settings: dict[str, Any] = {"model": case.model, "window": case.window, "timeout": 180}
    if case.command:
        args = [*arguments(kind_of(case.client).resume, model=case.model), done.target["session_id"], PROMPT]
        env = variables(str(done.target["resume"]), agent_of(case.client))
        run = harness.run_client(case.client, args, script=[answer], env=env, **settings, **where)
        sent = run.requests
    else:
        _, sent = harness.interact(case.client, args, [("The answer", "")], script=[answer], **settings, **where)
    first, asked = (harness.main_requests(case.client, sent, prompt)[:1] for prompt in (None, PROMPT))
    if not asked or first != asked:
        raise SystemExit(f"{case}: the client sent something else first, as it does to compact")
    return size(asked[0]["body"], case.model) + framing(asked[0]["body"], case.model)


def main() -> None:
    rows: list[list[str]] = []
    for megabytes in MEGABYTES:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            sources = {
                source: Path(folder) / source / f"rollout-2026-03-01T00-00-00-{megabytes}-mb.jsonl"
                for source in {case.source for case in CASES}
            }
            for source, path in sources.items():
                path.parent.mkdir()
                generate(source, megabytes, 1, path)
            for number, case in enumerate(CASES):
                place = Path(folder).resolve() / str(number)
                rows.append([f"{megabytes} MB", *prove(case, sources[case.source], place)])
                print(" | ".join(rows[-1]), file=sys.stderr)
                shutil.rmtree(place)
    clients = dict.fromkeys(case.client for case in CASES)
    versions = ", ".join(f"{client} {harness.VERSIONS[client]['version']}" for client in clients)
    heads = (
        "session",
        "into",
        "mode",
        "window",
        "budget",
        "before",
        "after",
        "forecast",
        "sent",
        "sent / forecast",
        "count",
    )
    table = "".join(f"| {' | '.join(row)} |\n" for row in (heads, ["---"] * len(heads), *rows))
    OUTPUT.write_text(TEXT.format(date=datetime.now(UTC).date().isoformat(), versions=versions, table=table), "utf-8")


TEXT = """\
# The ledger, against the real clients

    python scripts/prove_ledger.py

Generated sessions, all of them live, of another agent each, migrated into {versions} and resumed by the
client with one prompt, on {date}. Figures are tokens by the counter that decided. `sent` is the first request,
counted over the texts of its recorded body: system prompt, tools, messages. In every row the first request is that of
the prompt (the client did not compact), what it sent is within the window less the reply room and not above the
forecast, and where the count is exact it is at least 99 % of it (Qwen Code, which is run as a command here, is then
offered fewer tools than in its terminal). Gemini CLI sends far less than there is: of tool
results the latest 50,000 tokens, and in the place of the others where it has put them. OpenClaw too sends less: 32,000
characters of a result, in such a window (the migration has a note on both).

{table}"""


if __name__ == "__main__":
    main()
