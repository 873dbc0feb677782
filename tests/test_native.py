"""Sessions compressed in an agent's own form: the file holds the whole, then what stands in for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from mutations import WRITABLE, all_text, claude_line, codex_says
from places import FIXTURES, LONG, MODELS, asked

from session_migrator import (
    Store,
    agents,
    cli,
    from_messages,
    list_sessions,
    migrate,
    migrations,
    read_session,
    sequences,
)
from session_migrator.comparison import difference
from session_migrator.errors import UsageError, WriteError
from session_migrator.lowering import lower
from session_migrator.migration import Migration
from session_migrator.model import REPLACED, Message, Session, Text, ToolCall, ToolResult
from session_migrator.sequences import Spool, full_history

ABLE = [spec.id for spec in WRITABLE if spec.capabilities.native_compaction]
UNABLE = [spec.id for spec in WRITABLE if not spec.capabilities.native_compaction]
each = pytest.mark.parametrize("to", ABLE)
each_of_lines = pytest.mark.parametrize("to", [to for to in ABLE if to in ("codex", "claude-code")])
BUDGET = 4_000
Carry = Callable[..., Migration]


@pytest.fixture
def carry(tmp_path: Path, project: Path) -> Carry:
    """Migrate the example, or another session, into a scratch home."""

    def run(to: str, ref: Any = LONG, **options: Any) -> Migration:
        return migrate(ref, to, MODELS[to], project, home=tmp_path / to, **options)

    return run


def writer(to: str) -> Any:
    return import_module(f"session_migrator.agents.{to.replace('-', '_')}.writer")


def path_of(done: Migration) -> Path:
    return Path(done.target["paths"][0])


def whole(to: str) -> Sequence[Message]:
    return lower(read_session(LONG), agents.get(to).capabilities)[0].messages


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def said(role: Any, text: str, minute: int, origin: Any = None) -> Message:
    return Message(role=role, parts=(Text(text=text),), timestamp=f"2026-03-02T09:{minute:02}:00.000Z", origin=origin)


def compressed(to: str) -> Session:
    """Two turns, the second with two calls; a note and what came after the second prompt stand in for both."""
    call = ToolCall(id="c1", name="Bash", arguments={"command": "ls"})
    patch = ToolCall(id="c2", name="apply_patch", arguments="*** Begin Patch")
    result, patched = (ToolResult(call_id=made.id, parts=(Text(text="done"),)) for made in (call, patch))
    told = (
        said("user", "Look around.", 1),
        said("assistant", "Nothing here.", 2),
        said("user", "Now list and patch.", 3),
        Message(role="assistant", parts=(call, patch), timestamp="2026-03-02T09:04:00.000Z", model="gpt-5.5"),
        Message(role="tool", parts=(result, patched), timestamp="2026-03-02T09:05:00.000Z"),
        said("assistant", "Both done.", 6),
    )
    note = said("user", "[shorter; recall 1234567890]", 0, "summary")
    session = Session(
        id="s", agent="test", title="Listing", messages=told, model="gpt-5.5", created_at="2026-03-02T09:00:00.000Z"
    )
    can = agents.get(to).capabilities
    shorter, _ = lower(replace(session, messages=(note, *told[3:])), can)
    return replace(shorter, earlier=lower(session, can)[0].messages)


@each_of_lines
def test_the_records_are_of_the_golden_form(to: str) -> None:
    """Just so do the pinned clients take them (tests/clients/test_native_forms.py)."""
    start = ("2026-03-02T09:00:00.000Z",) * (to == "codex")
    rows = writer(to).records(compressed(to), "11111111-1111-4111-8111-111111111111", "/p", *start)
    golden = FIXTURES / "golden" / f"{to}-native.jsonl"
    assert "".join(f"{json.dumps(row)}\n" for row in rows) == golden.read_text(encoding="utf-8")


@each
def test_the_whole_stands_before_what_the_model_is_sent(to: str, tmp_path: Path, carry: Carry) -> None:
    question = asked(to, MODELS[to])
    plain, native = carry(to, budget=BUDGET - question), carry(to, budget=BUDGET, native=True)
    assert native.migration != plain.migration
    assert (native.mode, native.tokens_after) == ("compress", plain.tokens_after + question)
    assert set(native.warnings) - set(plain.warnings) == {
        f"all of it is in {agents.get(to).names[0]}'s own file; its model is sent the compressed form"
    }
    found = read_session(path_of(native))
    assert difference(read_session(path_of(plain)).messages, found.messages) is None
    assert difference(whole(to), found.earlier) is None
    assert (found.extra or {})[REPLACED] == len(found.messages)
    assert difference(whole(to), full_history(found).messages) is None
    assert (found.title, found.messages[0].origin) == (read_session(path_of(plain)).title, "summary")
    titles = {info.id: info.title for info in list_sessions(to, home=tmp_path / to)}
    assert titles[str(native.target["session_id"])] == found.title


@each_of_lines
def test_a_turn_after_it_stands_behind_both(to: str, carry: Carry) -> None:
    """And when the client compacts once more, nothing counts twice."""
    path = path_of(carry(to, budget=BUDGET, native=True))
    before = read_session(path)
    lines = (_more_of_codex if to == "codex" else _more_of_claude_code)(path)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in lines[:2])
    found = read_session(path)
    assert [message.text for message in found.messages[len(before.messages) :]] == ["What now?", "This."]
    assert difference([*before.earlier, *found.messages[-2:]], full_history(found).messages) is None
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in lines[2:])
    again = read_session(path)
    assert [message.origin for message in again.messages] == ["summary"]
    assert difference([*before.earlier, *found.messages[-2:]], again.earlier) is None


def _more_of_codex(path: Path) -> list[dict[str, Any]]:  # noqa: ARG001
    def line(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        return {"timestamp": "2026-11-30T00:00:00.000Z", "type": kind, "payload": payload}

    return [
        line("response_item", codex_says("What now?")),
        line("response_item", codex_says("This.", "assistant")),
        line("compacted", {"message": "All.", "replacement_history": [codex_says("All.")]}),
    ]


def _more_of_claude_code(path: Path) -> list[dict[str, Any]]:
    last = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])["uuid"]
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "n3", "parentUuid": None}
    return [
        json.loads(claude_line("n1", last, "What now?")),
        json.loads(claude_line("n2", "n1", [{"type": "text", "text": "This."}], "assistant")),
        {**boundary, "logicalParentUuid": "n2", "isSidechain": False},
        json.loads(claude_line("n4", "n3", "All.", isCompactSummary=True)),
    ]


# --- the pipeline


@each
def test_what_fits_is_written_as_ever(to: str, carry: Carry) -> None:
    first, second = carry(to), carry(to, native=True)
    assert first.mode == "direct"
    assert second.migration == first.migration
    assert not read_session(path_of(first)).earlier


@each
def test_it_is_done_once_and_undone_without_a_trace(to: str, tmp_path: Path, carry: Carry) -> None:
    done = carry(to, budget=BUDGET, native=True)
    assert carry(to, budget=BUDGET, native=True).migration == done.migration
    migrations.undo(Store(), str(done.migration))
    assert not files(tmp_path / to)


@each
def test_secrets_are_left_out_of_the_whole_too(to: str, carry: Carry) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    chat = [{"role": "user", "content": f"The token is {secret}."}, {"role": "assistant", "content": "word " * 9_000}]
    done = carry(to, from_messages([*chat, *chat], title="A token"), budget=BUDGET, native=True, redact=True)
    assert done.mode == "compress"
    found = read_session(path_of(done))
    assert "[REDACTED" in found.earlier[0].text
    assert secret not in all_text(found)


@each_of_lines
def test_a_whole_that_reads_back_otherwise_is_taken_back(
    to: str, tmp_path: Path, carry: Carry, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = writer(to).records

    def without_an_answer(*given: Any) -> Iterator[dict[str, Any]]:
        rows = records(*given)
        for row in rows:
            if row["type"] == "assistant" or row.get("payload", {}).get("role") == "assistant":
                break
            yield row
        yield from rows

    monkeypatch.setattr(writer(to), "records", without_an_answer)
    with pytest.raises(WriteError, match="does not read back the same"):
        carry(to, budget=BUDGET, native=True)
    assert not files(tmp_path / to)


@each_of_lines
def test_a_long_whole_is_written_message_by_message_from_the_disk(
    to: str, carry: Carry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sequences, "LIMIT", 20_000)
    assert isinstance(read_session(path_of(carry(to, budget=BUDGET, native=True))).earlier, Spool)
    asked: list[int] = []

    class Watched(Sequence[Message]):
        def __len__(self) -> int:
            return 1_000

        def __getitem__(self, index: Any) -> Any:
            asked.append(range(1_000)[index])
            return said("user" if index % 2 == 0 else "assistant", f"word {index}", 1)

    start = ("2026-03-02T09:00:00.000Z",) * (to == "codex")
    rows = writer(to).records(replace(compressed(to), earlier=Watched()), "s", "/p", *start)
    for _ in range(20):
        next(rows)
    assert [place for place in asked if 20 < place < 999] == []
    assert sum(1 for _ in rows) > 900


# --- what it is not for


@pytest.mark.parametrize("to", UNABLE)
def test_an_agent_without_such_a_form_is_told_before_anything_is_read(to: str, carry: Carry) -> None:
    with pytest.raises(UsageError, match="has no form of its own for a compressed session") as caught:
        carry(to, "no such session", native=True, form="session")
    assert caught.value.remedy == f"leave out --native; with it: {', '.join(ABLE)}"


def test_a_memory_has_no_such_form(project: Path) -> None:
    with pytest.raises(UsageError, match="a memory is never compressed"):
        migrate(LONG, "codex", into=project, form="memory", native=True)


@each
def test_the_command_line_has_it_too(to: str, project: Path, tmp_path: Path) -> None:
    options = ["--to", to, "--model", MODELS[to], "--into", str(project), "--home", str(tmp_path / to), "--json"]
    run = CliRunner().invoke(cli.main, ["migrate", str(LONG), *options, "--budget", str(BUDGET), "--native"])
    assert run.exit_code == 0, run.output
    assert read_session(json.loads(run.stdout)["target"]["paths"][0]).earlier
