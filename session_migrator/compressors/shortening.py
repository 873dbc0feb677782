"""Parts made shorter: a mark in the place of what is left out, everything else word for word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from typing import Any, cast

from ..lowering import RAW_ARGUMENTS
from ..model import Image, Part, Text, ToolCall, ToolResult
from . import marks

_GUTTER = re.compile(r"\s*\d+(?:→|\t|\s*[|:] ?)")
# Characters: what a line needs to be known again, and what a run of known lines must have to be worth a mark.
_TELLING, _RUN = 12, 200
# Characters that marks and names may add to the arguments of a call.
_APART = 600


def shortened(part: Part, most: int, name: str) -> Part:
    """A part with at most about so many characters of its text, beginning and end; an image is left out."""
    match part:
        case Text():
            return replace(part, text=cut(part.text, most, name))
        case ToolResult():
            text = "\n".join(inner.text for inner in part.parts if isinstance(inner, Text))
            pictures = (Text(text=marks.picture(inner, name)) for inner in part.parts if isinstance(inner, Image))
            return replace(part, parts=(Text(text=cut(text, most, name)), *pictures))
        case ToolCall():
            return replace(part, arguments=_shorter(part, most, name))
        case Image():
            return Text(text=marks.picture(part, name))
        case _:
            return part


def _shorter(call: ToolCall, most: int, name: str) -> Mapping[str, Any] | str:
    """Arguments with their long texts cut; as one text where there is more to them than a few of those."""
    each = level((len(text) for text in _texts(call.arguments)), most)
    arguments = _mapped(call.arguments, lambda text: cut(text, max(each, _TELLING), name))
    if isinstance(arguments, str) or len(marks.text_of(replace(call, arguments=arguments))) <= most + _APART:
        return arguments
    return {RAW_ARGUMENTS: cut(marks.text_of(call), most, name)}


def cut(text: str, most: int, name: str) -> str:
    """The first and the last characters of a text, up to a line's end where one is near, and a mark between."""
    if len(text) <= most:
        return text
    head, tail = text[: most // 2], text[len(text) - (most - most // 2) :]
    if (end := head.rfind("\n")) >= len(head) // 2:
        head = head[:end]
    if 0 <= (start := tail.find("\n")) < len(tail) // 2:
        tail = tail[start + 1 :]
    left = text[len(head) : len(text) - len(tail)]
    return f"{head}\n{marks.cut(len(left), left.count(chr(10)), name)}\n{tail}"


def without_repeats(part: Part, known: Set[str], name: str) -> Part:
    """A part without the runs of lines that are known (``lines``), 200 characters of them and more."""

    def short(text: str) -> str:
        return _without(text, known, name)

    match part:
        case Text():
            return replace(part, text=short(part.text))
        case ToolResult():
            inner = (replace(one, text=short(one.text)) if isinstance(one, Text) else one for one in part.parts)
            return replace(part, parts=tuple(inner))
        case ToolCall():
            return replace(part, arguments=_mapped(part.arguments, short))
        case _:
            return part


def lines(part: Part) -> Iterator[str]:
    """The lines of a part that are long enough to be known again, without numbers and signs before them."""
    texts: Iterator[str]
    match part:
        case Text():
            texts = iter([part.text])
        case ToolResult():
            texts = (inner.text for inner in part.parts if isinstance(inner, Text))
        case ToolCall():
            texts = _texts(part.arguments)
        case _:
            return
    for text in texts:
        for line in text.split("\n"):
            bare = _bare(line)
            if len(bare) >= _TELLING:
                yield bare


def _without(text: str, known: Set[str], name: str) -> str:
    kept: list[str] = []
    run: list[str] = []

    def close() -> None:
        if sum(map(len, run)) + len(run) > _RUN:
            kept.append(marks.repeated(len(run), name))
        else:
            kept.extend(run)
        run.clear()

    for line in text.split("\n"):
        bare = _bare(line)
        if bare in known or (run and len(bare) < _TELLING):
            run.append(line)
        else:
            close()
            kept.append(line)
    close()
    return "\n".join(kept)


def _bare(line: str) -> str:
    """A line without what a listing or a patch puts before it."""
    if found := _GUTTER.match(line):
        line = line[found.end() :]
    return line.lstrip("+- \t").rstrip()


def _texts(value: Any) -> Iterator[str]:
    """The texts in JSON data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in cast(Mapping[str, Any], value).values():
            yield from _texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in cast(list[Any], value):
            yield from _texts(inner)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """JSON data with each text changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _mapped(inner, change) for key, inner in cast(Mapping[str, Any], value).items()}
    if isinstance(value, (list, tuple)):
        return [_mapped(inner, change) for inner in cast(list[Any], value)]
    return value


def level(sizes: Iterable[int], room: int) -> int:
    """The size that each may have at most, so that all together have ``room``: the small ones stay whole."""
    ordered = sorted(sizes)
    for place, size in enumerate(ordered):
        share = room // (len(ordered) - place)
        if size > share:
            return share
        room -= size
    return ordered[-1] if ordered else 0
