"""The ladder: within its budget, whole in its units, in order, and nothing gone that its marks do not give back."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import LONG

from session_migrator import LadderCompressor, Session, from_messages, read_session, tokens
from session_migrator.agents import Capabilities
from session_migrator.compressors import Compressed, marks
from session_migrator.errors import Refused
from session_migrator.ledger import is_prompt
from session_migrator.lowering import is_reasoning, lower
from session_migrator.model import Image, Message, Part, Text, ToolCall, ToolKind, ToolResult
from session_migrator.tokens import content
from session_migrator.toolnames import tool_kind

COUNTERS = [tokens.counter(model) for model in ("gpt-5", "claude-opus-5-5", "gemini-2.5-pro")]
CAPABILITIES = Capabilities(thinking="text")
MARK = re.compile(r"recall ([0-9a-f]{10})")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

WORDS = [
    "alpha", "src/app.py", "naïve", "東京", "👩‍👩‍👧", "x=1;", "\n", "def run(self):", "0f3a9c41d7", "<|endoftext|>",
]  # fmt: skip


def conversation(seed: int) -> Session:
    """Turns of a human's words, reasoning, answers, and calls with results of all sizes. Made from a number, since a
    drawn one is too large to be drawn in time."""
    chance = random.Random(seed)

    def text(most: int) -> str:
        """Up to so many characters: some words, and these again and again."""
        words = " ".join(chance.choices(WORDS, k=chance.randint(1, 12)))
        return (words + " ") * chance.randint(1, max(1, int(most ** chance.random()) // len(words)))

    told: list[Message] = []
    for turn in range(chance.randint(1, 12)):
        asked: list[Part] = [Text(text=f"{turn} {text(8_000)}") for _ in range(chance.randint(0, 3))]
        if chance.random() < 0.2:
            asked.append(Image(media_type="image/png", data=PIXEL))
        told.append(Message(role="user", parts=tuple(asked), origin=chance.choice(["human", "human", None, "summary"])))
        for step in range(chance.randint(0, 3)):
            name = chance.choice(["Read", "Edit", "Bash", "update_plan"])
            path = f"src/{chance.randint(0, 3)}.py"
            arguments = {"file_path": path, "content": text(6_000)}
            call = ToolCall(id=f"c{turn}-{step}", name=name, kind=tool_kind(name), arguments=arguments)
            said = [Text(text=f"> [reasoning]\n> {text(500)}")] if chance.random() < 0.5 else []
            result = ToolResult(call_id=call.id, parts=(Text(text=text(40_000)),), is_error=chance.random() < 0.3)
            told.append(Message(role="assistant", parts=(*said, call), origin="model"))
            told.append(Message(role="tool", parts=(result,), origin="tool"))
        told.append(Message(role="assistant", parts=(Text(text=text(3_000)),), origin="model"))
    return lower(Session(id="s", agent="test", messages=tuple(told)), CAPABILITIES)[0]


def compressed(session: Session, budget: int, counter: tokens.Counter = COUNTERS[0]) -> Compressed:
    return LadderCompressor().compress(session, budget, counter)


def sent(messages: Sequence[Message]) -> str:
    return "\n".join(text for message in messages for text in content.texts(message.parts))


@settings(deadline=None)
@given(seed=st.integers(0), budget=st.integers(2_000, 30_000), counter=st.sampled_from(COUNTERS))
def test_a_result_is_within_its_budget_with_its_units_whole_its_order_kept_and_its_ends_there(
    seed: int, budget: int, counter: tokens.Counter
) -> None:
    session = conversation(seed)
    result = compressed(session, budget, counter)
    size = counter.session(session).high
    assert counter.session(result.session).high <= budget
    if size <= budget:
        assert result.session is session
        return
    kept = result.session.messages
    assert lower(result.session, CAPABILITIES)[0] == result.session  # pairs closed, roles and ids valid
    assert kept[0].origin == "summary"
    calls = [call.id for message in session.messages for call in message.calls]
    assert [call.id for message in kept for call in message.calls] == [
        call for call in calls if any(call == one.id for message in kept for one in message.calls)
    ]
    prompts = [message for message in session.messages if is_prompt(message)]
    spoken = [message for message in prompts if message.text.strip()]
    ends = {id(message): message for message in (*spoken[:1], *prompts[-1:])}.values()
    together = sum(counter.message(message).high for message in ends)
    for message in ends:
        assert any(one.text[:5] == message.text[:5] for one in kept)
        assert message in kept or together > budget // 2


@settings(deadline=None)
@given(seed=st.integers(0), budget=st.integers(2_000, 20_000))
def test_every_mark_gives_back_the_exact_bytes_and_all_that_is_not_in_the_result_is_there(
    seed: int, budget: int
) -> None:
    session = conversation(seed)
    result = compressed(session, budget)
    assert len(result.elided) == len({id(message) for message in result.elided})
    known = {elision.id: elision for elision in result.elisions}
    before = sent(session.messages)
    marked = {name for name in MARK.findall(sent(result.session.messages)) if f"recall {name}" not in before}
    assert marked <= set(known)
    for name, elision in known.items():
        assert marks.id_of(marks.original(result.elided, elision.spans)) == name
    kept = list(result.session.messages)
    for message in session.messages:
        assert message in kept or message in result.elided


def test_the_same_session_gives_the_same_result() -> None:
    session = lower(read_session(LONG), CAPABILITIES)[0]
    assert compressed(session, 5_000).to_dict() == compressed(session, 5_000).to_dict()


def chat(*turns: tuple[str, str]) -> Session:
    messages = [{"role": role, "content": text} for role, text in turns]
    return replace(from_messages(messages), id="s")


def test_goal_and_latest_message_are_whole_while_they_take_half_of_the_budget_and_else_shortened() -> None:
    goal, latest, filler = "The goal. " * 150, "The latest. " * 150, "filler words here " * 3_000
    session = chat(("user", goal), ("assistant", filler), ("user", "Go on."), ("assistant", filler), ("user", latest))
    kept = [message.text for message in compressed(session, 3_000).session.messages]
    assert goal in kept
    assert latest in kept
    longer = chat(("user", goal * 40), ("assistant", filler), ("user", latest * 40))
    result = compressed(longer, 2_000)
    first, last = (message.text for message in result.session.messages if message.text.startswith("The "))
    assert first.startswith("The goal. The goal.")
    assert last.endswith("The latest. The latest. ")
    assert "characters left out; recall " in first


def test_the_newest_are_whole_also_where_all_are_of_one_size() -> None:
    turns = [(("user", "assistant")[turn % 2], f"Turn {turn}. " + "And so on. " * 60) for turn in range(41)]
    for budget in (2_000, 4_000):
        kept = [message.text for message in compressed(chat(*turns), budget).session.messages]
        newest = int(budget * 0.3 / COUNTERS[0].text(turns[-1][1]).high)
        assert newest >= 2
        assert kept[-newest:] == [text for _, text in turns[-newest:]]


def test_one_giant_result_is_shortened_and_the_rest_stays() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "Bash", "arguments": '{"command": "make"}'}}
    giant = "".join(f"line {number} of the output\n" for number in range(40_000))
    session = from_messages([
        {"role": "user", "content": "Mend the build."}, {"role": "assistant", "content": "I look at it first."},
        {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c1", "content": giant},
        {"role": "assistant", "content": "It is mended."},
    ])  # fmt: skip
    result = compressed(session, 4_000)
    text = sent(result.session.messages)
    for kept in ("Mend the build.", "I look at it first.", "make", "line 0 of", "line 39999 of", "It is mended."):
        assert kept in text
    assert len(result.elided) == 1


def test_a_call_with_thousands_of_small_arguments_is_shortened_as_one_text() -> None:
    todos = [{"content": f"step {number}", "status": "pending"} for number in range(20_000)]
    call = ToolCall(id="c", name="TodoWrite", arguments={"items": todos})
    session = Session(id="s", agent="test", messages=(
        Message(role="user", parts=(Text(text="Plan."),), origin="human"), Message(role="assistant", parts=(call,)),
        Message(role="tool", parts=(ToolResult(call_id="c", parts=(Text(text="ok"),)),)),
    ))  # fmt: skip
    result = compressed(session, 3_000)
    (kept,) = (call for message in result.session.messages for call in message.calls)
    text = marks.text_of(kept)
    assert "step 0" in text
    assert "step 19999" in text
    assert COUNTERS[0].session(result.session).high > 2_800


def test_lines_that_stand_further_on_too_are_kept_where_they_stand_last() -> None:
    listing = "".join(f"{number:4}\tvalue_{number} = compute_{number}(first, second)\n" for number in range(80))
    told: list[Message] = [Message(role="user", parts=(Text(text="Look twice."),), origin="human")]
    for number in range(2):
        call = ToolCall(id=f"c{number}", name="Read", arguments={"file_path": "a.py"}, kind="read")
        told.append(Message(role="assistant", parts=(call,)))
        told.append(Message(role="tool", parts=(ToolResult(call_id=call.id, parts=(Text(text=listing),)),)))
    told.append(Message(role="assistant", parts=(Text(text="Seen. " * 40),)))
    session = Session(id="s", agent="test", messages=tuple(told))
    size = COUNTERS[0].session(session).high
    result = compressed(session, size - 200)
    first, second = (message.results[0] for message in result.session.messages if message.results)
    assert "81 lines left out that stand further on too" in content_of(first)
    assert content_of(second) == listing


def content_of(result: ToolResult) -> str:
    return "\n".join(content.texts([result]))


def test_reasoning_goes_before_anything_that_was_said() -> None:
    reasoning = Text(text="> [reasoning]\n> " + "because of this " * 200)
    told: list[Message] = []
    for turn in range(30):
        told.append(Message(role="user", parts=(Text(text=f"Question {turn}?"),), origin="human"))
        told.append(Message(role="assistant", parts=(reasoning, Text(text=f"Answer {turn}.")), origin="model"))
    session = Session(id="s", agent="test", messages=tuple(told))
    result = compressed(session, 4_000)
    kept = [part for message in result.session.messages for part in message.parts if is_reasoning(message, part)]
    assert kept == []
    text = sent(result.session.messages)
    assert all(f"Question {turn}?" in text and f"Answer {turn}." in text for turn in range(30))
    (name,) = re.findall(r"Reasoning of the assistant was left out; recall ([0-9a-f]{10})", text)
    (elision,) = (elision for elision in result.elisions if elision.id == name)
    assert len(elision.spans) == 30


def test_context_that_a_client_put_in_goes_before_what_anybody_said() -> None:
    told: list[Message] = []
    for turn in range(20):
        told.append(Message(role="user", parts=(Text(text=f"Context {turn}: " + "rules " * 150),), origin="injected"))
        told.append(Message(role="user", parts=(Text(text=f"Question {turn}?"),), origin="human"))
        told.append(Message(role="assistant", parts=(Text(text=f"Answer {turn}: " + "words " * 30),), origin="model"))
    result = compressed(Session(id="s", agent="test", messages=tuple(told)), 2_500)
    text = sent(result.session.messages)
    assert "Context" not in text
    assert all(f"Answer {turn}:" in text for turn in range(20))


def test_the_note_tells_the_state_of_the_work_and_no_more_than_its_share() -> None:
    told: list[Message] = [Message(role="user", parts=(Text(text="Go."),), origin="human")]

    def add(name: str, kind: ToolKind, arguments: dict[str, object], output: str, is_error: bool = False) -> None:
        call = ToolCall(id=f"c{len(told)}", name=name, arguments=arguments, kind=kind)
        told.append(Message(role="assistant", parts=(call,)))
        result = ToolResult(call_id=call.id, parts=(Text(text=output),), is_error=is_error)
        told.append(Message(role="tool", parts=(result,)))

    add("Edit", "edit", {"file_path": "/p/src/first.py", "old_string": "a", "new_string": "b"}, "ok")
    add("Bash", "execute", {"command": "pytest -q"}, "collected 3\nE  assert 1 == 2", is_error=True)
    plan = [{"step": "mend it", "status": "pending"}, {"step": "x", "status": "done"}]
    add("update_plan", "think", {"plan": plan}, "")
    for number in range(200):
        add("Read", "read", {"file_path": f"/p/lib/{number}.py"}, f"{number} words " * 200)
    session = Session(id="s", agent="test", messages=tuple(told), cwd="/p")
    note = compressed(session, 3_000).session.messages[0].text
    assert "carried over from test, session s," in note
    assert "\nPlan:\n- [ ] mend it\n- [x] x" in note
    assert "- `pytest -q`: E assert 1 == 2" in note
    assert "- src/first.py (edited 1×)" in note
    assert "- lib/199.py (read 1×)" in note
    assert COUNTERS[0].text(note).high < 3_000 * 0.12 + 120


def test_a_budget_of_a_few_tokens_is_refused() -> None:
    with pytest.raises(Refused, match="not even the goal"):
        compressed(chat(("user", "word " * 5_000), ("assistant", "word " * 5_000)), 60)
