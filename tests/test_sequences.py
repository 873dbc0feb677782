"""Long conversations on disk say the same as short ones in memory, in a fraction of the memory."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from places import FIXTURES, LONG, MODELS, ROOT

from session_migrator import migrate, read_session, sequences
from session_migrator.comparison import comparable
from session_migrator.exporter import to_document
from session_migrator.exporter.neutral import message_of
from session_migrator.sequences import Collected, Spool, View, collect, weight
from session_migrator.storage import Store

CLAUDE = FIXTURES / "claude-code" / "2.1.332-compaction" / "projects" / "-home-user-project"


@pytest.fixture
def on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every session is long."""
    monkeypatch.setattr(sequences, "LIMIT", 0)


def test_a_spool_gives_back_what_was_put_in() -> None:
    messages = read_session(LONG).messages
    spool: Spool[object] = Spool()
    for message in messages:
        spool.append(message)
    assert len(spool) == len(messages)
    assert list(spool) == list(messages)
    assert spool[-1] == messages[-1]
    assert list(spool[3:-2]) == list(messages[3:-2])
    assert list(spool[3:-2][1:4]) == list(messages[4:7])
    with pytest.raises(IndexError):
        _ = spool[len(messages)]
    spool.truncate(2)
    spool.append(messages[9])
    assert list(spool) == [*messages[:2], messages[9]]


def test_small_ones_stay_in_memory_and_a_slice_is_a_view() -> None:
    messages = read_session(LONG).messages
    assert isinstance(messages, tuple)
    collected = Collected(weight)
    for message in messages:
        collected.append(message)
    collected.truncate(5)
    assert collected.sequence() == messages[:5]
    view = View(messages, range(2, 6))
    assert collect(view) is view
    assert list(view[1:]) == list(messages[3:6])


@pytest.mark.parametrize("path", [LONG, *sorted(CLAUDE.glob("*.jsonl"))], ids=lambda path: path.name[:20])
def test_a_long_session_reads_as_a_short_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = read_session(path)
    monkeypatch.setattr(sequences, "LIMIT", 0)
    long = read_session(path)
    assert isinstance(long.messages, Spool)
    assert list(long.messages) == list(short.messages)
    assert list(long.earlier) == list(short.earlier)
    assert to_document(long) == to_document(short)


@pytest.mark.usefixtures("on_disk")
@pytest.mark.parametrize("to", MODELS)
@pytest.mark.parametrize("budget", [None, 3_000])
def test_a_long_session_goes_over_as_a_short_one(tmp_path: Path, project: Path, to: str, budget: int | None) -> None:
    model = MODELS[to]
    done = migrate(LONG, to, model, into=project, home=tmp_path / to, budget=budget, form="session")
    back = read_session(Path(done.target["paths"][0]))
    sequences.LIMIT = 1 << 30
    whole = migrate(LONG, to, model, into=project, home=tmp_path / "other", budget=budget, form="session")
    assert list(comparable(back.messages)) == list(comparable(read_session(Path(whole.target["paths"][0])).messages))
    assert (done.tokens_before, done.tokens_after) == (whole.tokens_before, whole.tokens_after)


@pytest.mark.usefixtures("on_disk")
def test_the_originals_of_what_was_left_out_are_stored_whole(tmp_path: Path, project: Path) -> None:
    done = migrate(LONG, "codex", "gpt-5.5", project, home=tmp_path / "codex", budget=3_000, compressor="truncation")
    workspace = Store().workspace(project)
    record = workspace.get("migrations", str(done.migration))
    _, *lines = workspace.unpack("originals", record["originals"])
    stored = [message_of(json.loads(line)) for line in lines]
    kept = read_session(Path(done.target["paths"][0])).messages[1:]
    full = migrate(LONG, "codex", "gpt-5.5", into=project, home=tmp_path / "full")
    everything = read_session(Path(full.target["paths"][0])).messages
    assert list(comparable([*stored, *kept])) == list(comparable(everything))


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """60 MB, all of it live, read, lowered, written and read back within 90 MB of memory."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "sys.path.insert(0, 'benchmarks')\n"
        "from generate import generate\n"
        "from session_migrator import agents, read_session\n"
        "from session_migrator.comparison import difference\n"
        "from session_migrator.lowering import lower\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "path = folder / 'sessions' / 'rollout-2026-03-01T00-00-00-big.jsonl'\n"
        "generate('codex', 60, 1, path)\n"
        "spec = agents.get('claude-code')\n"
        "session, _ = lower(read_session(path), spec.capabilities)\n"
        "written = spec.write(session, folder / 'claude', folder)\n"
        "assert difference(session.messages, spec.read(Path(written.paths[0])).session.messages) is None\n"
        "status = Path('/proc/self/status').read_text()\n"  # getrusage would count the parent's before exec
        "print(int(status.split('VmHWM:')[1].split()[0]) // 1024)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 90


def test_a_session_made_by_hand_needs_no_spool() -> None:
    session = read_session(LONG)
    assert replace(session, messages=session.messages[:2]).messages == session.messages[:2]
