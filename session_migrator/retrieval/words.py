"""Text as the words that an index holds, and a question as what is looked for in it.

SQLite's tokenizer (``porter unicode61``) stems English and splits at whatever is no letter or digit, so also at the
dots and underscores of identifiers. What it does not do is done here: scripts without spaces become overlapping pairs
of characters, and identifiers in camel case their parts as well.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# Han, Kana, Hangul: written without spaces, or with endings on each word.
_PAIRED = (
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
)
_RUN = re.compile(f"[{_PAIRED}]+")
_WORD = re.compile(f"[{_PAIRED}]+|(?:(?![{_PAIRED}])[^\\W_])+(?:[._/:-]+(?:(?![{_PAIRED}])[^\\W_])+)*")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LONGEST = 64  # characters of a word: what is longer is encoded data
_MOST = 100  # words of a question that are looked for
_STOP = frozenset(
    word
    for line in """
    a about after again all also am an and any are as at be because been before being both but by can could did do does
    doing done each else few for from further get got had has have having he her here hers him his how i if in into is
    it its just like me mine more most my no nor not now of off on once one only or other our ours out over own s same
    she should so some such t than that the their theirs them then there these they this those through to too under
    until up us very was we were what when where which while who whom whose why will with would you your yours
    """.splitlines()
    for word in line.split()
)


def terms(text: str) -> tuple[str, str]:
    """What is indexed of a text: the text with pairs in the place of runs of scripts without spaces, and the parts of
    the identifiers in it."""
    text = unicodedata.normalize("NFKC", text)
    parts = (" ".join(split) for word in re.findall(r"\w+", text) if (split := _parts(word)))
    return _RUN.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", text), " ".join(parts)


def question(text: str, *, common: bool = True) -> str:
    """What is looked for: any of the words, as an FTS5 expression; empty where there are none. Words that stand in
    every English text are left out, unless there are no others (``common``: then these)."""
    found = dict.fromkeys(term for word in _telling(text, common=common) for term in _terms(word))
    return " OR ".join(found)


def shown_from(text: str, asked: str, width: int) -> int:
    """Where in a text to begin to show so many characters: at the line that holds the most of the words of a question,
    or of their parts (the first of such lines; the text's beginning where none holds any), or within it, where they
    would not be reached."""
    wanted = {term.strip('"*').casefold() for word in _telling(asked) for term in _terms(word)}
    lines = text.splitlines(keepends=True)
    places = [[at for word in wanted if (at := line.find(word)) >= 0] for line in map(str.casefold, lines)]
    best = max(range(len(lines)), key=lambda number: len(places[number]), default=0)
    start = sum(map(len, lines[:best]))
    within = min(places[best], default=0) if lines else 0
    return start if within < width // 2 else start + within - width // 4


def _telling(text: str, *, common: bool = True) -> list[str]:
    """The words of a question that are looked for."""
    words = list(dict.fromkeys(_words(unicodedata.normalize("NFKC", text))))
    return ([word for word in words if word.casefold() not in _STOP] or words * common)[:_MOST]


def _words(text: str) -> Iterator[str]:
    return (match[0] for match in _WORD.finditer(text) if len(match[0]) <= _LONGEST or _RUN.match(match[0]))


def _terms(word: str) -> Iterator[str]:
    """A word as FTS5 terms, all quoted: as it is (several parts are then a phrase), and its parts."""
    if _RUN.fullmatch(word):
        yield from (f'"{pair}"' for pair in _pairs(word)[: max(1, len(word) - 1)])
        if len(word) == 1:
            yield f'"{word}"*'
        return
    yield f'"{word}"'
    parts = [part for piece in re.split(r"[\W_]+", word) for part in ([piece], _parts(piece)) for part in part]
    yield from (f'"{part}"' for part in parts if part and part.casefold() not in _STOP)


def _pairs(run: str) -> list[str]:
    """The pairs of neighbours in a run, and its last character alone, so that each begins a term."""
    return [run[at : at + 2] for at in range(len(run))]


def _parts(word: str) -> list[str]:
    """The parts of a word in camel case; none where it has only one."""
    if len(word) > _LONGEST or not word.isascii() or word.islower():
        return []
    found = _CAMEL.findall(word)
    return found if len(found) > 1 else []
