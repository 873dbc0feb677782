"""The harness proves itself: what a real client sends is read in order, and its refusals are seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import harness
import pytest

ID = "5a0c9d6e-51f3-4a6b-9a3e-0d8c7b1f2e34"


def claude(*args: str) -> list[str]:
    return ["-p", "--allowedTools=Bash", *args]


def codex(*args: str) -> list[str]:
    return ["exec", *args]


def shell_call(tool: str, argument: str, marker: str) -> dict[str, Any]:
    command = f"echo {marker}-$((40 + 2))"
    return {"text": f"{marker}-look", "tools": [{"name": tool, "arguments": {argument: command}}]}


def without_ids(items: list[harness.Item]) -> list[tuple[str, str, Any]]:
    return [(role, kind, value) for role, kind, value, _ in items]


def ids(items: list[harness.Item], kind: str) -> list[str | None]:
    return [call_id for _, item_kind, _, call_id in items if item_kind == kind]


@pytest.mark.client("claude-code")
@pytest.mark.parametrize("named_folder", [False, True])
def test_claude_code_carries_a_session_through_two_resumes(home: Path, project: Path, named_folder: bool) -> None:
    config_dir = home.parent / "claude-config" if named_folder else None
    runs = [
        harness.run_client(
            "claude-code",
            claude(*args, f"prompt-{n}"),
            home=home,
            cwd=project,
            config_dir=config_dir,
            script=[shell_call("Bash", "command", f"m{n}"), {"text": f"answer-{n}"}],
        )
        for n, args in enumerate((["--session-id", ID], ["--resume", ID], ["--resume", ID]))
    ]
    assert [run.returncode for run in runs] == [0, 0, 0]
    last = harness.main_requests("claude-code", runs[2].requests, "prompt-2")[-1]
    items = harness.conversation("claude-code", last)
    expected: list[tuple[str, str, Any]] = []
    for n in range(3):
        expected.append(("user", "text", f"prompt-{n}"))
        expected.append(("assistant", "text", f"m{n}-look"))
        call = next(value for _, kind, value in without_ids(items)[len(expected) :] if kind == "call")
        assert call[1]["command"] == f"echo m{n}-$((40 + 2))"
        expected.append(("assistant", "call", call))
        expected.append(("tool", "result", f"m{n}-42"))
        expected.append(("assistant", "text", f"answer-{n}"))
    assert without_ids(items) == expected[:-1]  # the last answer is this request's own
    assert ids(items, "call") == ids(items, "result")
    assert len(set(ids(items, "call"))) == 3
    files = list((config_dir or home / ".claude").glob("projects/*/*.jsonl"))
    assert [file.stem for file in files] == [ID]


@pytest.mark.client("codex")
@pytest.mark.parametrize("named_folder", [False, True])
def test_codex_carries_a_session_through_two_resumes(home: Path, project: Path, named_folder: bool) -> None:
    config_dir = home.parent / "codex-home" if named_folder else None
    runs = [
        harness.run_client(
            "codex",
            codex(*args, f"prompt-{n}"),
            home=home,
            cwd=project,
            config_dir=config_dir,
            script=[shell_call("exec_command", "cmd", f"m{n}"), {"text": f"answer-{n}"}],
        )
        for n, args in enumerate(([], ["resume", "--last"], ["resume", "--last"]))
    ]
    assert [run.returncode for run in runs] == [0, 0, 0]
    last = harness.main_requests("codex", runs[2].requests, "prompt-2")[-1]
    items = harness.conversation("codex", last)
    seen = [value.split("Output:\n")[-1] if kind == "result" else value for _, kind, value, _ in items]
    expected = [
        value
        for n in range(3)
        for value in (
            f"prompt-{n}",
            f"m{n}-look",
            ("exec_command", {"cmd": f"echo m{n}-$((40 + 2))"}),
            f"m{n}-42\n",
            f"answer-{n}",
        )
    ]
    assert seen == expected[:-1]  # the last answer is this request's own
    assert ids(items, "call") == ids(items, "result")
    assert len(set(ids(items, "call"))) == 3
    listed = harness.list_sessions("codex", home=home, cwd=project, config_dir=config_dir)
    (file,) = (config_dir or home / ".codex").glob("sessions/*/*/*/rollout-*.jsonl")
    assert listed == f"{file.stem[-36:]}\tprompt-0\t{project}"


@pytest.mark.client("claude-code")
def test_claude_code_refuses_an_id_it_does_not_know(home: Path, project: Path) -> None:
    run = harness.run_client("claude-code", claude("--resume", ID, "prompt"), home=home, cwd=project)
    assert run.returncode == 1
    assert "No conversation found" in run.stdout + run.stderr
    assert harness.main_requests("claude-code", run.requests) == []


@pytest.mark.client("codex")
def test_codex_refuses_a_uuid_it_does_not_know(home: Path, project: Path) -> None:
    run = harness.run_client("codex", codex("resume", ID, "prompt"), home=home, cwd=project)
    assert run.returncode == 1
    assert "no rollout found" in run.stdout + run.stderr
    assert run.requests == []


@pytest.mark.client("codex")
def test_codex_starts_a_new_session_for_an_id_that_is_no_uuid(home: Path, project: Path) -> None:
    """The reason why the exit code proves nothing: what reached the model does."""
    run = harness.run_client(
        "codex", codex("resume", "not-a-uuid", "prompt"), home=home, cwd=project, script=[{"text": "done"}]
    )
    assert run.returncode == 0
    (request,) = harness.main_requests("codex", run.requests, "prompt")
    assert without_ids(harness.conversation("codex", request)) == [("user", "text", "prompt")]


@pytest.mark.client("claude-code")
def test_claude_code_shows_a_session_of_its_terminal_in_its_picker(home: Path, project: Path) -> None:
    screen, requests = harness.interact(
        "claude-code",
        [],
        [(r"❯", "a prompt of the terminal"), ("a prompt of the terminal", "\r"), ("the answer", "")],
        home=home,
        cwd=project,
        script=[{"match": "a prompt of the terminal", "text": "the answer"}],
    )
    assert "the answer" in screen
    assert harness.main_requests("claude-code", requests, "a prompt of the terminal")
    assert "a prompt of the terminal" in harness.list_sessions("claude-code", home=home, cwd=project)
