"""Real-client tests: ``@pytest.mark.client("codex")``. They run where the pinned clients are installed
and a network namespace is permitted. Elsewhere they count as NOT RUN, told by the last line of the
run; with SESSION_MIGRATOR_CLIENTS=required in the environment one that cannot run fails. With SESSION_MIGRATOR_RECORD
a run of all of them that passes is written down (``scripts/compatibility.py``)."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from pathlib import Path

import compatibility
import harness
import pytest
from kinds import VERSIONS, kind_of

pytest.register_assert_rewrite("going_on")
_FOR_ALL_CLIENTS = ("test_mcp", "test_native_forms", "test_remembered", "test_same_agent")
_not_run: list[str] = []
_passed: dict[str, Counter[str]] = defaultdict(Counter)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "client(*names): runs these real clients against a stub LLM")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where not all is asked for, a client that takes long is left to what proves a migration, and to its own tests."""
    if os.environ.get("SESSION_MIGRATOR_CASES") == "all":
        return
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        (left if item.path.stem in _FOR_ALL_CLIENTS and _is_heavy(item) else kept).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


def _is_heavy(item: pytest.Item) -> bool:
    return any(name in harness.CLIENTS and kind_of(name).heavy for name in _clients(item))


def _clients(item: pytest.Item) -> list[str]:
    return [name for marker in item.iter_markers("client") for name in marker.args]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    names = _clients(item)
    reason = next(filter(None, map(harness.available, names)), None)
    if reason is None:
        item.user_properties += [("client", name) for name in names]
        return
    item.user_properties += [("not run", reason)]
    if os.environ.get("SESSION_MIGRATOR_CLIENTS") == "required":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    for name, value in report.user_properties:
        if name == "not run" and report.when == "setup":
            _not_run.append(str(value))
        elif name == "client" and report.when == "call" and report.passed:
            _passed[str(value)][Path(report.nodeid.partition("::")[0]).stem] += 1


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if hasattr(session.config, "workerinput"):  # a part of a run, whose reports are gathered elsewhere
        return
    ran = set(harness.CLIENTS) <= set(_passed)
    if exitstatus == 0 and ran and not _not_run and os.environ.get("SESSION_MIGRATOR_RECORD"):
        compatibility.OUTPUT.write_text(compatibility.document(VERSIONS, _passed), encoding="utf-8")


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
