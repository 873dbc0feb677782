"""Hostile Claude Code files: damaged lines, broken trees, orphans, images, compactions, noise."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cases import CASES, MODEL, carry, case, claude_home, human, pairs, target_home, told, unsigned, words
from places import environment

from session_migrator import agents, list_sessions, read_session, tokens
from session_migrator.agents.claude_code import client
from session_migrator.context_windows import normalize, window
from session_migrator.lowering import lower
from session_migrator.model import Compaction, Image, Text, Thinking, ToolCall, goal
from session_migrator.sessions import read
from session_migrator.tokens import images


def test_03_nuls_after_a_record_and_at_the_end_of_the_file_hide_nothing() -> None:
    assert told(read_session(case("03")).messages) == [
        ("user", "Please list the toys."),
        ("assistant", "Ball, kite."),
        ("user", "Add a drum."),
    ]


def test_07_a_byte_order_mark_crlf_and_blank_lines_pass_without_a_warning() -> None:
    data = case("07").read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")
    assert data.count(b"\r\n") > 2
    reading = read(case("07"))
    assert told(reading.session.messages) == [("user", "Line ends matter?"), ("assistant", "They should not.")]
    assert reading.losses == ()


READ_AND_CARRY = """
import json, sys
from session_migrator import migrate, read_session
source, home, project = sys.argv[1:]
done = migrate(source, "claude-code", model="claude-opus-5-5", into=project, home=__import__("pathlib").Path(home))
for path in (source, done.target["paths"][0]):
    print(json.dumps([(message.role, message.text) for message in read_session(path).messages]))
"""


@pytest.mark.parametrize(
    "locale", [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252"}]
)
def test_10_a_session_reads_the_same_whatever_the_locale(locale: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    every_open_names_its_encoding = ["-X", "warn_default_encoding", "-W", "error::EncodingWarning"]
    done = subprocess.run(
        [sys.executable, *every_open_names_its_encoding, "-c", READ_AND_CARRY, case("10"), "claude-home", "project"],
        capture_output=True, cwd=tmp_path, env=environment(**locale), check=False,
    )  # fmt: skip
    assert done.stderr == b""
    expected = [("user", "Größe “quoted” – 価格は？"), ("assistant", "Antwort: 42 €")]
    assert told(read_session(case("10")).messages) == expected
    assert [[tuple(row) for row in json.loads(line)] for line in done.stdout.splitlines()] == [expected, expected]


def test_14_a_parent_that_exists_nowhere_is_bridged_with_a_warning(project: Path) -> None:
    whole = [
        ("user", "Plan a picnic."), ("assistant", "Food, rug, drinks."),
        ("user", "Add games."), ("assistant", "Frisbee added."),
    ]  # fmt: skip
    reading = read(case("14"))
    assert told(reading.session.messages) == whole
    assert [loss.kind for loss in reading.losses] == ["branch"]
    assert told(carry(case("14"), project).session.messages) == whole


def test_16_a_reply_beside_a_system_record_is_kept_and_progress_carries_no_content() -> None:
    reading = read(case("16"))
    assert told(reading.session.messages) == [
        ("user", "Run the tests."),
        ("assistant", "All 12 pass."),
        ("user", "Great, tag it."),
    ]
    assert [message.role for message in reading.session.messages] == ["user", "assistant", "tool", "assistant", "user"]
    assert [words(result) for _, result in pairs(reading.session.messages)] == ["12 passed"]
    assert reading.losses == ()


def test_18_folder_and_title_come_from_the_records_that_have_them_and_queued_text_counts_once(tmp_path: Path) -> None:
    session = read_session(case("18"))
    (info,) = list_sessions("claude-code", home=claude_home(tmp_path, case("18")))
    assert (session.cwd, session.title) == (info.cwd, info.title) == ("/home/dev/toy-shop", "List sorting")
    assert human(session.messages) == ["Sort the list."]


def test_19_a_session_is_named_by_its_file_and_records_of_its_ancestor_are_its_own(tmp_path: Path) -> None:
    name = "a0000000-0000-4000-8000-000000000378"
    session = read_session(case("19"))
    assert session.id == name
    assert [text for _, text in told(session.messages)] == [
        "Old question.", "Old answer.", "New question.", "New answer.",
    ]  # fmt: skip
    assert [info.id for info in list_sessions("claude-code", home=claude_home(tmp_path, case("19")))] == [name]


def test_20_a_record_written_several_times_counts_once_in_a_file_and_over_files() -> None:
    first, resumed = (read_session(case("20", f"*{end}.jsonl")) for end in ("309", "30a"))
    assert told(first.messages) == [("user", "Buy milk."), ("assistant", "Noted.")]
    assert told(resumed.messages) == [("user", "Buy milk."), ("assistant", "Noted."), ("user", "And eggs.")]
    assert len({message.id for message in (*first.messages, *resumed.messages)}) == 3


def test_27_a_call_without_a_result_is_closed_as_interrupted_in_the_same_turn_and_nothing_moves(project: Path) -> None:
    carried = carry(case("27"), project)
    answers = next(turn["content"] for turn in carried.turns[2:] if turn["role"] == "user")
    assert [(block["type"], block["tool_use_id"]) for block in answers] == [
        ("tool_result", "toolu_k1"),
        ("tool_result", "toolu_k2"),
    ]
    built, interrupted = (result for _, result in pairs(carried.session.messages))
    assert (words(built), built.is_error) == ("built", False)
    assert "interrupted" in words(interrupted)
    assert interrupted.is_error
    spoken = [(role, text) for role, text in told(carried.session.messages) if "interrupted by user" not in text]
    assert spoken == [
        ("user", "Start the build."), ("assistant", "Starting."), ("user", "Try again later."), ("assistant", "Okay."),
    ]  # fmt: skip


def test_28_a_result_without_a_call_at_the_beginning_is_no_result_any_more_and_said_so(project: Path) -> None:
    carried = carry(case("28"), project)
    assert not carried.blocks("tool_result")
    role, text = told(carried.session.messages)[0]
    assert role == carried.turns[0]["role"] == "user"
    assert text
    assert told(carried.session.messages)[-2:] == [("assistant", "Noted."), ("user", "Carry on.")]
    assert "tool_pair" in [loss.kind for loss in carried.done.losses]


def test_35_unsigned_thinking_is_written_in_no_target_and_no_message_is_empty(project: Path) -> None:
    carried = carry(case("35"), project)
    assert all(block["signature"] for block in carried.blocks("thinking"))
    assert not carried.blocks("redacted_thinking")
    assert all(turn["content"] for turn in carried.turns)
    assert all(block["text"].strip() for block in carried.blocks("text"))
    spoken = " ".join(text for _, text in told(carried.session.messages))
    places = [spoken.index(text) for text in ("Consider this.", "First.", "More.", "Second.", "Last.")]
    assert places == sorted(places)

    lowered, _ = lower(read_session(case("35")), agents.get("codex").capabilities)
    assert all(message.parts for message in lowered.messages)
    assert not [part for message in lowered.messages for part in message.parts if isinstance(part, Thinking)]


def test_35_signatures_are_no_tokens() -> None:
    session = read_session(case("35"))
    assert unsigned(session) != session
    assert tokens.counter(MODEL).session(session) == tokens.counter(MODEL).session(unsigned(session))


def test_41_image_tokens_come_from_pixels_never_from_the_length_of_base64() -> None:
    messages = read_session(case("41")).messages
    wide, small = (part for message in messages for part in message.parts if isinstance(part, Image))
    counter = tokens.counter(MODEL)
    for image, pixels in ((wide, (2_200, 12)), (small, (30, 30))):
        assert image.data
        assert images.size(image.data) == pixels
        padded = replace(image, data=image.data + "A" * 40_000)
        assert counter.part(image) == counter.part(padded)
        assert counter.part(image).tokens == -(-pixels[0] // 28) * -(-pixels[1] // 28)


def test_41_an_image_too_wide_becomes_a_note_and_a_wrong_media_type_is_put_right(project: Path) -> None:
    carried = carry(case("41"), project)
    (small,) = carried.blocks("image")
    assert small["source"]["media_type"] == "image/png"
    asked = [text for role, text in told(carried.session.messages) if role == "user"]
    assert asked[0].startswith("Look\n")
    assert "image" in asked[0].lower()
    assert "image" in [loss.kind for loss in carried.done.losses]


def test_50_lines_of_one_message_id_are_one_message_with_its_blocks_in_order() -> None:
    messages = read_session(case("50")).messages
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert [type(part) for part in messages[1].parts] == [Thinking, Text, ToolCall]


LIVE = [("user", "Next step please."), ("assistant", "Next step done.")]
ORIGINALS = [("user", "Very long start."), ("assistant", "Long work.")]


def test_52_live_is_the_summary_and_what_follows_the_last_boundary_and_only_that_is_counted() -> None:
    session = read_session(case("52"))
    assert [type(part) for part in session.messages[0].parts] == [Compaction]
    assert session.messages[0].origin == "summary"
    assert told(session.messages[1:]) == LIVE
    assert goal(session.messages) == "Next step please."
    assert told(session.earlier) == ORIGINALS
    counter = tokens.counter(MODEL)
    assert counter.session(session) == counter.session(replace(session, earlier=()))
    assert counter.session(session).tokens < 1_000


def test_52_the_full_history_reaches_the_originals_over_the_boundary(project: Path) -> None:
    carried = carry(case("52"), project, history="full")
    assert told(carried.session.messages) == [*ORIGINALS, *LIVE]


def test_53_sub_agents_are_not_mixed_in_not_counted_and_not_listed(tmp_path: Path, project: Path) -> None:
    folder = case("53").with_suffix("")
    home = claude_home(tmp_path, case("53"), folder)
    (info,) = list_sessions("claude-code", home=home)
    assert info.id == folder.name
    session = read_session(Path(info.path or ""))
    assert told(session.messages) == [("user", "Investigate."), ("assistant", "A coin was found.")]
    assert [(call.name, words(result)) for call, result in pairs(session.messages)] == [("Task", "Dug: found a coin.")]
    assert "Side work" not in str(session.to_dict())
    assert tokens.counter(MODEL).session(session).tokens < 200
    assert b"Side work" not in carry(Path(info.path or ""), project).raw


def test_53_sub_agents_are_the_sessions_children(tmp_path: Path) -> None:
    home = claude_home(tmp_path, case("53"), case("53").with_suffix(""))
    (info,) = list_sessions("claude-code", home=home)
    assert any("ag0001" in child for child in read_session(Path(info.path or "")).children)


def test_55_the_model_is_the_last_real_one_and_synthetic_text_is_left_out() -> None:
    session = read_session(case("55"))
    assert session.model == "us.anthropic.claude-sonnet-4-6-20260101-v1:0"
    assert [text for role, text in told(session.messages) if role == "assistant"] == ["Yes.", "fine"]


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("claude-opus-4-8[1m]", "claude-opus-4-8"),
        ("us.anthropic.claude-sonnet-4-6-20260101-v1:0", "claude-sonnet-4-6"),
        ("eu.anthropic.claude-sonnet-4-6", "claude-sonnet-4-6"),
        ("claude-sonnet-4-6-20260101", "claude-sonnet-4-6"),
        ("openrouter/anthropic/claude-sonnet-4-6", "claude-sonnet-4-6"),
    ],
)
def test_55_a_model_is_found_without_region_date_version_and_provider_path(spelling: str, name: str) -> None:
    assert normalize(spelling) == name
    found, known = window(spelling), window(name)
    assert found is not None
    assert known is not None
    assert found.source == known.source == "table"


@pytest.mark.parametrize("model", ["claude-opus-4-8[1m]", "claude-sonnet-4-5[1m]", "claude-sonnet-4-6[1m]"])
def test_55_the_long_context_mark_means_a_million(model: str) -> None:
    found = window(model)
    assert found is not None
    assert found.context == 1_000_000


FOLDERS = {
    "a0000000-0000-4000-8000-00000000005c": "/home/dev/my_app.v1-2",
    "a0000000-0000-4000-8000-00000000005d": "/home/dev/外注/app",
    "a0000000-0000-4000-8000-00000000005e": "/home/dev/会社/app",
}


def test_56_the_workspace_comes_from_the_records_where_folder_names_collide() -> None:
    (home,) = CASES.glob("56-*")
    found = {info.id: info.cwd for info in list_sessions("claude-code", home=home)}
    assert {name: found[name] for name in FOLDERS} == FOLDERS
    for name, folder in FOLDERS.items():
        assert read_session(case("56", f"projects/*/{name}.jsonl")).cwd == folder
        assert [info.id for info in list_sessions("claude-code", cwd=folder, home=home)] == [name]


def test_56_the_writer_names_folders_by_the_same_rule(project: Path) -> None:
    names = [client.project_folder(Path("/h"), Path(folder)).name for folder in FOLDERS.values()]
    assert names == ["-home-dev-my-app-v1-2", "-home-dev----app", "-home-dev----app"]
    written = Path(carry(case("56", f"projects/*/{next(iter(FOLDERS))}.jsonl"), project).done.target["paths"][0])
    assert written.parent.name == re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(project))


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_69_a_long_first_prompt_is_read_whole_and_written_so_that_lists_find_it(agent: str, project: Path) -> None:
    (prompt,) = human(read_session(case("69")).messages)
    assert len(prompt) > 25_000
    carried = carry(case("69"), project, agent)
    parts = [text for role, text in told(carried.session.messages) if role == "user"]
    assert "".join(parts).replace("\n", "") == prompt.replace("\n", "")
    (info,) = list_sessions(agent, home=target_home(project, agent))
    assert (info.title or "").startswith("Here is a long plan.")
    # The words stay whole in one message. Codex lists that as it is; for Claude Code a title stands before them.
    assert parts == [prompt]
    if agent == "claude-code":
        assert b"Here is a long plan." in carried.raw.split(b"\n")[0]


def test_73_noise_of_the_client_is_neither_a_human_turn_nor_a_models(tmp_path: Path, project: Path) -> None:
    session = read_session(case("73"))
    assert human(session.messages) == ["Thanks."]
    (info,) = list_sessions("claude-code", home=claude_home(tmp_path, case("73")))
    assert info.title == "Thanks."
    replies = [text for role, text in told(session.messages) if role == "assistant"]
    assert [text for text in replies if "API Error" in text] == []
    carried = carry(case("73"), project)
    assert b"API Error" not in carried.raw
    assert b"<command-name>" not in carried.raw
    assert b"DO NOT respond" not in carried.raw
    assert b"system-reminder" not in carried.raw


def test_73_an_answer_without_a_question_is_kept(project: Path) -> None:
    carried = carry(case("73"), project)
    answers = [text for role, text in told(carried.session.messages) if role == "assistant"]
    assert "Here is the answer you asked for." in answers


def test_73_a_shell_command_of_the_users_is_kept_with_its_output(project: Path) -> None:
    messages = carry(case("73"), project).session.messages
    command, output = (
        next(
            (place for place, message in enumerate(messages) if re.search(rf"\b{text}\b", str(message.to_dict()))), None
        )
        for text in ("ls", r"a\.txt")
    )
    assert command is not None
    assert output is not None
    assert output - command in (0, 1)
