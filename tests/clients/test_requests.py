"""What the printed command does, what a fork takes along, and how near the forecast is to what is sent."""

from __future__ import annotations

import json
import re
import shlex
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import harness
import pytest
from conversations import ALL, PLAIN
from going_on import NEWEST, PROMPT, Carried, Place, carry, each, go_on, make_place, size
from kinds import arguments, kind_of
from places import LONG

from session_migrator import agents, from_messages, tokens
from session_migrator.model import Text, ToolResult
from session_migrator.tokens import content

INSTRUCTIONS = "# Rules of this project\n" + "".join(
    f"- Rule {number}: keep every module of part {number} small, named after what it does.\n" for number in range(28)
)
FILES = {agents.memory(agent).index: INSTRUCTIONS for agent in agents.AGENTS} | {"notes.txt": "hello\n"}


@each(NEWEST)
def test_instruction_files_of_the_project_are_in_the_forecast(client: str, tmp_path: Path) -> None:
    place = make_place(client, tmp_path / "client", FILES)
    carried = carry(LONG, place)
    ledger = carried.ledger
    count = len(agents.get(place.agent).instructions(place.config, place.project))
    assert count
    assert len(INSTRUCTIONS) > 2_000
    assert ledger["instructions"] == tokens.counter(carried.model).text(INSTRUCTIONS).high * count
    body = go_on(place, carried)  # not above the forecast
    assert json.dumps(body).count("Rule 27") == count
    if client == "codex":  # counted exactly: not far below it either
        stored = json.loads((files("session_migrator") / "data" / "overhead.json").read_text(encoding="utf-8"))
        command = stored["codex"]["models"][carried.model]["command"]["o200k"]
        forecast = carried.forecast(PROMPT) - ledger["overhead"] + command
        assert 0.97 * forecast <= size(body, carried.model) <= forecast


# --- what the user and the project have for a client to read

_PLACES = (
    *(".claude", ".agents", ".codex", ".gemini", ".qwen", ".opencode", ".kilo", ".kilocode", ".pi", ".pi/agent"),
    *(".openclaw", ".copilot", ".github", ".codebuddy", ".workbuddy", ".config/opencode", ".config/kilo", "."),
)
_NAMED = (
    *("AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "GEMINI.md", "QWEN.md"),
    *("CODEBUDDY.md", "CODEBUDDY.local.md", ".github/copilot-instructions.md", "copilot-instructions.md"),
    *("SYSTEM.md", "APPEND_SYSTEM.md"),
)


_KINDS = {"skills": "{}/SKILL.md", "agents": "{}.md", "commands": "{}.md", "rules": "{}.md"}


_NOT_ASKED_FOR = 3
"""Files of which more is reckoned with than some client sends: Gemini CLI asks its user about a project's agents first,
Copilot imports nothing into a GEMINI.md."""


def _told_of(folder: Path) -> Iterator[Path]:
    """A skill, an agent, a command and a rule in every place where some client looks, each with 90 words about it; and
    instruction files, each of which imports one that imports another."""
    for place, (kind, file) in product(_PLACES, _KINDS.items()):
        name = f"{kind}-{_mark(folder / place)}"
        path = folder / place / kind / file.format(name)
        front = f"---\nname: {name}\ndescription: {_words(path)}\n---\n\nNobody is told this.\n"
        yield _written(path, _words(path) if kind == "rules" else front)
    for named in _NAMED:
        path = folder / named
        chain = [path, *(path.with_name(f"{name}-{path.name}") for name in ("more", "most"))]
        for at, following in zip(chain, [*chain[1:], None], strict=True):
            leads = f"\nSee @{following.name} too.\n" if following else ""
            yield _written(at, f"{_words(at)}\n{leads}")


def _resumed(place: Place, carried: Carried) -> dict[str, Any]:
    """The body of the first request of a session that its client goes on with."""
    args = [*arguments(kind_of(place.client).resume, model=carried.model), carried.session_id, PROMPT]
    run = harness.run_client(place.client, args, script=[{"text": "ok"}], model=carried.model, **place.where)
    return harness.main_requests(place.client, run.requests)[0]["body"]


def _written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _words(path: Path) -> str:
    return f"Of {_mark(path)} " + "it says what this is for and when it is to be used " * 8


def _mark(path: Path) -> str:
    return f"mark{zlib.crc32(str(path).encode()):08x}"


@each(NEWEST)
def test_all_that_the_client_reads_or_is_told_of_is_in_the_forecast(
    client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make_place(client, tmp_path / "client")
    monkeypatch.setenv("HOME", str(place.home))
    spec = agents.get(place.agent)
    own = spec.locate(place.config)
    folders = dict.fromkeys((own.parent, place.home, own, place.project))
    paths = {path for folder in folders for path in _told_of(folder)}
    carried = carry(ALL["plain"].make(tmp_path), place)
    known = {*spec.instructions(own, place.project), *spec.described(own, place.project)}
    body = _resumed(place, carried)
    text = json.dumps(body)
    told = {path for path in paths if _mark(path) in text}
    assert told <= known
    assert len(known - told) <= _NOT_ASKED_FOR < len(told)
    assert size(body, carried.model) <= carried.forecast(PROMPT)


# What brings a skill, an agent, commands and instructions; the capitals mark what may be told of it.
_EXTENSION = {
    "skills/tide/SKILL.md": "---\nname: tide\ndescription: TIDESKILL\n---\n",
    "agents/moon.md": "---\nname: moon\ndescription: MOONAGENT\n---\nx",
    "commands/ebb.md": "---\ndescription: EBBCOMMAND\n---\nx",
    "commands/flow.toml": 'description = "FLOWCOMMAND"\nprompt = "x"\n',
    "WORDS.md": "INSTRUCTIONS",
}
_MANIFEST = '{"name": "sea", "version": "1.0.0", "contextFileName": "WORDS.md"}'
_SHOP = '{"name": "shop", "owner": {"name": "x"}, "plugins": [{"name": "sea", "source": "./", "description": "x"}]}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """How a client installs a folder ({}), what manifests that needs, and the marks that it tells of then."""

    commands: tuple[tuple[str, ...], ...]
    manifests: dict[str, str]
    told: set[str]


_INSTALL = {
    "claude-code": Installation(
        commands=(("plugin", "marketplace", "add", "{}"), ("plugin", "install", "sea@shop")),
        manifests={".claude-plugin/plugin.json": _MANIFEST, ".claude-plugin/marketplace.json": _SHOP},
        told={"TIDESKILL", "MOONAGENT", "EBBCOMMAND"},
    ),
    "codebuddy": Installation(
        commands=(("plugin", "marketplace", "add", "{}"), ("plugin", "install", "sea@shop")),
        manifests={".codebuddy-plugin/plugin.json": _MANIFEST, ".codebuddy-plugin/marketplace.json": _SHOP},
        told={"TIDESKILL", "MOONAGENT"},
    ),
    "gemini": Installation(
        commands=(("extensions", "install", "{}", "--consent"),),
        manifests={"gemini-extension.json": _MANIFEST},
        told={"TIDESKILL", "MOONAGENT", "INSTRUCTIONS"},
    ),
    "qwen": Installation(
        commands=(("extensions", "install", "{}", "--consent"),),
        manifests={"qwen-extension.json": _MANIFEST},
        told={"TIDESKILL", "EBBCOMMAND", "FLOWCOMMAND", "INSTRUCTIONS"},
    ),
}


@each(tuple(_INSTALL))
def test_what_is_installed_into_the_client_is_in_the_forecast(client: str, tmp_path: Path) -> None:
    place = make_place(client, tmp_path / "client")
    place = replace(place, project=harness.make_project(place.config / "project"))  # on below the home alone
    installation = _INSTALL[client]
    for name, text in (_EXTENSION | installation.manifests).items():
        _written(tmp_path / "sea" / name, text)
    for words in installation.commands:
        run = harness.run_client(client, [word.format(tmp_path / "sea") for word in words], **place.where)
        assert run.returncode == 0, run.stderr
    spec = agents.get(place.agent)
    own = spec.locate(place.config)
    known = (*spec.instructions(own, place.project), *spec.described(own, place.project))
    carried = carry(ALL["plain"].make(tmp_path), place)
    body = _resumed(place, carried)
    marks = set(re.findall("[A-Z]{7,}", "".join(_EXTENSION.values())))
    assert {mark for mark in marks if mark in json.dumps(body)} == installation.told
    assert {mark for mark in marks if any(mark in path.read_text("utf-8") for path in known)} >= installation.told
    assert size(body, carried.model) <= carried.forecast(PROMPT)


@each([client for client in NEWEST if kind_of(client).terminal])
def test_the_printed_command_goes_on_in_the_terminal_with_the_model_that_was_named(client: str, tmp_path: Path) -> None:
    """Though Claude Code would take the session's own model, and Codex the one of its settings."""
    place = make_place(client, tmp_path / "client")
    plain = from_messages(PLAIN, title="The plain one")
    messages = [replace(message, model=kind_of(client).recorded) for message in plain.messages]
    carried = carry(replace(plain, messages=messages), place, kind_of(client).named)
    command = shlex.split(carried.done["target"]["resume"])
    assert command[:3] == ["cd", str(place.project), "&&"]
    assert command[3].partition("=")[2] == str(place.config)
    arguments = [*command[5:], *kind_of(client).quiet]
    keys = [(r"Tōkyō", PROMPT), (PROMPT, "\r"), ("the answer", "")]
    script = [{"text": "the answer"}]  # for no request without tools, such as one for a title
    _, requests = harness.interact(client, arguments, keys, script=script, **place.where)
    (request,) = harness.main_requests(client, requests, PROMPT)
    assert harness.conversation(client, request) == [*carried.history, ("user", "text", PROMPT, None)]
    assert harness.model_of(request) == kind_of(client).named.rpartition("/")[2]


@pytest.mark.client("codex")
def test_a_fork_by_codex_takes_the_session_along_and_nothing_else(tmp_path: Path) -> None:
    """Turns that are not closed would bring a message that says the user had interrupted them."""
    place = make_place("codex", tmp_path / "client")
    carried = carry(ALL["errors"].make(tmp_path), place)
    run = harness.run_client("codex", ["exec", "fork", carried.session_id, PROMPT], **place.where)
    assert run.returncode == 0, run.stderr
    first = harness.main_requests("codex", run.requests)[0]
    assert "<turn_aborted>" not in json.dumps(first["body"])
    assert harness.conversation("codex", first) == [*carried.history, ("user", "text", PROMPT, None)]


@pytest.mark.parametrize("limit", [None, 500])
@pytest.mark.client("codex", "codex-older")
def test_codex_sends_of_a_long_result_what_is_counted(limit: int | None, tmp_path: Path) -> None:
    for client in ("codex", "codex-older"):
        place = make_place(client, tmp_path / client)
        long = "".join(f"{number} é東京 words of a line\n" for number in range(3_000))
        call = {"id": "c1", "type": "function", "function": {"name": "exec_command", "arguments": '{"cmd": "ls"}'}}
        chat = [
            {"role": "user", "content": "Go"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": long},
            {"role": "assistant", "content": "Done."},
        ]
        place.config.mkdir()
        setting = f"tool_output_token_limit = {limit}\n" if limit else ""
        (place.config / "config.toml").write_text(setting, encoding="utf-8")
        carried = carry(from_messages(chat), place)
        most = agents.get("codex").longest_result(place.config)
        assert most == (limit or 10_000) * 4.8
        assert any(f"sends its model {most:,} bytes" in warning for warning in carried.done["warnings"])
        args = ["exec", *(["-c", f"tool_output_token_limit={limit}"] if limit else []), "resume", carried.session_id]
        run = harness.run_client(client, [*args, PROMPT], script=[{"text": "ok"}], **place.where)
        body = harness.main_requests(client, run.requests)[0]["body"]
        (sent,) = (item["output"] for item in body["input"] if item["type"] == "function_call_output")
        (counted,) = content.texts([ToolResult(call_id="c1", parts=(Text(text=long),))], most)
        assert sent == counted
        assert len(sent.encode()) < most + 40 < len(long.encode())
