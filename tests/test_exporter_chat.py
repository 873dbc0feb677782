"""Message arrays of four APIs: what is written, and what of it comes back."""

from __future__ import annotations

import base64
import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import closed_sessions, sessions

from session_migrator.errors import UsageError
from session_migrator.exporter import SHAPES, from_messages, to_messages
from session_migrator.model import (
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
)  # fmt: skip

shapes = pytest.mark.parametrize("shape", SHAPES)

SESSION = Session(
    id="s1",
    agent="codex",
    messages=(
        Message(role="system", parts=(Text(text="Be brief."),)),
        Message(role="user", parts=(Text(text="What is in it?"), Image(media_type="image/png", data="QUJD"))),
        Message(
            role="assistant",
            parts=(
                Thinking(text="hm", signature="c2ln", provider="anthropic"),
                Text(text="Looking."),
                ToolCall(id="c1", name="Read", arguments={"path": "ä"}, kind="read"),
                ToolCall(id="c2", name="apply_patch", arguments="*** Begin", kind="edit"),
            ),
        ),
        Message(
            role="tool",
            parts=(
                ToolResult(call_id="c1", parts=(Text(text="one"), Image(media_type="image/png", data="QUJD"))),
                ToolResult(call_id="c2", parts=(Text(text="refused"),), is_error=True),
            ),
        ),
        Message(role="assistant", parts=(Text(text="Done."),)),
    ),
)


def session_of(*messages: Message) -> Session:
    return Session(id="s", agent="a", messages=messages)


def read(*elements: Any, shape: str | None = None) -> tuple[Message, ...]:
    return from_messages(list(elements), shape).messages


def test_openai_messages_are_written_as_chat_completions_takes_them() -> None:
    assert to_messages(SESSION) == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is in it?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
            ],
        },
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "Read", "arguments": '{"path": "ä"}'}},
                {"id": "c2", "type": "function", "function": {"name": "apply_patch", "arguments": "*** Begin"}},
            ],
        },
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "[image: image/png]"}],
        },
        {"role": "tool", "tool_call_id": "c2", "content": "refused"},
        {"role": "assistant", "content": "Done."},
    ]


def test_responses_items_are_written_in_the_order_of_the_parts() -> None:
    assert to_messages(SESSION, "responses") == [
        {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "Be brief."}]},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is in it?"},
                {"type": "input_image", "image_url": "data:image/png;base64,QUJD"},
            ],
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}]},
        {"type": "function_call", "call_id": "c1", "name": "Read", "arguments": '{"path": "ä"}'},
        {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "*** Begin"},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [
                {"type": "input_text", "text": "one"},
                {"type": "input_image", "image_url": "data:image/png;base64,QUJD"},
            ],
        },
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "refused"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    ]


def test_anthropic_messages_are_written_as_blocks_with_all_results_of_a_turn_in_one_message() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}
    assert to_messages(SESSION, "anthropic") == [
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "text", "text": "What is in it?"}, image]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "c1", "name": "Read", "input": {"path": "ä"}},
                {"type": "tool_use", "id": "c2", "name": "apply_patch", "input": {"_raw": "*** Begin"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "one"}, image]},
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": [{"type": "text", "text": "refused"}],
                    "is_error": True,
                },
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    ]


def test_gemini_contents_are_written_with_names_for_ids() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}
    assert to_messages(SESSION, "gemini") == [
        {"role": "system", "parts": [{"text": "Be brief."}]},
        {"role": "user", "parts": [{"text": "What is in it?"}, image]},
        {
            "role": "model",
            "parts": [
                {"text": "Looking."},
                {"functionCall": {"name": "Read", "args": {"path": "ä"}}},
                {"functionCall": {"name": "apply_patch", "args": {"_raw": "*** Begin"}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "Read", "response": {"output": "one"}}},
                image,
                {"functionResponse": {"name": "apply_patch", "response": {"error": "refused"}}},
            ],
        },
        {"role": "model", "parts": [{"text": "Done."}]},
    ]


@shapes
def test_the_results_of_a_turn_written_one_by_one_or_together_are_the_same(shape: str) -> None:
    *before, results, after = SESSION.messages
    apart = [Message(role="tool", parts=(part,)) for part in results.parts]
    assert to_messages(session_of(*before, *apart, after), shape) == to_messages(SESSION, shape)


@pytest.mark.parametrize("shape", ["anthropic", "gemini"])
def test_results_that_came_in_another_order_are_written_in_the_order_of_the_calls(shape: str) -> None:
    *before, results, after = SESSION.messages
    turned = Message(role="tool", parts=results.parts[::-1])
    named = [
        [part["functionResponse"]["name"] for part in item["parts"] if "functionResponse" in part]
        if shape == "gemini"
        else [block["tool_use_id"] for block in item["content"]]
        for item in to_messages(session_of(*before, turned, after), shape)[3:4]
    ]
    assert named == [["Read", "apply_patch"] if shape == "gemini" else ["c1", "c2"]]


@shapes
def test_thinking_goes_back_to_its_own_provider_alone_and_only_signed(shape: str) -> None:
    own = {"anthropic": "anthropic", "responses": "openai", "gemini": "google"}
    for provider, signature in itertools.product([None, "anthropic", "openai", "google"], [None, "c2ln"]):
        thought = Thinking(text="deep thought", signature=signature, provider=provider)
        written = json.dumps(to_messages(session_of(Message(role="assistant", parts=(thought,))), shape))
        carried = signature is not None and provider is not None and own.get(shape) == provider
        assert ("deep thought" in written) == carried == ("c2ln" in written)


@shapes
def test_a_message_of_which_nothing_can_be_written_is_not_written_empty(shape: str) -> None:
    nothing = (Thinking(text="hm"), Text(text=""), Unknown(kind="x", raw={"a": 1}), Compaction(summary=""))
    messages = tuple(Message(role=role, parts=nothing) for role in ("system", "user", "assistant", "tool"))
    assert to_messages(session_of(*messages), shape) == []


@shapes
def test_what_cannot_be_shown_where_it_stands_is_named_in_its_place(shape: str) -> None:
    picture = Image(location="/home/dev/cat.png")
    session = session_of(
        Message(role="user", parts=(picture, File(name="a.pdf", location="/tmp/a"))),
        Message(role="assistant", parts=(picture,)),
    )
    written = json.dumps(to_messages(session, shape))
    assert written.count("[image: /home/dev/cat.png]") == 2
    assert written.count("[file: a.pdf]") == 1


def test_plain_text_files_are_written_for_anthropic_as_the_text_they_are() -> None:
    def written(raw: bytes) -> Any:
        file = File(name="a.txt", media_type="text/plain", data=base64.b64encode(raw).decode("ascii"))
        return to_messages(session_of(Message(role="user", parts=(file,))), "anthropic")[0]["content"][0]

    source = {"type": "text", "media_type": "text/plain", "data": "hä"}
    assert written("hä".encode()) == {"type": "document", "source": source, "title": "a.txt"}
    assert written(b"\xff") == {"type": "text", "text": "[file: a.txt]"}


def test_a_message_that_only_calls_has_null_for_content() -> None:
    (written,) = to_messages(session_of(Message(role="assistant", parts=(ToolCall(id="c", name="f", arguments={}),))))
    assert written["content"] is None


def test_an_output_is_of_the_kind_of_the_last_call_of_its_id() -> None:
    result = Message(role="tool", parts=(ToolResult(call_id="c", parts=()),))
    calls = [ToolCall(id="c", name="f", arguments=arguments) for arguments in ("text", {}, "text")]
    messages = [message for call in calls for message in (Message(role="assistant", parts=(call,)), result)]
    assert [item["type"] for item in to_messages(session_of(*messages), "responses")[1::2]] == [
        "custom_tool_call_output", "function_call_output", "custom_tool_call_output",
    ]  # fmt: skip


@shapes
def test_what_a_tool_message_says_besides_results_is_the_user_s(shape: str) -> None:
    message = Message(role="tool", parts=(Text(text="late result"),))
    assert [item["role"] for item in to_messages(session_of(message), shape)] == ["user"]


@shapes
def test_thinking_outside_of_the_assistant_is_not_written(shape: str) -> None:
    for provider in ("anthropic", "openai", "google"):
        thought = Thinking(text="hm", signature="QQ==", provider=provider)
        assert to_messages(session_of(Message(role="user", parts=(thought,))), shape) == []


@shapes
def test_a_summary_is_written_as_text(shape: str) -> None:
    session = session_of(Message(role="user", parts=(Compaction(summary="So far: two crates."),)))
    assert "So far: two crates." in json.dumps(to_messages(session, shape))


@shapes
def test_a_result_without_call_is_written_all_the_same(shape: str) -> None:
    session = session_of(Message(role="user", parts=(ToolResult(call_id="gone", parts=(Text(text="late"),)),)))
    assert "late" in json.dumps(to_messages(session, shape))


@shapes
def test_what_is_written_is_valid_unicode_and_strict_json(shape: str) -> None:
    arguments = {"a\ud83d": float("inf"), "b": "\udc00"}
    session = session_of(
        Message(role="user", parts=(Text(text="x\ud83dy 👍"),)),
        Message(role="assistant", parts=(ToolCall(id="\ud83d", name="n", arguments=arguments),)),
    )
    written = json.dumps(to_messages(session, shape), allow_nan=False, ensure_ascii=False)
    written.encode("utf-8")
    assert "x\ufffdy 👍" in written
    assert "Infinity" not in written


@shapes
def test_what_claims_to_be_of_a_shape_and_is_no_object_is_not_written(shape: str) -> None:
    parts = tuple(Unknown(kind="x", raw=raw, meta={"shape": shape}) for raw in ("text", 7, None, ["a"]))
    message = Message(role="user", parts=(*parts, ToolResult(call_id="c", parts=parts)))
    assert '"text"' not in json.dumps(to_messages(session_of(message), shape))


@given(sessions, st.sampled_from(list(SHAPES)))
def test_any_session_can_be_written_and_what_was_written_can_be_read(session: Session, shape: str) -> None:
    written = to_messages(session, shape)
    json.dumps(written, allow_nan=False).encode("utf-8")
    if written:
        assert from_messages(written, shape).messages
        assert from_messages(written).messages


def test_an_unknown_shape_is_a_usage_error_naming_the_shapes() -> None:
    for use in (lambda: to_messages(SESSION, "morse"), lambda: from_messages([{"role": "user"}], "morse")):
        with pytest.raises(UsageError, match="'morse'") as caught:
            use()
        assert caught.value.remedy == "use one of openai, responses, anthropic, gemini"


# There and back


def comparable(session: Session, shape: str) -> list[tuple[Any, ...]]:
    """What a shape can hold of a session: the parts in order, each with its role, without tags and
    empty texts; calls by number where the shape has no ids."""
    numbers: dict[str, str] = {}
    seen: list[tuple[Any, ...]] = []
    for message in session.messages:
        parts = sorted(message.parts, key=lambda part: shape == "openai" and isinstance(part, ToolCall))
        for part in parts:
            role = "tool" if isinstance(part, ToolResult) else message.role
            if isinstance(part, ToolCall):
                id = numbers.setdefault(part.id, f"#{len(numbers)}") if shape == "gemini" else part.id
                seen.append((role, "call", id, part.name, part.kind, arguments(part, shape)))
            elif isinstance(part, ToolResult):
                id = numbers[part.call_id] if shape == "gemini" else part.call_id
                inner = [held(inner, "tool", shape) for inner in part.parts]
                if shape == "gemini":
                    texts = "\n".join(item[1] for item in inner if item and item[0] == "text")
                    inner = [("text", texts), *(item for item in inner if item and item[0] != "text")]
                kept = tuple(item for item in inner if item and item != ("text", ""))
                seen.append((role, "result", id, kept, part.is_error and shape in ("anthropic", "gemini")))
            elif item := held(part, role, shape):
                seen.append((role, *item))
    return seen


def arguments(call: ToolCall, shape: str) -> Any:
    """Chat Completions has text only: that of an object is one, and none is an empty one."""
    if shape != "openai" or not isinstance(call.arguments, str):
        return call.arguments
    try:
        value = json.loads(call.arguments or "{}")
    except ValueError:
        return call.arguments
    return value if isinstance(value, dict) else call.arguments


def held(part: Part, role: str, shape: str) -> tuple[Any, ...] | None:
    if isinstance(part, Text):
        return ("text", part.text) if part.text else None
    if isinstance(part, Thinking):
        own = {"anthropic": "anthropic", "responses": "openai", "gemini": "google"}.get(shape)
        return (
            ("thinking", part.text, part.signature)
            if part.signature and part.provider and part.provider == own
            else None
        )
    assert isinstance(part, (Image, File))
    kind, name = ("image", None) if isinstance(part, Image) else ("file", part.name)
    shown = shape == "gemini" or role == "user" or (role == "tool" and shape in ("anthropic", "responses"))
    remote = (part.location or "").startswith("https://") and not (kind == "file" and shape == "openai")
    if part.media_type == "text/plain" and part.data and shape == "anthropic":
        try:
            base64.b64decode(part.data).decode("utf-8")
        except UnicodeDecodeError:
            shown = False
    if not shown or not (part.data or remote):
        return ("text", f"[{kind}: {name or part.location or part.media_type or 'not included'}]")
    if part.location:
        return (kind if shape != "gemini" else "media", part.location)
    name = None if shape == "gemini" else name or (None if shape == "anthropic" or kind == "image" else "file")
    return (kind, name, part.media_type or "image/png", part.data)


@given(closed_sessions(), st.sampled_from(list(SHAPES)))
def test_what_a_shape_can_hold_comes_back_as_it_was(session: Session, shape: str) -> None:
    written = to_messages(session, shape)
    if not written:
        return
    wanted = comparable(session, shape)
    assert comparable(from_messages(written, shape), shape) == wanted
    assert comparable(from_messages(json.loads(json.dumps(written))), shape) == wanted


@given(closed_sessions(), st.sampled_from(list(SHAPES)))
def test_writing_what_was_read_gives_the_same_array(session: Session, shape: str) -> None:
    if written := to_messages(session, shape):
        once = to_messages(from_messages(written), shape)
        assert shape == "openai" or once == written  # there JSON text in a raw argument may change its spacing
        assert to_messages(from_messages(once), shape) == once


@pytest.mark.parametrize(
    ("shape", "element"),
    [
        ("openai", {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "QQ=="}}]}),
        ("anthropic", {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "QQ=="}]}),
        ("anthropic", {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s", "name": "web_search"}]}),
        ("responses", {"type": "web_search_call", "id": "ws_1", "status": "completed"}),
        ("responses", {"type": "message", "role": "user", "content": [{"type": "input_image", "file_id": "f"}]}),
        ("gemini", {"role": "model", "parts": [{"executableCode": {"language": "PYTHON", "code": "1"}}]}),
    ],
)
def test_what_is_not_known_goes_back_into_its_own_shape_and_no_other(shape: str, element: dict[str, Any]) -> None:
    session = from_messages([{"role": "user", "content": "hi"}, element])
    assert isinstance(session.messages[-1].parts[-1], Unknown)
    for other in SHAPES:
        assert len(to_messages(session, other)) == (2 if other == shape else 1)
    assert to_messages(session, shape)[1] == element


def test_a_google_signature_on_a_call_goes_back_with_it() -> None:
    element = {
        "role": "model",
        "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"}, {"text": "a"}],
    }
    assert to_messages(from_messages([element]), "gemini") == [element]
    assert "c2ln" not in json.dumps(to_messages(from_messages([element]), "openai"))
