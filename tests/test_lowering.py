"""Lowering: whatever a session holds, the target can hold what comes out, and nothing is lost in silence."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from dataclasses import replace

import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

from session_migrator import agents
from session_migrator.agents import Capabilities
from session_migrator.exporter import from_messages
from session_migrator.losses import Loss
from session_migrator.lowering import IMAGE_BELOW, OPENER, RAW_ARGUMENTS, SYSTEM_NOTE, TOOL_NAME, lower
from session_migrator.model import File, Image, Message, Session, Text, Thinking, ToolCall, ToolResult
from session_migrator.pairing import INTERRUPTED, ORPHAN

NOW = "2030-01-01T00:00:00.000Z"
CLAUDE = agents.get("claude-code").capabilities
BARE = Capabilities(thinking="text", whole_results=True, result_images=False)
LOOSE = Capabilities(thinking="drop", system=True, first_role=None, object_arguments=False, joined_answers=True)


def session(*messages: Message, **fields: object) -> Session:
    return Session(id="s", agent="test", messages=messages, **fields)  # type: ignore[arg-type]


def user(text: str = "go", **fields: object) -> Message:
    return Message(role="user", parts=(Text(text=text),), **fields)  # type: ignore[arg-type]


def calls(*ids: str, name: str = "Bash", arguments: object = None) -> Message:
    parts = tuple(ToolCall(id=i, name=name, arguments={} if arguments is None else arguments) for i in ids)  # type: ignore[arg-type]
    return Message(role="assistant", parts=parts)


def results(*pairs: tuple[str, str]) -> Message:
    return Message(role="tool", parts=tuple(ToolResult(call_id=i, parts=(Text(text=t),)) for i, t in pairs))


def pairs(lowered: Session) -> list[tuple[str, str]]:
    """Calls with the text of their results, by the ids in the lowered session."""
    texts = {r.call_id: r.parts[0].text for m in lowered.messages for r in m.results}  # type: ignore[union-attr]
    return [(c.id, texts[c.id]) for m in lowered.messages for c in m.calls]


def png(width: int, height: int) -> str:
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    raw = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))
    return base64.b64encode(raw + b"\0" * 60).decode()


@pytest.mark.parametrize("capabilities", [CLAUDE, BARE, LOOSE])
@given(any_session=strategies.sessions)
def test_any_session_becomes_one_the_target_can_hold(capabilities: Capabilities, any_session: Session) -> None:
    lowered, _ = lower(any_session, capabilities, NOW)
    ids: list[str] = []
    latest = ""
    for index, message in enumerate(lowered.messages):
        assert message.parts
        assert message.origin != "injected"
        assert message.role != "system" or capabilities.system
        assert latest <= (message.timestamp or "") <= NOW
        latest = message.timestamp or ""
        for call in message.calls:
            assert message.role == "assistant"
            assert re.fullmatch(capabilities.id_pattern, call.id)
            assert re.fullmatch(capabilities.name_pattern, call.name)
            assert isinstance(call.arguments, dict) or not capabilities.object_arguments
        ids += [call.id for call in message.calls]
        if message.calls:
            answers = lowered.messages[index + 1]
            assert answers.role == "tool"
            assert [r.call_id for r in answers.results] == [c.id for c in message.calls]
        assert message.role != "tool" or lowered.messages[index - 1].calls
    assert len(set(ids)) == len(ids)
    if lowered.messages and capabilities.first_role:
        assert lowered.messages[0].role == capabilities.first_role


@pytest.mark.parametrize("capabilities", [CLAUDE, BARE, LOOSE])
@given(any_session=strategies.sessions)
def test_lowering_twice_changes_nothing_more(capabilities: Capabilities, any_session: Session) -> None:
    once, _ = lower(any_session, capabilities, NOW)
    twice, losses = lower(once, capabilities, NOW)
    assert twice == once
    assert losses == ()


@given(any_session=strategies.sessions)
def test_every_word_of_the_humans_and_the_models_is_still_there(any_session: Session) -> None:
    lowered, _ = lower(any_session, CLAUDE, NOW)
    kept = [p.text for m in lowered.messages for p in m.parts if isinstance(p, Text)]
    for message in any_session.messages:
        for part in message.parts:
            if isinstance(part, Text) and part.text.strip() and message.origin != "injected":
                assert part.text in kept


def test_a_call_without_a_result_is_closed_right_after_it() -> None:
    lowered, losses = lower(session(user(), calls("a", "b"), results(("b", "B")), user("next")), CLAUDE, NOW)
    assert pairs(lowered) == [("a", INTERRUPTED), ("b", "B")]
    assert [m.role for m in lowered.messages] == ["user", "assistant", "tool", "user"]
    assert lowered.messages[2].results[0].is_error
    assert [loss.kind for loss in losses] == ["tool_pair"]


def test_a_result_before_its_call_moves_behind_it_and_a_second_one_is_left_out() -> None:
    lowered, losses = lower(session(user(), results(("a", "first")), calls("a"), results(("a", "second"))), CLAUDE, NOW)
    assert pairs(lowered) == [("a", "first")]
    assert losses == (Loss(kind="tool_pair", where=3, detail="a second result of one call is left out"),)


def test_ids_that_recur_are_paired_by_order_and_made_unique() -> None:
    lowered, _ = lower(
        session(user(), calls("x"), results(("x", "A")), calls("x"), results(("x", "B")), calls("x", "x"),
                results(("x", "C"), ("x", "D"))),
        CLAUDE, NOW,
    )  # fmt: skip
    assert [text for _, text in pairs(lowered)] == ["A", "B", "C", "D"]
    assert len({call_id for call_id, _ in pairs(lowered)}) == 4


def test_long_ids_that_begin_alike_stay_apart_and_are_mapped_the_same_every_time() -> None:
    one, other = "p" * 80 + "|1", "p" * 80 + "|2"
    given_ = session(user(), calls(one, other), results((one, "1"), (other, "2")))
    first, _ = lower(given_, CLAUDE, NOW)
    again, _ = lower(given_, CLAUDE, NOW)
    assert first == again
    assert [text for _, text in pairs(first)] == ["1", "2"]


def test_a_result_without_a_call_becomes_a_note() -> None:
    lowered, _ = lower(session(results(("gone", "what it said")), user()), CLAUDE, NOW)
    assert lowered.messages[0].role == "user"
    assert lowered.messages[0].text == f"{ORPHAN}\nwhat it said"


def test_equal_calls_of_one_message_each_get_their_own_result() -> None:
    lowered, _ = lower(session(user(), calls("a", "a"), results(("a", "1"), ("a", "2"))), CLAUDE, NOW)
    assert [text for _, text in pairs(lowered)] == ["1", "2"]


def test_free_text_arguments_are_wrapped_for_targets_of_objects_and_unwrapped_again() -> None:
    patch = session(user(), calls("a", name="apply_patch", arguments="*** Begin Patch"), results(("a", "ok")))
    wrapped, _ = lower(patch, CLAUDE, NOW)
    assert wrapped.messages[1].calls[0].arguments == {RAW_ARGUMENTS: "*** Begin Patch"}
    back, _ = lower(wrapped, LOOSE, NOW)
    assert back.messages[1].calls[0].arguments == "*** Begin Patch"


def test_a_tool_name_that_is_no_name_is_made_one_and_kept_in_the_arguments() -> None:
    name = "rm -rf 'x' && " * 30
    lowered, losses = lower(session(user(), calls("a", name=name), results(("a", "ok"))), CLAUDE, NOW)
    call = lowered.messages[1].calls[0]
    assert re.fullmatch(CLAUDE.name_pattern, call.name)
    assert call.arguments == {TOOL_NAME: name}
    assert [loss.kind for loss in losses] == ["name"]


def test_reasoning_of_another_provider_is_quoted_and_its_signature_left_out() -> None:
    thought = Thinking(text="First.\nSecond.", signature="secret", provider="openai")
    lowered, losses = lower(session(user(), Message(role="assistant", parts=(thought,))), CLAUDE, NOW)
    assert lowered.messages[1].text == "> [reasoning]\n> First.\n> Second."
    assert {loss.kind for loss in losses} == {"signature", "thinking"}
    assert "secret" not in str(lowered)


def test_reasoning_goes_back_to_its_own_provider_as_it_was() -> None:
    thought = Thinking(text="", signature="sig", provider="anthropic")
    lowered, losses = lower(session(user(), Message(role="assistant", parts=(thought,))), CLAUDE, NOW)
    assert lowered.messages[1].parts == (thought,)
    assert losses == ()


def test_a_message_that_held_only_encrypted_reasoning_is_not_written_empty() -> None:
    thought = Thinking(text="", signature="gAAAA", provider="openai")
    lowered, _ = lower(session(user(), Message(role="assistant", parts=(thought,)), user("on")), CLAUDE, NOW)
    assert [m.text for m in lowered.messages] == ["go", "on"]


def test_a_conversation_that_starts_with_the_assistant_gets_an_opener() -> None:
    lowered, _ = lower(session(Message(role="assistant", parts=(Text(text="Hello."),))), CLAUDE, NOW)
    assert [m.text for m in lowered.messages] == [OPENER, "Hello."]


def test_system_messages_are_carried_as_notes() -> None:
    lowered, losses = lower(
        from_messages([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "x"}]), CLAUDE, NOW
    )
    assert lowered.messages[0].text == f"{SYSTEM_NOTE}\nBe brief."
    assert [loss.kind for loss in losses] == ["role"]


def test_images_keep_their_bytes_and_get_their_true_type() -> None:
    data = png(20, 10)
    lowered, losses = lower(
        session(Message(role="user", parts=(Image(media_type="image/jpeg", data=data),))), CLAUDE, NOW
    )
    assert lowered.messages[0].parts == (Image(media_type="image/png", data=data),)
    assert losses == ()


@pytest.mark.parametrize(
    "image",
    [
        Image(media_type="image/png", data=png(2001, 10)),
        Image(media_type="image/png", data=png(10, 10) + "A" * 8_000_000),
        Image(media_type="image/png", data="bm90IGFuIGltYWdl"),
        Image(location="/home/u/a.png"),
    ],
)
def test_an_image_that_would_poison_the_session_becomes_a_line_of_text(image: Image) -> None:
    lowered, losses = lower(session(Message(role="user", parts=(image,))), CLAUDE, NOW)
    assert lowered.messages[0].text.startswith("[Image not carried:")
    assert [(loss.kind, loss.severity) for loss in losses] == [("image", "lossy")]


@pytest.mark.parametrize("failed", [False, True])
@pytest.mark.parametrize("can", [{"result_images": False}, {"failed_images": False}])
def test_images_of_results_that_can_hold_none_stand_in_a_prompt_right_behind_them(
    can: dict[str, bool], failed: bool
) -> None:
    one, two, bad = (Image(media_type="image/png", data=data) for data in (png(20, 10), png(30, 10), "bm90"))
    answers = (
        ToolResult(call_id="a", parts=(Text(text="A:"), one, two)),
        ToolResult(call_id="b", parts=(Text(text="B"),)),
        ToolResult(call_id="c", parts=(bad, two), is_error=failed),
    )
    told = session(
        Message(role="user", parts=(one,)), calls("a", "b", "c"), Message(role="tool", parts=answers), user("next"),
    )  # fmt: skip
    lowered, losses = lower(told, Capabilities(thinking="text", whole_results=True, **can), NOW)
    assert lowered.messages[0].parts == (one,)
    moved = [*(["a"] if "result_images" in can else []), *(["c"] if failed or "result_images" in can else [])]
    pictures = {"a": (one, two), "c": (two,)}
    not_carried = "[Image not carried: it is no PNG, JPEG, GIF or WebP image]"
    words = {"a": "A:", "c": not_carried}
    for result in lowered.messages[2].results[::2]:
        below = [IMAGE_BELOW] * len(pictures[result.call_id]) if result.call_id in moved else []
        kept = () if result.call_id in moved else pictures[result.call_id]
        assert result.parts == (Text(text="\n".join([words[result.call_id], *below])), *kept)
    behind = [
        part for i in moved for part in (Text(text=f"[Image that the call of Bash returned ({i})]"), *pictures[i])
    ]
    assert [message.parts for message in lowered.messages[3:-1]] == ([tuple(behind)] if moved else [])
    assert [loss.severity for loss in losses if loss.kind == "image"] == ["lossy", *(["info"] if moved else [])]


def test_where_calls_stand_last_the_texts_of_an_answer_keep_their_order_before_them() -> None:
    one, two, call = Text(text="one"), Text(text="two"), calls("c").parts[0]
    told = session(user(), Message(role="assistant", parts=(one, call, two)), results(("c", "C")))
    assert lower(told, replace(BARE, calls_last=True), NOW)[0].messages[1].parts == (one, two, call)
    assert lower(told, BARE, NOW)[0].messages[1].parts == (one, call, two)


def test_a_file_is_carried_by_name() -> None:
    lowered, losses = lower(session(Message(role="user", parts=(File(name="a.pdf", data="AAAA"),))), CLAUDE, NOW)
    assert lowered.messages[0].text == "[File not carried: a.pdf]"
    assert [loss.kind for loss in losses] == ["file"]


def test_times_never_go_back_and_never_pass_the_present() -> None:
    stamps = ["2026-01-02T00:00:00.000Z", "2026-01-01T00:00:00.000Z", None, "2040-01-01T00:00:00.000Z", None]
    lowered, losses = lower(session(*(user(timestamp=stamp) for stamp in stamps)), CLAUDE, NOW)
    assert [m.timestamp for m in lowered.messages] == ["2026-01-02T00:00:00.000Z"] * 3 + [NOW] * 2
    assert [loss.detail.endswith("(2 times)") for loss in losses] == [True]


@given(st.lists(st.sampled_from(["user", "injected"]), min_size=1, max_size=6))
def test_context_of_the_sources_client_is_left_out_and_counted(origins: list[str]) -> None:
    messages = [user(origin="injected" if origin == "injected" else "human") for origin in origins]
    lowered, losses = lower(session(*messages), CLAUDE, NOW)
    assert len(lowered.messages) == origins.count("user")
    assert bool(losses) == ("injected" in origins)


@pytest.mark.parametrize(
    ("of", "kept"),
    [("claude-opus-5-5", True), ("claude-opus-5-5-20260901", True), ("claude-haiku-4-5", False), (None, False)],
)
def test_reasoning_of_another_model_of_the_same_provider_is_quoted(of: str | None, kept: bool) -> None:
    thought = Thinking(text="Hm.", signature="sig", provider="anthropic")
    capabilities = replace(CLAUDE, model="claude-opus-5-5")
    lowered, _ = lower(session(user(), Message(role="assistant", parts=(thought,), model=of)), capabilities, NOW)
    assert lowered.messages[1].parts == ((thought,) if kept else (Text(text="> [reasoning]\n> Hm."),))
