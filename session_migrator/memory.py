"""A conversation as a memory: what an agent that was not there needs to know, in Markdown, without an LLM.

Everything is taken from the session, word for word or counted, and says where it stands (turn and time). Whatever the
session says is quoted or code: it can open no heading, comment or import of the file that the memory goes into.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from . import redaction
from .exporter.transcript import one_line, visible
from .ledger import CommandUse, Ledger, is_prompt, ledger
from .model import Compaction, Message, Session, headline

Language = Literal["en", "zh", "ru"]

_WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "goal": "Goal", "request": "Latest request", "summary": "Summary of what was before", "state": "State",
        "steps": "Decisions and steps", "files": "Files", "commands": "Commands", "errors": "Open errors",
        "next": "Next steps", "source": "Source", "turn": "turn", "edited": "edited", "read": "read",
        "deleted": "deleted", "ran": "ran", "failed": "last run failed",
    },
    "zh": {
        "goal": "目标", "request": "最新请求", "summary": "此前内容摘要", "state": "当前状态", "steps": "决定与步骤",
        "files": "文件", "commands": "命令", "errors": "未解决的错误", "next": "后续步骤", "source": "来源",
        "turn": "轮次", "edited": "编辑", "read": "读取", "deleted": "已删除", "ran": "运行",
        "failed": "上次运行失败",
    },
    "ru": {
        "goal": "Цель", "request": "Последний запрос", "summary": "Сводка предыдущего", "state": "Состояние",
        "steps": "Решения и шаги", "files": "Файлы", "commands": "Команды", "errors": "Открытые ошибки",
        "next": "Следующие шаги", "source": "Источник", "turn": "ход", "edited": "изменён", "read": "прочитан",
        "deleted": "удалён", "ran": "запусков", "failed": "последний с ошибкой",
    },
}  # fmt: skip

# Characters: of a quoted text, of a line of a list; and the lines of a list.
_QUOTED, _STEP, _ROWS = 1_500, 160, 25
# Of a memory of limited size, the share that each quoted text may take.
_SHARE = 6
# Commands that look around change nothing; what is worth knowing of them is in the files.
_LOOKING = re.compile(r"(?:cat|ls|head|tail|sed -n|grep|rg|find|pwd|wc|nl|echo|which|tree|stat|file)\b(?!.*>)")
# How a line begins that says what is still to be done, and the bullets below it.
_TO_DO = re.compile(
    r"^\W*(?:(?:next|open|todo|to do|remaining|still|left to)\b|下一步|接下来|待办|未完成|残り|次の"
    r"|дальше|осталось|далее|следующ).*$"
    r"(?:\n\s*(?:[-*]|\d+[.)])\s.*$)*",
    re.MULTILINE | re.IGNORECASE,
)
# What means something to those who load the file, or show it: HTML and comments, the end of what a link or a picture is
# called, and an import of a file (Claude Code, Gemini CLI; Copilot CLI also behind a backslash, and behind any
# character but these).
_ACTIVE = re.compile(r"`[^`\n]*`|<(?=[A-Za-z/!?])|\](?=[(\[:])|(?<![A-Za-z0-9_])@(?=[^\s@])")
_BLOCK_MARKS = re.compile(r"^(?:[#>*+-]+\s+|\[[ xX]\]\s+)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a memory: a quoted text, or the rows of a list, the most important first. ``rank`` tells which
    section's rows are kept before others' where room is short; ``name`` which section it is, whatever the language of
    its heading, where it is one of ours."""

    heading: str
    name: str = ""
    text: str = ""
    rows: Sequence[str] = ()
    rank: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What is to be remembered of a session, in the language of its user."""

    title: str
    language: Language
    sections: Sequence[Section]


@dataclass(frozen=True, slots=True)
class _Turn:
    """A prompt of the human's and the last words of the answer to it."""

    number: int
    time: str
    asked: str
    answered: str


def language(texts: Iterable[str]) -> Language:
    """The language the human wrote in, as far as the script tells: Chinese, Russian, else English."""
    counts = {"zh": 0, "ru": 0, "other": 0}
    for text in texts:
        for character in text:
            if "\u4e00" <= character <= "\u9fff":
                counts["zh"] += 1
            elif "\u0400" <= character <= "\u04ff":
                counts["ru"] += 1
            elif "\u3040" <= character <= "\u30ff":
                counts["other"] += 2  # kana: Japanese, whose Han characters are no Chinese
            elif character.isalpha():
                counts["other"] += 1
    # A Han character says about what two or three letters do.
    if 2 * counts["zh"] > counts["other"] + counts["ru"]:
        return "zh"
    return "ru" if counts["ru"] > counts["other"] else "en"


def to_memory_markdown(session: Session, meta: Mapping[str, Any] | None = None, *, redact: bool = True) -> str:
    """The memory of a session, without the secrets in its texts unless ``redact`` is off. ``meta`` may hold
    ``title``, ``cwd``, ``model``, ``created_at`` and ``rollout_path`` (``codex_adapter.get_thread_meta``); what it
    lacks comes from the session."""
    if redact:
        session, _ = redaction.redact_session(session)
        given = (meta or {}).items()
        meta = {key: redaction.redact(value)[0] if isinstance(value, str) else value for key, value in given}
    return render(remember(session, meta))


def remember(session: Session, meta: Mapping[str, Any] | None = None) -> Memory:
    """The memory of a session as it is (nothing is redacted here); ``meta`` as above."""
    known = ledger(session.messages)
    turns = list(_turns(session.messages))
    spoken = language(turn.asked for turn in turns)
    words = _WORDS[spoken]
    about = {
        "title": session.title, "cwd": session.cwd, "model": session.model, "created_at": session.created_at,
        "rollout_path": session.source, **{key: value for key, value in (meta or {}).items() if value},
    }  # fmt: skip
    goal = next((turn.asked for turn in turns if turn.asked), "")
    last = turns[-1] if turns else _Turn(0, "", "", "")
    steps = [_step(turn, words) for turn in turns[:-1] if turn.answered]

    def section(name: str, text: str = "", rows: Sequence[str] = (), rank: int = 0) -> Section:
        return Section(name=name, heading=words[name], text=text, rows=rows, rank=rank)

    sections = (
        section("goal", text=goal),
        section("request", text=last.asked if last.asked != goal else ""),
        section("summary", text=_summary(session.messages)),
        section("state", text=last.answered),
        section("steps", rows=steps[::-1], rank=4),
        section("files", rows=list(_files(known, words)), rank=3),
        section("commands", rows=list(_commands(known, words)), rank=5),
        section("errors", rows=list(_errors(known, words)), rank=2),
        section("next", rows=list(_next(known, last)), rank=1),
        section("source", rows=list(_source(session, about, len(turns), words))),
    )
    title = _BLOCK_MARKS.sub("", one_line(str(about["title"] or goal or session.id), 80))
    return Memory(title=inert(title), language=spoken, sections=sections)


def render(
    memory: Memory, *, level: int = 1, most: int | None = None, note: str = "",
    size: Callable[[str], int] | None = None, each: int = _ROWS,
) -> str:  # fmt: skip
    """A memory as Markdown: its title as a heading of that level, a line of the caller's, the sections below. With
    ``most``, it takes at most so many bytes of UTF-8 (or of what ``size`` says): texts are cut, and the most important
    rows kept. A section has at most so many rows (``each``)."""
    size = size or _size
    if most is None:
        kept = [replace(section, rows=section.rows[:each]) for section in memory.sections]
        return _markdown(memory.title, note, kept, level, _QUOTED)
    share = most // _SHARE
    kept = [replace(section, rows=()) for section in memory.sections]
    while (taken := size(_markdown(memory.title, note, kept, level, share))) > most and share:
        share //= 2
    closed: set[int] = set()
    for place, row in _in_turn(memory.sections, each):
        first = not kept[place].rows and not kept[place].text
        cost = size(f"{row}\n") + first * size(f"\n{'#' * (level + 1)} {kept[place].heading}\n\n")
        if place in closed or taken + cost > most:
            closed.add(place)
            continue
        kept[place] = replace(kept[place], rows=(*kept[place].rows, row))
        taken += cost
    return _markdown(memory.title, note, kept, level, share)


def _size(text: str) -> int:
    """Bytes of UTF-8, each line break counted as the two that some files have."""
    return len(text.encode()) + text.count("\n")


def _in_turn(sections: Sequence[Section], each: int) -> Iterator[tuple[int, str]]:
    """The rows of all sections with the place of their section: the first of each, then the second of each."""
    rows = (
        (turn, section.rank, place, row)
        for place, section in enumerate(sections)
        for turn, row in enumerate(section.rows[:each])
    )
    return ((place, row) for _, _, place, row in sorted(rows))


def _markdown(title: str, note: str, sections: Iterable[Section], level: int, most: int) -> str:
    parts = [f"{'#' * level} {title}", *([note] if note else [])]
    for section in sections:
        body = _quoted(section.text, most) if section.text else "\n".join(section.rows)
        if body:
            parts.append(f"{'#' * (level + 1)} {section.heading}\n\n{body}")
    return "\n\n".join(parts) + "\n"


def _turns(messages: Iterable[Message]) -> Iterator[_Turn]:
    turn: _Turn | None = None
    for message in messages:
        if is_prompt(message):
            if turn:
                yield turn
            number = turn.number + 1 if turn else 1
            turn = _Turn(number, (message.timestamp or "")[:16], message.text.strip(), "")
        elif turn and message.role == "assistant" and message.text.strip():
            turn = replace(turn, answered=message.text.strip())
    if turn:
        yield turn


def _summary(messages: Iterable[Message]) -> str:
    """What the newest compaction said of the conversation before it."""
    found = ""
    for message in messages:
        said = [part.summary for part in message.parts if isinstance(part, Compaction)]
        found = "\n".join(said) or (message.text if message.origin == "summary" else "") or found
    return found.strip()


def _step(turn: _Turn, words: Mapping[str, str]) -> str:
    asked, answered = _prose(turn.asked, _STEP), _prose(turn.answered, 2 * _STEP)
    when = f", {turn.time}" if turn.time else ""
    return f"- {asked} → {answered} ({words['turn']} {turn.number}{when})"


def _files(known: Ledger, words: Mapping[str, str]) -> Iterator[str]:
    for path, use in known.by_importance():
        counts = [f"{words['edited']} {use.edits}×"] if use.edits else []
        counts += [f"{words['read']} {use.reads}×"] if use.reads else []
        counts += [words["deleted"]] if use.deleted else []
        yield f"- {_code(path)}: {', '.join(counts)} ({words['turn']} {use.turn})"


def _commands(known: Ledger, words: Mapping[str, str]) -> Iterator[str]:
    for command, use in sorted(known.commands.items(), key=lambda item: -item[1].turn):
        if not _LOOKING.match(command):
            failed = f", {words['failed']}" if use.failed else ""
            yield f"- {_code(command)}: {words['ran']} {use.runs}×{failed} ({words['turn']} {use.turn})"


def _errors(known: Ledger, words: Mapping[str, str]) -> Iterator[str]:
    for command, use in reversed(_failed(known)):
        yield f"- {_code(command)}: {_prose(use.error, _STEP)} ({words['turn']} {use.turn})"


def _failed(known: Ledger) -> list[tuple[str, CommandUse]]:
    return [(command, use) for command, use in known.commands.items() if use.failed and use.error]


def _next(known: Ledger, last: _Turn) -> Iterator[str]:
    """What the newest plan leaves open, else what the last answer calls so."""
    still_open = [step for step in known.plan if step.open]
    if still_open:
        yield from (f"- [ ] {_prose(step.text, _STEP)}" for step in still_open)
    elif not known.plan:
        yield from (f"- {_prose(match[0], 2 * _STEP)}" for match in _TO_DO.finditer(last.answered))


def _source(session: Session, about: Mapping[str, Any], turns: int, words: Mapping[str, str]) -> Iterator[str]:
    yield f"- {session.agent} {_code(session.id)}, {turns} × {words['turn']}"
    for key in ("cwd", "model", "created_at", "rollout_path"):
        if about.get(key):
            yield f"- {key}: {_code(str(about[key]))}"


def _quoted(text: str, most: int) -> str:
    """A text as a quotation of at most so many bytes, marks included."""
    room = most
    while True:
        lines = inert(_cut(visible(text), room)).splitlines()
        quoted = "\n".join(f"> {line}".rstrip() for line in lines)
        over = len(quoted.encode()) - most
        if over <= 0 or not room:
            return quoted
        room = max(0, room - over)


def _cut(text: str, most: int) -> str:
    """The beginning of a text, at most so many bytes of UTF-8, up to the end of a sentence or a line where one is
    near."""
    if len(text.encode()) <= most:
        return text
    sign = " […]"
    head = text.encode()[: max(0, most - len(sign.encode()))].decode(errors="ignore")
    end = max(head.rfind(mark) for mark in ("\n", ". ", "。", "! ", "? ", "！", "？"))
    return head[: end + 1 if end > len(head) // 2 else len(head)].rstrip() + sign


def _prose(text: str, most: int) -> str:
    """The beginning of a text on one line."""
    return inert(headline(visible(text), most) or "")


def inert(text: str) -> str:
    """A text that does nothing where it is loaded as Markdown."""
    return _ACTIVE.sub(lambda found: {"<": "&lt;", "@": "&#64;", "]": "\\]"}.get(found[0], found[0]), text)


def _code(text: str) -> str:
    """The beginning of a text on one line, as code."""
    line = (headline(visible(text), _STEP) or "").replace("`", "'").replace("<!--", "<! --")
    return f"`{line}`"
