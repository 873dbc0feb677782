"""A server on the loopback address that counts as the vendors do, and keeps what it was sent; and a talk, with what
each vendor is to be sent of it."""

from __future__ import annotations

import json
import secrets
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from session_migrator.model import Message, Session, Text, ToolCall, ToolResult

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
