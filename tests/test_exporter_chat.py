"""Message arrays of four APIs: what is written, what is read, what comes back, what is refused."""

from __future__ import annotations

import base64
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import closed_sessions, json_objects, json_values, sessions

from session_migrator.errors import FormatError, MigrationError, NoConversation, UsageError
from session_migrator.exporter import SHAPES, from_json, from_messages, to_document, to_messages
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


def parts_of(*elements: Any) -> list[Part]:
    return [part for message in read(*elements) for part in message.parts]


# What is written


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


# What is read


def test_plain_messages_are_read_with_role_and_origin() -> None:
    assert read(
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "text", "text": "ho"}, {"type": "text", "text": "ho"}]},
    ) == (
        Message(role="system", parts=(Text(text="Be brief."),)),
        Message(role="user", parts=(Text(text="hi"),), origin="human"),
        Message(role="assistant", parts=(Text(text="ho"), Text(text="ho")), origin="model"),
    )


def test_the_session_takes_its_facts_from_the_arguments() -> None:
    messages = [{"role": "user", "content": "hi"}]
    session = from_messages(messages, id="x", agent="codex", model="gpt-5", cwd="/toy", title="T")
    assert (session.id, session.agent, session.model, session.cwd, session.title) == (
        "x",
        "codex",
        "gpt-5",
        "/toy",
        "T",
    )


def test_without_an_id_the_same_messages_give_the_same_id() -> None:
    one, same, other = (from_messages([{"role": "user", "content": text}]).id for text in ("a", "a", "b"))
    assert one == same != other


def test_arguments_that_are_no_json_object_stay_text() -> None:
    broken = ["{'a': 1}", "[1]", '{"a": NaN}', '{"a":' * 150 + "1" + "}" * 150, "1" * 5000, '{"a": 1e999}', '"x"']
    calls = [{"id": f"c{i}", "function": {"name": "f", "arguments": text}} for i, text in enumerate(broken)]
    assert [call.arguments for call in read({"role": "assistant", "tool_calls": calls})[0].calls] == broken


def test_arguments_of_other_forms_are_read_for_what_they_are() -> None:
    given_and_wanted: list[tuple[Any, Any]] = [
        (None, {}), ("", {}), ({"a": 1}, {"a": 1}), ('{"a": "\\ud83d"}', {"a": "\ufffd"}), ([1], "[1]"), (7, "7"),
    ]  # fmt: skip
    for value, wanted in given_and_wanted:
        (message,) = read(
            {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": value}}]}
        )
        assert message.calls[0].arguments == wanted


def test_a_custom_call_keeps_its_text_even_if_that_is_json() -> None:
    custom = {"id": "c", "type": "custom", "custom": {"name": "apply_patch", "input": '{"a": 1}'}}
    item = {"type": "custom_tool_call", "call_id": "d", "name": "apply_patch", "input": '{"a": 1}'}
    calls = [call for message in read({"role": "assistant", "tool_calls": [custom]}, item) for call in message.calls]
    assert [call.arguments for call in calls] == ['{"a": 1}', '{"a": 1}']


def test_the_older_function_calls_are_paired_by_name() -> None:
    first, second, third, fourth = read(
        {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}},
        {"role": "function", "name": "ls", "content": "a"},
        {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}},
        {"role": "function", "name": "ls", "content": "b"},
    )
    assert first.calls[0].id == second.results[0].call_id != third.calls[0].id == fourth.results[0].call_id
    assert second.role == "tool"


def test_gemini_calls_are_paired_by_name_and_order() -> None:
    call, response = (
        (lambda name: {"functionCall": {"name": name}}),
        (lambda name, text: {"functionResponse": {"name": name, "response": {"output": text}}}),
    )
    asked, answered = read(
        {"role": "model", "parts": [call("ls"), call("cat"), call("ls")]},
        {"role": "user", "parts": [response("cat", "2"), response("ls", "1"), response("ls", "3")]},
    )
    names = {call.id: place for place, call in enumerate(asked.calls, start=1)}
    assert len(names) == 3
    assert [names[result.call_id] for result in answered.results] == [2, 1, 3]


def test_a_gemini_call_that_was_never_answered_does_not_take_the_result_of_a_later_one() -> None:
    messages = read(
        {"role": "model", "parts": [{"functionCall": {"name": "ls"}}]},
        {"role": "user", "parts": [{"text": "never mind"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "ls"}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "x"}}}]},
    )
    assert messages[3].results[0].call_id == messages[2].calls[0].id != messages[0].calls[0].id


def test_a_gemini_result_that_comes_late_is_still_its_call_s() -> None:
    messages = read(
        {"role": "model", "parts": [{"functionCall": {"name": "ls"}}]},
        {"role": "user", "parts": [{"text": "and?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "cat"}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "x"}}}]},
    )
    assert messages[3].results[0].call_id == messages[0].calls[0].id


def test_gemini_parts_are_read_in_the_spelling_of_python_clients_too() -> None:
    assert parts_of(
        {"role": "model", "parts": [{"function_call": {"name": "ls", "args": {"a": 1}}, "thought_signature": "s"}]},
        {
            "parts": [
                {"inline_data": {"mime_type": "image/png", "data": "QQ=="}},
                {"file_data": {"file_uri": "gs://b/c"}},
            ]
        },
    ) == [
        ToolCall(id="call_1", name="ls", arguments={"a": 1}, kind="search", meta={"google": {"thoughtSignature": "s"}}),
        Image(media_type="image/png", data="QQ=="),
        File(location="gs://b/c"),
    ]


def test_what_a_gemini_response_holds_is_read_from_any_of_its_keys() -> None:
    def result(response: Any, **more: Any) -> ToolResult:
        (message,) = read(
            {"role": "function", "parts": [{"functionResponse": {"name": "f", "response": response, **more}}]}
        )
        return message.results[0]

    assert result({"result": "a"}).parts == (Text(text="a"),)
    assert result({"error": "bad"}) == ToolResult(call_id="call_1", parts=(Text(text="bad"),), is_error=True)
    assert result({"output": {"x": 1}}).parts == (Text(text='{"x": 1}'),)
    assert result({"exit": "0"}).parts == (Text(text='{"exit": "0"}'),)
    assert result({"x": 1, "y": 2}).parts == (Text(text='{"x": 1, "y": 2}'),)
    assert result({"output": "", "z": 1}).parts == (Text(text='{"output": "", "z": 1}'),)
    picture = {"inlineData": {"mimeType": "image/png", "data": "QQ=="}}
    assert result({"output": "a"}, parts=[picture]).parts == (
        Text(text="a"),
        Image(media_type="image/png", data="QQ=="),
    )


def test_the_items_of_one_response_are_one_message() -> None:
    def said(text: str) -> dict[str, Any]:
        return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}

    call = {"type": "function_call", "name": "ls", "arguments": "{}", "call_id": "c"}
    messages = read(
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "QQ=="},
        said("Looking."), call, {**call, "call_id": "d"},
        {"type": "function_call_output", "call_id": "c", "output": "a"},
        {"type": "function_call_output", "call_id": "d", "output": None},
        said("One."), said("Two."),
    )  # fmt: skip
    assert [(message.role, [part.type for part in message.parts]) for message in messages] == [
        ("assistant", ["thinking", "text", "tool_call", "tool_call"]),
        ("tool", ["tool_result"]),
        ("tool", ["tool_result"]),
        ("assistant", ["text"]),
        ("assistant", ["text"]),
    ]
    assert messages[0].parts[0] == Thinking(text="hm", signature="QQ==", provider="openai")
    assert messages[2].results == (ToolResult(call_id="d", parts=()),)


def test_a_local_shell_call_is_a_call() -> None:
    call, result = parts_of(
        {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "function_call_output", "call_id": "c", "output": "a"},
    )
    assert call == ToolCall(
        id="c", name="local_shell", arguments={"type": "exec", "command": ["ls"]}, kind="execute"
    )  # fmt: skip
    assert result == ToolResult(call_id="c", parts=(Text(text="a"),))


def test_results_and_words_of_one_anthropic_message_are_parted() -> None:
    assert read(
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c", "content": "a", "is_error": True},
                {"type": "tool_result", "tool_use_id": "d", "is_error": "no"},
                {"type": "text", "text": "and now?"},
            ],
        }
    ) == (
        Message(
            role="tool",
            parts=(ToolResult(call_id="c", parts=(Text(text="a"),), is_error=True), ToolResult(call_id="d", parts=())),
            origin="tool",
        ),
        Message(role="user", parts=(Text(text="and now?"),), origin="human"),
    )


def test_what_a_tool_returned_is_read_from_any_form() -> None:
    def result(content: Any) -> tuple[Part, ...]:
        (message,) = read({"role": "tool", "tool_call_id": "c", "content": content})
        return message.results[0].parts

    assert result(None) == result("") == result([]) == ()
    assert result("a") == result([{"type": "text", "text": "a"}]) == (Text(text="a"),)
    assert result({"exit": 0}) == (Text(text='{"exit": 0}'),)
    assert result([{"type": "text", "text": ""}, {"type": "text", "text": "a"}]) == (Text(text="a"),)
    assert result([{"query": "q"}, 1]) == (Text(text='[{"query": "q"}, 1]'),)
    assert result([{"type": "text", "text": "a"}, {"query": "q"}, "b"]) == (
        Text(text="a"), Text(text='{"query": "q"}'), Text(text="b"),
    )  # fmt: skip
    assert result([{"type": "image", "data": "QQ==", "mimeType": "image/png"}]) == (
        Image(media_type="image/png", data="QQ=="),
    )


def test_images_and_files_are_read_from_every_block() -> None:
    url, pdf = "https://example.org/a", "data:application/pdf;base64,QQ=="
    plain = {"type": "text", "media_type": "text/plain", "data": "A"}
    paper = {"type": "base64", "media_type": "application/pdf", "data": "QQ=="}
    blocks: list[tuple[Any, Part]] = [
        ({"type": "image_url", "image_url": {"url": "data:image/gif;base64,QQ=="}},
         Image(media_type="image/gif", data="QQ==")),
        ({"type": "image_url", "image_url": url}, Image(location=url)),
        ({"type": "input_image", "image_url": "DATA:;base64,QQ=="}, Image(data="QQ==")),
        ({"type": "image", "source": {"type": "url", "url": url}}, Image(location=url)),
        ({"type": "file", "file": {"filename": "a.pdf", "file_data": pdf}},
         File(name="a.pdf", media_type="application/pdf", data="QQ==")),
        ({"type": "file", "file": {"file_data": "QQ=="}}, File(data="QQ==")),
        ({"type": "input_file", "filename": "a", "file_url": url}, File(name="a", location=url)),
        ({"type": "document", "title": "t", "source": plain}, File(name="t", media_type="text/plain", data="QQ==")),
        ({"type": "document", "source": paper}, File(media_type="application/pdf", data="QQ==")),
        ({"type": "document", "source": {"type": "url", "url": url}}, File(location=url)),
    ]  # fmt: skip
    for block, part in blocks:
        assert parts_of({"role": "user", "content": [block]}) == [part]


def test_reasoning_beside_the_content_is_thinking() -> None:
    assert parts_of({"role": "assistant", "content": "a", "reasoning_content": "hm"}) == [
        Thinking(text="hm"), Text(text="a"),
    ]  # fmt: skip


def test_a_refusal_is_what_the_model_said() -> None:
    for said in ({"content": None, "refusal": "No."}, {"content": [{"type": "refusal", "refusal": "No."}]}):
        assert parts_of({"role": "assistant", **said}) == [Text(text="No.")]


def test_thinking_belongs_to_anthropic_where_it_is_signed() -> None:
    signed, bare = {"type": "thinking", "thinking": "hm", "signature": "QQ=="}, {"type": "thinking", "thinking": "hm"}
    assert parts_of({"role": "assistant", "content": [signed, bare]}) == [
        Thinking(text="hm", signature="QQ==", provider="anthropic"), Thinking(text="hm"),
    ]  # fmt: skip


def test_signed_thinking_without_words_comes_back() -> None:
    for shape, provider in {"anthropic": "anthropic", "responses": "openai", "gemini": "google"}.items():
        message = Message(
            role="assistant",
            parts=(Thinking(text="", signature="QQ==", provider=provider), Text(text="a")),
            origin="model",
        )
        assert from_messages(to_messages(session_of(message), shape)).messages == (message,)


def test_ids_that_are_made_up_are_not_taken_twice() -> None:
    calls = [{"id": "call_2", "function": {"name": "f"}}, {"function": {"name": "f"}}, {"function": {"name": "f"}}]
    assert len({call.id for call in read({"role": "assistant", "tool_calls": calls})[0].calls}) == 3


def test_blocks_and_calls_that_are_damaged_are_kept_as_unknown() -> None:
    damaged = [
        {"type": "text"},
        {"type": "thinking"},
        {"type": "image_url"},
        {"type": "tool_use", "input": {}},
        {"no": "type"},
        7,
        None,
    ]
    media = {"inlineData": {"mimeType": "image/png"}}
    made = parts_of(
        {"role": "assistant", "content": damaged, "tool_calls": [{"id": "c"}, "x"]}, {"role": "model", "parts": [media]}
    )
    assert all(isinstance(part, Unknown) for part in made)
    assert [part.raw for part in made if isinstance(part, Unknown)] == [*damaged, {"id": "c"}, "x", media]


def test_elements_without_content_are_passed_over() -> None:
    assert [
        message.text for message in read({"role": "assistant", "content": ""}, {"role": "user", "content": "a"})
    ] == ["a"]


def test_a_list_may_mix_the_shapes() -> None:
    messages = read(
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "ls", "input": {}}]},
        {"type": "function_call_output", "call_id": "c", "output": "b"},
        {"role": "model", "parts": [{"text": "d"}]},
        {"role": "user", "content": [{"type": "input_text", "text": "e"}]},
    )
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant", "user"]
    assert messages[1].calls[0].id == messages[2].results[0].call_id


# What is refused


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ({"role": "user"}, "messages must be a list"),
        ("hi", "messages must be a list"),
        ([{"role": "user", "content": "a"}, "b"], "messages[1] must be an object"),
        ([{"role": "boss", "content": "a"}], 'messages[0].role is "boss"'),
        ([{"role": ["user"], "content": "a"}], 'messages[0].role is ["user"]'),
        ([{"content": "a"}], "messages[0].role is missing"),
        ([{"role": "user"}], "messages[0] has no content"),
        ([{"role": "user", "content": 7}], "messages[0].content must be text or a list of content blocks"),
        ([{"role": "user", "parts": "a"}], "messages[0].parts must be a list"),
    ],
)
def test_a_bad_array_names_the_element(messages: Any, complaint: str) -> None:
    with pytest.raises(FormatError) as caught:
        from_messages(messages)
    assert str(caught.value) == complaint
    assert caught.value.remedy


def test_the_allowed_roles_are_named() -> None:
    with pytest.raises(FormatError) as caught:
        from_messages([{"role": "boss", "content": "a"}])
    assert caught.value.remedy == "use one of system, developer, user, assistant, model, tool, function"


def test_an_array_without_words_is_no_conversation() -> None:
    for messages in ([], [{"role": "user", "content": ""}]):
        with pytest.raises(NoConversation):
            from_messages(messages)


KEYS = """
    role content parts type text tool_calls function_call function name arguments id tool_call_id call_id output input
    image_url url source data file thinking signature summary encrypted_content functionCall functionResponse response
    args inlineData mimeType tool_use_id is_error action custom messages contents system session version
"""
WORDS = """
    user assistant system tool model text image tool_use tool_result thinking message function_call
    function_call_output custom_tool_call local_shell_call reasoning image_url file document input_text output_text
    data:image/png;base64,QQ== {"a":1} x
"""
keys = st.sampled_from(KEYS.split())
words = st.sampled_from([*WORDS.split(), "", "\ud83d"])
likely = st.recursive(
    words | st.none() | st.booleans() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=25,
)
turn = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system"])},
    optional={"content": likely, "parts": st.lists(likely, max_size=3), "type": words, "tool_calls": likely},
)


@given(likely | json_values | st.lists(turn, max_size=4), st.sampled_from([None, *SHAPES]))
def test_no_json_gives_anything_but_a_session_or_an_error_of_ours(messages: Any, shape: str | None) -> None:
    try:
        session = from_messages(messages, shape)
    except MigrationError as error:
        assert "\n" not in str(error)
        return
    json.dumps(to_document(session), ensure_ascii=False, allow_nan=False).encode("utf-8")
    for other in SHAPES:
        to_messages(session, other)


@given(likely | json_objects | st.dictionaries(keys, likely) | st.lists(turn, max_size=3))
def test_no_json_file_gives_anything_but_a_session_or_an_error_of_ours(value: Any) -> None:
    try:
        to_document(from_json(json.dumps(value)))
    except MigrationError as error:
        assert "\n" not in str(error)


# A file of JSON


def from_value(value: Any) -> Session:
    return from_json(json.dumps(value).encode("utf-8"))


def test_a_file_may_hold_a_neutral_document_or_a_bare_array() -> None:
    assert from_value(to_document(SESSION)) == SESSION
    assert from_value(to_messages(SESSION)).messages == from_messages(to_messages(SESSION)).messages


def test_a_file_may_hold_the_body_of_any_api_s_request() -> None:
    hi = {"role": "user", "content": "hi"}
    text = {"parts": [{"text": "Be brief."}]}
    bodies: list[dict[str, Any]] = [
        {"model": "m", "messages": [{"role": "system", "content": "Be brief."}, hi]},
        {"model": "m", "system": "Be brief.", "messages": [hi]},
        {"model": "m", "system": [{"type": "text", "text": "Be brief."}], "messages": [hi]},
        {"model": "m", "instructions": "Be brief.", "input": "hi"},
        {"model": "m", "instructions": "Be brief.", "input": [{"type": "message", **hi}]},
        {"model": "m", "systemInstruction": text, "contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
        {"model": "m", "system_instruction": text, "contents": [{"parts": ["hi"]}]},
    ]
    for body in bodies:
        session = from_value(body)
        assert [(message.role, message.text) for message in session.messages] == [
            ("system", "Be brief."),
            ("user", "hi"),
        ]
        assert session.model == "m"


def test_the_places_in_a_body_are_named_as_in_the_body() -> None:
    with pytest.raises(FormatError, match=r"^input\[0\] must be an object$"):
        from_value({"instructions": "Be brief.", "input": [1]})


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"\xff\xfe[\x00", "not UTF-8 text: byte 0 fits no character"),
        (b"", "not JSON: Expecting value at line 1, column 1"),
        (b'[{"role": "user", "content": "a"', "not JSON: Expecting ',' delimiter at line 1, column 33"),
        (b'[{"role": "user", "content": NaN}]', "not JSON: a number in it is not finite or too long"),
        (b'[{"role": "user", "content": 1e999}]', "not JSON: a number in it is not finite or too long"),
        (b"[" + b"9" * 5000 + b"]", "not JSON: a number in it is not finite or too long"),
        (b"[" * 100_000, "the data is nested too deeply"),
        (b"[" * 500 + b"]" * 500, "the data is nested too deeply"),
        (b'{"role": "user"}', "the JSON holds no conversation"),
        (b'{"messages": {}}', "messages must be a list"),
        (b'"hi"', "messages must be a list"),
    ],
)
def test_a_file_that_is_no_conversation_is_refused_in_one_line(data: bytes, complaint: str) -> None:
    with pytest.raises(FormatError) as caught:
        from_json(data)
    assert str(caught.value) == complaint
    assert caught.value.remedy


def test_a_byte_order_mark_is_no_hindrance(tmp_path: Path) -> None:
    path = tmp_path / "messages.json"
    path.write_text('[{"role": "user", "content": "hä"}]', encoding="utf-8-sig")
    assert from_json(path.read_bytes()).messages == from_json(path.read_text("utf-8")).messages
    assert from_json(path.read_bytes()).messages[0].text == "hä"


def test_lone_surrogates_of_a_file_are_replaced_and_real_pairs_kept() -> None:
    session = from_json('[{"role": "user", "content": "\\ud83d \\ud83d\\udc4d"}]')
    assert session.messages[0].text == "\ufffd 👍"


def call_of_depth(levels: int) -> list[Any]:
    deep: Any = "x"
    for _ in range(levels):
        deep = {"a": deep}
    return [{"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": deep}]}]


def test_messages_that_nest_too_deeply_are_refused() -> None:
    for use in (from_messages, from_value, lambda messages: from_value({"messages": messages})):
        with pytest.raises(FormatError, match="nested too deeply"):
            use(call_of_depth(97))


def test_what_nests_as_deeply_as_is_read_can_be_written_in_every_form() -> None:
    session = from_messages(call_of_depth(96))
    assert from_value(to_document(session)) == session
    for shape in SHAPES:
        assert to_messages(session, shape)
