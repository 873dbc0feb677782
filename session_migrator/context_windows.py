"""What a model takes: its window, found by any spelling of its id in a dated table (``data/models.json``).

An id reaches us as the vendor, a cloud, a router or a client spells it. ``normalize`` rewrites it step by
step and asks the table after every step, so a full known id always wins over a stripped one.
"""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from .model import Value

Source = Literal["user", "live", "client", "table", "family", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window(Value):
    """A model's limits in tokens, None where unknown: ``context`` is input and output together,
    ``max_input`` a limit on the input alone, ``max_output`` the longest reply. ``source`` is who says so;
    "family" marks a guess from the known models whose ids begin alike."""

    context: int | None = None
    max_input: int | None = None
    max_output: int | None = None
    source: Source


_LONGEST_ID = 256  # the longest real ids are cloud resource names of about 150 characters
_LONG_CONTEXT = re.compile(r"\[1m\]\s*$", re.I)

# Cumulative: each step works on what the one before it left. Order: client marks, paths, cloud forms,
# dates, vendor word order, and last the tails that name a variant or a build of the same model.
_STEPS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\s*\[[12]m\]$", ""),  # Claude Code: claude-opus-5[1m]
        (r"[\s(]+(?:none|minimal|low|medium|high|xhigh|max|[^()]*\))$", ""),  # effort: "gpt-5.5 high", "o3 (low)"
        (r":[a-z-]+$", ""),  # routers: ":free", ":thinking", ":latest"
        (r"^.*/", ""),  # provider paths and ARNs
        (r"@[\w.-]*$", ""),  # Vertex: "@20250929", "@default"
        (r"^[a-z-]+:(?=[a-z])", ""),  # "openai:gpt-5"
        (r"^(?:[a-z-]+\.)+(?=[a-z])", ""),  # Bedrock: "us.anthropic."
        (r"-v\d+(?::\d+k?)+$|(?<=-\d{8})-v\d+$", ""),  # Bedrock: "-v1:0", "-v1:0:200k"
        (r"[-@](?:20\d\d-?\d\d-?\d\d|\d\d-\d\d|\d{4})$", ""),  # dates of a snapshot
        (r"^claude-(\d+(?:[.-]\d)?)-([a-z]+)", r"claude-\2-\1"),  # claude-4.5-sonnet
        (r"^(claude-[a-z]+-\d)-0$", r"\1"),  # claude-opus-4-0
        (
            r"(?:-(?:latest|preview|exp|beta|it|instruct|thinking|fast|highspeed|minimal|low|medium|high|xhigh"
            r"|fp8|fp4|awq|gptq|gguf|20\d{6}|20\d\d-\d\d-\d\d)|:\d+b)+$",
            "",
        ),
    )
)
_PREVIEW = re.compile(r"-(?:latest|preview)$")

# Tokenizer families by how an id, or a part of its path, begins; the first that fits. A Claude of unknown
# number counts as new.
_FAMILIES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"(?:^|[./])(?:{pattern})"), family)
    for pattern, family in (
        (r"gpt-oss", "openai-harmony"),
        (r"gpt-(?:4(?!o|-[15](?!\d))|3-?5)", "openai-cl100k"),
        (r"gpt-|chatgpt|codex|o\d+(?:-|$)", "openai"),
        (r"claude-(?:instant|(?:[a-z]+-)?(?:[1-3](?!\d)|4(?!\d|-(?:[7-9]|[1-9]\d)(?!\d))))", "claude-4.6"),
        (r"claude", "claude-4.7"),
        (r"gemini|gemma", "gemini"),
        (r"deepseek", "deepseek"),
        (r"qwen|qwq|qvq", "qwen"),
        (r"llama|codellama", "llama"),
        (r"(?:mi|mini|magi)stral|mixtral|devstral|codestral|pixtral", "mistral"),
        (r"kimi|moonshot", "kimi"),
        (r"(?:chat)?glm", "glm"),
        (r"minimax|abab", "minimax"),
        (r"grok", "grok"),
    )
)


def window(model: str) -> Window | None:
    """The window of a model by any spelling of its id, from the table (source "table"), else that of the
    tightest known model whose id begins alike (source "family"), else None."""
    name = normalize(model)
    row = _by_key().get(_key(name))
    if row is None:
        return _family_window(name)
    long_context = row.get("long_context") if _LONG_CONTEXT.search(model[:_LONGEST_ID]) else None
    return Window(
        context=long_context or row["context"],
        max_input=row["max_input"],
        max_output=row["max_output"],
        source="table",
    )


def normalize(model: str) -> str:
    """The id as the table spells it; where the table lacks it, the id stripped of all that is not the
    model's own name. Never raises."""
    spellings = _spellings(model)
    known = _by_key()
    return next((known[key]["id"] for key in map(_key, spellings) if key in known), spellings[-1])


def family(model: str) -> str | None:
    """The tokenizer family of a model ("openai", "claude-4.7", "gemini", ...), also of ids the table does
    not have, told by how they begin. None for an unknown vendor."""
    for key in map(_key, reversed(_spellings(model))):
        for pattern, name in _FAMILIES:
            if pattern.search(key):
                return name
    return None


def near(model: str, n: int = 3) -> tuple[str, ...]:
    """Up to ``n`` known ids that look like ``model``, the likest first, else that contain it."""
    known, name = _by_key(), _key(normalize(model))
    keys = difflib.get_close_matches(name, known, n=n, cutoff=0.5) or [key for key in known if name and name in key]
    return tuple(dict.fromkeys(known[key]["id"] for key in keys))[:n]


def known_models() -> tuple[str, ...]:
    """All ids of the table, by vendor, the newest first."""
    return tuple(row["id"] for row in _rows())


def _spellings(model: str) -> list[str]:
    """The id as given (NFKC, lower case, no control characters), then after each step that changes it."""
    plain = unicodedata.normalize("NFKC", model[:_LONGEST_ID]).lower()
    plain = "".join(c for c in plain if c.isprintable()).strip()
    return list(_rewritten(plain))


def _rewritten(spelling: str) -> Iterator[str]:
    yield spelling
    for pattern, replacement in _STEPS:
        rewritten = pattern.sub(replacement, spelling)
        if rewritten != spelling:
            yield (spelling := rewritten)


def _key(spelling: str) -> str:
    """Dots, underscores, ``p`` and dashes between digits are one: claude-opus-4.7, glm-4-6, qwen3p8."""
    return re.sub(r"(?<=\d)[._p](?=\d)", "-", spelling.lower())


def _family_window(name: str) -> Window | None:
    """The limits of the tightest row among those that share the longest prefix of two words or more."""
    words = _key(name).split("-")
    for length in range(len(words), 1, -1):
        prefix = "-".join(words[:length])
        known = _by_key().get(prefix)
        rows = [known] if known else [row for row in _rows() if _key(row["id"]).startswith(prefix + "-")]
        if rows:
            row = min(rows, key=lambda row: row["max_input"] or row["context"])
            return Window(
                context=row["context"], max_input=row["max_input"], max_output=row["max_output"], source="family"
            )
    return None


@cache
def _rows() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads((files("session_migrator") / "data" / "models.json").read_text("utf-8"))["models"])


@cache
def _by_key() -> dict[str, dict[str, Any]]:
    """The rows by key; an id is found without its -latest or -preview too, unless that is a row itself."""
    known = {_key(row["id"]): row for row in _rows()}
    return {_PREVIEW.sub("", key): row for key, row in known.items()} | known
