"""Hostile Codex files: damaged lines, odd calls and results, forks, compactions, what is no conversation."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from cases import MODEL, carry, case, claude_home, codex_home, command_line, human, pairs, told, unsigned, words

from session_migrator import exporter, list_sessions, read_session, tokens
from session_migrator.errors import FormatError, NoConversation
from session_migrator.model import Compaction, Image, Text, goal
from session_migrator.sessions import read

CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def test_01_a_cut_last_line_is_dropped_with_one_warning_and_all_before_it_is_kept() -> None:
    reading = read(case("01"))
    assert told(reading.session.messages) == [
        ("user", "Count the apples."),
        ("assistant", "There are seven."),
        ("user", "And the pears?"),
    ]
    assert [(loss.kind, "line 8" in loss.detail) for loss in reading.losses] == [("bad_line", True)]


def test_02_a_run_of_nuls_between_lines_is_skipped_with_a_warning_and_both_turns_are_there() -> None:
    reading = read(case("02"))
    assert [text for _, text in told(reading.session.messages)] == [
        "First question.", "First answer.", "Second question.", "Second answer.",
    ]  # fmt: skip
    assert [(loss.kind, "line 4" in loss.detail) for loss in reading.losses] == [("bad_line", True)]


def test_08_lone_surrogates_become_replacement_characters_in_every_output_and_pairs_stay(
    tmp_path: Path, project: Path
) -> None:
    path = tmp_path / case("08").name
    content = [{"type": "input_text", "text": "A real pair: \U0001f600"}]
    payload = {"type": "message", "role": "user", "content": content}
    pair = json.dumps({"timestamp": "2026-03-02T09:00:04.000Z", "type": "response_item", "payload": payload})
    assert "\\ud83d\\ude00" in pair
    path.write_bytes(case("08").read_bytes() + pair.encode() + b"\n")

    broken, real = "broken \ufffd tail and \ufffd head", "A real pair: \U0001f600"
    session = read_session(path)
    assert [words(result) for message in session.messages for result in message.results] == [broken]
    assert session.messages[-1].text == real
    outputs = [command_line("show", path, "--format", form).stdout for form in ("text", "markdown", "json", "messages")]
    outputs += [
        json.dumps(exporter.to_messages(session, shape), ensure_ascii=False).encode("utf-8")
        for shape in exporter.SHAPES
    ]
    outputs += [carry(path, project).raw, json.dumps(exporter.to_document(session), ensure_ascii=False).encode("utf-8")]
    for output in outputs:
        text = output.decode("utf-8")
        assert broken in text
        assert real in text


def test_13_reading_one_huge_line_takes_time_in_proportion_to_its_size(tmp_path: Path) -> None:
    *before, huge, reply_event, reply = case("13").read_text(encoding="utf-8").splitlines()
    record = json.loads(huge)
    output = record["payload"]["output"]

    def cpu_seconds(factor: int) -> float:
        record["payload"]["output"] = output * factor
        path = tmp_path / f"rollout-{factor}.jsonl"
        path.write_text("\n".join([*before, json.dumps(record), reply_event, reply]), encoding="utf-8")
        started = time.process_time()
        session = read_session(path)
        spent = time.process_time() - started
        assert [words(result) for message in session.messages for result in message.results] == [output * factor]
        return spent

    small = min(cpu_seconds(7) for _ in range(3))
    assert cpu_seconds(70) < 30 * small  # ten times the size, 22 MB; a quadratic reader takes a hundred times as long


def test_13_brackets_that_are_never_closed_cost_no_more_than_other_text(tmp_path: Path) -> None:
    brackets = "[" * 26  # few enough that a pattern which tries every way to part them still ends
    path = tmp_path / "rollout.jsonl"
    path.write_text(case("13").read_text(encoding="utf-8").replace("Table dumped.", brackets), encoding="utf-8")
    started = time.process_time()
    assert read_session(path).messages[-1].text == brackets
    assert time.process_time() - started < 10


@pytest.mark.parametrize(("options", "mode"), [({}, "direct"), ({"budget": 3_000}, "compress")])
def test_13_a_huge_result_stays_together_with_its_call(options: dict[str, int], mode: str, project: Path) -> None:
    carried = carry(case("13"), project, **options)
    assert carried.done.mode == mode
    whole = read_session(case("13")).messages[2].results
    if mode == "direct":
        assert [result.parts for _, result in pairs(carried.session.messages)] == [result.parts for result in whole]
    calls = [block["id"] for block in carried.blocks("tool_use")]
    assert [block["tool_use_id"] for block in carried.blocks("tool_result")] == calls


def test_30_calls_that_share_an_id_are_paired_by_order_and_get_ids_of_their_own(project: Path) -> None:
    carried = carry(case("30"), project)
    found = pairs(carried.session.messages)
    assert [(call.arguments["command"], words(result)) for call, result in found] == [
        ("cat a", "AAA"), ("cat b", "BBB"), ("cat c", "CCC"),
    ]  # fmt: skip
    assert len({call.id for call, _ in found}) == 3


def test_31_a_result_before_its_call_moves_behind_it_and_of_two_results_the_first_is_used(project: Path) -> None:
    carried = carry(case("31"), project)
    found = pairs(carried.session.messages)
    assert [(call.arguments["command"], words(result)) for call, result in found] == [
        ("echo hi", "early result"),
        ("echo yo", "yo"),
    ]
    assert told(carried.session.messages) == [("user", "Go."), ("assistant", "Finished.")]


def test_32_outputs_and_arguments_of_every_form_are_read() -> None:
    messages = read_session(case("32")).messages
    null, listed, told_object, shell, bad_arguments = pairs(messages)
    assert null[1].parts == ()
    assert [type(part) for part in listed[1].parts] == [Text, Image]
    assert words(listed[1]) == "part one"
    assert "legacy text" in words(told_object[1])
    assert (shell[0].arguments["command"], words(shell[1])) == (["ls"], "files")
    assert (bad_arguments[0].arguments, words(bad_arguments[1])) == ('{"command": [not json', "bad args")


def test_32_all_five_pairs_are_written_with_valid_names_and_object_arguments(project: Path) -> None:
    carried = carry(case("32"), project)
    assert len(pairs(carried.session.messages)) == 5
    calls = carried.blocks("tool_use")
    assert all(CALL_ID.fullmatch(block["name"]) for block in calls)
    assert [block["name"] for block in calls[1:]] == ["shell_command", "shell_command", "shell", "shell"]
    assert all(isinstance(block["input"], dict) for block in calls)
    assert calls[-1]["input"] == {"_raw": '{"command": [not json'}
    image = carried.blocks("tool_result")[1]["content"][1]
    assert (image["type"], image["source"]["media_type"]) == ("image", "image/png")


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_34_encrypted_reasoning_is_written_for_no_other_account(agent: str, project: Path) -> None:
    carried = carry(case("34"), project, agent)
    said = [text for _, text in told(carried.session.messages)]
    assert [any(answer in text for text in said) for answer in ("Answer A.", "Answer B.")] == [True, True]
    assert [cipher in carried.raw for cipher in (b"gAAAA", b"5ad4-not-ours")] == [False, False]
    items = [record.get("payload", {}) for record in carried.records]
    assert not [item for item in items if item.get("type") == "reasoning" and item.get("content")]


@pytest.mark.parametrize("model", [MODEL, "gpt-5.2-codex"])
def test_34_encrypted_reasoning_is_no_tokens(model: str) -> None:
    session = read_session(case("34"))
    assert "gAAAA" in str(session.to_dict())
    assert tokens.counter(model).session(session) == tokens.counter(model).session(unsigned(session))


def test_37_ids_of_any_form_are_mapped_to_valid_ones_the_same_for_call_and_result(
    tmp_path: Path, project: Path
) -> None:
    messages = read_session(case("37")).messages
    long = messages[1].calls[0].id
    twin = tmp_path / "twin.jsonl"  # another long id that begins as the first does
    twin.write_text(case("37").read_text(encoding="utf-8").replace("call_x|fc_y", f"{long[:-1]}X"), encoding="utf-8")
    for path in (case("37"), twin):
        found = pairs(carry(path, project).session.messages)
        assert [words(result) for _, result in found] == ["12 crates", "13 crates", "14 crates"]
        assert all(CALL_ID.fullmatch(call.id) for call, _ in found)
        assert len({call.id for call, _ in found}) == 3
        again = pairs(carry(path, project).session.messages)
        assert [call.id for call, _ in again] == [call.id for call, _ in found]


def test_40_a_conversation_begins_with_a_user_turn_and_system_text_in_it_is_a_note_of_the_users(project: Path) -> None:
    carried = carry(case("40"), project)
    assert {turn["role"] for turn in carried.turns} == {"user", "assistant"}
    (opener, _), *rest = [(text, role) for role, text in told(carried.session.messages)]
    assert carried.turns[0]["role"] == "user"
    assert opener not in ("One.", "Two.")
    assert [role for _, role in rest] == ["assistant", "user", "user", "user", "assistant", "assistant"]
    spoken = ["Hello, I was resumed.", "One.", "Two.", "policy reminder", "Three.", "Four."]
    assert all(expected in text for expected, (text, _) in zip(spoken, rest, strict=True))


def test_42_the_bare_form_of_2025_is_read_with_the_folder_its_context_names() -> None:
    session = read_session(case("42"))
    assert session.cwd == "/home/dev/old toy"
    assert human(session.messages) == ["What is in the box?"]
    assert [(call.name, words(result)) for call, result in pairs(session.messages)] == [("shell", "ball\n")]
    assert told(session.messages) == [("user", "What is in the box?"), ("assistant", "A ball.")]


FORK, PARENT = "a0000000-0000-4000-8000-000000000053", "a0000000-0000-4000-8000-000000000052"


def test_44_a_fork_that_replays_its_parent_is_named_by_its_first_header_and_holds_two_turns(tmp_path: Path) -> None:
    fork = read_session(case("44", f"*{FORK}.jsonl"))
    assert fork.id == FORK
    assert told(fork.messages) == [
        ("user", "Parent question."), ("assistant", "Parent answer."),
        ("user", "Fork question."), ("assistant", "Fork answer."),
    ]  # fmt: skip
    home = codex_home(tmp_path, *(case("44", f"*{name}.jsonl") for name in (FORK, PARENT)))
    assert {info.id for info in list_sessions("codex", home=home)} == {FORK, PARENT}


ENCRYPTED, OLD_FORM = "*54.jsonl", "*55.jsonl"


def test_45_a_compaction_that_only_has_a_message_leaves_its_summary_live_and_what_it_stands_for_earlier() -> None:
    session = read_session(case("45", OLD_FORM))
    *_, summary, asked, answered = session.messages
    assert summary.origin == "summary"
    assert summary.parts == (Compaction(summary="Summary: Q1 was answered with A1."),)
    assert [asked.text, answered.text] == ["Q2", "A2"]
    assert "A1" not in [message.text for message in session.messages]
    assert told(session.earlier) == [("user", "Q1"), ("assistant", "A1")]


def test_45_an_encrypted_compaction_is_rebuilt_from_the_records_before_it(project: Path) -> None:
    whole = [
        ("user", "Long story part 1."), ("assistant", "Ack 1."),
        ("user", "Long story part 2."), ("assistant", "Ack 2."),
        ("user", "Part 3."), ("assistant", "Ack 3."),
    ]  # fmt: skip
    assert told(read_session(case("45", ENCRYPTED)).messages) == whole
    carried = carry(case("45", ENCRYPTED), project)
    assert told(carried.session.messages) == whole
    assert b"gAAAAABfake" not in carried.raw


def test_47_injected_context_is_no_title_no_human_turn_and_not_replayed(tmp_path: Path, project: Path) -> None:
    session = read_session(case("47"))
    assert human(session.messages) == ["Fix the price tag."]
    assert goal(session.messages) == "Fix the price tag."
    (info,) = list_sessions("codex", home=codex_home(tmp_path, case("47")))
    assert info.title == "Fix the price tag."
    assert {session.cwd, info.cwd} == {"C:\\Users\\Dev\\Toy Shop"}
    carried = carry(case("47"), project)
    assert told(carried.session.messages) == [("user", "Fix the price tag."), ("assistant", "Fixed.")]
    assert len(carried.turns) == 2
    assert carried.session.title == "Fix the price tag."


def test_49_missing_fields_and_lines_that_are_no_objects_cost_nothing_else() -> None:
    session = read_session(case("49"))
    assert [message.role for message in session.messages] == ["user", "assistant"]
    asked, answered = session.messages
    assert (asked.text, asked.timestamp) == ("plain string content", None)
    assert "fine" in answered.text
    assert answered.timestamp == session.updated_at == "2026-03-02T09:00:03.250Z"


def test_49_unknown_types_of_records_and_items_are_counted_in_the_report(tmp_path: Path) -> None:
    path = tmp_path / case("49").name
    unknown = [
        {"timestamp": "2026-03-02T09:00:04.000Z", "type": "brand_new_record", "payload": {"text": "x"}},
        {"timestamp": "2026-03-02T09:00:04.000Z", "type": "response_item", "payload": {"type": "brand_new_item"}},
    ]
    path.write_bytes(case("49").read_bytes() + b"".join(json.dumps(line).encode() + b"\n" for line in unknown))
    reading = read(path)
    assert told(reading.session.messages) == told(read_session(case("49")).messages)
    counted = [loss.detail for loss in reading.losses if (loss.kind, loss.severity) == ("unknown_record", "info")]
    assert [any(name in detail for detail in counted) for name in ("brand_new_record", "brand_new_item")] == [
        True,
        True,
    ]


def test_54_special_tokens_and_long_runs_are_counted_exactly_and_quickly() -> None:
    session = read_session(case("54"))
    started = time.process_time()
    counted = tokens.counter("gpt-5.5").session(session)
    assert counted.method == "exact"
    assert time.process_time() - started < 30
    special = session.messages[1].text
    assert special.count("<|") == 4
    assert tokens.count("<|endoftext|>", "gpt-5.5").tokens == 7  # as the plain text it is
    assert (
        tokens.count(special, "gpt-5.5").tokens > tokens.count(re.sub(r"<\|.*?\|>", "", special), "gpt-5.5").tokens + 20
    )


@pytest.mark.parametrize("model", ["gpt-5.5", MODEL, "claude-sonnet-4-5", "gemini-2.5-pro", "somebody/unheard-of"])
def test_54_chinese_japanese_and_korean_count_about_a_token_a_character(model: str) -> None:
    text = read_session(case("54")).messages[0].text
    assert len(text) == 720
    # A bound for a family without a tokenizer of its own may be more than twice that, but never chars / 4.
    assert len(text) / 2 < tokens.count(text, model).tokens < len(text) * (2 if model == "gpt-5.5" else 3)


NOTHING_SAID = {
    "empty": "*66.jsonl", "header only": "*67.jsonl", "context only": "*68.jsonl", "title only": "*69.jsonl",
}  # fmt: skip
NO_SESSION = {"foreign": "not-a-session.jsonl", "binary": "binary.jsonl"}


@pytest.mark.parametrize("name", NOTHING_SAID)
def test_67_a_session_file_in_which_nothing_is_said_holds_no_conversation(name: str) -> None:
    with pytest.raises(NoConversation):
        read(case("67", NOTHING_SAID[name]))


@pytest.mark.parametrize("name", NO_SESSION)
def test_67_a_file_that_is_no_session_has_a_format_that_is_not_recognised(name: str) -> None:
    with pytest.raises(FormatError, match="not recognised"):
        read(case("67", NO_SESSION[name]))


@pytest.mark.parametrize("name", [*NOTHING_SAID, *NO_SESSION])
def test_67_the_command_line_says_so_on_one_line_and_fails(name: str) -> None:
    done = command_line("show", case("67", {**NOTHING_SAID, **NO_SESSION}[name]))
    assert done.returncode != 0
    assert done.stdout == b""
    errors = done.stderr.decode("utf-8").splitlines()
    assert [line.partition(":")[0] for line in errors] == ["error", "try"]


def test_67_lists_pass_over_what_holds_no_conversation_and_go_on(tmp_path: Path) -> None:
    empty, header, context, title = (case("67", pattern) for pattern in NOTHING_SAID.values())
    foreign, binary = (case("67", name) for name in NO_SESSION.values())
    codex = codex_home(tmp_path, case("54"), empty, header, context)
    assert [info.id for info in list_sessions("codex", home=codex)] == [case("54").stem[-36:]]
    claude = claude_home(tmp_path, case("07"), title, foreign, binary)
    assert [info.id for info in list_sessions("claude-code", home=claude)] == [case("07").stem]
