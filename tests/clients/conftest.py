"""Real-client tests: ``@pytest.mark.client("codex")``. They run where the pinned clients are installed
and a network namespace is permitted. Elsewhere they count as NOT RUN, told by the last line of the
run; with SESSION_MIGRATOR_CLIENTS=required in the environment one that cannot run fails."""

from __future__ import annotations

import os
from pathlib import Path

import harness
import pytest

pytest.register_assert_rewrite("going_on")
_not_run: list[str] = []


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "client(*names): runs these real clients against a stub LLM")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    names = [name for marker in item.iter_markers("client") for name in marker.args]
    reason = next(filter(None, map(harness.available, names)), None)
    if reason is None:
        return
    _not_run.append(reason)
    if os.environ.get("SESSION_MIGRATOR_CLIENTS") == "required":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def pytest_unconfigure() -> None:
    if _not_run:
        print(f"real clients: {len(_not_run)} NOT RUN ({'; '.join(dict.fromkeys(_not_run))})")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty HOME of a client."""
    path = tmp_path / "client" / "home"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A git repository with one commit."""
    return harness.make_project(tmp_path / "client" / "project")
