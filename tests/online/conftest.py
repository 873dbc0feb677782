"""The vendors' stub, and where a migration goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stub_vendor import Stub, serving


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    """All three vendors at once, and no proxy before them."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as served:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", served.url)
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", served.url + "/gateway/")
        monkeypatch.setenv("OPENAI_BASE_URL", served.url + "/v1")
        yield served


@pytest.fixture
def here(tmp_path: Path, project: Path) -> dict[str, Any]:
    """What puts a migration into scratch folders."""
    return {"to": "claude-code", "model": "claude-opus-5", "into": project, "home": tmp_path / "claude"}
