"""Probes: what of a conversation its own continuation turned out to need, and how much of that a compression kept.

A session that its client compacted is cut there: the *prefix* is what the model saw before, the *suffix* what the agent
did afterwards; one without a compaction is cut at 60 % of its messages. Four sets come out of the two:

used      specific strings (paths, dotted, camel-case or underscored names of seven characters and more) that the agent
          uses in the suffix before anything there shows them, and that the prefix held
refetch   lines of 24 characters and more of tool results in the suffix that stood word for word in the prefix
user      specific strings in what the user said in the prefix
edited    paths that the prefix edited

The score of a compressed prefix is the share of each set that is still in its text. A set of fewer than three says
nothing.
"""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from session_migrator import read_session
from session_migrator.agents.spec import Capabilities
from session_migrator.compressors.units import units
from session_migrator.ledger import is_prompt, touched
from session_migrator.lowering import lower
from session_migrator.model import Compaction, Message, Session
from session_migrator.tokens import content

PROBES = ("used", "refetch", "user", "edited")
LEAST_TARGETS = 3
_CUT = 0.6
_LEAST_LINE = 24
_SPECIFIC = re.compile(
    r"(?=[^\s\"'`()\[\]{}<>,;]{7})"
    r"(?:[\w@~-]*[./][\w@~./-]*\w|\w*[a-z0-9][A-Z]\w*|\w*[A-Za-z0-9]_[A-Za-z0-9]\w*)"
)
_GUTTER = re.compile(r"^\s*\d+(?:→|\t|\s*[|:]\s?)")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A session cut in two: its prefix, lowered, what the continuation needs of it by probe, and the summary that the
    client's own model wrote at the cut, if one did."""

    name: str
    author: str
    agent: str
    prefix: Session
    targets: dict[str, frozenset[str]]
    summary: str | None


def load(path: Path) -> Case:
    """The case of a session's file; the author is the file's name up to the last underscore."""
    with _unwrapped(path) as file:
        session = read_session(str(file))
        prefix, suffix, summary = _cut(session)
        lowered, _ = lower(replace(session, messages=prefix, earlier=(), extra=None), Capabilities(thinking="text"))
        targets = _targets(lowered.messages, suffix, session.cwd)
    return Case(
        name=path.stem, author=path.stem.rpartition("_")[0], agent=session.agent, prefix=lowered,
        targets={probe: found for probe, found in targets.items() if len(found) >= LEAST_TARGETS}, summary=summary,
    )  # fmt: skip


@contextlib.contextmanager
def _unwrapped(path: Path) -> Iterator[Path]:
    """A session's file; of a collection that puts each record of the client's into one of its own (``raw``), a file of
    the client's records."""
    with path.open(encoding="utf-8") as lines:
        first = json.loads(next(lines))
        if "raw" not in first:
            yield path
            return
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "events.jsonl"
            records = (json.loads(line)["raw"] for line in lines)
            file.write_text("".join(json.dumps(record) + "\n" for record in (first["raw"], *records)), encoding="utf-8")
            yield file


def score(case: Case, text: str) -> dict[str, float]:
    """The share of each probe's targets that a text holds."""
    lines = set(_lines([text]))
    return {
        probe: sum(target in (lines if probe == "refetch" else text) for target in targets) / len(targets)
        for probe, targets in case.targets.items()
    }


def sent(messages: Iterable[Message]) -> str:
    """All that a model is sent of messages, as one text."""
    return "\n".join(text for message in messages for text in content.texts(message.parts))


def _cut(session: Session) -> tuple[Sequence[Message], Sequence[Message], str | None]:
    if not session.earlier:
        last = next((unit.start for unit in units(session.messages) if unit.start >= _CUT * len(session.messages)), 0)
        return session.messages[:last], session.messages[last:], None
    starts = [place for place, message in enumerate(session.earlier) if _summaries(message)]
    replaced = int((session.extra or {}).get("replaced") or 0)
    summary = "\n".join(text for message in session.messages[:replaced] for text in _summaries(message))
    return session.earlier[starts[-1] if starts else 0 :], session.messages[replaced:], summary or None


def _summaries(message: Message) -> list[str]:
    return [part.summary for part in message.parts if isinstance(part, Compaction)]


def _targets(prefix: Sequence[Message], suffix: Sequence[Message], cwd: str | None) -> dict[str, frozenset[str]]:
    held = sent(prefix)
    names, lines = set(_specific(held)), set(_lines([held]))
    used: set[str] = set()
    shown: set[str] = set()
    fetched: set[str] = set()
    for message in suffix:
        if message.role == "assistant":
            said = _specific(sent([message]))
            used |= {name for name in said if name in names and name not in shown}
        else:
            text = sent([message])
            shown |= set(_specific(text))
            if message.role == "tool":
                fetched |= {line for line in _lines([text]) if line in lines}
    own = "\n".join(message.text for message in prefix if is_prompt(message))
    edited = {path for message in prefix for call in message.calls for path, use in touched(call) if use != "read"}
    return {
        "used": frozenset(used), "refetch": frozenset(fetched), "user": frozenset(_specific(own)),
        "edited": frozenset(path.removeprefix(f"{cwd}/") for path in edited if path in held),
    }  # fmt: skip


def _specific(text: str) -> Iterator[str]:
    return (match[0] for match in _SPECIFIC.finditer(text))


def _lines(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for line in text.splitlines():
            bare = _GUTTER.sub("", line).strip()
            if len(bare) >= _LEAST_LINE:
                yield bare
