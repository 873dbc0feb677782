"""The ledger is made from the calls; the memory says nothing that is not in the session."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from places import EXAMPLES, LONG, ROOT

from session_migrator import from_messages, read_session
from session_migrator.codex_adapter import extract_rollout, get_thread_meta, to_memory_markdown
from session_migrator.errors import NotFound
from session_migrator.ledger import ledger, touched
from session_migrator.memory import language
from session_migrator.model import ToolCall
from session_migrator.toolnames import tool_kind


def call(name: str, arguments: Any) -> ToolCall:
    return ToolCall(id="c", name=name, arguments=arguments, kind=tool_kind(name))


PATCH = """*** Begin Patch
*** Update File: src/a b.py
@@
-x
+y
*** Add File: new.md
+z
*** Delete File: old.py
*** End Patch"""
PATCHED = [("src/a b.py", "edit"), ("new.md", "edit"), ("old.py", "delete")]


@pytest.mark.parametrize(
    ("made", "files"),
    [
        (call("Read", {"file_path": "/p/a.py"}), [("/p/a.py", "read")]),
        (call("Edit", {"file_path": "/p/a.py", "old_string": "x"}), [("/p/a.py", "edit")]),
        (call("Write", {"file_path": "b.txt", "content": "*"}), [("b.txt", "edit")]),
        (call("apply_patch", PATCH), PATCHED),
        (call("apply_patch", {"_raw": PATCH}), PATCHED),
        (call("shell", {"command": ["bash", "-lc", f"apply_patch <<'E'\n{PATCH}\nE"]}), PATCHED),
        (call("exec_command", {"cmd": f"apply_patch <<'E'\n{PATCH}\nE"}), PATCHED),
        (call("exec_command", {"cmd": "cat a.txt && sed -n '1,5p' b/x.py"}), [("a.txt", "read"), ("b/x.py", "read")]),
        (call("exec_command", {"cmd": "echo hi > out/log.txt 2>/dev/null"}), [("out/log.txt", "edit")]),
        (call("exec_command", {"cmd": "pytest -q 2>&1 | tail -5"}), []),
        (call("exec_command", {"cmd": "sed -i s/a/b/ x.py"}), []),
        (call("exec_command", {"cmd": "cat 'unclosed"}), []),
        (call("Grep", {"pattern": "x", "path": "src"}), []),
        (call("update_plan", {"plan": []}), []),
        (call("Read", "no object"), []),
    ],
)  # fmt: skip
def test_the_files_of_a_call_are_told(made: ToolCall, files: list[tuple[str, str]]) -> None:
    assert list(touched(made)) == files


def conversation(*steps: tuple[str, dict[str, Any], str]) -> Any:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Mend it."}]
    for place, (name, arguments, result) in enumerate(steps):
        function = {"name": name, "arguments": json.dumps(arguments)}
        messages.append(
            {"role": "assistant", "tool_calls": [{"id": f"c{place}", "type": "function", "function": function}]}
        )
        messages.append({"role": "tool", "tool_call_id": f"c{place}", "content": result})
    return from_messages(messages)


def test_files_are_counted_and_the_newest_plan_is_kept() -> None:
    steps = [
        ("Read", {"file_path": "a.py"}, "x"),
        ("Read", {"file_path": "a.py"}, "x"),
        ("Edit", {"file_path": "a.py"}, "done"),
        ("update_plan", {"plan": [{"step": "old", "status": "pending"}]}, "ok"),
        (
            "TodoWrite",
            {"todos": [{"content": "one", "status": "completed"}, {"content": "two", "status": "pending"}]},
            "ok",
        ),
    ]
    known = ledger(conversation(*steps).messages)
    assert {path: (use.reads, use.edits, use.turn) for path, use in known.files.items()} == {"a.py": (2, 1, 1)}
    assert [(step.text, step.open) for step in known.plan] == [("one", False), ("two", True)]


def test_the_recorded_session_gives_the_files_its_story_edited() -> None:
    known = ledger(read_session(LONG).messages)
    edited = {path for path, use in known.files.items() if use.edits}
    assert edited == {
        "README.md", "CHANGELOG.md", "tidetables/__init__.py", "tidetables/harbours.py", "data/harbours.csv",
        "tests/test_harbours.py", "tidetables/cli.py", "tidetables/predict.py", "tests/test_predict.py",
        "tidetables/table.py", "tests/test_table.py", "docs/plan.md",
    }  # fmt: skip
    assert known.commands["python3 -m unittest"].runs == 8
    assert not known.commands["python3 -m unittest"].failed
    assert known.commands["python3 -m mypy --strict tidetables"].failed
    assert known.turns == 8


def test_the_memory_holds_goal_state_files_commands_errors_and_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(EXAMPLES))
    meta = get_thread_meta("01a22882-e15d")
    assert set(meta) == {"id", "rollout_path", "model", "title", "cwd", "created_at"}
    session = extract_rollout(meta["rollout_path"], meta["id"], meta["model"])
    memory = to_memory_markdown(session, meta)
    for heading in (
        "Goal",
        "Latest request",
        "State",
        "Decisions and steps",
        "Files",
        "Commands",
        "Open errors",
        "Next steps",
        "Source",
    ):
        assert f"\n## {heading}\n" in memory
    assert "> In the table that `compare` prints" in memory
    assert "- `tidetables/predict.py`: edited 2×, read 1× (turn 3)" in memory
    assert "No module named mypy" in memory
    assert "mypy has not been run" in memory.split("## Next steps")[1]
    assert meta["id"] in memory
    assert len(memory) < 8_000
    with pytest.raises(NotFound):
        get_thread_meta("nothing-like-it")


@pytest.mark.parametrize(
    ("asked", "expected", "heading"),
    [
        ("Please mend the parser, 谢谢.", "en", "## Goal"),
        ("请修复解析器中的错误，并运行 pytest 测试。", "zh", "## 目标"),
        ("Почини парсер и запусти pytest.", "ru", "## Цель"),
        ("パーサーを直してテストを実行してください。", "en", "## Goal"),
        ("", "en", "# "),
    ],
)
def test_the_headings_are_in_the_users_language(asked: str, expected: str, heading: str) -> None:
    assert language([asked]) == expected
    session = from_messages([{"role": "user", "content": asked or "…"}, {"role": "assistant", "content": "OK."}])
    assert heading in to_memory_markdown(session)


def test_the_example_runs_from_the_bare_checkout(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", str(ROOT / "examples" / "codex_to_workbuddy_demo.py")]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# In the table that `compare` prints")
