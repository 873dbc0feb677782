"""Done once, found again, taken back: that and nothing else, whatever happens in between."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from places import LONG, MODELS, content, environment, go_on, run

from session_migrator import Store, from_messages, list_sessions, migrate, migrations, read_session
from session_migrator.agents.codex import writer as codex_writer
from session_migrator.agents.spec import quoted
from session_migrator.errors import NotFound, Refused, WriteError
from session_migrator.migration import Migration

each_target = pytest.mark.parametrize("to", MODELS)
Carry = Callable[..., Migration]


@pytest.fixture
def carry(tmp_path: Path, project: Path) -> Carry:
    """Migrate the example into a scratch home."""

    def run(ref: Any = LONG, to: str = "claude-code", **options: Any) -> Migration:
        where = {"into": project, "home": tmp_path / to, "form": "session", **options}
        return migrate(ref, to, options.pop("model", MODELS[to]), **{k: v for k, v in where.items() if k != "model"})

    return run


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): content(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def named(title: str = "A name") -> Any:
    return replace(read_session(LONG), title=title)


# --- idempotent


@each_target
def test_the_same_migration_twice_is_done_once(tmp_path: Path, carry: Carry, to: str) -> None:
    first = carry(to=to)
    before = contents(tmp_path / to)
    second = carry(to=to)
    assert (second.migration, second.target) == (first.migration, first.target)
    assert any("was done before" in warning for warning in second.warnings)
    assert contents(tmp_path / to) == before


def test_everything_in_the_store_is_private(tmp_path: Path, carry: Carry) -> None:
    carry(budget=5_000)
    kept = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert {".lock", "workspace.json"} < {path.name for path in kept}
    assert {path.stat().st_mode & 0o077 for path in kept} == {0}


def test_again_makes_another_and_leaves_the_first(tmp_path: Path, carry: Carry) -> None:
    first, second = carry(), carry(again=True)
    assert first.migration != second.migration
    assert len(contents(tmp_path / "claude-code")) == 2


def test_a_result_that_is_gone_is_written_anew(carry: Carry) -> None:
    first = carry()
    Path(first.target["paths"][0]).unlink()
    second = carry()
    assert second.migration != first.migration
    assert Path(second.target["paths"][0]).exists()


@pytest.mark.parametrize(
    "other",
    [
        {"budget": 5_000}, {"window": 300_000}, {"model": "claude-haiku-4-5"}, {"history": "full"}, {"to": "codex"},
        {"into": "."}, {"home": "other"},
    ],
    ids=lambda other: next(iter(other)),
)  # fmt: skip
def test_whatever_changes_what_is_written_makes_another(
    tmp_path: Path, carry: Carry, other: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert carry().migration != carry(**other).migration


def test_a_source_that_has_grown_makes_a_new_one_and_says_so(tmp_path: Path, carry: Carry) -> None:
    grown = tmp_path / LONG.name
    whole = LONG.read_bytes().splitlines(keepends=True)
    grown.write_bytes(b"".join(whole[:-20]))
    first = carry(grown)
    grown.write_bytes(b"".join(whole))
    second = carry(grown)
    assert second.migration != first.migration
    assert f"the source has changed since migration {first.migration}; this is a new one" in second.warnings
    assert carry(grown).migration == second.migration


def test_there_and_back_makes_a_new_session_and_the_original_keeps_its_bytes(tmp_path: Path, carry: Carry) -> None:
    original = tmp_path / "codex" / "sessions" / LONG.name
    original.parent.mkdir(parents=True)
    original.write_bytes(LONG.read_bytes())
    there = carry(original)
    back = carry(Path(there.target["paths"][0]), to="codex")
    assert back.target["session_id"] != there.source["session_id"]
    assert original.read_bytes() == LONG.read_bytes()
    assert len(list(list_sessions("codex", home=tmp_path / "codex"))) == 2


def many(root: str, project: str, home: str) -> None:
    migrate(LONG, "claude-code", MODELS["claude-code"], into=project, home=Path(home), store=Store(root))


def test_the_same_migration_in_three_processes_at_once_is_done_once(tmp_path: Path, project: Path) -> None:
    context = multiprocessing.get_context("spawn")
    args = (str(tmp_path / "s"), str(project), str(tmp_path / "claude-code"))
    workers = [context.Process(target=many, args=args) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert len(contents(tmp_path / "claude-code")) == 1
    assert len(migrations.listing(Store(tmp_path / "s"))) == 1


# --- the ledger and undo


def test_the_ledger_tells_what_was_done_the_newest_first(carry: Carry) -> None:
    first, second = carry(), carry(to="codex")
    rows = migrations.listing(Store())
    assert [row["migration"] for row in rows] == [second.migration, first.migration]
    assert set(rows[0]) == {
        "migration", "created_at", "source", "target", "mode", "tokens_before", "tokens_after", "losses",
    }  # fmt: skip
    assert rows[0]["target"] == second.target


@each_target
def test_undo_takes_back_just_what_was_written(tmp_path: Path, carry: Carry, to: str) -> None:
    done = carry(named(), to=to)
    assert contents(tmp_path / to)
    removed = migrations.undo(Store(), str(done.migration))["removed"]
    assert done.target["paths"][0] in removed
    assert not (tmp_path / to).exists()
    assert migrations.listing(Store()) == []
    assert carry(named(), to=to).migration != done.migration


def test_undo_leaves_every_other_byte_of_a_shared_file(tmp_path: Path, carry: Carry) -> None:
    index = tmp_path / "codex" / "session_index.jsonl"
    index.parent.mkdir()
    before = b'{"id":"other","thread_name":"mine"}\r\n not json \xff\n{"torn":'
    index.write_bytes(before)
    done = carry(named(), to="codex")
    with index.open("ab") as file:
        file.write(b'{"id":"later","thread_name":"x"}\n')
    migrations.undo(Store(), str(done.migration))
    assert index.read_bytes() == before + b'\n{"id":"later","thread_name":"x"}\n'


@each_target
def test_a_session_that_was_continued_is_not_taken_back(tmp_path: Path, carry: Carry, to: str) -> None:
    done = carry(to=to)
    go_on(Path(done.target["paths"][0]))
    before = contents(tmp_path / to)
    with pytest.raises(Refused, match="continued since"):
        migrations.undo(Store(), str(done.migration))
    assert contents(tmp_path / to) == before
    assert len(migrations.listing(Store())) == 1


def test_undo_of_what_is_gone_already_clears_the_ledger(carry: Carry) -> None:
    done = carry()
    Path(done.target["paths"][0]).unlink()
    migrations.undo(Store(), str(done.migration)[:6])
    assert migrations.listing(Store()) == []


@pytest.mark.parametrize("name", ["", "nothing", "../x"])
def test_undo_of_what_never_was_is_refused(carry: Carry, name: str) -> None:
    carry()
    carry(again=True)
    with pytest.raises(NotFound):
        migrations.undo(Store(), name)


# --- whole or not at all


class Broken(Exception):
    """Whatever goes wrong in the middle."""


@each_target
@pytest.mark.parametrize("at", ["fsync", "link", "verify", "index", "record"])
def test_a_migration_that_breaks_off_leaves_the_targets_home_as_it_was(
    tmp_path: Path, carry: Carry, to: str, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = tmp_path / to / "session_index.jsonl"
    index.parent.mkdir()
    index.write_bytes(b'{"id":"a","thread_name":"b"}\n')
    carry(named("before"), to=to)
    before = contents(tmp_path / to)

    called: list[str] = []

    def broken(*_: Any, **__: Any) -> Any:
        called.append(at)
        raise Broken

    targets: dict[str, tuple[Any, str]] = {
        "fsync": (os, "fsync"), "link": (os, "link"), "verify": (sys.modules["session_migrator.migration"], "_verify"),
        "index": (codex_writer, "append_line"), "record": (migrations, "record"),
    }  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(*targets[at], broken)
        try:
            carry(named("after"), to=to)
        except Broken:
            assert contents(tmp_path / to) == before
        else:  # nothing of this agent's to break at
            assert not called
            return
    assert contents(tmp_path / to) == before


def test_what_reads_back_otherwise_is_taken_back_and_the_error_says_where(
    tmp_path: Path, carry: Carry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(session: Any, *rest: Any) -> Iterator[dict[str, Any]]:
        yield from records(replace(session, messages=session.messages[:-1]), *rest)

    from session_migrator.agents.claude_code import writer

    records = writer.records
    monkeypatch.setattr(writer, "records", other)
    with pytest.raises(WriteError, match="it ends before part"):
        carry()
    assert not (tmp_path / "claude-code").exists()


def test_a_run_killed_in_the_middle_of_the_write_is_cleaned_up_by_the_next(tmp_path: Path, project: Path) -> None:
    home = tmp_path / "claude-code"
    code = (
        "import os, sys, time\n"
        "from session_migrator import migrate\n"
        "real = os.fsync\n"
        "def stop(fd):\n"
        "    if 'claude-code' in os.readlink(f'/proc/self/fd/{fd}'):\n"
        "        print('writing', flush=True); time.sleep(60)\n"
        "    real(fd)\n"
        "os.fsync = stop\n"
        f"migrate({str(LONG)!r}, 'claude-code', 'claude-opus-5-5', into={str(project)!r},"
        f" home=__import__('pathlib').Path({str(home)!r}))\n"
    )
    env = environment()
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=env) as child:
        assert child.stdout
        assert child.stdout.readline() == b"writing\n"
        child.send_signal(signal.SIGKILL)
    (left,) = contents(home)
    assert left.endswith(".tmp")
    done = migrate(LONG, "claude-code", "claude-opus-5-5", into=project, home=home)
    assert [str(home / name) for name in contents(home)] == done.target["paths"]


def test_a_source_that_is_written_to_meanwhile_is_read_as_it_stood_and_a_warning_says_so(
    tmp_path: Path, carry: Carry, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / LONG.name
    source.write_bytes(LONG.read_bytes())
    os.utime(source, (time.time() - 100, time.time() - 100))
    assert not any("being written" in warning for warning in carry(source, dry_run=True).warnings)
    from session_migrator import sessions

    read = sessions.read

    def and_append(*args: Any, **options: Any) -> Any:
        reading = read(*args, **options)
        with source.open("ab") as file:
            file.write(b'{"timestamp":"2026-11-29T18:20:00Z","type":"event_msg","payload":{}}\n')
        return reading

    monkeypatch.setattr(sessions, "read", and_append)
    done = carry(source)
    assert any("being written" in warning for warning in done.warnings)
    assert len(read_session(Path(done.target["paths"][0])).messages) == 68


# --- the command that goes on


@pytest.mark.parametrize("word", ["plain", "it's a b", "\x1b[31mred\n", "\x07'\\é", "日本\u2028", "\udcff"])
def test_a_word_of_a_command_is_one_word_to_a_shell_and_does_nothing_to_a_terminal(word: str) -> None:
    shown = quoted(word)
    assert shown.isprintable()
    done = subprocess.run(["bash", "-c", os.fsencode(f"printf %s {shown}")], capture_output=True, check=True)
    assert done.stdout == os.fsencode(word)


# --- --run


def test_run_starts_the_client_in_the_right_folder(tmp_path: Path, project: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    fake = tools / "claude"
    fake.write_text('#!/bin/sh\npwd > "$OUT"\necho "$CLAUDE_CONFIG_DIR $@" >> "$OUT"\nexit 7\n')
    fake.chmod(0o700)
    out = tmp_path / "out"
    command = ["migrate", LONG, "--to", "claude-code", "--run", "--model", "haiku"]
    where = ["--into", project, "--home", tmp_path / "claude"]
    done = run(*command, *where, cwd=tmp_path, PATH=f"{tools}:/usr/bin:/bin", OUT=str(out))
    assert done.returncode == 7
    (session_id,) = (path.stem for path in (tmp_path / "claude").rglob("*.jsonl"))
    started = f"{project}\n{tmp_path}/claude --resume {session_id} --model claude-haiku-5-5\n"
    assert out.read_text(encoding="utf-8") == started


def test_run_without_the_client_writes_nothing(tmp_path: Path, project: Path) -> None:
    where = ["--into", project, "--home", tmp_path / "claude"]
    done = run("migrate", LONG, "--to", "claude-code", "--run", *where, PATH="/nowhere")
    assert done.returncode == 3
    assert "claude is not on the PATH" in done.stderr
    assert not (tmp_path / "claude").exists()


def test_the_latest_session_is_not_a_copy_that_nobody_went_on_with(
    tmp_path: Path, carry: Carry, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "here"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude-code"))
    original = carry(named("the original"), to="codex", into=project, again=True)
    lineage = Store().workspace(project)
    lineage.remove("migrations", str(original.migration))  # as if Codex itself had made it
    copy = carry(Path(original.target["paths"][0]), budget=3_000, into=project)
    assert read_session("latest").id == original.target["session_id"]
    with Path(copy.target["paths"][0]).open("ab") as file:
        file.write(b'{"type":"mode","mode":"normal","timestamp":"2026-11-30T00:00:00Z","sessionId":"x"}\n')
    assert read_session("latest", "claude-code").id == copy.target["session_id"]


def test_undo_forgets_the_originals_that_no_other_migration_needs(carry: Carry, project: Path) -> None:
    first, second = carry(budget=3_000), carry(budget=3_000, again=True)
    workspace = Store().workspace(project)
    migrations.undo(Store(), str(first.migration))
    assert len(workspace.packed("originals")) == 1
    migrations.undo(Store(), str(second.migration))
    assert workspace.packed("originals") == []


def test_a_session_of_chat_messages_has_a_lineage_too(carry: Carry) -> None:
    chat = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]
    assert carry(from_messages(chat)).migration == carry(from_messages(chat)).migration


def test_instruction_files_that_leave_less_room_make_another_compressed_one(carry: Carry, project: Path) -> None:
    small = {"model": "claude-haiku-4-5", "window": 85_000}
    first = carry(**small)
    assert first.mode == "compress"
    (project / "CLAUDE.md").write_text("Use tabs. " * 500, encoding="utf-8")
    second = carry(**small)
    assert second.migration != first.migration
    assert second.tokens_after < first.tokens_after
