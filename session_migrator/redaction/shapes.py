"""Secrets by their own shape, or by what is written right around them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from . import values

Judge = Callable[[str], bool]


def mark(kind: str) -> str:
    """What stands in a secret's place."""
    return f"[REDACTED:{kind}]"


def armoured(text: str, counts: Counter[str]) -> str:
    """The text without private keys in armour: PEM, OpenSSH, PGP."""
    if "PRIVATE KEY" not in text:
        return text
    return _ARMOUR.sub(lambda match: _armour(match, counts), text)


def shaped(text: str, counts: Counter[str]) -> str:
    """The text without tokens of known shapes, passwords in addresses, and what headers carry."""
    for kind, sign, pattern, judge in _RULES:
        if sign in text:
            text = _substituted(text, kind, pattern, judge, counts)
    folded = text.lower()
    for kind, sign, pattern, judge in _HEADERS:
        if sign in folded:
            text = _substituted(text, kind, pattern, judge, counts)
    if "cookie" in folded:
        return _COOKIES.sub(lambda match: _substituted(match[0], "cookie", _CRUMB, values.random, counts), text)
    return text


# The body ends at the next five dashes, so that armour that is never closed costs one look at what follows it.
_ARMOUR = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
    r"(?P<body>(?:[^-]|-(?!----))*+)(?P<end>-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?"
)
# Line ends (escaped ones too), indentation, quotes and line numbers may stand between the lines of a key.
_BETWEEN = r"(?:[\s\"'`+,>|#]|\\+[nrt]|\\+(?=[\"'])|\d{1,5}[\t→:|])"
_KEY_LINES = re.compile(
    rf"(?:{_BETWEEN}{{1,40}}+(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset):[^\n\\\"]{{0,120}}+)*+"
    rf"{_BETWEEN}{{1,40}}+[A-Za-z0-9+/=]{{32,}}+(?:{_BETWEEN}{{1,40}}+[A-Za-z0-9+/=]{{16,}}+)*+"
)
_KEY_LINE = re.compile(r"\\+(?:u[0-9A-Fa-f]{4}|.)?|(?P<line>[A-Za-z0-9+/=]{16,}+)", re.DOTALL)
_KEY_DATA = re.compile(r"(?:[\s\"'→:|]|\\n)(?=[A-Za-z0-9+/]{0,80}[0-9+/=])[A-Za-z0-9+/]{4,}+={0,2}(?=[\s\"'\\]|$)")
_NUMBER = re.compile(r"[\d+eE]+")


def _armour(match: re.Match[str], counts: Counter[str]) -> str:
    """A whole block as one mark. Where it has quotes in it (strings in code, a list in JSON) or no end (it was cut
    off), the lines of the key alone, so that what stands between them stays. One with a mark in it is done."""
    block = match[0]
    if mark("")[:-1] in block:
        return block
    start = match.start("body") - match.start()
    if not match["end"]:
        lines = _KEY_LINES.match(block, start)
        redacted = block[:start] + _KEY_LINE.sub(_key_line, lines[0]) + block[lines.end() :] if lines else block
    elif '"' in block:
        redacted = _KEY_LINE.sub(_key_line, block)
    else:
        redacted = mark("private key") if _KEY_DATA.search(match["body"]) else block
    if redacted != block:
        counts["private key"] += 1
    return redacted


def _key_line(match: re.Match[str]) -> str:
    return mark("private key") if match["line"] and not _NUMBER.fullmatch(match["line"]) else match[0]


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_W = r"[A-Za-z0-9_-]"
_AN = r"[A-Za-z0-9]"
_QUOTE = r"(?:\\{0,7}[\"'])?"  # maybe, maybe in a string within strings
_BEGIN = r"(?:\b|(?<=\\[nrt]))"
# kind: what stands behind which prefixes.
_SHAPES: dict[str, tuple[tuple[str, str], ...]] = {
    "anthropic key": (("sk-ant-", _W + "{16,}+"),),
    "openai key": tuple((prefix, _W + "{20,}+") for prefix in ("sk-proj-", "sk-svcacct-", "sk-admin-")),
    "aws key id": tuple((prefix, rf"[A-Z0-9]{{16}}(?!{_W})") for prefix in ("AKIA", "ASIA", "ABIA", "ACCA")),
    "google key": (
        ("AIza", rf"{_W}{{35}}(?!{_W})"), ("ya29.", _W + "{20,}+"), ("GOCSPX-", _W + "{20,}+"),
    ),
    "github token": (
        *((prefix, r"\w{30,}+") for prefix in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")), ("github_pat_", r"\w{40,}+"),
    ),
    "gitlab token": tuple(
        (prefix, r"[\w-]{20,}+") for prefix in ("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-")
    ),
    "slack token": (
        *((f"xox{letter}-", r"[A-Za-z0-9-]{10,}+") for letter in "bpasrecd"), ("xapp-", r"[A-Za-z0-9-]{10,}+"),
        ("hooks.slack.com/services/", r"[A-Z0-9]{6,}+/[A-Z0-9]{6,}+/[A-Za-z0-9]{16,}+"),
    ),
    "stripe key": tuple(
        (prefix, _AN + "{16,}+") for prefix in ("sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_")
    ),
    "npm token": (("npm_", rf"{_AN}{{36}}(?!{_W})"),),
    "pypi token": (("pypi-AgE", _W + "{50,}+"),),
    "hugging face token": (("hf_", _AN + "{30,}+"),),
    "sendgrid key": (("SG.", rf"{_W}{{16,32}}\.{_W}{{30,}}+"),),
    "twilio key": (("SK", rf"[0-9a-f]{{32}}(?!{_W})"),),
    "discord token": (
        ("discord.com/api/webhooks/", rf"\d{{10,}}+/{_W}{{40,}}+"),
        ("discordapp.com/api/webhooks/", rf"\d{{10,}}+/{_W}{{40,}}+"),
    ),
    "digitalocean token": tuple((prefix, "[0-9a-f]{40,}+") for prefix in ("dop_v1_", "doo_v1_", "dor_v1_")),
    "databricks token": (("dapi", rf"[0-9a-f]{{32}}(?:-\d)?(?!{_W})"),),
    "jwt": (("eyJ", rf"{_W}{{8,}}+\.eyJ{_W}{{5,}}+\.{_W}*+"),),
    "api key": (
        *((prefix, _AN + "{32,}+") for prefix in ("gsk_", "xai-", "pplx-", "r8_", "lin_api_", "PMAK-", "shpat_")),
        *((prefix, _W + "{40,}+") for prefix in ("ATATT3xFf", "hvs.", "figd_", "sntrys_")),
        ("dckr_pat_", _W + "{20,}+"), ("AGE-SECRET-KEY-1", r"[A-Z0-9]{50,}+"), ("tvly-", _W + "{24,}+"),
    ),
}  # fmt: skip

Rule = tuple[str, str, re.Pattern[str], Judge]


def _shape(kind: str, prefix: str, body: str, judge: Judge = values.issued) -> Rule:
    """A rule for a token that begins a word. Its regex begins with the prefix itself, which is found fast, and looks
    back from behind it: at the word's beginning, or at an escaped line end or space (but not into an escape)."""
    start = re.escape(prefix)
    edge = rf"(?:(?<![A-Za-z0-9\\]{start})|(?<=\\[nrtbf]{start})|(?<=%[0-9A-F]{{2}}{start}))"
    if body.startswith(_W):  # a word of these may hold dashes, so it does not begin behind one
        edge += rf"(?<![_-]{start})"
    # To the end of the word, so that nothing in it comes to begin one.
    return kind, prefix, re.compile(f"(?P<secret>{start}{edge}{body}{_AN}*+)", re.ASCII), judge


# (kind, a text that must be there, regex with the group "secret", whether that group's text is one)
_RULES: tuple[Rule, ...] = (
    (
        "aws secret key", "AKIA",
        re.compile(r"AKIA[A-Z0-9]{16}[\"']?[,:;|\t ]{1,3}[\"']?(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"),
        values.random,
    ),
    *(_shape(kind, prefix, body) for kind, rules in _SHAPES.items() for prefix, body in rules),
    _shape("api key", "sk-", _W + "{20,}+", values.token),
    (
        "telegram token", ":AA",
        re.compile(rf"(?<!\d)(?P<secret>\d{{8,10}}:AA{_W}{{33}})(?!{_W})", re.ASCII), values.issued,
    ),
    (
        "discord token", ".",
        re.compile(rf"(?P<secret>[MNO](?:(?<![A-Za-z0-9_\\-].)|(?<=\\[nrtbf].)){_W}{{23,27}}\.{_W}{{6}}\.{_W}{{27,38}})(?!{_W})"),
        lambda value: sum(map(str.isdigit, value)) >= 3,
    ),
    (
        "azure signature", "sig=",
        re.compile(r"[?&;]sig=(?P<secret>(?:[A-Za-z0-9+/]|%[0-9A-Fa-f]{2}){30,}+=?)"), values.random,
    ),
    (
        "password", "@",
        re.compile(
            r":(?:\\{0,3}/){2}[^\s/:@\"'\\<>`]{0,64}:(?P<secret>(?!\[REDACTED:)[^\s/\"'\\<>`]{1,256})@(?=[\w\[$])"
        ),
        lambda value: values.real(value) and value.lower() not in ("password", "pass", "passwd", "pwd", "pw", "secret"),
    ),
    (
        "token", "@",
        re.compile(r":(?:\\{0,3}/){2}(?P<secret>[A-Za-z0-9_]{20,256}+)@(?=[\w\[])"), values.random,
    ),
    (
        "password", "machine ",
        re.compile(_BEGIN + r"machine \S{1,256} login \S{1,256} password (?P<secret>[^\s\"'\\<>\[]{3,}+)"),
        values.spoken,
    ),
    (
        "password", "sshpass",
        re.compile(_BEGIN + r"sshpass -p ?(?:\\{0,7}[\"'])?(?P<secret>[^\s\"'\\<>\[]{3,}+)"), values.shell,
    ),
    (
        "session cookie", "=",
        re.compile(r"(?:SESSID|JSESSIONID|_SessionId|connect\.sid|sessionid)=(?P<secret>[\w.%:+/-]{16,}+)", re.ASCII),
        lambda value: values.random(value) and not _UUID.fullmatch(value),
    ),
    (
        "basic credentials", "-u",
        re.compile(r"(?:(?<=\s)-u|--user)[ =][\"']?[\w.@-]{1,64}:(?P<secret>[^\s\"'\\$<>{:]{4,256}+)"), values.bare,
    ),
)  # fmt: skip
# The same by signs in lower case, whatever the case of the text.
_HEADERS: tuple[Rule, ...] = (
    (
        "basic credentials", "basic",
        re.compile(_BEGIN + r"basic[ ]{1,4}(?P<secret>[A-Za-z0-9+/]{8,}+={0,2})", re.IGNORECASE), values.basic,
    ),
    (
        "basic credentials", "auth",
        re.compile(
            rf"{_BEGIN}auth{_QUOTE}[ ]{{0,4}}:[ ]{{0,4}}{_QUOTE}"
            r"(?P<secret>[A-Za-z0-9+/]{8,}+={0,2})(?=[\\\"])"
        ),
        values.basic,
    ),
    (
        "bearer token", "bearer",
        re.compile(_BEGIN + r"bearer[ ]{1,4}(?P<secret>[\w.~+/-]{16,}+=*+)", re.IGNORECASE | re.ASCII), values.token,
    ),
    (
        "bearer token", "authorization",
        re.compile(
            rf"authorization{_QUOTE}[ ]{{0,4}}[:=][ ]{{0,4}}{_QUOTE}(?:token|bearer|apikey|key)[ =]{{1,4}}"
            r"(?P<secret>[\w.~+/-]{8,}+=*+)",
            re.IGNORECASE | re.ASCII,
        ),
        values.token,
    ),
)  # fmt: skip
_COOKIES = re.compile(
    rf"cookie{_QUOTE}(?:[ ]{{0,4}}[:=][ ]{{0,4}}|[ ]){_QUOTE}[\w.-]{{1,80}}=[^\r\n\"'\\]*+", re.IGNORECASE | re.ASCII
)
_CRUMB = re.compile(
    r"(?:^|[;:= \"'])(?!expires|path|domain|max-age|samesite|version)[\w.-]{1,80}=(?P<secret>[^;,\s\"'\\\[]{6,}+)",
    re.IGNORECASE,
)


def _substituted(text: str, kind: str, pattern: re.Pattern[str], judge: Judge, counts: Counter[str]) -> str:
    def replaced(match: re.Match[str]) -> str:
        if not judge(match["secret"]):
            return match[0]
        counts[kind] += 1
        start, end = match.span("secret")
        return f"{match[0][: start - match.start()]}{mark(kind)}{match[0][end - match.start() :]}"

    return pattern.sub(replaced, text)
