"""Every recorded session goes through the whole pipeline into every agent, and back into its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from mutations import LISTED, WRITABLE
from places import MODELS

from session_migrator import agents, migrate, read_session
from session_migrator.comparison import difference
from session_migrator.errors import MigrationError
from session_migrator.lowering import lower
from session_migrator.model import Session
from session_migrator.target import inspect


def told(path: Path) -> Session | None:
    try:
        return read_session(path)
    except MigrationError:
        return None


SOURCES = [path for files in LISTED.values() for path in files if told(path)]


def test_there_is_a_source_of_every_agent() -> None:
    assert {session.agent for session in map(told, SOURCES) if session} == set(agents.AGENTS)


@pytest.mark.parametrize("to", [spec.id for spec in WRITABLE])
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.name[:24]}…{path.stem[-4:]}")
def test_a_recorded_session_goes_into_an_agent_and_comes_back(
    path: Path, to: str, tmp_path: Path, project: Path
) -> None:
    def carried(source: Path, agent: str) -> Path:
        home = tmp_path / f"{agent}-home"
        done = migrate(source, agent, MODELS[agent], into=project, home=home, form="session")
        capabilities = inspect(agent, model=MODELS[agent], home=home, folder=project).capabilities
        assert capabilities
        lowered, _ = lower(read_session(source), capabilities)
        written = Path(done.target["paths"][0])
        assert done.mode == "direct"
        assert difference(lowered.messages, read_session(written).messages) is None
        assert read_session(written).cwd == str(project)
        return written

    there = carried(path, to)
    own = str(read_session(path).agent)
    carried(there, own)
