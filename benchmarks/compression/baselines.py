"""What the ladder is compared with: two methods that are in use, and the ladder of fixed levels that came before ours.

Each takes a lowered session, a budget and a counter, as ``Compressor.compress`` does, and gives a session.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from session_migrator.compressors import TruncationCompressor
from session_migrator.compressors.shortening import cut
from session_migrator.compressors.units import units
from session_migrator.errors import Refused
from session_migrator.ledger import is_prompt, ledger
from session_migrator.lowering import is_reasoning
from session_migrator.model import Message, Part, Session, Text, ToolCall, ToolResult
from session_migrator.tokens import Counter, content

KEPT_OBSERVATIONS = 10
# Characters at each level, best first: of a result, of a call's arguments, of what the user and the assistant said.
RESULT, CALL, USER, ASSISTANT = (None, 4_000, 900, 120), (None, 600, 100), (None, 800, 160), (None, 240, 0)


def truncated(session: Session, budget: int, counter: Counter) -> Session:
    """The newest units that fit."""
    try:
        return TruncationCompressor().compress(session, budget, counter).session
    except Refused:
        return replace(session, messages=())


def masked(session: Session, budget: int, counter: Counter) -> Session:
    """A placeholder in the place of all tool results but the ten latest, then the newest units that fit."""
    left = KEPT_OBSERVATIONS
    messages: list[Message] = []
    for message in reversed(session.messages):
        parts: list[Part] = []
        for part in reversed(message.parts):
            if isinstance(part, ToolResult):
                left -= 1
                part = part if left >= 0 else replace(part, parts=(Text(text="[old output left out]"),))
            parts.append(part)
        messages.append(replace(message, parts=tuple(parts[::-1])))
    return truncated(replace(session, messages=tuple(messages[::-1])), budget, counter)


def levels(session: Session, budget: int, counter: Counter) -> Session:
    """The newest share of the budget word for word but for reasoning (a quarter up to 6,000 tokens, else three), the
    rest by fixed levels: note and goal first, then every older unit at its lowest level, newest first, raised level by
    level while there is room."""
    share = 0.25 if budget < 6_000 else 0.75
    whole = list(units(session.messages))
    head = _head(session, budget, counter)
    room = budget - counter.message(head).high
    chosen: dict[int, tuple[Message, ...]] = {}
    for place in reversed(range(len(whole))):
        shown = tuple(_at(session.messages[index], 0) for index in whole[place])
        cost = sum(counter.message(message).high for message in shown)
        if cost > share * budget - (budget - room):
            break
        chosen[place], room = shown, room - cost
    for level in (3, 2, 1, 0):
        for place in reversed(range(min(chosen, default=len(whole)) if level == 3 else len(whole))):
            if level < 3 and place not in chosen:
                continue
            shown = tuple(_at(session.messages[index], level) for index in whole[place])
            shown = tuple(message for message in shown if message.parts)
            old = chosen.get(place, ())
            more = sum(counter.message(message).high for message in shown)
            more -= sum(counter.message(message).high for message in old)
            if 0 < more <= room:
                chosen[place], room = shown, room - more
    messages = [head, *(message for place in sorted(chosen) for message in chosen[place] if message.parts)]
    return replace(session, messages=tuple(messages))


def _head(session: Session, budget: int, counter: Counter) -> Message:
    goal = next((message.text for message in session.messages if is_prompt(message) and message.text.strip()), "")
    words = cut(goal, min(6_000, budget // 5), "0000000000")
    for path, _ in ledger(session.messages).by_importance():
        longer = f"{words}\n{path.removeprefix(f'{session.cwd}/')}"
        if counter.text(longer).high > 0.15 * budget:
            break
        words = longer
    return Message(role="user", parts=(Text(text=words),), origin="summary")


def _at(message: Message, level: int) -> Message:
    return replace(message, parts=tuple(_parts(message, level)))


def _parts(message: Message, level: int) -> Iterator[Part]:
    for part in message.parts:
        if is_reasoning(message, part):
            continue
        if isinstance(part, ToolResult):
            text = "\n".join(content.texts([part]))
            most = RESULT[min(level, len(RESULT) - 1)]
            yield part if most is None else replace(part, parts=(Text(text=cut(text, most, "0000000000")),))
        elif isinstance(part, ToolCall):
            most = CALL[min(level, len(CALL) - 1)]
            words = "\n".join(content.texts([part]))
            yield part if most is None else replace(part, arguments={"_": cut(words, most, "0000000000")})
        elif isinstance(part, Text):
            sizes = USER if message.role == "user" else ASSISTANT
            most = sizes[min(level, len(sizes) - 1)]
            if most is None or len(part.text) <= most:
                yield part
            elif most:
                yield replace(part, text=cut(part.text, most, "0000000000"))
