"""A server on the loopback address that stands for a provider: it answers what it is told to, and keeps what it was
asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Stub:
    """``answers``: by "METHOD path" (of a POST with its model behind) a document, a function that answers, or a list
    of those for one request each, the last for all that follow. All else is a 404."""

    url: str
    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def next(self, asked: str) -> Any:
        answer = self.answers.get(asked, status(404))
        if isinstance(answer, list) and answer and callable(answer[0]):
            return answer.pop(0) if len(answer) > 1 else answer[0]
        return answer


def send(handler: BaseHTTPRequestHandler, body: bytes, code: int = 200, reason: str = "", **headers: str) -> None:
    handler.send_response(code, reason or None)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def document(value: Any) -> Answer:
    return lambda handler: send(handler, json.dumps(value).encode())


def status(code: int, body: bytes = b"{}", reason: str = "", **headers: str) -> Answer:
    return lambda handler: send(handler, body, code, reason, **headers)


@contextmanager
def serving() -> Iterator[Stub]:
    stub = Stub("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            self._answer(f"GET {self.path}")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            stub.bodies.append(body)
            self._answer(f"POST {self.path} {body['model']}")

        def _answer(self, asked: str) -> None:
            stub.asked.append(asked)
            stub.headers.append({name.lower(): value for name, value in self.headers.items()})
            answer = stub.next(asked)
            try:
                (answer if callable(answer) else document(answer))(self)
            except OSError:  # whoever asked has had enough
                self.close_connection = True

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *_: Any) -> None:
            pass

    with Server(("127.0.0.1", 0), Handler) as server:
        stub.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield stub
        stub.closing.set()
        server.shutdown()
        thread.join()
