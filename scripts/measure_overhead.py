"""Measure what each client adds to a request before the first user message.

``python scripts/measure_overhead.py [CLIENT ...]``: each pinned client starts and resumes a session in a scratch
project, as a command and in its terminal, once with every model it knows and once with a model it does not. From the
request the stub recorded, everything but the conversation is counted: the tools as compact JSON, the system prompt and
the injected messages as text. Three things make it an upper bound for any project: its path is long, the git status
(Claude Code) and the list of files (Gemini CLI) are at the length where the client cuts them, and the folder where the
client is installed, which OpenClaw names some twenty times, is as long as a version manager's. Instruction files
(AGENTS.md, CLAUDE.md) are not in it: there are none. The greatest figure of each kind of run goes to
``session_migrator/data/overhead.json``, with the number of texts beside the tools, each of which may be a message: what
frames one differs by model and is added when it is counted.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / name) for name in (".", "tests/clients")]

import harness
from kinds import agent_of, arguments, kind_of

from session_migrator import agents
from session_migrator.tokens import bpe

OUTPUT = Path(__file__).resolve().parents[1] / "session_migrator" / "data" / "overhead.json"
INSTALLED = "/home/somebody-with-a-name/.nvm/versions/node/v24.19.0/lib"
UNLISTED = "a-model-the-client-does-not-know"
Figures = dict[str, int]


def modes_of(client: str) -> dict[str, tuple[Sequence[str], Sequence[str]]]:
    """How a client runs: the arguments that start a session and those that resume it, by kind of run."""
    kind = kind_of(client)
    return {"command": (kind.start, kind.again)} | ({"terminal": kind.terminal} if kind.terminal else {})


def run(client: str, mode: str, model: str, turn: int, home: Path, project: Path) -> Figures:
    """The figures of the first request of one turn: turn 0 starts a session, turn 1 resumes it."""
    prompt, answer = f"prompt-{turn}", f"answer-{turn}"
    kind = kind_of(client)
    parts = modes_of(client)[mode]
    args = arguments(parts[turn], model=model)
    where: dict[str, Any] = {"home": home, "cwd": project, "model": model}
    script = [{"text": answer}]  # for no request without tools, such as one for a title
    if mode == "command":
        requests = harness.run_client(client, [*args, prompt], script=script, **where).requests
    else:
        named, typed = ([], [("answer-0", prompt), (prompt, "\r")]) if turn else ([prompt], [])
        args = [*args, *named, *kind.quiet]
        requests = harness.interact(client, args, [*typed, (answer, "")], script=script, **where)[1]
    bodies = [request["body"] for request in harness.main_requests(client, requests, prompt)]
    return max((figures(client, body) for body in bodies), key=lambda figures: figures["utf8_bytes"])


def figures(client: str, body: dict[str, Any]) -> Figures:
    """The sizes of what in a request is not its conversation."""
    tools = [json.dumps(tool, ensure_ascii=False, separators=(",", ":")) for tool in harness.offered_tools(body)]
    installed = str(harness.place_of(client, harness.FOLDER))
    texts = [text.replace(installed, INSTALLED) for text in kind_of(client).added(body)]
    return {
        "utf8_bytes": sum(len(text.encode()) for text in (*tools, *texts)),
        "o200k": sum(bpe.count("o200k_base", text)[1] for text in (*tools, *texts)),
        "texts": len(texts),
    }


def greatest(found: list[Figures]) -> Figures:
    return {key: max(figures[key] for figures in found) for key in ("utf8_bytes", "o200k", "texts")}


def measure(client: str, model: str) -> dict[str, Any]:
    """The figures of a model: the greatest, and those of each mode."""
    modes: dict[str, Figures] = {}
    for mode in modes_of(client):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder).resolve() / "somebody-with-a-name"
            project = harness.make_project(
                home / "projects" / "a-customer" / "a-project-with-a-rather-long-name-of-more-than-one-word"
            )
            for number in range(200):
                (project / f"a-changed-file-{number}.txt").touch()
            modes[mode] = greatest([run(client, mode, model, turn, home, project) for turn in (0, 1)])
    print(f"{client} {model}: {modes}", file=sys.stderr)
    return greatest(list(modes.values())) | modes


def main() -> None:
    result: dict[str, Any] = json.loads(OUTPUT.read_text(encoding="utf-8"))
    newest = [client for client in harness.CLIENTS if client == agent_of(client)]
    measures = dict.fromkeys(agents.get(client).overhead for client in sys.argv[1:] or newest)  # of one core: once
    for client in measures:
        kind = kind_of(client)
        measured = {model: measure(client, model) for model in (*kind.models(), UNLISTED)}
        result[client] = {
            "version": harness.VERSIONS[client]["version"],
            "measured": datetime.now(UTC).date().isoformat(),
            "source": "scripts/measure_overhead.py, which also says what is counted",
            # For a model not measured: an unlisted one where all that are listed were, else the greatest figure.
            "other": measured.pop(UNLISTED) if kind.all_models else greatest(list(measured.values())),
            "models": measured,
        }
        OUTPUT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
