"""The neutral document: exact both ways, tolerant of newer ones, its schema no different from the values."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from strategies import json_values, sessions

from session_migrator import exporter
from session_migrator.errors import FormatError, MigrationError
from session_migrator.exporter import from_document, to_document
from session_migrator.exporter.neutral import DECODERS, TOOL_KINDS
from session_migrator.model import (
    ORIGINS,
    PART_TYPES,
    ROLES,
    Image,
    Message,
    Session,
    Text,
    Thinking,
    ToolCall,
    ToolKind,
    ToolResult,
    Unknown,
)  # fmt: skip
from session_migrator.toolnames import tool_kind

ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((ROOT / "docs/schema/session.schema.json").read_text("utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
FREE = {"arguments", "meta", "git", "extra", "raw"}  # keys under which any JSON may stand

SESSION = Session(
    id="s1",
    agent="codex",
    messages=(
        Message(role="user", parts=(Text(text="Count the crates."),), origin="human"),
        Message(role="assistant", parts=(ToolCall(id="c1", name="Bash", arguments={"command": "ls"}, kind="execute"),)),
        Message(role="tool", parts=(ToolResult(call_id="c1", parts=(Text(text="a\nb"), Image(data="QQ=="))),)),
    ),
)


def document(*parts: Any, **session: Any) -> dict[str, Any]:
    """A small document with these parts in its one message."""
    messages = [{"role": "assistant", "parts": list(parts)}]
    return {"version": 1, "session": {"id": "s", "agent": "a", "messages": messages, **session}}


@given(sessions)
def test_a_document_gives_an_equal_session_back(session: Session) -> None:
    text = json.dumps(to_document(session), allow_nan=False)
    assert from_document(json.loads(text)) == session


@given(sessions)
def test_the_schema_accepts_every_document(session: Session) -> None:
    VALIDATOR.validate(to_document(session))


def test_the_document_has_the_keys_of_the_values_and_its_version() -> None:
    assert to_document(Session(id="s", agent="a", messages=(Message(role="user", parts=(Text(text="hi"),)),))) == {
        "version": 1,
        "session": {
            "id": "s", "agent": "a", "earlier": [], "title": None, "cwd": None, "model": None, "git": None,
            "created_at": None, "updated_at": None, "parent_id": None, "children": [], "source": None, "extra": None,
            "messages": [
                {
                    "role": "user", "parts": [{"type": "text", "text": "hi"}], "id": None, "timestamp": None,
                    "model": None, "origin": None,
                },
            ],
        },
    }  # fmt: skip


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a document whose form the schema fixes."""
    inner: list[tuple[Any, Any]] = []
    if isinstance(node, dict):
        inner = [(key, value) for key, value in node.items() if key not in FREE]
    if isinstance(node, list):
        inner = list(enumerate(node))
    return [place for key, value in inner for place in ((*path, key), *places(value, (*path, key)))]


def spelled(path: tuple[Any, ...]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")


@given(sessions, st.data())
def test_a_number_in_any_place_is_refused_by_schema_and_reader(session: Session, data: st.DataObject) -> None:
    broken = to_document(session)
    path = data.draw(st.sampled_from(places(broken)))
    holder = broken
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = 12.5
    assert not VALIDATOR.is_valid(broken)
    if path[-1] in ("kind", "origin") and holder.get("type") != "unknown":
        from_document(broken)  # a word of a later version may stand there
    else:
        with pytest.raises(FormatError, match="must be") as caught:
            from_document(broken)
        assert str(caught.value).startswith(spelled(path))
        assert caught.value.remedy


@given(sessions, st.data())
def test_a_missing_key_is_refused_exactly_where_it_is_required(session: Session, data: st.DataObject) -> None:
    broken = to_document(session)
    path = data.draw(st.sampled_from([path for path in places(broken) if isinstance(path[-1], str)]))
    holder = broken
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    if path == ("version",):
        assert from_document(broken) == session
    elif VALIDATOR.is_valid(broken):
        from_document(broken)
    else:
        with pytest.raises(FormatError):
            from_document(broken)


def test_a_key_that_is_not_in_the_schema_is_refused_by_it_alone() -> None:
    for path in ((), ("session",), ("session", "messages", 0), ("session", "messages", 0, "parts", 0)):
        strange = to_document(SESSION)
        holder: Any = strange
        for key in path:
            holder = holder[key]
        holder["stranger"] = 1
        assert not VALIDATOR.is_valid(strange)
        assert from_document(strange) == SESSION


def test_schema_and_reader_know_exactly_the_fields_of_the_values() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    named = {"session": Session, "message": Message, **PART_TYPES}
    assert {definition["$ref"].rpartition("/")[2] for definition in SCHEMA["$defs"]["part"]["oneOf"]} == set(PART_TYPES)
    assert set(DECODERS) == set(named.values())
    for name, kind in named.items():
        definition = SCHEMA["$defs"][name]
        tag = {"type"} if name in PART_TYPES else set()
        known = {field.name for field in fields(kind)}
        assert set(definition["properties"]) - tag == known
        assert set(DECODERS[kind]) == known
        assert set(definition["required"]) - tag == {field.name for field in fields(kind) if field.default is MISSING}


def test_schema_and_reader_know_exactly_the_words_of_the_values() -> None:
    message, call = SCHEMA["$defs"]["message"]["properties"], SCHEMA["$defs"]["tool_call"]["properties"]
    assert tuple(message["role"]["enum"]) == ROLES
    assert tuple(message["origin"]["enum"]) == (*ORIGINS, None)
    assert tuple(call["kind"]["enum"]) == (*get_args(ToolKind), None)
    assert get_args(ToolKind) == TOOL_KINDS


def test_a_newer_document_is_read_as_far_as_it_is_understood() -> None:
    newer = document(
        {"type": "hologram", "cube": [1]},
        {"type": "text", "text": "hi", "colour": "red"},
        {"type": "tool_call", "id": "c", "name": "n", "arguments": {}, "kind": "teleport"},
        mood="fine",
    )
    newer["version"] = 7
    newer["session"]["messages"][0]["origin"] = "oracle"
    message = Message(
        role="assistant",
        parts=(
            Unknown(kind="hologram", raw={"type": "hologram", "cube": [1]}),
            Text(text="hi"),
            ToolCall(id="c", name="n", arguments={}),
        ),
    )
    assert from_document(newer) == Session(id="s", agent="a", messages=(message,))


@pytest.mark.parametrize(
    ("broken", "place"),
    [
        ([], "the document must be an object"),
        ({}, "session must be an object"),
        ({"version": True, "session": {}}, "version must be a number from 1"),
        ({"version": 0, "session": {}}, "version must be a number from 1"),
        (document({"type": "text"}), "session.messages[0].parts[0].text must be text"),
        (document({"text": "x"}), "session.messages[0].parts[0].type must be text"),
        (document("x"), "session.messages[0].parts[0] must be an object"),
        (
            document({"type": "tool_result", "call_id": "c", "parts": [{"type": "image", "data": 1}]}),
            "session.messages[0].parts[0].parts[0].data must be text",
        ),
        (
            document({"type": "tool_call", "id": "c", "name": "n", "arguments": []}),
            "session.messages[0].parts[0].arguments must be an object or text",
        ),
        (
            document({"type": "tool_result", "call_id": "c", "parts": [], "is_error": "no"}),
            "session.messages[0].parts[0].is_error must be true or false",
        ),
        (document(children="c"), "session.children must be a list"),
        (document(children=[1]), "session.children[0] must be text"),
        (document(messages=[{"role": "boss", "parts": []}]),
         "session.messages[0].role must be one of system, user, assistant, tool"),
    ],
)  # fmt: skip
def test_a_broken_document_names_the_place(broken: Any, place: str) -> None:
    with pytest.raises(FormatError) as caught:
        from_document(broken)
    assert str(caught.value) == place


def test_null_stands_for_the_default_of_an_optional_key() -> None:
    result = {"type": "tool_result", "call_id": "c", "parts": [], "is_error": None, "meta": None}
    session = from_document(document(result, earlier=None, children=None))
    assert session.messages[0].parts == (ToolResult(call_id="c", parts=()),)
    assert (session.earlier, session.children) == ((), ())


@given(json_values | st.builds(document, json_values) | json_values.map(lambda value: {"session": value}))
def test_no_json_gives_anything_but_a_session_or_an_error_of_ours(value: Any) -> None:
    kept = copy.deepcopy(value)
    try:
        from_document(value)
    except MigrationError as error:
        assert "\n" not in str(error)
    assert value == kept


def test_what_no_json_text_can_hold_is_replaced_in_the_document() -> None:
    part = ToolCall(id="c", name="n", arguments={"a\ud83d": float("nan"), "b": ["\udc00", "👍"]})
    session = Session(id="s", agent="a", messages=(Message(role="assistant", parts=(part,)),))
    made = to_document(session)["session"]["messages"][0]["parts"][0]["arguments"]
    assert made == {"a\ufffd": None, "b": ["\ufffd", "👍"]}


def test_data_that_is_nested_without_end_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(FormatError, match="nested too deeply"):
        from_document(document({"type": "unknown", "kind": "x", "raw": endless}))


def test_data_that_is_no_json_is_refused() -> None:
    session = Session(
        id="s", agent="a", messages=(Message(role="user", parts=(Unknown(kind="x", raw={"bytes": b"\0"}),)),)
    )
    with pytest.raises(FormatError, match="type bytes"):
        to_document(session)


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("read", "Read read_file ReadFile view view_image mcp__files__read-file"),
        ("edit", "Edit MultiEdit Write write_file replace apply_patch functions.apply_patch str_replace_editor"),
        ("delete", "delete_file"),
        ("move", "rename_file"),
        ("search", "Grep Glob LS list_directory search_file_content grep"),
        ("execute", "Bash bash shell exec_command run_shell_command local_shell write_stdin run_commands terminal"),
        ("think", "TodoWrite update_plan ExitPlanMode"),
        ("fetch", "WebFetch web_search google_web_search FetchURL"),
        ("other", "Agent Skill spawn_agent mcp__x__frobnicate __ 日本"),
    ],
)
def test_a_tool_s_name_tells_its_kind(kind: str, names: str) -> None:
    assert {name: tool_kind(name) for name in names.split()} == dict.fromkeys(names.split(), kind)


def test_a_tool_without_a_name_is_of_no_kind() -> None:
    assert tool_kind("") == "other"


def test_importing_the_exporter_imports_nothing_but_the_standard_library_and_values() -> None:
    script = (
        "import sys; before = set(sys.modules); import session_migrator.exporter; "
        "print(sorted({name.split('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names), "
        "'session_migrator.tokens' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['session_migrator'] False"


def test_estimating_counts_with_the_model_s_own_counter() -> None:
    from session_migrator.tokens import counter

    text = "Count the crates, please."
    assert exporter.estimate_tokens(text) == counter("gpt-5").text(text).tokens > 0
    assert (
        exporter.estimate_tokens(SESSION, "claude-sonnet-4-5") == counter("claude-sonnet-4-5").session(SESSION).tokens
    )


def test_thinking_keeps_its_signature_in_the_document() -> None:
    part = Thinking(text="hm", signature="c2ln", provider="anthropic", meta={"k": 1})
    session = Session(id="s", agent="a", messages=(Message(role="assistant", parts=(part,)),))
    assert to_document(session)["session"]["messages"][0]["parts"][0] == {
        "type": "thinking", "text": "hm", "signature": "c2ln", "provider": "anthropic", "meta": {"k": 1},
    }  # fmt: skip
