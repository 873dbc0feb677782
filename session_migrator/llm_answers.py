"""What a large language model answers: its text, and what is wrong with it, whatever was asked."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from .jsondata import as_list, as_object, as_text

BROKE_OFF = "it broke off"
_UNFINISHED = {
    "content_filter": "it refuses", "length": "it was cut off at its longest", "error": BROKE_OFF,
    "abort": BROKE_OFF, "insufficient_system_resource": BROKE_OFF,
}  # fmt: skip
_LONGEST = 500_000  # characters: several times the longest answer that is asked for
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


def answered(content: Any) -> str:
    """The text of a message, without the reasoning that some servers leave in it."""
    return _THOUGHT.sub("", joined(content)).strip()


def joined(content: Any) -> str:
    """The text of a message: a text, or blocks of them."""
    blocks = [as_object(block) or {} for block in as_list(content) or []]
    texts = [as_text(block.get("text")) or "" for block in blocks if block.get("type") == "text"]
    return as_text(content) or "".join(texts)


def wrong(text: str, finish: Any, refusal: Any) -> str:
    """What is wrong with an answer, whatever was asked; empty where nothing is."""
    if refusal:
        return "it refuses"
    if finish := _UNFINISHED.get(as_text(finish) or ""):
        return finish
    if not text:
        return "it is empty"
    if len(text) > _LONGEST:
        return "it is far too long"
    return "it repeats itself" if repeats(text) else ""


def repeats(text: str) -> bool:
    """Whether a text has run into a loop: the same words four times at its end, or a long line five times anywhere,
    whatever its number in a list."""
    lines = [re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+", "", line).strip() for line in text.splitlines()]
    long = [line for line in lines if len(line) >= 20 and any(map(str.isalpha, line))]
    if any(count >= 5 for count in Counter(long).values()):
        return True
    end = " ".join(" ".join(lines).split())[-2_000:]
    periods = (end[-length:] for length in range(6, len(end) // 4 + 1))
    return any(end.endswith(period * 4) and any(map(str.isalpha, period)) for period in periods)
