"""Secrets by their name: ``PASSWORD=...``, ``"api_key": "..."``, ``--token ...``, ``<password>...</password>``."""

from __future__ import annotations

import re
import string
from collections import Counter
from typing import cast

from . import values
from .shapes import mark

_STEMS = ("pass", "pwd", "secret", "token", "key", "authorization", "credential")
# Each word is the end of a name, but for a number or a stage: DB_PASSWORD_PROD, TOKEN_2.
_WORD = (
    r"(?P<word>pass(?:word|wd|phrase|code)|(?<=[a-z]_)pass|(?<=[a-z]-)pass|pwd|secret[_-]?key[_-]?base"
    r"|secret(?:[_-]?access)?[_-]?key|secret|token|authorization|credential"
    r"|(?:api|app|access|account|auth|private|signing|encryption|master|shared|storage|service)[_-]?key)"
    r"(?:[_-]?(?:\d{1,2}|value|b64|base64|prod|production|dev|test|live|staging))?"
)
_NAME = re.compile(_WORD + r"\Z", re.IGNORECASE)
_SPACE = r"[ \t]{0,8}"
_KEY = re.compile(
    # The words' first letters: without them, the search for a beginning takes three times as long.
    r"(?=[acempst])" + _WORD + r"(?![A-Za-z0-9_-])(?:(?P<close>\\{0,7}[\"'`])\]?)?\??"
    # A type may stand before the sign: ``password: str = "..."``.
    rf"(?P<separator>(?:{_SPACE}:{_SPACE}[A-Za-z][\w\[\]|.? ]{{0,30}}?)?{_SPACE}(?:=(?![=~])>?|:=?(?![:/])){_SPACE}"
    r"|>|[ \t]{1,4})",
    re.IGNORECASE | re.ASCII,
)
_OF_NAMES = string.ascii_letters + string.digits + "_.-"
# Words that make "token" a position in a text, a list or a stream.
_NO_SECRET = re.compile(
    r"(?:next|prev|previous|page|paging|pagination|continuation|continue|cancel|cancellation|progress|sync|resume|stop"
    r"|eos|bos|pad|unk|sep|cls|mask|start|end|begin|first|last|special|input|output|prompt|max|per|num|no|not|public)"
    r"[_-]?\Z",
    re.IGNORECASE,
)
_SEVERAL = re.compile(r"^[ \t]*(?:[\w.]+,[ \t]*)+\Z")  # ``user, password = ...``
_OPEN = re.compile(r"\\{0,7}[\"'`]")
# What lies between two quotes, by the first of them. In JSON a bare quote would end the string all this is in, and
# half an escape would break it; an escaped quote opens a string within the string.
_QUOTED = {
    '"': re.compile(r"(?:[^\"\\\n]|\\[^\n])*+"),
    "'": re.compile(r"(?:[^'\"\\\n]|\\(?!\\{0,7}\")[^nr\n'])*+"),
    "`": re.compile(r"(?:[^`\"\\\n]|\\(?!\\{0,7}\")[^nr\n`])*+"),
    '\\"': re.compile(r"(?:[^\"\\\n]|\\[^\"\\nr\n]|\\\\(?:\\[\"\\]|[^\"\\\n]))*+"),
}
_QUOTED_DEEPER = re.compile(r"[^\"'`\\\n]*+")
_BARE = re.compile(r"(?:(?!\[REDACTED:)[^\s\"'`\\<>,;&|(){}])*+")
_WHOLE = re.compile(r"(?:(?!\[REDACTED:)[^\s\"'`\\<>])*+")
_ELEMENT = re.compile(r"(?:(?!\[REDACTED:)[^\s\"\\<>])*+(?=</)")
_VARIABLE = re.compile(r"\$[A-Za-z_]")
_LOOK_BACK = 64
_RESCANNED = 128


def assigned(text: str, counts: Counter[str]) -> str:
    """The text without the values of telling names."""
    folded = text.lower()
    if not any(stem in folded for stem in _STEMS):
        return text
    pieces: list[str] = []
    done = place = 0
    while match := _KEY.search(text, place):
        place = match.end()
        value = _value(text, match)
        if value is None:
            continue
        start, end, secret = value
        if secret:
            kind = _kind(match["word"])
            pieces += [text[done:start], mark(kind)]
            counts[kind] += 1
            done = place = end
        elif end - start > _RESCANNED:  # a short value may hold names itself; a long one is looked at once
            place = end
    return "".join([*pieces, text[done:]])


def kind_of(name: str) -> str | None:
    """What kind of secret a field of this name holds, or None if the name does not say that it holds any."""
    match = _NAME.search(name)
    return _kind(match["word"]) if match and not _NO_SECRET.search(name[: match.start()]) else None


def _value(text: str, key: re.Match[str]) -> tuple[int, int, bool] | None:
    """Where the value behind a name lies, and whether it is a secret; None where there is no value."""
    head = text[max(0, key.start() - _LOOK_BACK) : key.start()]
    before = head.rstrip(_OF_NAMES)
    prefix = head[len(before) :]
    if prefix[:1] in ("n", "r", "t") and before.endswith("\\"):
        prefix = prefix[1:]  # it was an escaped line end
    separator, close = key["separator"].strip(), key["close"]
    capitals = (prefix + key["word"]).isupper()
    variable = capitals and key["separator"] == "="
    if _NO_SECRET.search(prefix) or not (separator or prefix.startswith("--")):
        return None
    # The beginning of the line, as far as it is known; where it is not, it may hold the quote of a JSON string.
    line = before.rpartition("\n")[2] if "\n" in before or key.start() <= _LOOK_BACK else '"'
    if _SEVERAL.match(line):
        return None
    password = _is_password(key["word"])
    quoted = values.spoken if password else values.random
    start = key.end()
    if separator == ">":
        element = None if close else _ELEMENT.match(text, start)
        return element and (start, element.end(), quoted(element[0]))
    if opened := _OPEN.match(text, start):
        start = opened.end()
        end = cast(re.Match[str], _QUOTED.get(opened[0], _QUOTED_DEEPER).match(text, start)).end()
        value = text[start:end]
        # A quote that opens nothing closes the string that the name is in: punctuation follows. So does one behind
        # backslashes that are no escape of a quote: 0, 1, 3 or 7 are, in strings within strings.
        closing = opened[0] != close and value[:1] in ("", " ", "\t", *",:]})")
        return (
            None
            if closing or len(opened[0]) not in (1, 2, 4, 8)
            else (start, end, quoted(value.replace(" ", "") if variable else value))
        )
    if close:
        return None
    extent = _WHOLE if variable and '"' not in line else _BARE
    value = cast(re.Match[str], extent.match(text, start))[0].rstrip(".,;:)]}")
    end = start + len(value)
    if text[end : end + 1] in ("(", "[", "{") or _VARIABLE.match(value):
        return start, end, False
    if password:
        setting = capitals and separator == ":" and "_" in prefix  # POSTGRES_PASSWORD: postgres
        judge = values.shell if variable else values.spoken if setting else values.bare
        return start, end, judge(value)
    return start, end, values.random(value) if variable else values.bare_random(value)


def _is_password(word: str) -> bool:
    """Whether the word says that its value is a password, however that looks."""
    return word[:1] in "pP" and not word.lower().startswith("private")


def _kind(word: str) -> str:
    word = word.lower()
    if _is_password(word):
        return "password"
    if "key" in word:
        return "api key" if word.startswith(("api", "app")) else "secret key"
    return "token" if word == "authorization" else word
