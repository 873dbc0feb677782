"""The core without any package: decision, compression, storage. Runs alone (``python tests/test_core.py``,
also ``python -I -S``) and under pytest."""

from __future__ import annotations

import json
import stat
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from session_migrator import Store, TruncationCompressor, from_messages, tokens
from session_migrator.compressors.units import units
from session_migrator.context_windows import Window
from session_migrator.decision import Target, decide, from_model
from session_migrator.errors import NotFound, ReadError, Refused, UnknownModel, UsageError
from session_migrator.exporter import from_document, to_document
from session_migrator.model import Session

MODEL = "gpt-4o"


def conversation(turns: int, length: int = 400) -> Session:
    """A conversation of so many turns, each a question, a call with its result, and an answer."""
    messages: list[dict[str, object]] = []
    for turn in range(turns):
        function = {"name": "read", "arguments": json.dumps({"n": turn})}
        call = {"id": f"call_{turn}", "type": "function", "function": function}
        messages += [
            {"role": "user", "content": f"Question {turn}: what does part {turn} do?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{turn}", "content": f"part {turn} " * (length // 7)},
            {"role": "assistant", "content": f"Part {turn} is read."},
        ]
    return from_messages(messages)


def target(budget: int) -> Target:
    """A target whose formula leaves more than ``budget``, limited to it."""
    window = Window(context=10_000_000, max_input=None, max_output=None, source="user")
    return Target(model=MODEL, window=window, limit=budget)


class Decisions(unittest.TestCase):
    def test_a_small_session_goes_over_as_it_is_even_to_a_smaller_model(self) -> None:
        decided = decide(conversation(3), "gpt-4o")
        self.assertEqual(decided.mode, "direct")
        self.assertLessEqual(decided.high, decided.budget)

    def test_exactly_at_the_budget_fits_and_one_token_more_does_not(self) -> None:
        session = conversation(5)
        size = tokens.counter(MODEL).session(session).high
        self.assertEqual(decide(session, target(size)).mode, "direct")
        self.assertEqual(decide(session, target(size - 1)).mode, "compress")

    def test_the_budget_is_the_smallest_ceiling_less_what_stands_before_it(self) -> None:
        window = Window(context=200_000, max_input=180_000, max_output=64_000, source="table")
        full = Target(model=MODEL, window=window, trigger=150_000, overhead=12_000, instructions=500)
        self.assertEqual(decide(conversation(1), full).budget, 150_000 - 12_000 - 500 - 4_000)
        without_trigger = Target(model=MODEL, window=window, overhead=12_000)
        self.assertEqual(decide(conversation(1), without_trigger).budget, 180_000 - 12_000 - 4_000)
        small = Target(model=MODEL, window=Window(context=8_000, source="user"))
        self.assertEqual(decide(conversation(1), small).budget, 6_000 - 6_000 // 8)

    def test_the_ledger_adds_up_to_the_budget(self) -> None:
        window = Window(context=200_000, max_output=64_000, source="table")
        decided = decide(conversation(1), Target(model=MODEL, window=window, overhead=9_000, instructions=700))
        lines = {entry.name: entry.tokens for entry in decided.ledger}
        ceiling = lines["context"] - lines["reply_room"]
        self.assertEqual(lines["budget"], ceiling - lines["overhead"] - lines["instructions"] - lines["prompt_room"])
        self.assertEqual(lines["session"], decided.tokens)

    def test_an_unknown_model_is_named_with_near_ones_and_never_guessed(self) -> None:
        with self.assertRaises(UnknownModel) as caught:
            from_model("claude-opus-45x")
        self.assertTrue(caught.exception.near)
        self.assertIn("--window", caught.exception.remedy)


class Truncation(unittest.TestCase):
    def test_the_result_is_within_the_budget_and_is_the_end_of_the_conversation(self) -> None:
        session = conversation(60)
        counter = tokens.counter(MODEL)
        for budget in (2_000, 3_000, 10_000):
            result = TruncationCompressor().compress(session, budget, counter)
            self.assertLessEqual(counter.session(result.session).high, budget)
            note, *kept = result.session.messages
            self.assertEqual(kept, list(session.messages[len(session.messages) - len(kept) :]))
            self.assertEqual(len(result.elided) + len(kept), len(session.messages))
            self.assertIn(f"{len(result.elided)} earlier messages", note.text)
            self.assertIn("Question 0", note.text)

    def test_a_call_is_never_parted_from_its_result(self) -> None:
        session = conversation(60)
        counter = tokens.counter(MODEL)
        for budget in range(2_000, 4_000, 100):
            kept = TruncationCompressor().compress(session, budget, counter).session.messages
            calls = [call.id for message in kept for call in message.calls]
            results = [result.call_id for message in kept for result in message.results]
            self.assertEqual(calls, results)

    def test_a_session_that_fits_is_unchanged(self) -> None:
        session = conversation(4)
        result = TruncationCompressor().compress(session, 1_000_000, tokens.counter(MODEL))
        self.assertIs(result.session, session)
        self.assertEqual(list(result.elided), [])

    def test_a_newest_unit_larger_than_the_budget_is_refused(self) -> None:
        huge = from_messages([{"role": "user", "content": "word " * 20_000}])
        with self.assertRaises(Refused) as caught:
            TruncationCompressor().compress(huge, 2_000, tokens.counter(MODEL))
        self.assertIn("--budget", caught.exception.remedy)

    def test_the_preview_of_a_long_goal_takes_at_most_its_share(self) -> None:
        session = from_messages(
            [{"role": "user", "content": "goal " * 5_000}]
            + [{"role": "assistant", "content": f"step {step}"} for step in range(800)]
        )
        counter = tokens.counter(MODEL)
        note = TruncationCompressor().compress(session, 2_000, counter).session.messages[0]
        preview = "\n".join(line for line in note.text.splitlines() if line.startswith("> "))
        self.assertTrue(preview.startswith("> goal goal"))
        self.assertLessEqual(counter.text(preview).high, 2_000 * 0.15)

    def test_an_id_takes_no_more_than_a_line_of_the_note(self) -> None:
        session = replace(conversation(60), id="one line\nand another " * 10_000)
        note = TruncationCompressor().compress(session, 2_000, tokens.counter(MODEL)).session.messages[0]
        self.assertIn("session one line and another", note.text.splitlines()[0])
        self.assertLess(len(note.text), 1_000)

    def test_units_keep_calls_and_results_together(self) -> None:
        sizes = [len(unit) for unit in units(conversation(2).messages)]
        self.assertEqual(sizes, [1, 2, 1, 1, 2, 1])


class Storage(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.store = Store(self.root / "store")

    def test_a_session_comes_back_as_it_was(self) -> None:
        session = conversation(3)
        workspace = self.store.workspace(self.root)
        workspace.put("sessions", session.id, to_document(session))
        self.assertEqual(from_document(workspace.get("sessions", session.id)), session)
        self.assertEqual(workspace.keys("sessions"), [session.id])

    def test_workspaces_never_meet_and_never_escape(self) -> None:
        folders = ["a b", "a-b", "a_b", "東京", "日本", "..", "x/../../y", "/", "a" * 300]
        paths = {folder: self.store.workspace(self.root / folder).path for folder in folders}
        real = {(self.root / folder).resolve() for folder in folders}
        self.assertEqual(len(set(paths.values())), len(real))
        for path in paths.values():
            self.assertEqual(path.parent, self.store.root / "workspaces")

    def test_a_key_that_is_a_path_is_refused(self) -> None:
        for key in ("../x", "a/b", "", ".", "..", "x" * 200, "a\0b", ".hidden"):
            with self.assertRaises(UsageError):
                self.store.workspace(self.root).put("sessions", key, {})

    def test_files_are_private(self) -> None:
        path = self.store.workspace(self.root).put("sessions", "one", {"a": 1})
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(path.parent.stat().st_mode), 0o700)

    def test_content_is_stored_under_its_hash_once(self) -> None:
        workspace = self.store.workspace(self.root)
        keys = [workspace.add("originals", chunks) for chunks in ([b'{"a": ', b"1}"], [b'{"a": 1}'])]
        self.assertEqual(keys[0], keys[1])
        self.assertEqual(workspace.get("originals", keys[0]), {"a": 1})
        self.assertEqual(len(workspace.keys("originals")), 1)

    def test_a_missing_and_a_damaged_document_are_told_apart(self) -> None:
        workspace = self.store.workspace(self.root)
        with self.assertRaises(NotFound):
            workspace.get("sessions", "none")
        workspace.put("sessions", "bad", {}).write_text("{", encoding="utf-8")
        with self.assertRaises(ReadError):
            workspace.get("sessions", "bad")

    def test_the_store_lists_its_workspaces_by_their_folders(self) -> None:
        self.store.workspace(self.root).put("sessions", "one", json.loads('{"text": "\\ud800"}'))
        self.assertEqual([found.folder for found in self.store.workspaces()], [str(self.root.resolve())])


if __name__ == "__main__":
    unittest.main()
