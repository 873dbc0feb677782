"""Message arrays of four APIs: what is read, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from session_migrator.errors import FormatError, NoConversation
from session_migrator.exporter import from_messages, to_messages
from session_migrator.model import File, Image, Message, Part, Session, Text, Thinking, ToolCall, ToolResult, Unknown


def session_of(*messages: Message) -> Session:
    return Session(id="s", agent="a", messages=messages)


def read(*elements: Any, shape: str | None = None) -> tuple[Message, ...]:
    return from_messages(list(elements), shape).messages


def parts_of(*elements: Any) -> list[Part]:
    return [part for message in read(*elements) for part in message.parts]


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
