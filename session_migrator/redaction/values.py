"""What a value looks like: a secret, or something that stands where one will be."""

from __future__ import annotations

import base64
import binascii
import re

# Placeholders, variables and names of types; whole, or anywhere in the value.
_PLACEHOLDER = re.compile(
    r"[\W_]*+|[xX\W_0]+|\$\w+|%\w+%?|:\w+|[@?]\w*|<[^>]*>?|\[REDACTED.*|changeme"
    r"|none|null|nil|undefined|true|false|yes|no|str|string|text|bytes|int|integer|number|bool|boolean|object|any"
    r"|optional|required|hidden|value|user|username|email|input|self|basic|bearer|enter|prompt|ask|token|key|api[_-]?key",
    re.IGNORECASE | re.DOTALL,
)
_FILLED_IN = re.compile(
    r"\$[({]|%\(|%[sdr](?![a-z])|\{\w*\}|\{\{|\.\.\.|…|\*\*\*|xxxx|your|example|placeholder|change[_-](?:me|this|it)|redacted|dummy",
    re.IGNORECASE,
)
_NAMED = re.compile(r"pass|pwd|secret|token|key|cred", re.IGNORECASE)
_SLUG = re.compile(r"[A-Za-z]+(?:[-_./:]+[A-Za-z]+)*+[-_.]?v?\d{0,2}")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_LOOKED_UP = re.compile(r"[A-Za-z_]\w*(?:\??\.[A-Za-z_]\w*|\[.*)+", re.ASCII | re.DOTALL)
_PLACE = re.compile(r"(?:~|\.{1,2})?/[\w.-]+(?:/|$)|[A-Za-z]:\\|[A-Za-z][A-Za-z0-9+.-]{1,20}://")
_TIME = re.compile(r"[\d.:TZ+-]+")
_BLANK, _DIGIT, _LETTER, _SIGN = (re.compile(one) for one in (r"\s", r"\d", r"[^\W\d_]", r"[!@#$%^&*+?~]"))
_JUDGED = 4096  # characters of a value that are looked at


def real(value: str) -> bool:
    """Whether it is a value at all: no placeholder, variable or type, nor a mark of ours."""
    return not _PLACEHOLDER.fullmatch(value[:_JUDGED]) and not _FILLED_IN.search(value[:_JUDGED])


def random(value: str) -> bool:
    """Whether it looks made by a machine: letters and digits mixed, no name, path, time or constant."""
    value = value[:_JUDGED]
    digits = len(_DIGIT.findall(value))
    if len(value) < 8 or digits < (1 if len(value) >= 16 else 2) or not _LETTER.search(value) or not real(value):
        return False
    if _PLACE.match(value) and (len(value) != 40 or "." in value):  # base64 of 30 bytes, as AWS has it, may begin so
        return False
    return not any(shape.fullmatch(value) for shape in (_SLUG, _CONSTANT, _LOOKED_UP, _TIME))


def token(value: str) -> bool:
    """Whether it is a token, behind a sign that other things have too: random, or one long run."""
    return random(value) or (real(value) and re.search(r"[A-Za-z0-9]{24}", value) is not None)


def issued(value: str) -> bool:
    """Whether what has an issuer's shape is no mere picture of it (``ghp_xxxx``)."""
    return re.fullmatch(r"[\w.:-]{0,12}?[xX*._0-]+", value) is None and "xxxx" not in value.lower()


def basic(value: str) -> bool:
    """Whether it is base64 of ``user:password``."""
    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False


def spoken(value: str) -> bool:
    """Whether a quoted value behind "password" is one: no sentence, label or path."""
    value = value[:_JUDGED]
    if len(value) < 3 or _BLANK.search(value) or (_NAMED.search(value) and not _DIGIT.search(value)):
        return False
    return real(value) and not _PLACE.match(value)


def bare(value: str) -> bool:
    """Whether an unquoted value behind "password" is one. A variable may stand there too, so a password has
    letters, and digits or signs that no variable has."""
    if len(value) < 6 or not _LETTER.search(value) or not (_DIGIT.search(value) or _SIGN.search(value)):
        return False
    return spoken(value) and not _LOOKED_UP.fullmatch(value) and not (_SLUG.fullmatch(value) and _NAMED.search(value))


def shell(value: str) -> bool:
    """Whether the value of an environment variable for a password is one: any word but another's name."""
    return len(value) >= 3 and real(value) and not _PLACE.match(value) and not _CONSTANT.fullmatch(value)


def bare_random(value: str) -> bool:
    """Whether an unquoted value behind "token" or "secret" is one: long and random, and not called so itself."""
    return len(value) >= 16 and random(value) and not (value.isidentifier() and _NAMED.search(value))
