"""The READMEs: their marked blocks run as they stand, all languages say the same, and what they name is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from matrix import matrix
from places import ROOT

from session_migrator import cli

READMES = {path.name: path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("README*.md"))}
ENGLISH = READMES["README.md"]
TRANSLATIONS = [name for name in READMES if name != "README.md"]
BLOCK = re.compile(r"<!-- run -->\n```(\w+)\n(.*?)```(?:\n\n```\n(.*?)```)?", re.DOTALL)
BLOCKS = BLOCK.findall(ENGLISH)
PIECE = re.compile(
    r"^```(?P<language>\w*)\n(?P<code>(?s:.*?))^```$|^(?P<heading>#+) |^(?P<table>\|.*(?:\n\|.*)*)"
    r"|^(?P<indented> {4}.*)|^(?P<mark><!-- .* -->)$",
    re.MULTILINE,
)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


@pytest.mark.parametrize(("language", "code", "output"), BLOCKS, ids=[code.split("\n")[0] for _, code, _ in BLOCKS])
def test_a_block_of_the_readme_runs(language: str, code: str, output: str, tmp_path: Path) -> None:
    """A block with output shown below it prints just that."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "python").symlink_to(sys.executable)
    (tools / "session-migrator").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m session_migrator.cli "$@"\n')
    (tools / "session-migrator").chmod(0o700)
    work = tmp_path / "clone"
    work.mkdir()
    for name in ("examples", "tests", "session_migrator"):
        shutil.copytree(ROOT / name, work / name, ignore=shutil.ignore_patterns("fixtures", "__pycache__", "cases"))
    env = {**os.environ, "PATH": f"{tools}:/usr/bin:/bin", "PYTHONPATH": str(work)}
    command = ["sh", "-ec", code] if language == "sh" else [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=work, env=env, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    if output:
        assert done.stdout == output


def test_there_are_blocks_to_run() -> None:
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize("name", TRANSLATIONS)
def test_a_translation_has_the_same_headings_tables_and_code(name: str) -> None:
    assert list(_shape(READMES[name])) == list(_shape(ENGLISH))


@pytest.mark.parametrize("name", TRANSLATIONS)
def test_a_translation_names_the_same_things(name: str) -> None:
    assert set(_spans(READMES[name])) == set(_spans(ENGLISH))


@pytest.mark.parametrize("name", READMES)
def test_the_matrix_of_a_readme_is_what_the_registry_makes_now(name: str) -> None:
    assert f"<!-- matrix -->\n{matrix(name)}<!-- /matrix -->" in READMES[name], "run: python scripts/matrix.py"


@pytest.mark.parametrize("name", READMES)
def test_what_a_readme_points_to_is_there(name: str) -> None:
    links = re.findall(r"\]\((?!\w+:)([^)#]+)", READMES[name])
    spans = "\n".join(_spans(READMES[name]))
    paths = re.findall(r"(?<![\w./-])(?:docs|examples|benchmarks|scripts)/[\w./-]+", spans)
    assert links
    assert paths
    assert [path for path in (*links, *paths) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", READMES)
def test_a_readme_tells_of_every_command(name: str) -> None:
    assert {call.split()[0] for call in _command_table(READMES[name])} == set(cli.main.commands)


@pytest.mark.parametrize("name", READMES)
def test_the_command_line_has_what_a_readme_shows_of_it(name: str) -> None:
    """The commands, each one's options where it is called, and all other options for some command."""
    calls = [*_command_table(READMES[name]), *_calls(READMES[name])]
    known = {command: _options(command) for command in cli.main.commands}
    assert [call for call in calls if not known.get(call.split()[0], set()).issuperset(OPTION.findall(call))] == []
    assert set(OPTION.findall(READMES[name])) - set().union(*known.values()) == set()


def _shape(text: str) -> Iterator[tuple[str, object]]:
    """What all languages have in common, in order; of a comment in a shell block, where it stands."""
    for piece in PIECE.finditer(text):
        if piece["table"]:
            yield "table", [len(row) for row in _rows(piece["table"])]
        elif piece["language"] == "sh":
            yield "sh", re.sub(r"(?<= # ).*", "", piece["code"])
        else:
            yield str(piece.lastgroup), piece[0]


def _rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in table.split("\n")]


def _spans(text: str) -> list[str]:
    """The inline code, each on one line."""
    prose = PIECE.sub(lambda piece: "" if piece["code"] is not None else piece[0], text)
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose)]


def _command_table(text: str) -> list[str]:
    """The calls in the first column of the table of commands, which begins with ``agents``."""
    tables = [_rows(piece["table"]) for piece in PIECE.finditer(text) if piece["table"]]
    return next([row[0].strip("`") for row in rows[2:]] for rows in tables if rows[2][0] == "`agents`")


def _calls(text: str) -> list[str]:
    """What follows the program's name in shell blocks and in inline code."""
    blocks = [str(code).replace("\\\n", " ") for kind, code in _shape(text) if kind == "sh"]
    return re.findall(r"^session-migrator (.+)", "\n".join([*blocks, *_spans(text)]), re.MULTILINE)


def _options(command: str) -> set[str]:
    return {name for option in cli.main.commands[command].params for name in (*option.opts, *option.secondary_opts)}
