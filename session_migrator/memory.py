"""A conversation as a memory: what an agent that was not there needs to know, in Markdown, without an LLM.

Everything is taken from the session, word for word or counted, and says where it stands (turn and time).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from . import redaction
from .ledger import CommandUse, FileUse, Ledger, ledger
from .model import Message, Session, headline

Language = Literal["en", "zh", "ru"]

_HEADINGS: dict[Language, dict[str, str]] = {
    "en": {
        "goal": "Goal", "request": "Latest request", "state": "State", "steps": "Decisions and steps",
        "files": "Files", "commands": "Commands", "errors": "Open errors", "next": "Next steps",
        "source": "Source", "turn": "turn",
        "edited": "edited", "read": "read", "deleted": "deleted", "ran": "ran", "failed": "last run failed",
    },
    "zh": {
        "goal": "目标", "request": "最新请求", "state": "当前状态", "steps": "决定与步骤", "files": "文件",
        "commands": "命令", "errors": "未解决的错误", "next": "后续步骤", "source": "来源", "turn": "轮次",
        "edited": "编辑", "read": "读取", "deleted": "已删除", "ran": "运行", "failed": "上次运行失败",
    },
    "ru": {
        "goal": "Цель", "request": "Последний запрос", "state": "Состояние", "steps": "Решения и шаги",
        "files": "Файлы", "commands": "Команды", "errors": "Открытые ошибки", "next": "Следующие шаги",
        "source": "Источник", "turn": "ход", "edited": "изменён", "read": "прочитан", "deleted": "удалён",
        "ran": "запусков", "failed": "последний с ошибкой",
    },
}  # fmt: skip

_QUOTED, _SAID, _STEP, _ROWS = 1_200, 1_500, 160, 25
# Commands that look around change nothing; what is worth knowing of them is in the files.
_LOOKING = re.compile(r"(?:cat|ls|head|tail|sed -n|grep|rg|find|pwd|wc|nl|echo|which|tree|stat|file)\b(?!.*>)")
# How a line begins that says what is still to be done, and the bullets below it.
_TO_DO = re.compile(
    r"^\W*(?:(?:next|open|todo|to do|remaining|still|left to)\b|下一步|接下来|待办|未完成|残り|次の"
    r"|дальше|осталось|далее|следующ).*$"
    r"(?:\n\s*(?:[-*]|\d+[.)])\s.*$)*",
    re.MULTILINE | re.IGNORECASE,
)


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
    known = ledger(session.messages)
    turns = list(_turns(session.messages))
    words = _HEADINGS[language(turn.asked for turn in turns)]
    about = {
        "title": session.title, "cwd": session.cwd, "model": session.model, "created_at": session.created_at,
        "rollout_path": session.source, **{key: value for key, value in (meta or {}).items() if value},
    }  # fmt: skip
    first = turns[0] if turns else _Turn(0, "", "", "")
    last = turns[-1] if turns else first
    sections = [
        (words["goal"], [_quoted(first.asked, _QUOTED)]),
        (words["request"], [_quoted(last.asked, _QUOTED)] if last is not first else []),
        (words["state"], [_cut(last.answered, _SAID)] if last.answered else []),
        (words["steps"], [_step(turn, words) for turn in turns[:-1] if turn.answered][-_ROWS:]),
        (words["files"], list(_files(known, words))[:_ROWS]),
        (words["commands"], list(_commands(known, words))[:_ROWS]),
        (words["errors"], list(_errors(known, words))[:_ROWS]),
        (words["next"], list(_next(known, last))[:_ROWS]),
        (words["source"], list(_source(session, about, len(turns), words))),
    ]
    title = headline(about["title"] or first.asked) or session.id
    body = "\n\n".join(f"## {heading}\n\n" + "\n".join(rows) for heading, rows in sections if any(rows))
    return f"# {title}\n\n{body}\n"


def _turns(messages: Iterable[Message]) -> Iterator[_Turn]:
    number, time, asked, answered = 0, "", "", ""
    for message in messages:
        if message.role == "user" and message.origin in ("human", None) and message.text.strip():
            if number:
                yield _Turn(number, time, asked, answered)
            number, time, asked, answered = number + 1, (message.timestamp or "")[:16], message.text.strip(), ""
        elif message.role == "assistant" and message.text.strip():
            answered = message.text.strip()
    if number:
        yield _Turn(number, time, asked, answered)


def _step(turn: _Turn, words: Mapping[str, str]) -> str:
    asked, answered = headline(turn.asked, _STEP), headline(turn.answered, 2 * _STEP)
    return f"- {asked} → {answered} ({words['turn']} {turn.number}, {turn.time})"


def _files(known: Ledger, words: Mapping[str, str]) -> Iterator[str]:
    """Edited files first, then by how recently they were used."""

    def order(item: tuple[str, FileUse]) -> tuple[bool, int]:
        return not item[1].edits, -item[1].turn

    for path, use in sorted(known.files.items(), key=order):
        counts = [f"{words['edited']} {use.edits}×"] if use.edits else []
        counts += [f"{words['read']} {use.reads}×"] if use.reads else []
        counts += [words["deleted"]] if use.deleted else []
        yield f"- `{path}`: {', '.join(counts)} ({words['turn']} {use.turn})"


def _commands(known: Ledger, words: Mapping[str, str]) -> Iterator[str]:
    for command, use in sorted(known.commands.items(), key=lambda item: -item[1].turn):
        if not _LOOKING.match(command):
            failed = f", {words['failed']}" if use.failed else ""
            yield f"- {_code(command)}: {words['ran']} {use.runs}×{failed} ({words['turn']} {use.turn})"


def _errors(known: Ledger, words: Mapping[str, str]) -> Iterator[str]:
    for command, use in _failed(known):
        yield f"- {_code(command)}: {headline(use.error, _STEP)} ({words['turn']} {use.turn})"


def _failed(known: Ledger) -> list[tuple[str, CommandUse]]:
    return [(command, use) for command, use in known.commands.items() if use.failed and use.error]


def _next(known: Ledger, last: _Turn) -> Iterator[str]:
    """What the newest plan leaves open, else what the last answer calls so."""
    still_open = [step for step in known.plan if step.open]
    if still_open:
        yield from (f"- [ ] {headline(step.text, _STEP)}" for step in still_open)
    elif not known.plan:
        yield from (f"- {headline(match[0], 2 * _STEP)}" for match in _TO_DO.finditer(last.answered))


def _source(session: Session, about: Mapping[str, Any], turns: int, words: Mapping[str, str]) -> Iterator[str]:
    yield f"- {session.agent} `{session.id}`, {turns} × {words['turn']}"
    for key in ("cwd", "model", "created_at", "rollout_path"):
        if about.get(key):
            yield f"- {key}: `{about[key]}`"


def _quoted(text: str, most: int) -> str:
    return "\n".join(f"> {line}".rstrip() for line in _cut(text, most).splitlines())


def _cut(text: str, most: int) -> str:
    """The beginning of a text, up to the end of a sentence or a line where one is near."""
    if len(text) <= most:
        return text
    head = text[:most]
    end = max(head.rfind(mark) for mark in ("\n", ". ", "。", "! ", "? ", "！", "？"))
    return head[: end + 1 if end > most // 2 else most].rstrip() + " […]"


def _code(command: str) -> str:
    line = (headline(command, _STEP) or "").replace("`", "'")
    return f"`{line}`"
