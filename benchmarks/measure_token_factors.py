"""Measure the weights by which token counts are bounded where a family's own vocabulary is not at hand: the rows of
``data/token_factors.json``.

    python benchmarks/measure_token_factors.py [--gemma TOKENIZER.JSON] FILE_OR_FOLDER...

Needs Python 3.12 with the extras ``claude`` and ``tokenizers``, numpy and scipy; and for Gemini, whose local counter
counts with Gemma's vocabulary, the tokenizer.json of Gemma 3. ``.jsonl`` files are taken as sessions:
every string of theirs is a text, and the file as a whole is another. Of other files (``.json`` strings, the
translations in ``.po``, anything else as it is) random excerpts are taken, and texts made here are added:
tables, rules, base64, hex, logs, numbers, capitals, emoji, runs and cycles of characters.

A weighting is valid if it counts no text of 200 bytes or more too low, nor any bundle of texts of one kind; a
linear programme finds, among the valid ones, those with the least over-count on whole sessions, on their texts
summed up, and on one text on the average. ``MARGIN`` is added for texts not seen. The result goes to stdout as
JSON, the statistics to stderr.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import re
import string
import sys
import uuid
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tokie
from scipy.optimize import linprog

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from session_migrator.tokens import vocabularies
from session_migrator.tokens.bounds import measure
from session_migrator.tokens.features import FEATURES

# Models of each family, for their vocabularies; a family's rows bound the largest of its models' counts.
FAMILIES = {
    "claude-4.6": ("claude-opus-4-5",), "claude-4.7": ("claude-opus-4-8",), "deepseek": ("deepseek-v4-pro",),
    "qwen": ("qwen3-max", "qwen3.6-plus"), "mistral": ("mistral-medium-latest",), "llama": ("llama-3.3-70b",),
}  # fmt: skip
MARGIN = 1.015
SHORTEST = 200  # bytes
LONGEST = 100_000  # characters, since ctok is slow
SCRIPTS = ("han", "kana", "hangul", "cyrillic", "latin", "rest")
PLAIN = ("upper", "lower", "digits", "words", "punctuation")
HIGH = ("tokens", *PLAIN, *SCRIPTS, "blank", "blank_turns", "cycles", "root")
LOW = ("tokens", "punctuation", *SCRIPTS, "blank", "cycles", "root")
# Sessions have few characters beyond ASCII, so a row could buy its fit with absurd weights on them, and be of no use
# for a text with a single one. And an emoji of two tokens may be one in another vocabulary.
LIMITS = {1: dict.fromkeys(SCRIPTS, (0, 1.5)), -1: {"rest": (None, -0.34)}}
SKIPPED_KEYS = {"signature", "encrypted_content", "data", "thoughtSignature"}

random_ = random.Random(11)


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for key, item in value.items() if key not in SKIPPED_KEYS for text in strings(item))
    elif isinstance(value, list):
        yield from (text for item in value for text in strings(item))


def excerpts(text: str, number: int, longest: int = 4000) -> Iterator[str]:
    for _ in range(number if len(text) > SHORTEST else 0):
        length = int(SHORTEST * (longest / SHORTEST) ** random_.random())
        start = random_.randrange(max(1, len(text) - length))
        yield text[start : start + length]


def collected(path: Path) -> Iterator[tuple[str, str]]:
    """Kind and text of a file; sessions have the kind "session:..." that names the file."""
    content = path.read_text("utf-8", errors="replace")
    if path.suffix == ".jsonl":
        found = set()
        for line in content.splitlines():
            try:
                found.update(strings(json.loads(line)))
            except ValueError:
                continue
        for text in sorted(found):
            yield f"session:{path.name}", text[:LONGEST]
            yield from (("excerpt", part) for part in excerpts(text, len(text) // 8000 + (random_.random() < 0.5)))
    elif path.suffix == ".json":
        yield from (("text", text) for text in strings(json.loads(content)))
        yield from (("json", part) for part in excerpts(content, 100))
    elif path.suffix == ".po":
        translations = re.findall(r"msgstr .*?(?=\n\n|\Z)", content, re.S)[1:]
        text = " ".join(re.findall(r'"(.*?)"', " ".join(translations)))
        yield from ((f"language:{path.parts[-3]}", part) for part in excerpts(text, 3))
    else:
        yield from ((f"file:{path.suffix}", part) for part in excerpts(content, 3))


def made(words: list[str]) -> Iterator[tuple[str, str]]:
    """Texts that a vocabulary of words does badly on."""
    pick, whole = random_.choice, random_.randrange
    alphabets = (string.ascii_letters, string.ascii_uppercase, string.ascii_lowercase, string.punctuation,
                 string.ascii_letters + string.digits, string.printable, string.ascii_uppercase + "_")  # fmt: skip
    symbols = [*map(chr, range(0x1F300, 0x1F6FF)), *"✅❌→✓⚠"]
    for _ in range(250):
        size, width = whole(150, 3000), whole(4, 60)
        cell = pick((lambda: pick(words), lambda: str(whole(10**6)), lambda: f"{random_.random():.3f}", lambda: ""))
        rows = ("".join(cell().ljust(width) for _ in range(whole(1, 8))) for _ in range(whole(5, 40)))
        yield "table", pick(("\n", "\n\n", "\r\n", " \n", "\t\n")).join(rows)
        yield "table", "\n".join("|".join(cell().center(width) for _ in range(5)) for _ in range(20))
        yield "table", "\n".join(" " * whole(60) + pick(("}", "]", "x = 1", "</div>")) for _ in range(60))
        ends = pick(("\n", "\n\n", "\r\n", " \n"))
        yield "spaces", ends.join(" " * whole(20, 500) + pick(("", "", "x")) for _ in range(whole(5, 40)))
        blank = pick((" ", "\t", "\n", "  \n", "\t\t\n", " \t", "\t\n")) * whole(1, 400)
        yield "blank", (blank + pick(("", "x", "}", "foo"))) * whole(2, 20)
        yield "rules", "".join(pick("-=*#_~+─│./\\|") * whole(3, 90) + pick("\n a") for _ in range(25))
        yield "base64", base64.b64encode(random_.randbytes(size)).decode()
        yield "hex", pick((str.lower, str.upper))(random_.randbytes(size).hex())
        yield "hexdump", "\n".join(f"{at:08x}  {random_.randbytes(16).hex(' ')}" for at in range(0, size, 16))
        yield "log", "\n".join(
            f"2026-11-{whole(10, 29)}T10:{whole(10, 60)}:00.{whole(999):03}Z {pick(('INFO', 'WARN'))} {pick(words)} "
            f"{uuid.UUID(int=random_.getrandbits(128))}" for _ in range(size // 80 + 3)
        )  # fmt: skip
        yield "digits", pick(("", " ", ",", "\n")).join(str(whole(10 ** whole(1, 20))) for _ in range(size // 8))
        yield "letters", "".join(random_.choices(pick(alphabets), k=size))
        styles = (str.upper, str.capitalize, str.lower, str.swapcase)
        yield "camel", pick(("", " ", ".", "_", "/")).join(pick(styles)(pick(words)) for _ in range(size // 6))
        yield "capitals", pick((" ", "_", "-", "\n")).join(pick(words).upper() for _ in range(size // 6))
        yield "emoji", pick(("", " ")).join(pick(symbols) for _ in range(size // 4))
        yield "symbols", pick(("", " ")).join(pick("✅❌→✓⚠•…📊🚀") for _ in range(size // 4))
        yield "runs", "".join(pick(string.printable) * int(1.5 ** whole(12)) for _ in range(size // 30 + 3))
        yield "runs", "".join(pick(string.ascii_letters) * whole(1, 40) + pick(("", " ")) for _ in range(60))
        yield "cycle", "".join(random_.choices(string.printable, k=whole(2, 5))) * whole(100, 700)
        record = {pick(words): pick((whole(10**9), pick(words), None, str(uuid.UUID(int=whole(2**128))), [1, 2]))
                  for _ in range(12)}  # fmt: skip
        yield "json", json.dumps([record] * 3, indent=pick((None, 1, 2, 4)))
    for character in string.printable + "é中あ한я→─":
        yield from (("one", character * whole(200, 3000)) for _ in range(6))


def weights(
    rows: np.ndarray, counts: np.ndarray, cost: np.ndarray, names: tuple[str, ...], sign: int
) -> dict[str, float]:
    """The valid weights of least cost: an upper bound where ``sign`` is 1, a lower one where it is -1."""
    bounds = [LIMITS[sign].get(name, (0, None) if sign > 0 or name == "tokens" else (None, 0)) for name in names]
    found = linprog(sign * cost @ rows, A_ub=-sign * rows, b_ub=-sign * counts, bounds=bounds, method="highs")
    scale = MARGIN**sign
    return {name: round(float(x) * (scale if x > 0 else 1 / scale), 4) for name, x in zip(names, found.x, strict=True)
            if abs(x) > 5e-5}  # fmt: skip


def counted(texts: list[str], gemma: str | None) -> dict[str, np.ndarray]:
    """The true counts of each family, of the vocabulary that takes the least and of the one that takes the most (two
    rows); "open": of all whose vocabulary is public, "unknown": of all."""
    true: dict[str, np.ndarray] = {}
    for family, models in FAMILIES.items():
        known = [vocabulary for model in models if (vocabulary := vocabularies.of(model))]
        counts = np.array([[each.count([text])[1] for text in texts] for each in known], float)
        true[family] = np.array([counts.min(0), counts.max(0)])
    if gemma:
        tokenizer = tokie.Tokenizer.from_json(gemma)
        counts = np.array([len(tokenizer.encode(text, add_special_tokens=False)) for text in texts], float)
        true["gemini"] = np.array([counts, counts])
    for name, families in (("open", [family for family in true if "claude" not in family]), ("unknown", [*true])):
        least, most = zip(*(true[family] for family in families), strict=True)
        true[name] = np.array([np.min(least, axis=0), np.max(most, axis=0)])
    return true


def main(paths: list[str], gemma: str | None) -> None:
    files = [file for path in map(Path, paths) for file in ([path] if path.is_file() else sorted(path.rglob("*.*")))]
    texts = [item for file in files if file.is_file() for item in collected(file)]
    words = re.findall(r"[A-Za-z]+", " ".join(text for kind, text in texts if kind.startswith("file")))
    texts += made(words)
    texts = [(kind, text) for kind, text in texts if len(text.encode()) >= SHORTEST]
    kinds = np.array([kind for kind, _ in texts], object)
    print(f"{len(texts)} texts, {sum(len(text) for _, text in texts) / 1e6:.1f} M characters", file=sys.stderr)

    found = [measure(text, FEATURES, "o200k_base") for _, text in texts]
    features = np.array([[row[name] for name in HIGH[:-1]] for row in found], float)
    groups = bundles(kinds)
    result = {}
    for family, (least, most) in counted([text for _, text in texts], gemma).items():
        result[family] = fitted(family, kinds, features, least, most, groups)
    json.dump(result, sys.stdout, indent=1)


def fitted(
    family: str, kinds: np.ndarray, features: np.ndarray, least: np.ndarray, most: np.ndarray, groups: list[np.ndarray]
) -> dict[str, list[dict[str, float]]]:
    """The rows of weights of a family; what they are worth goes to stderr."""
    rows = np.vstack([features, [features[group].sum(0) for group in groups]])
    rows = np.hstack([rows, np.sqrt(rows[:, :1])])
    fewest, counts = (np.concatenate([true, [true[group].sum() for group in groups]]) for true in (least, most))
    is_text = np.concatenate([[kind.startswith("session") for kind in kinds], np.zeros(len(groups), bool)])
    whole = slice(len(most), len(most) + len({kind for kind in kinds if kind.startswith("session")}))
    per_session, per_text = np.zeros(len(counts)), np.where(is_text, 1 / np.maximum(counts, 1), 0) / is_text.sum()
    per_session[whole] = 1 / counts[whole] / len(counts[whole])
    summed = np.where(is_text, 1 / counts[is_text].sum(), 0)
    foreign = np.concatenate([[kind.startswith("language") for kind in kinds], np.zeros(len(groups), bool)])
    per_foreign = np.where(foreign, 1 / np.maximum(counts, 1), 0) / max(1, foreign.sum())
    aims = (per_session + 1e-4 * summed + 0.02 * per_foreign, summed + 0.02 * per_foreign, per_text + per_foreign)
    high = [weights(rows, counts, aim, HIGH, 1) for aim in aims]
    low = [weights(rows[:, [HIGH.index(name) for name in LOW]], fewest, aim, LOW, -1) for aim in aims]

    upper = np.min([bound(rows, row) for row in high], axis=0)
    lower = np.maximum(np.max([bound(rows, row) for row in low], axis=0), 0)
    over, ratio = upper / np.maximum(counts, 1), counts / rows[:, 0]
    long = is_text & (rows[:, 0] > 1000)
    figures = {
        "texts too low": (over[: len(most)] < 1).sum(),
        "lower ends too high": (lower > fewest).sum(),
        "over-count of whole sessions": over[whole].mean(),
        "the most": over[whole].max(),
        "of their texts summed": upper[is_text].sum() / counts[is_text].sum(),
        "median of one text": np.median(over[is_text]),
        "lower end of whole sessions": (lower[whole] / counts[whole]).mean(),
        "ratio to o200k of whole sessions": (ratio[whole].min(), ratio[whole].max()),
        "of texts over 1,000 tokens": (ratio[long].min(initial=np.inf), ratio[long].max(initial=0)),
    }
    print(family, *(f"{name} {np.round(value, 3)}" for name, value in figures.items()), sep="\n  ", file=sys.stderr)
    return {"low": [rename(row) for row in low], "high": high}


def bundles(kinds: np.ndarray) -> list[np.ndarray]:
    """Indexes of the texts of each session, then of random bundles of one kind: what holds for single texts
    by their margin must hold for many alike."""
    members = defaultdict(list)
    for index, kind in enumerate(kinds):
        members[kind].append(index)
    sessions = [np.array(members[kind]) for kind in sorted(members) if kind.startswith("session")]
    drawn = [
        np.array(random_.sample(indexes, min(size, len(indexes))))
        for _, indexes in sorted(members.items())
        for size in (10, 40, 160)
        for _ in range(6)
    ]
    return sessions + drawn


def bound(rows: np.ndarray, row: dict[str, float]) -> np.ndarray:
    return rows @ np.array([row.get(name, 0.0) for name in HIGH])


def rename(row: dict[str, float]) -> dict[str, float]:
    """A lower bound counts with the certain end of the o200k count."""
    return {"certain" if name == "tokens" else name: weight for name, weight in row.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--gemma", help="the tokenizer.json of Gemma 3")
    options = parser.parse_args()
    main(options.paths, options.gemma)
