"""A client's own command: run with the user's environment, to its end or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from session_migrator.agents import programs


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def a_program(folder: Path, script: str) -> None:
    (folder / "the-client").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / "the-client").chmod(0o700)


def run(folder: Path, *arguments: str, seconds: float = 20, **variables: str) -> programs.Run | None:
    return programs.run("the-client", arguments, folder=folder, seconds=seconds, variables=variables)


def test_the_exit_code_and_the_object_that_was_printed_come_back(folder: Path) -> None:
    a_program(folder, """printf '{"argument": "%s", "home": "%s", "folder": "%s"}' "$1" "$A_HOME" "$PWD"; exit 3""")
    told = {"argument": "a b", "home": "/h", "folder": str(folder)}
    assert run(folder, "a b", A_HOME="/h") == programs.Run(3, told)


@pytest.mark.parametrize("printed", ["", "no JSON", "[1]", "{torn"])
def test_anything_else_that_it_prints_is_nothing(folder: Path, printed: str) -> None:
    a_program(folder, f"echo '{printed}'; echo said >&2")
    assert run(folder) == programs.Run(0, {})


def test_a_command_that_is_not_there_or_cannot_start_or_takes_too_long_is_none(folder: Path) -> None:
    assert run(folder) is None
    a_program(folder, "exec sleep 30")
    assert run(folder, seconds=0.2) is None
    (folder / "the-client").write_bytes(b"\x7fELF no program")
    assert run(folder) is None


def test_it_is_asked_nothing(folder: Path) -> None:
    a_program(folder, "cat")
    assert run(folder) == programs.Run(0, {})
