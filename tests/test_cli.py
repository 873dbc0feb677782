"""The command line: its output, its JSON, its errors and exit codes. Every command runs as a user runs it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from places import EXAMPLES, FIXTURES, LONG, environment, run

from session_migrator.agents import AGENTS

MODEL = ["--model", "claude-opus-5-5"]
DECISION = {"mode", "tokens", "low", "high", "budget", "window", "ledger", "counter"}
INFO = {"agent", "id", "title", "cwd", "model", "created_at", "updated_at", "messages", "path"}


def data(*args: str | Path, cwd: Path | None = None) -> Any:
    done = run(*args, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(code: int, *args: str | Path, cwd: Path | None = None) -> str:
    """The error of a command that must fail so, in two lines and with nothing on stdout."""
    done = run(*args, cwd=cwd)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    error, remedy = done.stderr.splitlines()
    assert error.startswith("error: ")
    assert remedy.startswith("try: ")
    return done.stderr


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.fixture
def here(tmp_path: Path, project: Path) -> list[str | Path]:
    """The options that put a migration into scratch folders."""
    return ["--into", project, "--home", tmp_path / "claude"]


def test_a_session_that_fits_goes_over_and_the_answer_says_everything(tmp_path: Path, here: list[str | Path]) -> None:
    done = data("migrate", LONG, "--to", "claude-code", *MODEL, *here)
    assert set(done) == {
        "migration", "source", "target", "mode", "tokens_before", "tokens_after", "decision", "losses", "warnings",
    }  # fmt: skip
    assert done["mode"] == "direct"
    assert done["tokens_before"] == done["tokens_after"] == done["decision"]["tokens"]
    assert set(done["source"]) == {"agent", "session_id", "path"}
    assert set(done["target"]) == {"agent", "session_id", "paths", "resume"}
    assert set(done["decision"]) == DECISION
    assert all(set(loss) == {"kind", "where", "detail", "severity"} for loss in done["losses"])
    (path,) = map(Path, done["target"]["paths"])
    assert path.is_absolute()
    assert path.stem == done["target"]["session_id"]
    assert files(tmp_path / "claude") == [path]


def test_a_session_that_does_not_fit_is_compressed_into_the_budget(here: list[str | Path]) -> None:
    done = data("migrate", LONG, "--to", "claude-code", *MODEL, *here, "--budget", "3000")
    assert done["mode"] == "compress"
    assert done["tokens_after"] <= 3000 == done["decision"]["budget"]


def test_a_dry_run_shows_the_same_and_writes_nothing(tmp_path: Path, here: list[str | Path]) -> None:
    done = data("migrate", LONG, "--to", "claude-code", *MODEL, *here, "--budget", "3000", "--dry-run")
    assert done["migration"] is None
    assert done["target"] == {"agent": "claude-code", "session_id": None, "paths": [], "resume": None}
    assert done["mode"] == "compress"
    assert files(tmp_path) == []


def test_the_human_output_ends_with_the_resume_command(here: list[str | Path]) -> None:
    done = run("migrate", LONG, "--to", "claude-code", *MODEL, *here, "--budget", "3000")
    assert done.returncode == 0
    assert "overhead" in done.stdout
    assert "left out" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("resume:  cd ")


def test_decide_names_every_term_of_the_sum() -> None:
    decided = data("decide", LONG, "--to", "claude-code", *MODEL)
    assert set(decided) == DECISION
    assert set(decided["window"]) == {"context", "max_input", "max_output", "source"}
    assert set(decided["counter"]) == {"name", "method"}
    assert [entry["name"] for entry in decided["ledger"]] == [
        "context", "trigger", "reply_room", "overhead", "instructions", "prompt_room", "budget", "session",
    ]  # fmt: skip
    assert all(set(entry) == {"name", "tokens", "why"} for entry in decided["ledger"])


def test_decide_without_a_target_asks_every_agent_and_a_model_alone_has_no_overhead() -> None:
    rows = data("decide", LONG)
    assert [row["agent"] for row in rows] == list(AGENTS)
    assert all(set(row) == DECISION | {"agent"} for row in rows)
    alone = {entry["name"]: entry["tokens"] for entry in data("decide", LONG, "--model", "gpt-5.5")["ledger"]}
    assert (alone["overhead"], alone["instructions"]) == (0, 0)
    assert "trigger" not in alone


def test_decide_without_a_target_says_it_in_a_line_for_each_agent_that_is_here(own_home: Path) -> None:
    every = run("decide", LONG).stdout.splitlines()
    assert [line.split()[0] for line in every] == list(AGENTS)
    assert all(line.split()[1] == "fits" for line in every)
    (own_home / ".codex").mkdir()
    (line,) = run("decide", LONG).stdout.splitlines()
    assert line.endswith("gpt-6.2-sol (exact)")
    assert " tokens for " in line
    (own_home / ".claude").mkdir()
    (own_home / ".claude" / "settings.json").write_text('{"model": "claude-haiku-4-5"}', encoding="utf-8")
    (own_home / ".codex" / "config.toml").write_text('model = "my-model"\n', encoding="utf-8")
    done = run("decide", LONG)
    (line,) = done.stdout.splitlines()
    needs = "" if sys.version_info >= (3, 12) else ", with Python 3.12"
    assert line.endswith(f'claude-haiku-4-5 (at most; exact: pip install "session-migrator[claude]"{needs})')
    assert "note: codex: the window of model 'my-model' is not known" in done.stderr
    (own_home / ".codex" / "config.toml").write_text("model_context_window = 20000\n", encoding="utf-8")
    assert run("decide", LONG).stdout.splitlines()[0].split()[1] == "too"


def test_openai_counts_are_exact_and_others_say_that_they_are_bounds() -> None:
    assert data("decide", LONG, "--model", "gpt-5.5")["counter"] == {"name": "o200k_base", "method": "exact"}
    assert data("decide", LONG, *MODEL)["counter"]["method"] == "bound"


def test_a_window_of_the_users_own_makes_an_unknown_model_acceptable() -> None:
    decided = data("decide", LONG, "--model", "my-model", "--window", "50000")
    assert decided["window"] == {"context": 50000, "max_input": None, "max_output": None, "source": "user"}
    resized = data("decide", LONG, "--model", "gpt-5", "--window", "100000")
    assert resized["window"] == {"context": 100000, "max_input": 75000, "max_output": 128000, "source": "user"}


def test_list_shows_the_newest_first_and_only_this_folder_unless_asked(tmp_path: Path) -> None:
    rows = data("list", "--from-home", EXAMPLES, "--all")
    assert [row["title"][:30] for row in rows] == ["In the table that `compare` pr", "What does --at of the compare "]
    assert all(set(row) == INFO for row in rows)
    assert [row["messages"] for row in rows] == [None, None]
    assert [row["messages"] for row in data("list", "--from-home", EXAMPLES, "--all", "--count")] == [70, 8]
    assert len(data("list", "--from-home", EXAMPLES, "--all", "--limit", "1")) == 1
    assert data("list", "--from-home", EXAMPLES, cwd=tmp_path) == []
    assert len(data("list", "--from-home", EXAMPLES, "--cwd", "/home/user/tide-tables")) == 2


def test_agents_tells_where_each_keeps_its_sessions(own_home: Path) -> None:
    (own_home / ".codex").symlink_to(EXAMPLES)
    rows = {row["agent"]: row for row in data("agents")}
    assert rows["codex"]["sessions"] == 2
    assert rows["claude-code"]["found"] is False
    assert set(rows["codex"]) == {"agent", "home", "found", "why", "sessions", "reads", "writes"}


@pytest.mark.parametrize("ref", ["01a22882-e15d-7eb0-a976-77a1288d9b97", "01a22882-e1", LONG])
def test_a_session_is_named_by_id_prefix_or_file(own_home: Path, ref: str | Path) -> None:
    (own_home / ".codex").symlink_to(EXAMPLES)
    done = run("show", ref, "--format", "json")
    assert json.loads(done.stdout)["session"]["id"] == "01a22882-e15d-7eb0-a976-77a1288d9b97"


def test_a_session_is_named_by_its_title_and_latest_is_of_another_agent(own_home: Path, tmp_path: Path) -> None:
    (own_home / ".codex").symlink_to(FIXTURES / "codex" / "0.171.0-handwritten-then-tui")
    assert json.loads(run("show", "Typed Next", "--format", "json").stdout)["session"]["title"] == "typed next"
    refused(3, "show", "latest", cwd=tmp_path)
    done = data("migrate", "typed next", "--to", "claude-code", *MODEL, "--into", tmp_path)
    assert (
        json.loads(run("show", "latest", "--format", "json", cwd=tmp_path).stdout)["session"]["agent"] == "claude-code"
    )
    error = refused(3, "migrate", "latest", "--to", "claude-code", cwd=tmp_path)
    assert "no session of this folder" in error
    assert done["target"]["resume"].startswith("cd ")


@pytest.mark.parametrize("form", ["text", "markdown", "messages"])
def test_show_prints_the_whole_conversation(form: str) -> None:
    done = run("show", LONG, "--format", form)
    assert done.returncode == 0
    assert "東京" in done.stdout
    assert "apply_patch" in done.stdout
    if form == "messages":
        assert {message["role"] for message in json.loads(done.stdout)} == {"system", "user", "assistant", "tool"}


# --- bad input


def test_a_session_is_named_by_the_beginning_of_its_title(own_home: Path) -> None:
    (own_home / ".codex").symlink_to(EXAMPLES)
    (_, row) = run("list", "--all").stdout.splitlines()
    shown, folder = row[68:].split("  ")
    assert folder == "(/home/user/tide-tables)"
    assert shown.endswith("…")
    for name in (shown, shown.upper(), "what does --at of"):
        assert json.loads(run("show", name, "--format", "json").stdout)["session"]["id"].startswith("01a22882-db3b")


def test_usage_errors_are_two_lines_too() -> None:
    for args in (["migrate"], ["nonsense"], ["list", "--limit", "0"], ["migrate", "x", "--to", "nobody"], ["--no"]):
        error = refused(2, *args)
        assert "--help" in error
    refused(2, "migrate", "x", "--to", "codex", "--run", "--json")


def test_nothing_left_is_said_plainly() -> None:
    done = run("decide", LONG, "--to", "claude-code", "--model", "my-model", "--window", "20000")
    assert "nothing is left for a session" in done.stdout
    assert "  trigger                0  " in done.stdout


def test_codex_settings_say_what_the_window_is(own_home: Path) -> None:
    (own_home / ".codex").mkdir()
    settings = 'model = "gpt-5.5"\nmodel_context_window = 100000\nmodel_auto_compact_token_limit = 70000\n'
    (own_home / ".codex" / "config.toml").write_text(settings, encoding="utf-8")
    lines = {entry["name"]: entry["tokens"] for entry in data("decide", LONG, "--to", "codex")["ledger"]}
    assert (lines["context"], lines["trigger"]) == (100_000, 70_000)


@pytest.mark.parametrize(("to", "name"), [("codex", "config.toml"), ("claude-code", "settings.json")])
def test_settings_that_cannot_be_read_are_named_where_the_default_model_is_taken(
    tmp_path: Path, project: Path, to: str, name: str
) -> None:
    settings = tmp_path / "target" / name
    settings.parent.mkdir()
    migrate = ["migrate", LONG, "--to", to, "--into", project, "--home", settings.parent, "--dry-run"]
    assert not any("cannot be read" in warning for warning in data(*migrate)["warnings"])
    settings.write_text('{"model": broken', encoding="utf-8")
    assert any(f"{settings} cannot be read" in warning for warning in data(*migrate)["warnings"])


def test_an_ambiguous_prefix_is_refused_with_the_candidates(own_home: Path) -> None:
    (own_home / ".codex").symlink_to(EXAMPLES)
    assert "fits 2 sessions" in refused(3, "show", "01a22882")


def test_what_is_no_session_is_refused_and_nothing_is_written(tmp_path: Path, here: list[str | Path]) -> None:
    cases: list[tuple[int, bytes | None]] = [
        (2, b"\x89PNG\r\n\x1a\n\0\0"), (2, b'{"a": 1}\n{"b": 2}\n'), (2, b"hello\n"), (2, b"[1, 2"), (3, b""),
        (3, b"[]"), (1, None),
    ]  # fmt: skip
    for number, (code, content) in enumerate(cases):
        path = tmp_path / f"{number}.jsonl"
        if content is not None:
            path.write_bytes(content)
        refused(code, "migrate", path, "--to", "claude-code", *MODEL, *here)
    assert not (tmp_path / "claude").exists()


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, here: list[str | Path]) -> None:
    path = tmp_path / "closed.jsonl"
    path.write_text("{}", encoding="utf-8")
    path.chmod(0)
    unreadable = path if os.geteuid() else Path("/proc/self/mem")  # root reads everything but that
    assert "cannot read" in refused(1, "migrate", unreadable, "--to", "claude-code", *MODEL, *here)


def test_a_torn_last_line_costs_one_line_and_is_reported(tmp_path: Path, here: list[str | Path]) -> None:
    torn = tmp_path / LONG.name
    torn.write_bytes(LONG.read_bytes()[:-40])
    done = data("migrate", torn, "--to", "claude-code", *MODEL, *here)
    assert [loss["detail"] for loss in done["losses"] if loss["kind"] == "bad_line"] == [
        "line 321 is not a JSON record and was skipped"
    ]


def test_an_unknown_model_names_near_ones(here: list[str | Path]) -> None:
    error = refused(3, "migrate", LONG, "--to", "claude-code", "--model", "claude-opus-55", *here)
    assert "claude-opus-5" in error
    assert "--window" in error


def test_a_target_folder_that_cannot_be_written_leaves_nothing(tmp_path: Path, project: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    refused(1, "migrate", LONG, "--to", "claude-code", *MODEL, "--into", project, "--home", blocked)
    assert [path for path in files(tmp_path) if "store" not in path.parts] == [blocked]


def test_a_folder_that_is_not_here_must_be_named(tmp_path: Path) -> None:
    assert "--into" in refused(2, "migrate", LONG, "--to", "claude-code", *MODEL, "--home", tmp_path / "claude")
    refused(2, "migrate", LONG, "--to", "claude-code", *MODEL, "--into", tmp_path / "none")


def test_a_budget_below_2000_is_a_usage_error_and_one_that_holds_nothing_is_refused(here: list[str | Path]) -> None:
    refused(2, "migrate", LONG, "--to", "claude-code", *MODEL, *here, "--budget", "1999")
    error = refused(4, "migrate", LONG, "--to", "claude-code", *MODEL, *here, "--window", "20000")
    assert "nothing fits" in error


@pytest.mark.parametrize(
    ("said", "agent"),
    [("claude", "claude-code"), ("Claude Code", "claude-code"), ("gemini-cli", "gemini"), ("Copilot CLI", "copilot")],
)
def test_an_agent_can_be_named_by_its_clients_name_or_a_beginning(said: str, agent: str) -> None:
    named, by_id = (run("decide", LONG, "--to", name, "--model", "gpt-5.5") for name in (said, agent))
    assert (named.returncode, named.stdout) == (0, by_id.stdout)


@pytest.mark.parametrize("said", ["open", "co", "", "claude-codex"])
def test_a_beginning_that_several_agents_have_or_none_is_refused_with_their_names(said: str) -> None:
    assert "opencode" in refused(2, "decide", LONG, "--to", said)


@pytest.mark.parametrize("said", ["100,000", "100_000", "100k", "100K", "0.1m"])
def test_tokens_can_be_given_in_thousands(said: str) -> None:
    assert data("decide", LONG, "--model", "gpt-5", "--window", said)["window"]["context"] == 100_000


@pytest.mark.parametrize("said", ["0", "-5", "k", "1e9", "100 k", "0.0001k", "٣٠", "9" * 40, "1g"])
def test_what_is_no_number_of_tokens_is_refused(said: str) -> None:
    assert "is no number of tokens" in refused(2, "decide", LONG, "--model", "gpt-5", f"--window={said}")


def test_importing_the_package_imports_no_other(tmp_path: Path) -> None:
    code = (
        "import sys; before = set(sys.modules); import session_migrator; "
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('session_migrator')"
        " and name.split('.')[0] not in sys.stdlib_module_names))"
    )
    env = environment()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True, cwd=tmp_path
    )
    assert done.stdout.strip() == "[]"


def test_help_imports_click_and_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['session-migrator', '--help']\n"
        "from session_migrator.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "mine = sorted(n for n in sys.modules if n.startswith('session_migrator.'))\n"
        "print('|', mine, 'tiktoken' in sys.modules, file=sys.stderr)"
    )
    env = environment()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert "Commands:" in done.stdout
    loaded = done.stderr.split("|")[1]
    for name in ("tokens", "exporter", "compressors.ladder", "migration", "agents.codex"):
        assert f"session_migrator.{name}" not in loaded
    assert loaded.strip().endswith("False")


def test_a_transcript_cannot_steer_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "user", "content": "red \x1b[31m and \x07 bell \x1b]0;title\x07"}]), "utf-8")
    for form in ("text", "markdown"):
        assert "\x1b" not in run("show", path, "--format", form).stdout


def test_a_migration_tells_of_the_store_that_undo_needs_and_undo_of_a_database_what_it_took_out(
    tmp_path: Path, project: Path
) -> None:
    """The store of the tests is named by a variable."""
    shown = run("migrate", LONG, "--to", "kilo", "--model", "gpt-5.5", "--home", tmp_path / "home", "--into", project)
    (line,) = (line for line in shown.stdout.splitlines() if line.startswith("undo:"))
    variable, program, *words = shlex.split(line.removeprefix("undo:"))
    assert variable == f"SESSION_MIGRATOR_HOME={environment()['SESSION_MIGRATOR_HOME']}"
    assert program == "session-migrator"
    (session,) = (line.split()[1] for line in shown.stdout.splitlines() if line.startswith("session:"))
    assert run(*words).stdout == f"removed: {session}\n"


def test_a_list_of_everything_that_is_empty_does_not_point_to_itself(tmp_path: Path) -> None:
    assert run("list", "--all", "--from-home", tmp_path).stderr == "no sessions were found\n"
    assert "list --all" in run("list", "--from-home", tmp_path).stderr
