"""Counting: ``python benchmarks/count.py``.

For texts of ten kinds (``texts``), how far the ends of the bounds from o200k_base lie from the true count, which each
family's own vocabulary gives: low / true, high / true. Then the speed of each counter on a session of 100 MB. Needs the
extras ``claude`` (Python 3.12) and ``tokenizers``; Gemini's count is not known here, and what nobody can count is left
out.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from generate import generate
from texts import texts

from session_migrator import read_session, tokens
from session_migrator.tokens import content, vocabularies
from session_migrator.tokens.bounds import Bounds

MODELS = ("claude-opus-4-5", "claude-opus-5-5", "deepseek-v4-pro", "qwen3-max", "qwen3.6-plus", "mistral-medium-latest",
          "llama-3.3-70b")  # fmt: skip
SPEED = ("gpt-5.5", "gpt-4", *MODELS)
MEGABYTES = 100
SLOW = 100  # how many times less is counted by the slow ones


def bounds(model: str) -> Bounds:
    """What a model's texts are bounded by where its own vocabulary is not installed."""
    return Bounds(tokens.rule(model), "o200k_base")


def true(model: str, text: str) -> int:
    """The tokens of a text, by the model's own vocabulary. Raises SystemExit where it is not installed."""
    vocabulary = vocabularies.of(model)
    if vocabulary is None or not vocabulary.installed:
        raise SystemExit(f"error: {model} cannot be counted\ntry: {vocabulary and vocabulary.remedy}")
    return vocabulary.count([text])[1]


def main() -> None:
    kinds = texts()
    print(f"| | {' | '.join(kinds)} |\n|---|{'---|' * len(kinds)}")
    for model in MODELS:
        cells: list[str] = []
        for text in kinds.values():
            (low, high), exact = bounds(model)([text]), true(model, text)
            cells.append(f"{low / exact:.2f}-{high / exact:.2f}")
        print(f"| {model} | {' | '.join(cells)} |")

    said = session_texts()
    print("\n| | counter | MB per CPU second |\n|---|---|---|")
    for model in SPEED:
        for counter in filter(None, (tokens.counter(model), tokens.counter(model).finer)):
            counter.text("loaded")
            some = said if counter.method != "reconstructed" else said[: len(said) // SLOW]
            started = time.process_time()
            counter.count(some)
            took = time.process_time() - started
            size = sum(len(text.encode()) for text in some)
            print(f"| {model} | {counter.name} | {size / 1e6 / took:.1f} |")


def session_texts() -> list[str]:
    """What was said, called and returned in a session of 100 MB (``generate``)."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        path = Path(folder) / "rollout-2026-03-01T00-00-00-session.jsonl"
        generate("codex", MEGABYTES, 1, path)
        return [text for message in read_session(path).messages for text in content.texts(message.parts)]


if __name__ == "__main__":
    main()
