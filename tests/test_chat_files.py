"""JSON files that may be message arrays, and arrays of anything: what is no conversation is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import json_objects, json_values
from talks import said

from session_migrator.errors import FormatError, MigrationError
from session_migrator.exporter import SHAPES, from_json, from_messages, to_document, to_messages
from session_migrator.model import (
    Message,
    Session,
)  # fmt: skip

SESSION = said("What is in it?|Two tables.", "And in the other one?|None.")


def read(*elements: Any, shape: str | None = None) -> tuple[Message, ...]:
    return from_messages(list(elements), shape).messages


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
