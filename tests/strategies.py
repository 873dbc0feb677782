"""Hypothesis strategies for the values of a conversation, shared by the tests."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

from hypothesis import strategies as st

from session_migrator import timestamps
from session_migrator.model import (
    ORIGINS,
    ROLES,
    Compaction,
    File,
    Image,
    Message,
    Session,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)  # fmt: skip
from session_migrator.toolnames import tool_kind

NASTY = (
    "", " ", "\n", "\ufeff", "\x00", "\x1b[31mred", "\u2028", "日本語のテキスト", "👩‍👩‍👧", "<|endoftext|>", "```",
    "~~~~", "</details>", "# heading", '{"a": 1}', "[1]", "null", "_raw", "a" * 400,
)  # fmt: skip

texts = st.text(max_size=40) | st.sampled_from(NASTY)
words = st.text(min_size=1, max_size=20)
ids = st.text("abcXYZ019_-|:\n日", min_size=1, max_size=12)
names = st.sampled_from(["Bash", "read_file", "apply_patch", "mcp__web__search", "x" * 80, "tool with spaces"]) | words
data = st.binary(min_size=1, max_size=24).map(lambda raw: base64.b64encode(raw).decode("ascii"))
locations = st.sampled_from(["https://example.org/a.png", "/home/dev/toy/a b.png", "C:\\toy\\a.png"])
times = st.datetimes(datetime(1973, 4, 1), datetime(2100, 1, 1), timezones=st.just(UTC)).map(timestamps.render)

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
json_objects = st.dictionaries(texts, json_values, max_size=4)
metas = st.none() | json_objects

text_parts = st.builds(Text, text=texts, meta=metas)
thinking_parts = st.builds(
    Thinking,
    text=texts,
    signature=st.none() | words,
    provider=st.sampled_from([None, "anthropic", "openai", "google"]),
    meta=metas,
)
image_parts = st.builds(
    Image, media_type=st.sampled_from([None, "image/png", "image/jpeg"]), data=data, meta=metas
) | st.builds(Image, media_type=st.sampled_from([None, "image/png"]), location=locations)
file_parts = st.builds(
    File, name=st.none() | words, media_type=st.sampled_from(["application/pdf", "text/plain"]), data=data
) | st.builds(File, name=st.none() | words, location=locations)
result_contents = st.lists(text_parts | image_parts | file_parts, max_size=3).map(tuple)


@st.composite
def tool_calls(draw: st.DrawFn, id: str | None = None) -> ToolCall:
    """A call of any tool, with arguments of either form."""
    name = draw(names)
    return ToolCall(
        id=draw(ids) if id is None else id, name=name, arguments=draw(json_objects | texts), kind=tool_kind(name)
    )


def tool_results(call_id: str | None = None) -> st.SearchStrategy[ToolResult]:
    """A result, of the given call or of any."""
    call_ids = ids if call_id is None else st.just(call_id)
    return st.builds(ToolResult, call_id=call_ids, parts=result_contents, is_error=st.booleans())


parts = st.one_of(
    text_parts, thinking_parts, image_parts, file_parts, tool_calls(), tool_results(),
    st.builds(Compaction, summary=texts, recall_id=st.none() | ids, meta=metas),
    st.builds(Unknown, kind=words, raw=json_values, meta=metas),
)  # fmt: skip

messages = st.builds(
    Message,
    role=st.sampled_from(ROLES),
    parts=st.lists(parts, max_size=4).map(tuple),
    id=st.none() | ids,
    timestamp=st.none() | times,
    model=st.none() | words,
    origin=st.sampled_from([None, *ORIGINS]),
)

_session_fields = {
    "id": ids, "agent": st.sampled_from(["codex", "claude-code", "messages"]),
    "title": st.none() | texts, "cwd": st.none() | texts, "model": st.none() | words,
    "git": st.none() | json_objects, "created_at": st.none() | times, "updated_at": st.none() | times,
    "parent_id": st.none() | ids, "children": st.lists(ids, max_size=2).map(tuple), "source": st.none() | texts,
    "extra": st.none() | json_objects,
}  # fmt: skip

# Any session a reader could give: calls without results, results without calls, roles in any order.
sessions = st.builds(
    Session,
    messages=st.lists(messages, max_size=5).map(tuple),
    earlier=st.lists(messages, max_size=2).map(tuple),
    **_session_fields,
)


@st.composite
def turns(draw: st.DrawFn, number: int) -> tuple[Message, ...]:
    """A question, and answers of which all but the last call tools; every call has its one result."""
    asked = draw(st.lists(text_parts | image_parts | file_parts, min_size=1, max_size=2))
    made = [Message(role="user", parts=tuple(asked), origin="human")]
    for step in range(draw(st.integers(0, 2))):
        call_ids = [f"call-{number}-{step}-{place}" for place in range(draw(st.integers(1, 3)))]
        said = draw(st.lists(thinking_parts | text_parts, max_size=2))
        calls = [draw(tool_calls(id=call_id)) for call_id in call_ids]
        made.append(Message(role="assistant", parts=(*said, *calls), origin="model"))
        results = [draw(tool_results(call_id)) for call_id in call_ids]
        if draw(st.booleans()):
            made.append(Message(role="tool", parts=tuple(results), origin="tool"))
        else:
            made.extend(Message(role="tool", parts=(result,), origin="tool") for result in results)
    return (*made, Message(role="assistant", parts=(draw(text_parts),), origin="model"))


@st.composite
def closed_sessions(draw: st.DrawFn) -> Session:
    """A session whose every call has its one result right after it; it may begin with the system."""
    made = [message for number in range(draw(st.integers(1, 3))) for message in draw(turns(number))]
    if draw(st.booleans()):
        made.insert(0, Message(role="system", parts=(draw(text_parts),)))
    return draw(st.builds(Session, messages=st.just(tuple(made)), **_session_fields))
