"""What a text is made of, as far as it tells how many tokens a vocabulary takes for it.

Each feature is a whole number found in linear time; features of texts add up. ``data/token_factors.json``
has the weights with which they bound each family's count.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable

_UPPER, _LOWER = string.ascii_uppercase.encode(), string.ascii_lowercase.encode()
_WORD = re.compile(rb"[A-Za-z]+")
_WORD_START = re.compile(r"(?<!\S)[^\W_]")
_PUNCTUATION_RUN = re.compile(rb"[!-/:-@\[-`{-~]{3,}")
_BLANK_RUN = re.compile(rb"\s{2,}")
_BLANK_TURN = re.compile(rb" (?=[\t\r\n])|\t(?=[ \r\n])|[\r\n](?=[ \t])")
_CYCLE = re.compile(rb"(\S[\s\S]{0,3}?)\1{7,}")


_HAN = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uff65]+")
_KANA = re.compile(r"[\u3040-\u30ff]+")
_HANGUL = re.compile(r"[\uac00-\ud7a3]+")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]+")
_LATIN = re.compile(r"[\u0080-\u024f]+")
_REST = re.compile(r"[^\x00-\u024f\u0400-\u04ff\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uff65]+")


def _characters(pattern: re.Pattern[str], text: str, data: bytes) -> int:
    return 0 if len(text) == len(data) else sum(map(len, pattern.findall(text)))


def _bytes(pattern: re.Pattern[str], text: str, data: bytes) -> int:
    if len(text) == len(data):
        return 0
    return sum(len(run.encode()) - len(run) for run in pattern.findall(text))


def _among(data: bytes, characters: bytes) -> int:
    return len(data) - len(data.translate(None, characters))


def _beyond(pattern: re.Pattern[bytes], data: bytes, free: int) -> int:
    """The bytes of all runs, past the first ``free`` of each."""
    return sum(match.end() - match.start() - free for match in pattern.finditer(data))


FEATURES: dict[str, Callable[[str, bytes], int]] = {
    "bytes": lambda _text, data: len(data),  # of UTF-8
    "starts": lambda text, _data: len(_WORD_START.findall(text)),  # words after white space: a token each at least
    "upper": lambda _text, data: _among(data, _UPPER),  # ASCII capitals
    "lower": lambda _text, data: _among(data, _LOWER),
    "digits": lambda _text, data: _among(data, b"0123456789"),
    "words": lambda _text, data: len(_WORD.findall(data)),  # runs of ASCII letters
    "punctuation": lambda _text, data: _beyond(_PUNCTUATION_RUN, data, 2),
    "han": lambda text, data: _characters(_HAN, text, data),  # Chinese characters, full-width forms
    "kana": lambda text, data: _characters(_KANA, text, data),
    "hangul": lambda text, data: _characters(_HANGUL, text, data),
    "cyrillic": lambda text, data: _characters(_CYRILLIC, text, data),
    "latin": lambda text, data: _characters(_LATIN, text, data),  # letters with accents and the like
    "rest": lambda text, data: _bytes(_REST, text, data),  # bytes past the first of all other characters
    "blank": lambda _text, data: _beyond(_BLANK_RUN, data, 1),
    "blank_turns": lambda _text, data: len(_BLANK_TURN.findall(data)),  # a space before a newline and the like
    "cycles": lambda _text, data: _beyond(_CYCLE, data, 0),  # one to four bytes eight times over
}


def encodable(text: str) -> tuple[str, bytes]:
    """The text and its UTF-8; lone surrogates become U+FFFD, pairs their character, as in tiktoken."""
    try:
        return text, text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text, text.encode()
