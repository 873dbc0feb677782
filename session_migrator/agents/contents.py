"""Contents as the Gemini API has them, which several agents store: their parts -> Parts, and back."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..model import Compaction, File, Image, Part, Text, Thinking, ToolCall, ToolResult, Unknown
from ..toolnames import tool_kind
from .drafts import Draft, Drafts
from .jsonl import Record, rows, table, text

PROVIDER, SIGNATURE = "google", "thoughtSignature"
ANY_IMAGE = "image/*"
"""The media type of an image of which the address alone is known."""


def parts_of(content: Any) -> Iterator[Record]:
    """The parts of a content, which may be one text, one part, or a list of both."""
    for part in rows(content) or [content]:
        if isinstance(part, str):
            yield {"text": part}
        elif table(part):
            yield part


def words_of(content: Any) -> str:
    """The text of a content, thoughts left out."""
    texts = (part.get("text") for part in parts_of(content) if not part.get("thought"))
    return "".join(words for words in texts if isinstance(words, str))


@dataclass(slots=True)
class Reader:
    """Reads contents one after the other. ``provider``: whose the thoughts are.

    Knows calls by id, and what was answered: results may be stored twice, or with every call of an answer. Ids that
    are missing are made up, by name and order.
    """

    provider: str | None = None
    _open: dict[str, deque[str]] = field(default_factory=lambda: defaultdict[str, deque[str]](deque))
    _answers: dict[str, int] = field(default_factory=dict[str, int])
    _made: int = 0

    def parts(self, content: Any, call_id: str | None = None) -> Iterator[Part]:
        """The parts of a content; media right behind a result are the result's own. ``call_id``: of the result,
        where it has none itself."""
        result: ToolResult | None = None
        for record in parts_of(content):
            part = self._part(record, call_id)
            if result and isinstance(part, Image | File):
                result = replace(result, parts=(*result.parts, part))
                continue
            if result:
                yield result
            result = part if isinstance(part, ToolResult) else None
            if part and not result:
                yield part
        if result:
            yield result

    def call(self, record: Record) -> ToolCall:
        """A call: ``id``, ``name``, ``args``."""
        name = text(record.get("name")) or "unknown"
        given = record.get("args")
        arguments = table(given) if isinstance(given, dict) else "" if given is None else str(given)
        call_id = text(record.get("id"))
        if call_id is None:
            self._made += 1
            call_id = f"{name}-{self._made}"
            self._open[name].append(call_id)
        self._answers.pop(call_id, None)
        return ToolCall(id=call_id, name=name, arguments=arguments, kind=tool_kind(name))

    def result(self, response: Record) -> ToolResult:
        """A response is any object; ``output`` and ``error`` are the keys in use for its text."""
        given = response.get("response")
        held = table(given)
        key = next(iter(held), None) if len(held) == 1 else None
        value = held[key] if key in ("output", "error") else given if given is not None else ""
        words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) if value else ""
        media = filter(None, (_media(table(part)) for part in rows(response.get("parts"))))
        said = (Text(text=words),) if words else ()
        call_id = self.answered(text(response.get("id")), text(response.get("name")) or "unknown")
        return ToolResult(call_id=call_id, parts=(*said, *media), is_error=key == "error")

    def answered(self, call_id: str | None, name: str) -> str:
        """The id of the call that a result answers."""
        if call_id is None:
            call_id = self._open[name].popleft() if self._open[name] else f"{name}-0"
        return call_id

    def add_results(self, drafts: Drafts, parts: Iterable[Part], about: Mapping[str, Any]) -> None:
        """The results among the parts that were not seen since their calls, as one message with those before."""
        results = [part for part in parts if isinstance(part, ToolResult) and self._is_new(part)]
        if results and drafts.last and drafts.last.role == "tool":
            drafts.last.add(results)
        elif results:
            drafts.add(Draft(role="tool", parts=list(results), origin="tool", **about))

    def _is_new(self, result: ToolResult) -> bool:
        before, now = self._answers.get(result.call_id), hash((result.parts, result.is_error))
        self._answers[result.call_id] = now
        return before != now

    def _part(self, record: Record, call_id: str | None) -> Part | None:
        signature = text(record.get(SIGNATURE))
        if isinstance(record.get("functionCall"), dict):
            meta = {PROVIDER: {SIGNATURE: signature}} if signature else None
            return replace(self.call(record["functionCall"]), meta=meta)
        if isinstance(record.get("functionResponse"), dict):
            response = record["functionResponse"]
            return self.result({**response, "id": text(response.get("id")) or call_id})
        words = record.get("text")
        if isinstance(words, str):
            if record.get("thought"):
                return Thinking(text=words, signature=signature, provider=self.provider)
            return Text(text=words) if words else None
        return _media(record) or (Unknown(kind=str(next(iter(record))), raw=record) if record else None)


def _media(record: Record) -> Image | File | None:
    found = table(record.get("inlineData")) or table(record.get("fileData"))
    media_type, data, location = (text(found.get(key)) for key in ("mimeType", "data", "fileUri"))
    if not data and not location:
        return None
    if media_type is None or media_type.startswith("image/"):
        media_type = None if media_type == ANY_IMAGE else media_type
        return Image(media_type=media_type, data=data, location=location)
    return File(name=text(found.get("displayName")), media_type=media_type, data=data, location=location)


def written(parts: Iterable[Part], names: Mapping[str, str], *, typed: bool = False) -> Iterator[Record]:
    """The parts of a lowered message; the images of a result stand right behind it. ``names``: of the tools, by the
    ids of their calls. ``typed``: an image's address needs a media type beside it."""
    for part in parts:
        match part:
            case Text():
                yield {"text": part.text}
            case ToolCall():
                signature = dict((part.meta or {}).get(PROVIDER) or {}).get(SIGNATURE)
                signed = {SIGNATURE: signature} if signature else {}
                yield {"functionCall": {"id": part.id, "name": part.name, "args": part.arguments}, **signed}
            case ToolResult():
                words = "".join(inner.text for inner in part.parts if isinstance(inner, Text))
                response = {"error" if part.is_error else "output": words}
                name = names.get(part.call_id, "unknown")
                yield {"functionResponse": {"id": part.call_id, "name": name, "response": response}}
                yield from written([inner for inner in part.parts if isinstance(inner, Image)], names, typed=typed)
            case Image():
                if part.data is None:
                    named = {"mimeType": ANY_IMAGE} if typed else {}
                    yield {"fileData": {**named, "fileUri": part.location}}
                else:
                    yield {"inlineData": {"mimeType": part.media_type, "data": part.data}}
            case Thinking() | File() | Compaction() | Unknown():
                raise TypeError(f"a lowered session holds no {part.type} part here")
