"""What a model takes: its window, found by any spelling of its id in a dated table (``data/models.json``).

An id reaches us as the vendor, a cloud, a router or a client spells it. ``normalize`` rewrites it step by
step and asks the table after every step, so a full known id always wins over a stripped one. The table is made by
``scripts/update_models.py``; ``docs/models.md`` says from what and how.
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
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

from .model import Value

Source = Literal["user", "live", "client", "table", "family", "unknown"]
Row = dict[str, Any]
Steps = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window(Value):
    """A model's limits in tokens, None where unknown: ``context`` is input and output together,
    ``max_input`` a limit on the input alone, ``max_output`` the longest reply. ``source`` is who says so;
    "family" marks a guess from the known models whose ids begin alike."""

    context: int | None = None
    max_input: int | None = None
    max_output: int | None = None
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts(Value):
    """A row of the table. ``released``: a date, or "by 2026-11" where only the first snapshot is known that has the
    model. ``window`` is the vendor's own, ``long_context`` the context of the id with ``[1m]``. ``price``: US dollars
    per million tokens, {"input", "output"}. ``providers``: the limits of hosts that differ from the window, by the
    prefix that names the host. ``sources``: who says so, with version and licence."""

    model: str
    vendor: str
    released: str
    window: Window
    long_context: int | None
    price: dict[str, float] | None
    providers: dict[str, Window]
    sources: tuple[str, ...]
    note: str | None


_LONGEST_ID = 256  # the longest real ids are cloud resource names of about 150 characters
_LONG_CONTEXT = re.compile(r"\[1m\]\s*$", re.I)

# Cumulative: each step works on what the one before it left. First what is not the model's name: client marks, paths,
# cloud forms, full dates, vendor names and word order, builds of the same weights.
_FORMS: Steps = (
    (r"\s*\[[12]m\]$", ""),  # Claude Code: claude-opus-5[1m]
    (r"[\s(]+(?:none|minimal|low|medium|high|xhigh|max|[^()]*\))$", ""),  # effort: "gpt-5.5 high", "o3 (low)"
    (r"(?::(?:[a-z-]+|variant\d|\d{3,}))+$", ""),  # routers: ":free", ":thinking:8192", ":latest"
    (r"^.*/", ""),  # provider paths and ARNs
    (r"\s+", "-"),  # "Claude Opus 5"
    (r"@[\w.-]*$", ""),  # Vertex: "@20250929", "@default"
    (r"^[a-z-]+:(?=[a-z])", ""),  # "openai:gpt-5"
    (r"\bdeepseek\.(?=[vr]\d)", "deepseek-"),  # Bedrock: "us.deepseek.r1"
    (r"^(?:(?:[a-z-]+|ai21)\.)+(?=[a-z])", ""),  # Bedrock: "us.anthropic."
    (r"-v?\d+(?::\d+k?)+$|(?<=-\d{8})-v\d+$", ""),  # Bedrock: "-v1:0", "-v1:0:200k", "-1:0"
    (
        r"^(?:[a-z]+--|(?:openai|anthropic|google|meta|databricks|mistralai|moonshot(?:ai)?|deepseek-ai|nvidia|xai|z-?ai"
        r"(?:-org)?|cohere|minimax|qwen|xiaomi|arcee|perplexity|azure|snowflake|groq|cerebras|alicloud|fw|umans|coding"
        r"|duo-chat)-(?:meta-|xiaomi-)?(?=gpt|o\d|claude|gem|(?:code)?llama|\w*stral|kimi|deepseek|nemotron|grok|glm"
        r"|command|minimax|qw|mimo|trinity|sonar))",
        "",
    ),  # a vendor's or a host's name before the model's: "databricks-meta-llama-3-3-70b", SAP's "anthropic--claude-4"
    (r"[-@](?:20\d\d-?\d\d-?\d\d|\d\d-20\d\d)$", ""),  # the date of a snapshot
    (r"^claude-?([4-9](?:[.-]\d)?)-([a-z]+)", r"claude-\2-\1"),  # claude-4.5-sonnet
    (r"^claude-([a-z]+)-(3(?:[.-][57])?)(?![^-])", r"claude-\2-\1"),  # and until 3.7 the other way round
    (r"^(claude-[a-z]+-\d)-0$", r"\1"),  # claude-opus-4-0
    (r"^((?:nova|claude)-.+)-v\d+$", r"\1"),  # Bedrock
    (r":(\d+b)(?:-cloud)?$", r"-\1"),  # Ollama: llama3.1:8b
    (r"^gpt-35", "gpt-3.5"),  # Azure
    (r"^llama-?v?(?=\d)", "llama-"),  # llama3-3-70b, llama-v3p1-8b
    (r"^gemma(?=\d)", "gemma-"),
    (r"^(llama-4-[a-z]+)-17b(?:-\d+e)?", r"\1"),  # its only size
    (r"^deepseek-(?=\d)", "deepseek-v"),
    (r"^qwen-(?=\d)", "qwen"),
    (r"^qwen(\d)-?(?=\d-)", r"qwen\1."),  # qwen2-5-72b, qwen35-122b
    (r"^minimax-m(\d)(?=\d$)", r"minimax-m\1."),
    (r"(?<!turbo)-instruct(?=-\d{4}$)", ""),  # mistral-large-instruct-2411
    (
        r"(?:-(?:it|instruct(?:-turbo)?|versatile|hf|maas|free|tee|cs|fw|flex|spot|original|high-throughput|mtp"
        r"|fp8|fp4|nvfp4|mxfp4|bf16|int4|int8|awq|gptq|gguf|tput|dynamic))+$",
        "",
    ),  # builds of the same weights
)
# Then, as a last resort, the tails that name a variant or a snapshot of the same model.
_DATE = r"-(?:\d\d-\d\d|\d{4}|\d{6}|\d{3}|gv\d)"  # short ones, and "-001"
_TAIL = (
    r"(?:-(?:latest|preview|exp|beta|ga|thinking|think|nothink|no-thinking|fast|highspeed|none|minimal|low|medium|high"
    r"|xhigh|it|instruct|fp8|20\d{6}|20\d\d-\d\d-\d\d|\d\d-\d\d))"
)
_TAILS: Steps = (
    (r"^(grok-\d[\d.-]*(?:-multi-agent)?)(?:-(?:experimental|beta|latest|\d{4}))+", r"\1"),
    (rf"{_DATE}$", ""),
    (rf"{_TAIL}$", ""),
    (rf"{_DATE}$", ""),
    (rf"{_TAIL}+$", ""),
)
_PREVIEW = re.compile(r"-(?:latest|preview)$")

# Where the id's form names the provider, not its path.
_BEDROCK = re.compile(r"(?:^|/)(?:(?:[a-z-]+|ai21)\.)+[a-z][^/]*$")
_VERTEX = re.compile(r"claude-[^/]*@|publishers/")

# Tokenizer families by how an id, or a part of its path, begins; the first that fits. A Claude of unknown
# number counts as new.
_FAMILIES: Steps = tuple(
    (rf"(?:^|[./])(?:{pattern})", family)
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
        (r"(?:open-|labs-)?(?:(?:mi|mini|magi|dev|code|pix|lean)s?tral|mixtral)", "mistral"),
        (r"kimi|moonshot", "kimi"),
        (r"(?:chat)?glm", "glm"),
        (r"minimax|abab", "minimax"),
        (r"grok", "grok"),
    )
)


def window(model: str) -> Window | None:
    """The window of a model by any spelling of its id, from the table (source "table"): the provider's, where the id
    names one that serves less or more than the vendor, else the vendor's. Of an id that is not there, that of the
    tightest known model whose id begins alike (source "family"), else None."""
    name = normalize(model)
    row = _by_key().get(key(name))
    if row is None:
        return _family_window(name)
    if "long_context" in row and _LONG_CONTEXT.search(model[:_LONGEST_ID]):
        return _window({**row, "context": row["long_context"]})
    served = row.get("providers", {})
    return next((_limits(served[name]) for name in _providers(model) if name in served), _window(row))


def facts(model: str) -> Facts | None:
    """The row of the table of a model, by any spelling of its id, or None."""
    row = _by_key().get(key(normalize(model)))
    if row is None:
        return None
    price = row.get("price")
    return Facts(
        model=row["id"], vendor=row["vendor"], released=row["released"], window=_window(row),
        long_context=row.get("long_context"), price={"input": price[0], "output": price[1]} if price else None,
        providers={name: _limits(limits) for name, limits in row.get("providers", {}).items()},
        sources=tuple(_table()["sources"][name] for name in row["sources"]), note=row.get("note"),
    )  # fmt: skip


def normalize(model: str) -> str:
    """The id as the table spells it; where the table lacks it, the id stripped of all that is not the
    model's own name. Never raises."""
    rewritten, known = spellings(model), _by_key()
    return next((known[name]["id"] for name in map(key, rewritten) if name in known), rewritten[-1])


def family(model: str) -> str | None:
    """The tokenizer family of a model ("openai", "claude-4.7", "gemini", ...), also of ids the table does
    not have, told by how they begin. None for an unknown vendor."""
    for spelling in map(key, reversed(spellings(model))):
        for pattern, name in _compiled(_FAMILIES):
            if pattern.search(spelling):
                return name
    return None


def near(model: str, n: int = 3) -> tuple[str, ...]:
    """Up to ``n`` known ids that have ``model`` in them as whole words, else that look like it, the likest first."""
    known, name = _by_key(), key(normalize(model))
    inside = [each for each in known if name and f"-{name}-" in f"-{each}-"]
    found = inside or difflib.get_close_matches(name, known, n=n, cutoff=0.6)
    return tuple(dict.fromkeys(known[each]["id"] for each in found))[:n]


def known_models() -> tuple[str, ...]:
    """All ids of the table, by vendor, the newest first."""
    return tuple(row["id"] for row in _rows())


def vendors() -> dict[str, tuple[str, ...]]:
    """The ids of the table by vendor, the vendors in the table's order, the newest model first."""
    return {vendor: tuple(row["id"] for row in rows) for vendor, rows in groupby(_rows(), itemgetter("vendor"))}


def spellings(model: str) -> list[str]:
    """The id as given (NFKC, lower case, no control characters), then after each step that changes it."""
    return list(_rewritten(_plain(model), _FORMS + _TAILS))


def stem(model: str) -> str:
    """The id without what a client, a provider, a cloud or a build adds to it, whether or not the table has it."""
    return list(_rewritten(_plain(model), _FORMS))[-1]


def key(spelling: str) -> str:
    """What ids are compared by: dots, underscores, ``p`` and dashes between digits are one: claude-opus-4.7, glm-4-6,
    qwen3p8."""
    return re.sub(r"(?<=\d)[._p](?=\d)", "-", spelling.lower())


def _plain(model: str) -> str:
    plain = unicodedata.normalize("NFKC", model[:_LONGEST_ID]).lower()
    return "".join(c for c in plain if c.isprintable()).strip()


def _rewritten(spelling: str, steps: Steps) -> Iterator[str]:
    yield spelling
    for pattern, replacement in _compiled(steps):
        rewritten = pattern.sub(replacement, spelling)
        if rewritten != spelling:
            yield (spelling := rewritten)


@cache
def _compiled(steps: Steps) -> list[tuple[re.Pattern[str], str]]:
    """When they are needed: it takes longer than the import of this module."""
    return [(re.compile(pattern), replacement) for pattern, replacement in steps]


def _providers(model: str) -> Iterator[str]:
    """The names of providers that the id may hold, as the table spells them."""
    plain = _plain(model)
    names = _table()["providers"]
    forms = (("bedrock", _BEDROCK), ("vertex", _VERTEX))
    for part in [*re.split(r"[/:]", plain)[:-1], *(name for name, form in forms if form.search(plain))]:
        if name := names.get(re.sub(r"[^a-z\d]", "", part)):
            yield name


def _family_window(name: str) -> Window | None:
    """The limits of the tightest row among those that share the longest prefix of two words or more."""
    words = key(name).split("-")
    for length in range(len(words), 1, -1):
        prefix = "-".join(words[:length])
        known = _by_key().get(prefix)
        rows = [known] if known else [row for each, row in _by_key().items() if each.startswith(prefix + "-")]
        if rows:
            return _window(min(rows, key=lambda row: row.get("max_input") or row["context"]), "family")
    return None


def _window(row: Row, source: Source = "table") -> Window:
    return Window(
        context=row["context"], max_input=row.get("max_input"), max_output=row.get("max_output"), source=source
    )


def _limits(limits: list[int | None]) -> Window:
    context, max_input, max_output = limits
    return Window(context=context, max_input=max_input, max_output=max_output, source="table")


@cache
def _table() -> dict[str, Any]:
    return json.loads((files("session_migrator") / "data" / "models.json").read_text("utf-8"))


def _rows() -> list[Row]:
    return _table()["models"]


@cache
def _by_key() -> dict[str, Row]:
    """The rows by key; an id is found without its -latest or -preview too, unless that is a row itself."""
    known = {key(row["id"]): row for row in _rows()}
    return {_PREVIEW.sub("", name): row for name, row in known.items()} | known
