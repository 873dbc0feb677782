"""The count of the model's own vendor, asked of stubs on the loopback address that answer as the vendors do."""

from __future__ import annotations

import json
import secrets
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from places import LONG, ROOT, environment

from session_migrator import decide, migrate, online, read_session, tokens, tools, web
from session_migrator.agents import Capabilities
from session_migrator.errors import Unavailable, UsageError
from session_migrator.lowering import lower
from session_migrator.model import Message, Session, Text, Thinking, ToolCall, ToolResult
from session_migrator.target import inspect

KEY = "key-" + secrets.token_hex(12)
CLAUDE = {"ANTHROPIC_API_KEY": KEY}


@dataclass
class Seen:
    """A request as the stub got it, its headers' names in lower case."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Stub:
    """A vendor. ``answers`` are given in turn, each a status, headers and a body; the last one for good."""

    url: str
    answers: list[tuple[int, dict[str, str], bytes]]
    seen: list[Seen] = field(default_factory=list)
    delay: float = 0

    def will_answer(self, body: Any, status: int = 200, **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.answers.append((status, {name.replace("_", "-"): value for name, value in headers.items()}, data))


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[Stub]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            stub.seen.append(
                Seen(self.path, {key.lower(): value for key, value in self.headers.items()}, json.loads(data))
            )
            time.sleep(stub.delay)
            status, headers, body = stub.answers.pop(0) if len(stub.answers) > 1 else stub.answers[0]
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            if self.path.split("?")[0].endswith("/models"):  # the list of models, which has nothing of a session
                lists = b'{"data": [], "models": []}'
                self.send_response(200)
                self.send_header("Content-Length", str(len(lists)))
                self.end_headers()
                self.wfile.write(lists)
                return
            stub.seen.append(Seen(self.path, {key.lower(): value for key, value in self.headers.items()}, None))
            self.send_error(404)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # a client that hung up

    with Server(("127.0.0.1", 0), Handler) as server:
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        stub = Stub(f"{'https' if context else 'http'}://127.0.0.1:{server.server_port}", [])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield stub
        finally:
            server.shutdown()
            thread.join()


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


def run(*args: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "session_migrator.cli", *map(str, args)]
    env = environment(PYTHONUTF8="1", **variables)
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=env, check=False)


def setting(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def told(message: str) -> AbstractContextManager[Any]:
    """The one warning that a count of the vendor's could not be had."""
    return pytest.warns(UserWarning, match=message)


TALK = Session(
    id="s",
    agent="codex",
    earlier=(Message(role="user", parts=(Text(text="before the compaction"),)),),
    messages=(
        Message(role="user", parts=(Text(text="List the files, 東京."),)),
        Message(
            role="assistant",
            parts=(Text(text="I look."), ToolCall(id="call_1", name="shell", arguments={"command": "ls"})),
        ),
        Message(role="tool", parts=(ToolResult(call_id="call_1", parts=(Text(text="a.txt"),)),)),
        Message(role="assistant", parts=(Text(text="There is a.txt."),)),
    ),
)

ANTHROPIC_BODY = {
    "model": "claude-opus-5",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "List the files, 東京."}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "call_1", "name": "shell", "input": {"command": "ls"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": [{"type": "text", "text": "a.txt"}]}
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "There is a.txt."}]},
        {"role": "user", "content": "."},
    ],
}
GEMINI_BODY = {
    "generateContentRequest": {
        "model": "models/gemini-2.5-pro",
        "contents": [
            {"role": "user", "parts": [{"text": "List the files, 東京."}]},
            {
                "role": "model",
                "parts": [{"text": "I look."}, {"functionCall": {"name": "shell", "args": {"command": "ls"}}}],
            },
            {"role": "user", "parts": [{"functionResponse": {"name": "shell", "response": {"output": "a.txt"}}}]},
            {"role": "model", "parts": [{"text": "There is a.txt."}]},
        ],
    }
}
OPENAI_BODY = {
    "model": "gpt-5.5",
    "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List the files, 東京."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "call_1", "name": "shell", "arguments": '{"command": "ls"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "a.txt"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "There is a.txt."}]},
    ],
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A vendor: the model as somebody spells it, the variable of the key, and what is to be sent and shown."""

    model: str
    variable: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    number: str
    counter: str
    why: str


CASES = [
    Case(
        model="anthropic/claude-opus-5[1m]", variable="ANTHROPIC_API_KEY", path="/v1/messages/count_tokens",
        headers={"x-api-key": KEY, "anthropic-version": "2023-06-01"}, body=ANTHROPIC_BODY, number="input_tokens",
        counter="anthropic count_tokens", why="counted by Anthropic's count_tokens: exact",
    ),
    Case(
        model="google/gemini-2.5-pro", variable="GOOGLE_API_KEY",
        path="/gateway/v1beta/models/gemini-2.5-pro:countTokens",
        headers={"x-goog-api-key": KEY}, body=GEMINI_BODY, number="totalTokens",
        counter="gemini countTokens", why="counted by Gemini's countTokens: exact",
    ),
    Case(
        model="gpt-5.5 high", variable="OPENAI_API_KEY", path="/v1/responses/input_tokens",
        headers={"authorization": f"Bearer {KEY}"}, body=OPENAI_BODY, number="input_tokens",
        counter="openai input_tokens", why="counted by OpenAI's input_tokens: exact",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.counter)
def test_a_vendor_is_asked_in_its_own_shape_and_its_number_decides(
    case: Case, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.will_answer({case.number: 4321})
    monkeypatch.setenv(case.variable, KEY)
    decided = decide(TALK, case.model, count_online=True)
    (seen,) = stub.seen
    assert (seen.path, seen.body) == (case.path, case.body)
    assert case.headers.items() <= seen.headers.items()
    assert seen.headers["content-type"] == "application/json"
    assert (decided.mode, decided.low, decided.high, decided.tokens) == ("direct", 4321, 4321, 4321)
    assert decided.counter.to_dict() == {"name": case.counter, "method": "exact"}
    assert decided.ledger[-1].to_dict() == {"name": "session", "tokens": 4321, "why": case.why}


def test_the_key_for_gemini_is_its_own_before_googles(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.will_answer({"totalTokens": 10})
    setting(monkeypatch, GEMINI_API_KEY="own", GOOGLE_API_KEY="any")
    online.count(TALK, "gemini-2.5-pro")
    setting(monkeypatch, GEMINI_API_KEY=" ")
    online.count(TALK, "gemini-2.5-pro")
    assert [seen.headers["x-goog-api-key"] for seen in stub.seen] == ["own", "any"]


def test_every_text_of_a_recorded_session_is_sent(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.will_answer({"input_tokens": 4321, "totalTokens": 4321})
    lowered, _ = lower(read_session(LONG), Capabilities(thinking="text"))
    texts = [
        part.text
        for message in lowered.messages
        for outer in message.parts
        for part in (outer.parts if isinstance(outer, ToolResult) else (outer,))
        if isinstance(part, Text)
    ]
    assert len(texts) > 50
    for case in CASES:
        monkeypatch.setenv(case.variable, KEY)
        online.count(lowered, case.model)
        sent = json.dumps(stub.seen[-1].body)
        assert [text for text in texts if json.dumps(text)[1:-1] not in sent] == []


def test_what_the_system_says_stands_where_each_vendor_wants_it(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.will_answer({"input_tokens": 10, "totalTokens": 10})
    setting(monkeypatch, ANTHROPIC_API_KEY=KEY, GEMINI_API_KEY=KEY, OPENAI_API_KEY=KEY)
    session = Session(
        id="s", agent="codex", messages=(Message(role="system", parts=(Text(text="Be brief."),)), *TALK.messages)
    )
    for case in CASES:
        online.count(session, case.model)
    claude, gemini, gpt = (seen.body for seen in stub.seen)
    assert claude == {**ANTHROPIC_BODY, "system": [{"type": "text", "text": "Be brief."}]}
    request = {**GEMINI_BODY["generateContentRequest"], "systemInstruction": {"parts": [{"text": "Be brief."}]}}
    assert gemini == {"generateContentRequest": request}
    assert gpt["input"][0]["role"] == "system"
    assert gpt["input"][1:] == OPENAI_BODY["input"]


def test_for_claude_the_user_has_the_first_and_the_last_word(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.will_answer({"input_tokens": 10})
    setting(monkeypatch, **CLAUDE)
    dot = {"role": "user", "content": "."}
    one, answer = TALK.messages[0], TALK.messages[-1]
    for messages in ((one,), (answer,), (one, answer, one), ()):
        online.count(Session(id="s", agent="codex", messages=messages), "claude-opus-5")
    sent = [seen.body["messages"] for seen in stub.seen]
    assert [[message["role"] for message in messages] for messages in sent] == [
        ["user"], ["user", "assistant", "user"], ["user", "assistant", "user"], ["user"],
    ]  # fmt: skip
    assert (sent[1][0], sent[1][2]) == (dot, dot)
    assert dot not in sent[0] + sent[2]


@pytest.mark.parametrize(
    ("model", "thinking"),
    [("claude-opus-4-6", {"type": "enabled", "budget_tokens": 1024}), ("claude-opus-4-7", {"type": "adaptive"})],
)
def test_reasoning_that_claude_keeps_is_counted_with_reasoning_turned_on(
    model: str, thinking: dict[str, Any], stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.will_answer({"input_tokens": 10})
    setting(monkeypatch, **CLAUDE)
    thought = Message(
        role="assistant", parts=(Thinking(text="hm", signature="c2ln", provider="anthropic"), Text(text="Yes."))
    )
    online.count(Session(id="s", agent="codex", messages=(TALK.messages[0], thought)), model)
    online.count(TALK, model)
    reasoning, plain = (seen.body for seen in stub.seen)
    assert reasoning["thinking"] == thinking
    assert reasoning["messages"][1]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    assert "thinking" not in plain


# --- the decision


def test_a_session_goes_over_as_it_is_where_the_vendors_number_fits_and_the_bound_does_not(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, here: dict[str, Any]
) -> None:
    stub.will_answer({"input_tokens": 9_000})
    setting(monkeypatch, **CLAUDE)
    assert migrate(LONG, **here, budget=10_000, dry_run=True).mode == "compress"
    done = migrate(LONG, **here, budget=10_000, count_online=True)
    assert (done.mode, done.tokens_before, done.tokens_after) == ("direct", 9_000, 9_000)
    assert not any("bound" in warning or "online" in warning for warning in done.warnings)
    assert len(stub.seen) == 1


def test_what_does_not_fit_by_the_vendors_number_is_compressed_by_the_bound_made_here(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, here: dict[str, Any]
) -> None:
    stub.will_answer({"input_tokens": 12_000})
    setting(monkeypatch, **CLAUDE)
    done = migrate(LONG, **here, budget=10_000, count_online=True)
    assert (done.mode, done.tokens_before) == ("compress", 12_000)
    assert done.tokens_after <= 10_000
    name = tokens.counter("claude-opus-5").name
    assert f"tokens of what is kept are an upper bound, counted with {name}" in done.warnings
    assert len(stub.seen) == 1


def test_a_vendor_that_counts_more_than_the_bound_is_believed(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, here: dict[str, Any]
) -> None:
    budget = 100_000
    counted_here = migrate(LONG, **here, budget=budget, dry_run=True).tokens_before
    assert counted_here < budget
    stub.will_answer({"input_tokens": budget + 1})
    setting(monkeypatch, **CLAUDE)
    done = migrate(LONG, **here, budget=budget, count_online=True)
    assert done.mode == "compress"
    assert done.tokens_after < counted_here
    assert any("left out" in warning for warning in done.warnings)


def test_of_two_histories_each_is_counted(stub: Stub, monkeypatch: pytest.MonkeyPatch, here: dict[str, Any]) -> None:
    stub.will_answer({"input_tokens": 2_000_000})
    stub.will_answer({"input_tokens": 100})
    setting(monkeypatch, **CLAUDE)
    done = migrate(TALK, **here, history="auto", count_online=True)
    assert (done.mode, done.tokens_before) == ("direct", 100)
    assert ["before the compaction" in json.dumps(seen.body) for seen in stub.seen] == [True, False]


def test_a_vendor_that_fails_at_one_history_is_not_asked_for_the_other(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, here: dict[str, Any]
) -> None:
    stub.will_answer({}, 401)
    setting(monkeypatch, **CLAUDE)
    session = Session(id="s", agent="codex", messages=TALK.messages, earlier=read_session(LONG).messages)
    done = migrate(session, **here, history="auto", budget=3_000, count_online=True)
    assert done.mode == "direct"
    assert len(stub.seen) == 1
    assert sum("online" in warning for warning in done.warnings) == 1


def test_the_redacted_session_is_what_is_sent(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, here: dict[str, Any]
) -> None:
    stub.will_answer({"input_tokens": 10})
    setting(monkeypatch, **CLAUDE)
    secret = "ghp_" + secrets.token_hex(18)
    session = Session(id="s", agent="codex", messages=(Message(role="user", parts=(Text(text=f"Use {secret}."),)),))
    for redact in (True, None):
        migrate(session, **here, redact=redact, count_online=True, dry_run=True)
    redacted, plain = (json.dumps(seen.body) for seen in stub.seen)
    assert secret in plain
    assert secret not in redacted
    assert "[REDACTED:" in redacted


def test_of_a_long_result_only_what_the_client_sends_is_counted(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, project: Path
) -> None:
    setting(monkeypatch, OPENAI_API_KEY=KEY)
    stub.will_answer({"input_tokens": 5_000})
    said = ToolResult(call_id="call_1", parts=(Text(text="a line of a file\n" * 10_000),))
    talk = replace(TALK, messages=(*TALK.messages[:2], Message(role="tool", parts=(said,)), *TALK.messages[3:]))
    done = migrate(talk, "codex", "gpt-5.5", project, home=tmp_path / "codex", count_online=True)
    (output,) = (item["output"] for item in stub.seen[0].body["input"] if item["type"] == "function_call_output")
    assert 48_000 < len(json.dumps(output)) < 52_000
    assert "tokens truncated" in json.dumps(output)
    assert len(Path(done.target["paths"][0]).read_bytes()) > 170_000


def test_a_memory_is_not_counted_online(stub: Stub, monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    setting(monkeypatch, **CLAUDE)
    with pytest.raises(UsageError, match="a memory has a fixed size"):
        migrate(LONG, "workbuddy", into=project, count_online=True)
    assert stub.seen == []


# --- nothing is sent unasked


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.counter)
def test_without_a_key_nothing_is_sent_and_the_missing_variable_is_named(
    case: Case, stub: Stub, here: dict[str, Any]
) -> None:
    with told(f"{case.variable} is not set"):
        decided = decide(TALK, case.model, count_online=True)
    assert decided == decide(TALK, case.model)
    done = migrate(TALK, **{**here, "model": case.model}, window=200_000, count_online=True)
    assert sum(f"{case.variable} is not set" in warning for warning in done.warnings) == 1
    assert stub.seen == []


def test_a_model_of_no_known_vendor_is_counted_here(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    setting(monkeypatch, ANTHROPIC_API_KEY=KEY, GEMINI_API_KEY=KEY, OPENAI_API_KEY=KEY)
    for model in ("deepseek-v4-pro", "gpt-oss-120b"):
        with told(f"tokens of {model} are counted here, not online: no vendor's endpoint is known for it"):
            decide(TALK, model, count_online=True)
    assert stub.seen == []


def test_without_the_option_nothing_is_sent_even_with_keys(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, here: dict[str, Any]
) -> None:
    stub.will_answer({"input_tokens": 10})
    setting(monkeypatch, ANTHROPIC_API_KEY=KEY, GEMINI_API_KEY=KEY, OPENAI_API_KEY=KEY)
    for case in CASES:
        decide(TALK, case.model)
    migrate(TALK, **here)
    assert stub.seen == []
    decide(TALK, "claude-opus-5", count_online=True)
    assert len(stub.seen) == 1


def test_without_the_option_and_a_key_no_socket_is_opened(
    monkeypatch: pytest.MonkeyPatch, here: dict[str, Any]
) -> None:
    def no_socket(*_: Any, **__: Any) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", no_socket)
    monkeypatch.setattr(socket, "getaddrinfo", no_socket)
    for case in CASES:
        decide(TALK, case.model)
    migrate(TALK, **here)
    setting(monkeypatch, ANTHROPIC_API_KEY=KEY)
    tools.handoff(str(LONG), "claude-code", "claude-opus-5", str(here["into"]), dry_run=True)
    with pytest.raises(AssertionError, match="a socket was opened"):
        online.count(TALK, "claude-opus-5")


def test_without_a_key_what_speaks_http_is_not_even_loaded(project: Path) -> None:
    code = (
        "import sys; from session_migrator.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([name for name in sys.modules if name in ('session_migrator.web', 'urllib.request', 'http.client')])"
    )
    command = [sys.executable, "-c", code, "migrate", LONG, "--to", "claude-code", "--into", project, "--dry-run"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment(), check=True)
    assert done.stdout.splitlines()[-2:] == ["dry run: nothing was written", "[]"]


# --- failures


def gone() -> str:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


REFUSALS: list[tuple[int, dict[str, str], Any, str]] = [
    (400, {}, {"error": "List the files"}, "Anthropic answered 400 Bad Request"),
    (401, {}, {}, "Anthropic answered 401 Unauthorized"),
    (404, {}, {}, "Anthropic answered 404 Not Found"),
    (429, {"Retry_After": "0"}, {}, "Anthropic answered 429 Too Many Requests"),
    (503, {"Retry_After": "0"}, {}, "Anthropic answered 503 Service Unavailable"),
    (529, {"Retry_After": "0"}, {}, "Anthropic answered 529"),
    (302, {"Location": "/elsewhere"}, {}, "Anthropic answered 302 Found, and redirects are not followed"),
    (200, {}, b"<html>List the files</html>", "Anthropic did not answer with JSON"),
    (200, {}, b"", "Anthropic did not answer with JSON"),
    (200, {}, [10], "Anthropic did not answer with a number of tokens"),
    (200, {}, {"input_tokens": "10"}, "Anthropic did not answer with a number of tokens"),
    (200, {}, {"input_tokens": True}, "Anthropic did not answer with a number of tokens"),
    (200, {}, {"input_tokens": 0}, "Anthropic did not answer with a number of tokens"),
    (200, {"Content_Encoding": "gzip"}, b"\x1f\x8b", "Anthropic did not answer with JSON"),
]


@pytest.mark.parametrize(("status", "headers", "body", "said"), REFUSALS)
def test_an_answer_without_a_number_is_told_in_one_line_and_the_count_made_here_decides(
    status: int, headers: dict[str, str], body: Any, said: str, stub: Stub
) -> None:
    stub.will_answer(body, status, **headers)
    options = ["decide", LONG, "--model", "claude-opus-5", "--json"]
    here = run(*options)
    done = run(*options, "--count-online", **CLAUDE)
    assert (done.returncode, done.stdout) == (0, here.stdout)
    assert done.stderr == f"note: tokens of claude-opus-5 are counted here, not online: {said}\n"
    assert len(stub.seen) == (2 if "Retry_After" in headers else 1)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (gone, r"Anthropic cannot be reached (Connection refused)"),
        (lambda: "http://127.0.0.1:port", "Anthropic cannot be asked: its key or its base URL is malformed"),
        (lambda: "127.0.0.1", "Anthropic cannot be asked: its key or its base URL is malformed"),
        (lambda: "http://127.0.0.1/a b", "Anthropic cannot be asked: its key or its base URL is malformed"),
        (lambda: f"file://{ROOT}", "Anthropic cannot be reached"),
    ],
)
def test_a_vendor_that_is_not_there_is_told_in_one_line(
    url: Callable[[], str], said: str, here: dict[str, Any]
) -> None:
    paths = [option for name in ("into", "home") for option in (f"--{name}", here[name])]
    migrating = ["migrate", LONG, "--to", "claude-code", "--model", "claude-opus-5", *paths, "--json"]
    done = run(*migrating, "--count-online", **CLAUDE, ANTHROPIC_BASE_URL=url(), NO_PROXY="127.0.0.1")
    assert done.returncode == 0, done.stderr
    assert KEY not in done.stdout + done.stderr
    result = json.loads(done.stdout)
    (warning,) = [warning for warning in result["warnings"] if "online" in warning]
    assert warning.startswith(f"tokens of claude-opus-5 are counted here, not online: {said}")
    assert Path(result["target"]["paths"][0]).exists()
    assert result["decision"]["counter"]["method"] == "bound"


def test_a_session_that_is_no_json_is_counted_here(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    setting(monkeypatch, **CLAUDE)
    call = ToolCall(id="call_1", name="shell", arguments={"path": ROOT})
    with told("not online: the session holds what is no JSON data"):
        decide(
            Session(id="s", agent="codex", messages=(Message(role="assistant", parts=(call,)),)),
            "claude-opus-5",
            count_online=True,
        )
    assert stub.seen == []


@pytest.mark.parametrize("key", ["zeile17\nbruch18", "ключ"])
def test_a_key_that_no_header_can_hold_is_not_shown(key: str, stub: Stub) -> None:
    done = run("decide", LONG, "--model", "claude-opus-5", "--count-online", ANTHROPIC_API_KEY=key)
    assert done.returncode == 0
    assert done.stderr.endswith("Anthropic cannot be asked: its key or its base URL is malformed\n")
    assert not any(word in done.stdout + done.stderr for word in key.split())
    assert stub.seen == []


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-days", "1"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "certificate.pem"]
    try:
        subprocess.run([*made, *names], cwd=tmp_path, capture_output=True, check=True)
    except FileNotFoundError:
        pytest.skip("openssl is not here to make a certificate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certificate.pem", tmp_path / "key.pem")
    with serving(context) as served:
        served.will_answer({"input_tokens": 10})
        setting(monkeypatch, **CLAUDE, ANTHROPIC_BASE_URL=served.url, NO_PROXY="127.0.0.1")
        with pytest.raises(Unavailable, match=r"Anthropic cannot be reached \(\[SSL: CERTIFICATE_VERIFY_FAILED\]"):
            online.count(TALK, "claude-opus-5")
        assert served.seen == []
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
        assert online.count(TALK, "claude-opus-5").count.tokens == 10


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_takes_the_key_nowhere(status: int, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    setting(monkeypatch, ANTHROPIC_API_KEY=KEY, GEMINI_API_KEY=KEY, OPENAI_API_KEY=KEY)
    with serving() as other:
        other.will_answer({"input_tokens": 10, "totalTokens": 10})
        stub.will_answer({}, status, Location=other.url)
        for case in CASES:
            with told(f"answered {status} .*redirects are not followed"):
                decide(TALK, case.model, count_online=True)
        assert len(stub.seen) == len(CASES)
        assert other.seen == []


@pytest.mark.parametrize("status", [429, 500, 529])
def test_a_vendor_that_is_busy_is_asked_once_more(status: int, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.will_answer({}, status, Retry_After="0")
    stub.will_answer({"input_tokens": 77})
    setting(monkeypatch, **CLAUDE)
    assert decide(TALK, "claude-opus-5", count_online=True).tokens == 77
    assert stub.seen[0] == stub.seen[1]


@pytest.mark.parametrize(
    ("headers", "pauses"),
    [({}, [1]), ({"Retry_After": "3"}, [3]), ({"Retry_After": "6"}, []), ({"Retry_After": "Wed, 21 Oct 2026"}, [])],
)
def test_the_pause_is_the_one_the_vendor_names_if_it_is_short(
    headers: dict[str, str], pauses: list[int], stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(web.time, "sleep", slept.append)
    stub.will_answer({}, 429, **headers)
    setting(monkeypatch, **CLAUDE)
    with pytest.raises(Unavailable, match="429"):
        online.count(TALK, "claude-opus-5")
    assert [pause for pause in slept if pause] == pauses
    assert len(stub.seen) == 1 + len(pauses)


def test_a_vendor_that_is_late_is_asked_once_more_and_not_waited_for(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert online._PATIENCE == 20
    monkeypatch.setattr(online, "_PATIENCE", 0.2)
    monkeypatch.setattr(web, "_PAUSE", 0)
    stub.will_answer({"input_tokens": 10})
    stub.delay = 0.6
    setting(monkeypatch, **CLAUDE)
    with told(r"Anthropic did not answer within 0\.2 seconds"):
        decide(TALK, "claude-opus-5", count_online=True)
    assert len(stub.seen) == 2


# --- the command line


def test_every_agents_model_is_counted_by_its_own_vendor(stub: Stub) -> None:
    stub.will_answer({"input_tokens": 4321})
    done = run("decide", LONG, "--count-online", "--json", **CLAUDE)
    rows = {row["agent"]: row["counter"]["name"] for row in json.loads(done.stdout)}
    asked = {agent for agent, name in rows.items() if name == "anthropic count_tokens"}
    assert (rows["claude-code"], rows["codex"]) == ("anthropic count_tokens", "o200k_base")
    assert asked == {agent for agent in rows if "claude" in inspect(agent).model}
    notes = done.stderr.splitlines()
    assert len(notes) == len(rows) - len(asked)
    assert notes[0].endswith("are counted here, not online: OPENAI_API_KEY is not set")


def test_the_command_line_shows_whose_count_it_is(stub: Stub, here: dict[str, Any]) -> None:
    stub.will_answer({"input_tokens": 4321})
    done = run("decide", LONG, "--to", "claude-code", "--model", "claude-opus-5", "--count-online", **CLAUDE)
    assert "session            4,321  counted by Anthropic's count_tokens: exact" in done.stdout
    assert done.stderr == ""
    paths = [option for name in ("into", "home") for option in (f"--{name}", here[name])]
    migrating = ["migrate", LONG, "--to", "claude-code", "--model", "claude-opus-5", *paths]
    done = run(*migrating, "--count-online", **CLAUDE)
    assert "counted by Anthropic's count_tokens: exact" in done.stdout
    done = run(*migrating, "--count-online", "--again", ANTHROPIC_API_KEY="")
    assert done.returncode == 0
    assert done.stdout.count("not online: ANTHROPIC_API_KEY is not set") == 1
