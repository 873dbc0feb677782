"""Measure what each client adds to a request before the first user message: ``python scripts/measure_overhead.py``.

Each pinned client starts and resumes a session in a scratch project, as a command and in its terminal,
once with every model it knows and once with a model it does not. From the request the stub recorded,
everything but the conversation is counted: the tools as compact JSON, the system prompt and the injected
messages as text. Two things make it an upper bound for any project: the path is long, and the git status,
which Claude Code puts in, is at the length where the client cuts it. Instruction files (AGENTS.md,
CLAUDE.md) are not in it: there are none. The greatest figure of each kind of run goes to
``session_migrator/data/overhead.json``; framing tokens between messages are not in it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / name) for name in (".", "tests/clients")]

import harness
from kinds import kind_of

from session_migrator.tokens import bpe

OUTPUT = Path(__file__).resolve().parents[1] / "session_migrator" / "data" / "overhead.json"
UNLISTED = "a-model-the-client-does-not-know"
# The ids of Claude Code's own catalogue that lead to different prompts or are current.
CLAUDE_MODELS = (
    *("claude-opus-5-5", "claude-opus-5", "claude-opus-4-8", "claude-opus-4-7", "claude-opus-4-6", "claude-opus-4-5"),
    *("claude-sonnet-5-5", "claude-sonnet-5", "claude-sonnet-4-6", "claude-sonnet-4-5"),
    *("claude-haiku-5-5", "claude-haiku-4-5", "claude-fable-5-2"),
)
COMMANDS = {
    "codex": {"command": (["exec"], ["exec", "resume", "--last"]), "terminal": ([], ["resume", "--last"])},
    "claude-code": {"command": (["-p"], ["-p", "--continue"]), "terminal": ([], ["--continue"])},
}
Figures = dict[str, int]


def added(client: str, body: dict[str, Any]) -> Iterator[str]:
    """The texts of a request that are not its conversation."""
    for tool in harness.offered_tools(body):
        yield json.dumps(tool, ensure_ascii=False, separators=(",", ":"))
    if client == "codex":
        yield body.get("instructions", "")
        for message in body["input"]:
            for part in message.get("content") or ():
                text = part.get("text", "")
                if message["role"] == "developer" or text.startswith(kind_of(client).own):
                    yield text
        return
    for block in body["system"]:
        yield block["text"]
    for message in body["messages"]:
        parts = message["content"]
        for text in [parts] if isinstance(parts, str) else [part.get("text", "") for part in parts]:
            if message["role"] == "system" or text.startswith(kind_of(client).own):
                yield text


def run(client: str, mode: str, model: str, turn: int, home: Path, project: Path) -> Figures:
    """The figures of the first request of one turn: turn 0 starts a session, turn 1 resumes it."""
    prompt, answer = f"prompt-{turn}", f"answer-{turn}"
    args = [*COMMANDS[client][mode][turn], *(["--model", model] if client == "claude-code" else []), prompt]
    where: dict[str, Any] = {"home": home, "cwd": project, "model": model}
    script = [{"match": prompt, "text": answer}]
    if mode == "command":
        requests = harness.run_client(client, args, script=script, **where).requests
    else:
        # A background server of Codex would outlive the run.
        args += ["--no-daemon"] if client == "codex" else []
        requests = harness.interact(client, args, [(answer, "")], script=script, **where)[1]
    bodies = [request["body"] for request in harness.main_requests(client, requests, prompt)]
    texts = max(([*added(client, body)] for body in bodies), key=lambda texts: sum(map(len, texts)))
    return {
        "utf8_bytes": sum(len(text.encode()) for text in texts),
        "o200k": sum(bpe.count("o200k_base", text)[1] for text in texts),
    }


def greatest(figures: list[Figures]) -> Figures:
    return {key: max(figure[key] for figure in figures) for key in ("utf8_bytes", "o200k")}


def measure(client: str, model: str) -> dict[str, Any]:
    """The figures of a model: the greatest, and those of each mode."""
    modes: dict[str, Figures] = {}
    for mode in COMMANDS[client]:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder).resolve() / "somebody-with-a-name"
            project = harness.make_project(home / "projects" / "a-customer" / "a-project-with-a-rather-long-name")
            for number in range(200):
                (project / f"a-changed-file-{number}.txt").touch()
            modes[mode] = greatest([run(client, mode, model, turn, home, project) for turn in (0, 1)])
    print(f"{client} {model}: {modes}", file=sys.stderr)
    return greatest(list(modes.values())) | modes


def codex_models() -> list[str]:
    """The models in the catalogue that is built into the client."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        listed = harness.run_client("codex", ["debug", "models"], home=home, cwd=home).stdout
    return [model["slug"] for model in json.loads(listed)["models"]]


def main() -> None:
    result: dict[str, Any] = {}
    for client, models in (("codex", codex_models()), ("claude-code", list(CLAUDE_MODELS))):
        measured = {model: measure(client, model) for model in (*models, UNLISTED)}
        result[client] = {
            "version": harness.VERSIONS[client]["version"],
            "measured": datetime.now(UTC).date().isoformat(),
            "source": "scripts/measure_overhead.py, which also says what is counted",
            # For a model not measured: all that Codex lists are, so it would be unlisted there; of Claude Code's
            # older models some are not, so the greatest figure stands for them.
            "other": measured.pop(UNLISTED) if client == "codex" else greatest(list(measured.values())),
            "models": measured,
        }
    OUTPUT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
