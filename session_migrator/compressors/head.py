"""The note at the head of a compressed session: where it comes from, how to get back what was left out, and the state
of the work as its calls tell it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..exporter.transcript import one_line
from ..ledger import FileUse, Ledger
from ..model import Message, Session, Text
from ..tokens import Counter

# The share of the room for the state that each of plan, failed commands and files may take at most.
_PLAN, _FAILED, _FILES = 0.25, 0.25, 1.0
_LINE = 160


def note(session: Session, known: Ledger, reasoning: str | None, room: int, counter: Counter) -> Message:
    """The note; the state of the work takes at most ``room`` tokens. ``reasoning``: the id of the assistant's reasoning
    that was left out, if any was."""
    words = (
        f"[The conversation below was carried over from {session.agent}, session {one_line(session.id, 80)}, and made"
        " shorter to fit. Where a mark says `recall ID`, something was left out: `session-migrator recall ID` in a"
        " shell, or the tool `recall` of the MCP server session-migrator, gives it back word for word.]"
    )
    if reasoning:
        words += f"\n[Reasoning of the assistant was left out; recall {reasoning}]"
    left = room
    for title, rows, share in (
        ("Plan:", _plan(known), _PLAN),
        ("Commands that failed when they last ran:", _failed(known), _FAILED),
        ("Files, those that were edited first:", _files(known, session.cwd), _FILES),
    ):
        section = _within(title, rows, min(left, int(room * share)), counter)
        words += section
        left -= counter.text(section).high
    return Message(role="user", parts=(Text(text=words),), origin="summary")


def _within(title: str, rows: Iterable[str], room: int, counter: Counter) -> str:
    """The title and as many of the rows below it as there is room for; nothing where there is none for a row."""
    section = f"\n{title}"
    taken = counter.text(section).high
    kept = 0
    for row in rows:
        taken += counter.text(f"\n- {row}").high
        if taken > room:
            break
        section += f"\n- {row}"
        kept += 1
    return section if kept else ""


def _plan(known: Ledger) -> Iterator[str]:
    """The steps, the open ones first."""
    for step in sorted(known.plan, key=lambda step: not step.open):
        yield f"[{' ' if step.open else 'x'}] {one_line(step.text, _LINE)}"


def _failed(known: Ledger) -> Iterator[str]:
    for command, use in sorted(known.commands.items(), key=lambda item: -item[1].turn):
        if use.failed:
            yield f"`{one_line(command, _LINE)}`: {one_line(use.error, _LINE)}"


def _files(known: Ledger, cwd: str | None) -> Iterator[str]:
    for path, use in known.by_importance():
        yield f"{one_line(path.removeprefix(f'{cwd}/'))} ({_uses(use)})"


def _uses(use: FileUse) -> str:
    counts = [f"edited {use.edits}×"] if use.edits else []
    counts += [f"read {use.reads}×"] if use.reads else []
    counts += ["deleted"] if use.deleted else []
    return ", ".join(counts)
