"""How many ids of the catalogues ``context_windows.normalize`` resolves, judged by another, plainer reading of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from session_migrator.context_windows import key, known_models, normalize

from .catalogs import Record
from .merging import MODELS_DEV

_WORD = re.compile(r"(?<![a-z\d])[a-z][a-z\d]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Of ``named`` ids that have a known model's id in them, as whole words: how many are found as that model (or a
    narrower one of its name), which as another (id, the model in it, what was found), and which are not found."""

    named: int
    right: int
    other: list[tuple[str, str, str]]
    unknown: list[tuple[str, str]]


def resolved(records: Iterable[Record]) -> Resolved:
    """The ids of litellm and models.dev, these also with the provider before them, as its clients write them."""
    ids: set[str] = set()
    for record in records:
        if record.catalog in ("litellm", *MODELS_DEV):
            ids.add(record.id)
        if record.catalog in MODELS_DEV:
            ids.add(f"{record.provider}/{record.id}")
    named, other, unknown = 0, [], []
    known = {key(model): model for model in known_models()}
    by_word: defaultdict[str, list[str]] = defaultdict(list)
    for name in known:
        by_word[_WORD.match(name)[0]].append(name)  # type: ignore[index]
    for id_ in sorted(ids):
        if expected := _longest(key(id_), by_word):
            named += 1
            found = key(normalize(id_))
            if found not in known:
                unknown.append((id_, known[expected]))
            elif not found.startswith(expected):
                other.append((id_, known[expected], known[found]))
    return Resolved(named=named, right=named - len(other) - len(unknown), other=other, unknown=unknown)


def _longest(id_: str, by_word: dict[str, list[str]]) -> str:
    """The longest known id in an id, as whole words, or "" where there is none."""
    inside = (
        name
        for word in _WORD.finditer(id_)
        for name in by_word.get(word[0], ())
        if re.match(re.escape(name) + r"(?![a-z\d])", id_[word.start() :])
    )
    return max(inside, key=lambda name: (len(name), name), default="")
