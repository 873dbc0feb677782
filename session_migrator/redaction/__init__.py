"""Secrets taken out of text: keys, tokens and passwords become ``[REDACTED:kind]``, all else stays as it is.

Three kinds of rules, in this order: private keys by their armour; tokens by the shape their issuer gives them; values
by what stands before them (``Authorization:``, ``user:...@host``, ``PASSWORD=``). A name alone is no secret: what code
computes, what documentation leaves to fill in (``<your key>``, ``${TOKEN}``, ``changeme``), types, paths and prose
stay. So do ids, digests and base64, which have no such shape and no such name. What cannot be told from these stays
too: a password of several words, or of letters alone where neither quotes nor a name in capitals say that it is a
value (``password: postgres``), and one in a sentence.

Two properties hold for any text. JSON stays JSON of the same structure: a match never holds a bare quote or part of an
escape. And the time is linear: repeats are possessive or bounded, and a rule whose sign is not there is not run.
Shapes are those the issuers document (GitHub, GitLab, AWS, Google, Slack, Stripe and so on, as of 2026-11).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from ..model import Compaction, Message, Part, Session, Text, Thinking, ToolCall, ToolResult, Unknown
from ..sequences import collect
from . import values
from .assignments import assigned, kind_of
from .shapes import armoured, mark, shaped


def redact(text: str) -> tuple[str, Counter[str]]:
    """The text without its secrets, and how many of each kind were taken out. Idempotent; a text without
    secrets comes back as it is."""
    counts: Counter[str] = Counter()
    redacted = assigned(shaped(armoured(text, counts), counts), counts)
    return (redacted if counts else text), counts


def report(counts: Mapping[str, int]) -> str:
    """One line that says what was taken out: ``3 secrets redacted: 2 github token, 1 password``."""
    total = sum(counts.values())
    if not total:
        return "no secrets redacted"
    each = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    return f"{total} secret{'s' if total > 1 else ''} redacted: {each}"


def redact_session(session: Session) -> tuple[Session, Counter[str]]:
    """The session without the secrets in its texts, and how many of each kind were taken out: what was said, thought,
    summarised, called and returned, the title, and the address in ``git``. In a call's arguments the value of a key
    that says password, secret or token goes whole. Ids, names, signatures, times, images and files stay, and so do
    the pairs. Message by message: a long session is never whole in memory."""
    counts: Counter[str] = Counter()

    def messages(given: Iterable[Message]) -> Iterator[Message]:
        return (replace(message, parts=tuple(_part(part, counts) for part in message.parts)) for message in given)

    redacted = replace(
        session,
        messages=collect(messages(session.messages)),
        earlier=collect(messages(session.earlier)),
        title=session.title and _counted(session.title, counts),
        git=session.git and _data(session.git, counts, whole=False),
    )
    return (redacted, counts) if counts else (session, counts)


def _part(part: Part, counts: Counter[str]) -> Part:
    match part:
        case Text(text=text) | Thinking(text=text):
            return replace(part, text=_counted(text, counts))
        case Compaction(summary=summary):
            return replace(part, summary=_counted(summary, counts))
        case ToolCall(arguments=arguments):
            return replace(part, arguments=_data(arguments, counts, whole=True))
        case ToolResult(parts=parts):
            return replace(part, parts=tuple(_part(inner, counts) for inner in parts))
        case Unknown(raw=raw):
            return replace(part, raw=_data(raw, counts, whole=False))
        case _:
            return part


def _counted(text: str, counts: Counter[str]) -> str:
    redacted, found = redact(text)
    counts.update(found)
    return redacted


def _data(value: Any, counts: Counter[str], *, whole: bool) -> Any:
    """JSON data with every text in it redacted; ``whole``: and the values of telling keys, however they look."""
    if isinstance(value, str):
        return _counted(value, counts)
    if isinstance(value, list):
        return [_data(item, counts, whole=whole) for item in cast(list[Any], value)]
    if not isinstance(value, Mapping):
        return value
    made: dict[str, Any] = {}
    for key, item in cast(Mapping[str, Any], value).items():
        kind = kind_of(key) if whole and isinstance(item, str) and values.real(item) else None
        if kind:
            counts[kind] += 1
            made[key] = mark(kind)
        else:
            made[key] = _data(item, counts, whole=whole)
    return made
