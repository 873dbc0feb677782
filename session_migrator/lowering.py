"""Making any session acceptable to one target, from its declared capabilities: the only place that
repairs pairs, roles, ids, names and times. ``lower`` is idempotent."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, pairwise

from . import timestamps
from .agents.spec import Capabilities
from .context_windows import normalize
from .losses import Loss, merged
from .model import (
    Compaction,
    File,
    Image,
    Message,
    Part,
    Session,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    failure_text,
)  # fmt: skip
from .pairing import paired
from .sequences import collect
from .tokens import images

OPENER = "[The conversation before this point is not part of this session.]"
SYSTEM_NOTE = "[System message of the source session]"
ERROR_NOTE = "[error]"
REASONING_NOTE = "> [reasoning]"
USER_NOTE = "[The user wrote:]"
IMAGE_BELOW = "[Image: in the user's message below]"
IMAGE_OF = "[Image that the call of {name} returned ({id})]"
# Keys for what has no place of its own in the target's arguments.
RAW_ARGUMENTS, TOOL_NAME = "_raw", "_tool"

# Above these an image makes every later request of a session with many images fail (Messages API).
_IMAGE_BYTES, _IMAGE_SIDE = 5_000_000, 2_000
# By the first characters of their base64: some clients record a wrong media type.
_IMAGE_TYPES = {"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}


def lower(session: Session, capabilities: Capabilities, now: str | None = None) -> tuple[Session, tuple[Loss, ...]]:
    """The session as the target can hold it, and what that changed or left out.

    What the source's client had added is left out (the target adds its own); every call gets exactly one
    result, right after it; ids are unique, ids and names fit the target's patterns; no message is empty;
    times never decrease and never pass ``now`` (default: the present). What lies before the source's last compaction
    is none of it.
    """
    losses: list[Loss] = []
    if session.children:
        detail = "a sub-agent's own conversation is not carried; what it reported is"
        losses += [Loss(kind="child_session", detail=detail)] * len(session.children)
    messages = _fitting(paired(session.messages, capabilities.id_pattern, losses), capabilities, losses)
    messages = _shown_behind(messages, capabilities, losses)
    now = now or timestamps.now()
    messages = _set_apart(messages) if capabilities.joined_answers else messages
    messages = _timed(_opened(messages, capabilities), session.created_at, now, losses)
    created, updated = (stamp and min(stamp, now) for stamp in (session.created_at, session.updated_at))
    lowered = replace(
        session, messages=collect(messages), earlier=(), children=(), created_at=created, updated_at=updated
    )
    return lowered, merged(losses)


def is_reasoning(message: Message, part: Part) -> bool:
    """Whether a part of a lowered session is the model's reasoning, as it was or quoted."""
    if isinstance(part, Text):
        return message.role == "assistant" and part.text.startswith(REASONING_NOTE)
    return isinstance(part, Thinking)


def _opened(messages: Iterable[Message], capabilities: Capabilities) -> Iterator[Message]:
    """The messages from one of the role the target starts with."""
    for index, message in enumerate(messages):
        if not index and capabilities.first_role not in (None, message.role):
            yield Message(role=capabilities.first_role or "user", parts=(Text(text=OPENER),), origin="summary")
        yield message


def _fitting(messages: Iterable[Message], capabilities: Capabilities, losses: list[Loss]) -> Iterator[Message]:
    """The messages whose parts the target can hold."""
    for index, message in enumerate(messages):
        found: list[Loss] = []
        can = capabilities if _own_reasoning(message, capabilities) else replace(capabilities, thinking="text")
        if message.role == "assistant" and not capabilities.answer_images:
            can = replace(can, images=False)
        parts = tuple(fitted for part in message.parts for fitted in _fit(part, can, found))
        parts = tuple(sorted(parts, key=_is_call)) if capabilities.calls_last else parts
        losses += [replace(loss, where=index) for loss in found]
        if message.role == "system" and not capabilities.system and parts:
            detail = "a system message is carried as a note of the user's"
            losses.append(Loss(kind="role", severity="info", where=index, detail=detail))
            message = replace(message, role="user", origin="summary")
            parts = (Text(text=SYSTEM_NOTE), *parts)
        if parts:
            yield _unreserved(replace(message, parts=parts), capabilities, index, losses)


def _is_call(part: Part) -> bool:
    return isinstance(part, ToolCall)


def _shown_behind(messages: Iterable[Message], capabilities: Capabilities, losses: list[Loss]) -> Iterator[Message]:
    """The messages, with the images of results that can hold none in a message of the user's right behind those."""
    names: dict[str, str] = {}
    for index, message in enumerate(messages):
        names = {call.id: call.name for call in message.calls} or names
        bare = [
            result for result in message.results
            if not (capabilities.result_images and (capabilities.failed_images or not result.is_error))
        ]  # fmt: skip
        images = {result.call_id: [part for part in result.parts if isinstance(part, Image)] for result in bare}
        shown = [
            part for call_id, found in images.items() if found
            for part in (Text(text=IMAGE_OF.format(name=names[call_id], id=call_id)), *found)
        ]  # fmt: skip
        if not shown:
            yield message
            continue
        detail = "an image of a result is carried in a message of the user's behind it"
        losses += [Loss(kind="image", severity="info", where=index, detail=detail)] * sum(map(len, images.values()))
        yield replace(message, parts=tuple(
            replace(result, parts=_pointing(result.parts, capabilities)) if images.get(result.call_id) else result
            for result in message.results
        ))  # fmt: skip
        yield Message(role="user", parts=tuple(shown), origin="tool", timestamp=message.timestamp)


def _pointing(parts: Iterable[Part], capabilities: Capabilities) -> tuple[Part, ...]:
    """What a result holds, with lines that say where its images are."""
    told = tuple(Text(text=IMAGE_BELOW) if isinstance(part, Image) else part for part in parts)
    return _whole(told) if capabilities.whole_results else told


def _set_apart(messages: Iterable[Message]) -> Iterator[Message]:
    """The messages, with a blank line at the end of each text of the model's that another one of its follows."""
    for message, following in pairwise(chain(messages, [None])):
        assert message is not None, "the end is no first of two"
        texts = [index for index, part in enumerate(message.parts) if isinstance(part, Text)]
        if message.role != "assistant" or not texts:
            yield message
            continue
        next_parts = following.parts if following and following.role == "assistant" else ()
        ended = texts if any(isinstance(part, Text) for part in next_parts) else texts[:-1]
        yield replace(message, parts=tuple(
            _ended(part) if index in ended and isinstance(part, Text) else part
            for index, part in enumerate(message.parts)
        ))  # fmt: skip


def _ended(part: Text) -> Text:
    """The text with a blank line at its end."""
    missing = 2 - min(2, len(part.text) - len(part.text.rstrip("\n")))
    return replace(part, text=part.text + "\n" * missing) if missing else part


def _unreserved(message: Message, capabilities: Capabilities, index: int, losses: list[Loss]) -> Message:
    """A user's message that does not begin as what the target takes for something else."""
    first = message.parts[0]
    if message.role != "user" or not capabilities.reserved_start or not isinstance(first, Text):
        return message
    if not re.match(capabilities.reserved_start, first.text):
        return message
    detail = "a text of the user's that the target would take for a command has a line put before it"
    losses.append(Loss(kind="role", severity="info", where=index, detail=detail))
    return replace(message, parts=(replace(first, text=f"{USER_NOTE}\n{first.text}"), *message.parts[1:]))


def _own_reasoning(message: Message, capabilities: Capabilities) -> bool:
    """Whether reasoning in this message, if any, is of the model that the target goes on with: clients leave out
    that of any other model, signed or not."""
    if capabilities.thinking != "native" or capabilities.model is None or message.model == capabilities.model:
        return True
    if not any(isinstance(part, Thinking) for part in message.parts):
        return True
    return normalize(message.model or "") == normalize(capabilities.model)


def _fit(part: Part, capabilities: Capabilities, losses: list[Loss]) -> Iterator[Part]:
    """One part in the target's terms: the same, another in its place, or nothing."""
    match part:
        case Text():
            if part.text.strip():
                yield part
        case Thinking():
            yield from _thinking(part, capabilities, losses)
        case ToolCall():
            yield _call(part, capabilities, losses)
        case ToolResult():
            inner = tuple(fitted for given in part.parts for fitted in _fit(given, capabilities, losses))
            inner = _whole(inner) if capabilities.whole_results else inner
            yield _flagged(replace(part, parts=inner), capabilities)
        case Image():
            yield _image(part, capabilities, losses)
        case File():
            losses.append(Loss(kind="file", detail="a file is carried as its name only"))
            yield Text(text=f"[File not carried: {part.name or part.location or 'unnamed'}]")
        case Compaction():
            if part.summary.strip():
                yield Text(text=part.summary)
        case Unknown():
            losses.append(Loss(kind="unknown_record", detail=f"{part.kind}: not understood, not carried"))


def _thinking(part: Thinking, capabilities: Capabilities, losses: list[Loss]) -> Iterator[Part]:
    """Reasoning goes back as it is only to the provider that signed it; elsewhere as a quotation."""
    if capabilities.thinking == "native" and part.signature and part.provider == capabilities.provider:
        yield part
        return
    if part.signature:
        detail = "a signature or encrypted reasoning is valid for its own provider only and is not carried"
        losses.append(Loss(kind="signature", severity="info", detail=detail))
    if capabilities.thinking == "drop" or not part.text.strip():
        if part.text.strip():
            losses.append(Loss(kind="thinking", detail="reasoning is not carried"))
        return
    losses.append(Loss(kind="thinking", severity="info", detail="reasoning is carried as quoted text"))
    quoted = "\n".join(f"> {line}".rstrip() for line in part.text.strip().splitlines())
    yield Text(text=f"{REASONING_NOTE}\n{quoted}")


def _call(part: ToolCall, capabilities: Capabilities, losses: list[Loss]) -> ToolCall:
    arguments = part.arguments
    if capabilities.object_arguments and isinstance(arguments, str):
        arguments = {RAW_ARGUMENTS: arguments}
    elif not capabilities.object_arguments and not isinstance(arguments, str) and set(arguments) == {RAW_ARGUMENTS}:
        arguments = str(arguments[RAW_ARGUMENTS])
    name = part.name
    if not re.fullmatch(capabilities.name_pattern, name):
        losses.append(Loss(kind="name", severity="info", detail="a tool name is changed to a valid one"))
        stem = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:48].strip("_") or "tool"
        name = f"{stem}_{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
        if not isinstance(arguments, str):
            arguments = {**arguments, TOOL_NAME: part.name}
    return replace(part, name=name, arguments=arguments)


def _whole(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The texts of a result as one, before its images."""
    words = "\n".join(part.text for part in parts if isinstance(part, Text))
    others = (part for part in parts if not isinstance(part, Text))
    return (*((Text(text=words),) if words else ()), *others)


def _flagged(part: ToolResult, capabilities: Capabilities) -> ToolResult:
    """Where a result has no flag for failure, its text tells it, and nothing else does."""
    if capabilities.error_pattern is None:
        return part
    if re.search(capabilities.error_pattern, failure_text(part.parts)):
        return replace(part, is_error=True)
    return replace(part, parts=(Text(text=ERROR_NOTE), *part.parts)) if part.is_error else part


def _image(part: Image, capabilities: Capabilities, losses: list[Loss]) -> Part:
    """The image where the target takes it, its media type put right; else a line that says what was there."""
    if not capabilities.images:
        problem = "the target takes no images here"
    elif part.data is None:
        if capabilities.linked_images and part.location and part.location.startswith(("https://", "http://")):
            return replace(part, media_type=None)  # clients store the address alone
        problem = "its bytes are not in the session"
    else:
        media_type = next((kind for start, kind in _IMAGE_TYPES.items() if part.data.startswith(start)), None)
        pixels = images.size(part.data)
        size = len(part.data) * 3 // 4
        if media_type is None or pixels is None:
            problem = "it is no PNG, JPEG, GIF or WebP image"
        elif size > _IMAGE_BYTES or max(pixels) > _IMAGE_SIDE:
            problem = f"it is too large ({pixels[0]} x {pixels[1]} pixels, {size:,} bytes)"
        elif media_type not in capabilities.image_types:
            problem = f"the target takes no {media_type}"
        else:
            return replace(part, media_type=media_type)
    losses.append(Loss(kind="image", detail=f"an image is not carried: {problem}"))
    return Text(text=f"[Image not carried: {problem}{'; ' + part.location if part.location else ''}]")


def _timed(messages: Iterable[Message], start: str | None, now: str, losses: list[Loss]) -> Iterator[Message]:
    latest = ""
    for index, message in enumerate(messages):
        given = message.timestamp
        latest = min(max(given or latest or start or now, latest), now)
        if given and given != latest:
            detail = "a time that went back or lay in the future is put right"
            losses.append(Loss(kind="time", severity="info", where=index, detail=detail))
        yield message if given == latest else replace(message, timestamp=latest)
