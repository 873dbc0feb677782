"""A server on the loopback address that answers ``/chat/completions`` as the real ones do: keys and models are checked,
answers have usage and, where told so, reasoning, come in pieces where that is asked for, and errors have the vendors'
bodies."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from session_migrator.tokens import counter

COUNTER = counter("gpt-5.4-mini")


@dataclass
class Reply:
    """What is answered: a completion (``text``, ``finish``, ``refusal``, ``reasoning``), or another ``body`` with a
    ``status`` and ``headers``; after ``delay`` seconds. A stream ends without its last pieces where it ``breaks``; with
    an ``error`` where there is one."""

    text: Any = ""
    finish: str | None = "stop"
    refusal: str | None = None
    reasoning: str | None = None
    usage: dict[str, int] | None = None
    body: bytes | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0
    breaks: bool = False
    error: str = ""


Answer = str | Reply
Answers = Callable[[dict[str, Any]], Answer]


@dataclass
class StubLLM:
    """``answers``: what answers a request, given its body. ``seen``: the bodies, ``headers``: theirs, the names
    in lower case. ``most``: how many requests were there at once. ``key`` empty: none is needed. ``streams``: whether
    it knows how; ``unknown``: an option that it refuses."""

    url: str
    model: str
    key: str
    answers: Answers = lambda _: Reply("## Goal\n\n- nothing (turn 1)")
    streams: bool = True
    unknown: str = ""
    seen: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    now: int = 0
    most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    closing: threading.Event = field(default_factory=threading.Event)


def refused(status: int, message: str, code: str | None = None, kind: str | None = None, **headers: str) -> Reply:
    error = {"message": message, "type": kind, "param": None, "code": code}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, body=json.dumps({"error": error}).encode(), headers=named)


def in_turn(*answers: Answer) -> Answers:
    """One answer a request, the last for all that follow."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def _reply(stub: StubLLM, authorization: str, request: dict[str, Any]) -> Reply:
    if stub.key and authorization != f"Bearer {stub.key}":
        return refused(401, f"Incorrect API key provided: {authorization}.", "invalid_api_key", "invalid_request_error")
    if request["model"] != stub.model:
        return refused(404, f"The model `{request['model']}` does not exist", "model_not_found")
    if stub.unknown in request:
        return refused(400, f"Unsupported parameter: '{stub.unknown}' is not supported here.", "unsupported_parameter")
    answer = stub.answers(request)
    return Reply(answer) if isinstance(answer, str) else answer


def _completion(model: str, reply: Reply, request: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.text, "refusal": reply.refusal}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    read = sum(COUNTER.text(each["content"]).high for each in request["messages"])
    usage = reply.usage or {"prompt_tokens": read, "completion_tokens": COUNTER.text(str(reply.text)).high}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish}],
        "usage": {**usage, "total_tokens": sum(usage.values())},
    }  # fmt: skip


def _streamed(completion: dict[str, Any], reply: Reply, request: dict[str, Any]) -> bytes:
    """The same in pieces of some characters, each an event; between them a comment, as from servers that take long."""
    [choice] = completion.pop("choices")
    message, usage = choice["message"], completion.pop("usage")
    about = {**completion, "object": "chat.completion.chunk"}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": message["reasoning_content"]}] if "reasoning_content" in message else []
    if isinstance(reply.text, str):
        deltas += [{"content": reply.text[at : at + 50]} for at in range(0, len(reply.text), 50)]
    else:
        deltas += [{"content": reply.text}]
    deltas += [{"refusal": message["refusal"]}] if message["refusal"] else []
    chunks: list[dict[str, Any]] = [
        {**about, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    chunks += [{**about, "choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish}]}]
    if request.get("stream_options", {}).get("include_usage"):
        chunks += [{**about, "choices": [], "usage": usage}]
    if reply.breaks or reply.error:
        chunks = chunks[: len(deltas) // 2 + 1]
    events = [": waiting", *(f"data: {json.dumps(chunk)}" for chunk in chunks)]
    if reply.error:
        events += [f"data: {json.dumps({'error': {'message': reply.error, 'code': 502}})}"]
    elif not reply.breaks:
        events += ["data: [DONE]"]
    return "".join(f"{event}\n\n" for event in events).encode()


@contextmanager
def serving(model: str = "gpt-5.4-mini", key: str = "") -> Iterator[StubLLM]:
    stub = StubLLM("", model, key)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path != "/v1/chat/completions":
                self._send(404, b"404 page not found", {"Content-Type": "text/plain"})
                return
            with stub.lock:
                stub.seen.append(request)
                stub.headers.append({name.lower(): value for name, value in self.headers.items()})
                stub.now += 1
                stub.most = max(stub.most, stub.now)
            reply = _reply(stub, self.headers.get("Authorization", ""), request)
            stub.closing.wait(reply.delay)
            with stub.lock:
                stub.now -= 1
            body = reply.body
            kind = "application/json"
            if body is None:
                completion = _completion(stub.model, reply, request)
                body = json.dumps(completion).encode()
                if stub.streams and request.get("stream"):
                    kind, body = "text/event-stream; charset=utf-8", _streamed(completion, reply, request)
            self._send(reply.status, body, {"Content-Type": kind, **reply.headers}, cut=reply.breaks)

        def _send(self, status: int, body: bytes, headers: dict[str, str], *, cut: bool = False) -> None:
            try:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body) + cut))
                self.close_connection = cut
                self.end_headers()
                self.wfile.write(body)
            except OSError:  # whoever asked has had enough
                self.close_connection = True

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False
        request_queue_size = 64

        def handle_error(self, *_: Any) -> None:
            pass

    with Server(("127.0.0.1", 0), Handler) as server:
        stub.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield stub
        stub.closing.set()
        server.shutdown()
        thread.join()
