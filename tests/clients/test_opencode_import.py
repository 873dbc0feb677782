"""Where OpenCode is on the PATH a session goes in by its own ``import``, and undo takes back what that wrote."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import harness
import pytest
from conversations import ALL
from going_on import Place, carry, make_place
from places import LONG, environment


def run(place: Place, folder: Path, *arguments: str) -> str:
    """The command line with the client, which tells ``folder`` what it said, on its PATH, without a network."""
    (program,) = harness.command("opencode") or ()
    shim = folder / "opencode"
    shim.write_text(f'#!/bin/sh\n"{program}" "$@" >>"{folder}/said" 2>&1\n', encoding="utf-8")
    shim.chmod(0o700)
    env = environment(PATH=f"{folder}{os.pathsep}{os.environ['PATH']}", HOME=str(place.home))
    command = [*(harness.namespace() or ()), sys.executable, "-m", "session_migrator.cli", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.mark.client("opencode")
def test_a_session_goes_in_by_the_clients_import_and_out_again(tmp_path: Path) -> None:
    place = make_place("opencode", tmp_path / "client")
    harness.list_sessions("opencode", **place.where)  # lays out the home
    database = place.config / "opencode" / "opencode.db"

    def rows() -> list[str]:
        with closing(sqlite3.connect(database)) as opened:
            tables = ("session", "message", "part")
            return [str(row) for table in tables for row in opened.execute(f"SELECT * FROM {table}")]

    carry(ALL["plain"].make(tmp_path), place)
    before = rows()
    where = ["--into", str(place.project), "--home", str(place.config)]
    told = run(place, tmp_path, "migrate", str(LONG), "--to", "opencode", "--model", "stub/gpt-5.5", *where, "--json")
    done = json.loads(told)
    session_id = done["target"]["session_id"]
    assert f"Imported session: {session_id}" in (tmp_path / "said").read_text(encoding="utf-8")
    assert len(rows()) > len(before)
    assert session_id in harness.list_sessions("opencode", **place.where)
    run(place, tmp_path, "undo", done["migration"])
    assert rows() == before
