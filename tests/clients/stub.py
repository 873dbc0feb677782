"""A stub LLM that runs a client: ``python stub.py --port N --script S --record R -- COMMAND ...``.

It answers OpenAI Responses (POST /v1/responses), chat completions (POST /v1/chat/completions), Anthropic Messages
(POST /v1/messages) and Gemini (POST .../models/M:streamGenerateContent) as server-sent events on the loopback
address, from the steps of a script; it starts COMMAND once it listens, ends with it and returns its exit code.
Standard library only: it runs inside the client's network namespace.

Script: a JSON list of steps, each used once; a request gets the first unused one that fits. Keys,
all optional:
    match      regular expression searched in the request's last user text or tool result
    reasoning  text the model thinks before it answers
    text       text it answers
    tools      calls it makes: {name, arguments: object} or {name, input: free text}, optionally {id, namespace};
               {search: words} is Codex's search for deferred tools
    usage      {input, output} tokens; default: characters / 4
    error      {status, body, headers?} over HTTP, or {failed: {code, message}} inside a Responses stream
A request without tools (a title, a compaction) takes only steps that have ``match``.

Record: JSON lines of {n, time, method, path, headers, body}, credentials left out.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SECRET_HEADERS = {"authorization", "x-api-key", "x-goog-api-key", "cookie"}
Event = tuple[str, dict[str, Any]]


class Stub(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, steps: list[dict[str, Any]], record: Path) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.steps, self.record, self.count, self.lock = steps, record, 0, threading.Lock()

    def note(self, request: dict[str, Any]) -> None:
        with self.lock, self.record.open("a", encoding="utf-8") as file:
            self.count += 1
            file.write(json.dumps({"n": self.count, "time": time.time(), **request}, ensure_ascii=False) + "\n")

    def step(self, body: dict[str, Any]) -> dict[str, Any]:
        """Take the step that answers this request."""
        with self.lock:
            for index, step in enumerate(self.steps):
                if "match" in step:
                    fits = re.search(step["match"], last_text(body)) is not None
                else:
                    fits = bool(offered_tools(body))
                if fits:
                    return self.steps.pop(index)
        return {"text": "The script has no further step." if offered_tools(body) else "A title"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Stub

    def do_HEAD(self) -> None:
        self.reply(200, b"")

    def do_GET(self) -> None:
        self.server.note({"method": "GET", "path": self.path, "headers": self.kept_headers(), "body": None})
        if self.headers.get("upgrade", "").lower() == "websocket":
            self.reply(426, b"")
        else:
            self.reply_json(404, {"error": {"message": "not found"}})

    def do_POST(self) -> None:
        raw = self.read_body()
        body = json.loads(raw or b"{}")
        self.server.note({"method": "POST", "path": self.path, "headers": self.kept_headers(), "body": body})
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            self.reply_json(200, {"input_tokens": len(raw) // 4})
        elif path.endswith(":countTokens"):
            self.reply_json(200, {"totalTokens": len(raw) // 4})
        elif path.endswith((":streamGenerateContent", ":generateContent")):
            self.generate(raw, body, path.endswith(":streamGenerateContent"))
        elif path.endswith("/chat/completions"):
            self.complete(raw, body)
        elif path.endswith(("/responses", "/messages")):
            self.answer(raw, body, responses_events if path.endswith("/responses") else messages_events)
        else:
            self.reply_json(200, {})

    def next_step(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """The step that answers a request, None where that is an error over HTTP, which is sent."""
        step = self.server.step(body)
        error = step.get("error", {})
        if "status" not in error:
            return step
        self.reply_json(error["status"], error["body"], error.get("headers", {}))
        return None

    def generate(self, raw: bytes, body: dict[str, Any], streamed: bool) -> None:
        """One chunk of Gemini's, as an event or alone."""
        step = self.next_step(body)
        if step is None:
            return
        usage = {"input": len(raw) // 4, "output": len(json.dumps(step)) // 4, **step.get("usage", {})}
        chunk = gemini_chunk(step, usage)
        if streamed:
            event = f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"
            self.reply(200, event.encode(), {"content-type": "text/event-stream"})
        else:
            self.reply_json(200, chunk)

    def complete(self, raw: bytes, body: dict[str, Any]) -> None:
        """Chunks of a chat completion, or where no stream is asked for, its one message."""
        step = self.next_step(body)
        if step is None:
            return
        usage = {"input": len(raw) // 4, "output": len(json.dumps(step)) // 4, **step.get("usage", {})}
        tag = hashlib.sha256(raw).hexdigest()[:16]
        if body.get("stream"):
            chunks = chat_chunks(step, usage, tag, body.get("model", "stub"))
            events = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks]
            self.reply(200, "".join([*events, "data: [DONE]\n\n"]).encode(), {"content-type": "text/event-stream"})
        else:
            choice = {"index": 0, "message": chat_message(step, tag), "finish_reason": chat_end(step)}
            self.reply_json(200, {"id": f"chatcmpl-{tag}", "choices": [choice], "usage": chat_usage(usage)})

    def answer(self, raw: bytes, body: dict[str, Any], events: Any) -> None:
        step = self.next_step(body)
        if step is None:
            return
        usage = {"input": len(raw) // 4, "output": len(json.dumps(step)) // 4, **step.get("usage", {})}
        # Ids that differ from request to request, over every run of one session: a digest of the request.
        tag = hashlib.sha256(raw).hexdigest()[:16]
        stream = "".join(
            f"event: {name}\ndata: {json.dumps({'type': name, **data}, ensure_ascii=False)}\n\n"
            for name, data in events(step, usage, tag, body.get("model", "stub"))
        )
        self.reply(200, stream.encode(), {"content-type": "text/event-stream"})

    def read_body(self) -> bytes:
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            chunks: list[bytes] = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                chunks.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            raw = b"".join(chunks)
        else:
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        return gzip.decompress(raw) if self.headers.get("content-encoding") == "gzip" else raw

    def kept_headers(self) -> dict[str, str]:
        return {key: value for key, value in self.headers.items() if key.lower() not in SECRET_HEADERS}

    def reply_json(self, status: int, data: Any, headers: dict[str, str] | None = None) -> None:
        self.reply(status, json.dumps(data).encode(), {"content-type": "application/json", **(headers or {})})

    def reply(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in {**(headers or {}), "content-length": str(len(content))}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: stdout and stderr are the client's."""


def offered_tools(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The tools a request offers the model; Codex puts them into an input item for its newest models, Gemini into
    groups."""
    items = body.get("input") or []
    extra = [tool for item in items if item.get("type") == "additional_tools" for tool in item["tools"]]
    groups = [tool.get("functionDeclarations", [tool]) for tool in body.get("tools") or ()]
    return [*(tool for group in groups for tool in group), *extra]


def last_text(body: dict[str, Any]) -> str:
    """The text of the last item that came from the user or a tool, in any of the protocols."""
    for item in reversed(body.get("input") or body.get("messages") or body.get("contents") or []):
        if item.get("role") in ("user", "tool") or str(item.get("type", "")).endswith("_output"):
            content = item.get("content", item.get("output", item.get("parts", "")))
            if isinstance(content, str):
                return content
            texts = [block.get("text", block.get("content", block.get("functionResponse", ""))) for block in content]
            return "\n".join(text if isinstance(text, str) else json.dumps(text) for text in texts)
    return ""


def responses_events(step: dict[str, Any], usage: dict[str, int], tag: str, _model: str) -> Iterator[Event]:
    """The OpenAI Responses stream of one step."""
    if "error" in step:
        yield "response.failed", {"response": {"id": f"resp_{tag}", "error": step["error"]["failed"]}}
        return
    tools = step.get("tools", [])
    items: list[dict[str, Any]] = []
    if "reasoning" in step:
        summary = [{"type": "summary_text", "text": step["reasoning"]}]
        items.append({"type": "reasoning", "id": f"rs_{tag}", "summary": summary, "encrypted_content": f"gAAAA{tag}"})
    if "text" in step:
        content = [{"type": "output_text", "text": step["text"], "annotations": []}]
        phase = "commentary" if tools else "final_answer"
        message = {"type": "message", "id": f"msg_{tag}", "role": "assistant", "phase": phase, "content": content}
        items.append(message)
    for index, tool in enumerate(tools):
        call = {"call_id": tool.get("id", f"call_{tag}{index}")}
        call |= {key: tool[key] for key in ("name", "namespace") if key in tool}
        if "search" in tool:
            query = {"execution": "client", "arguments": {"query": tool["search"]}}
            items.append({"type": "tool_search_call", "id": f"tsc_{tag}{index}", **call, **query})
        elif "input" in tool:
            items.append({"type": "custom_tool_call", "id": f"ctc_{tag}{index}", **call, "input": tool["input"]})
        else:
            arguments = json.dumps(tool["arguments"], ensure_ascii=False)
            items.append({"type": "function_call", "id": f"fc_{tag}{index}", **call, "arguments": arguments})
    for index, item in enumerate(items):
        yield "response.output_item.done", {"output_index": index, "item": item}
    counts = {
        "input_tokens": usage["input"],
        "input_tokens_details": None,
        "output_tokens": usage["output"],
        "output_tokens_details": None,
        "total_tokens": usage["input"] + usage["output"],
    }
    yield "response.completed", {"response": {"id": f"resp_{tag}", "usage": counts}}


def messages_events(step: dict[str, Any], usage: dict[str, int], tag: str, model: str) -> Iterator[Event]:
    """The Anthropic Messages stream of one step."""
    tools = step.get("tools", [])
    start = {"id": f"msg_{tag}", "type": "message", "role": "assistant", "model": model, "content": []}
    start |= {"stop_reason": None, "stop_sequence": None}
    yield "message_start", {"message": start | {"usage": {"input_tokens": usage["input"], "output_tokens": 1}}}
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if "reasoning" in step:
        deltas = [
            {"type": "thinking_delta", "thinking": step["reasoning"]},
            {"type": "signature_delta", "signature": f"c3R1Yg{tag}"},
        ]
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
    if "text" in step:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": step["text"]}]))
    for index, tool in enumerate(tools):
        block = {"type": "tool_use", "id": tool.get("id", f"toolu_{tag}{index}"), "name": tool["name"], "input": {}}
        partial = json.dumps(tool["arguments"], ensure_ascii=False)
        blocks.append((block, [{"type": "input_json_delta", "partial_json": partial}]))
    for index, (block, deltas) in enumerate(blocks):
        yield "content_block_start", {"index": index, "content_block": block}
        for delta in deltas:
            yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    reason = "tool_use" if tools else "end_turn"
    end = {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": usage["output"]}}
    yield "message_delta", end
    yield "message_stop", {}


def chat_message(step: dict[str, Any], tag: str) -> dict[str, Any]:
    """A whole message of a chat completion, as one step tells it."""
    message: dict[str, Any] = {"role": "assistant", "content": step.get("text")}
    if "reasoning" in step:
        message["reasoning_content"] = step["reasoning"]
    calls = [
        {
            "index": index, "id": tool.get("id", f"call_{tag}{index}"), "type": "function",
            "function": {"name": tool["name"], "arguments": json.dumps(tool["arguments"], ensure_ascii=False)},
        }
        for index, tool in enumerate(step.get("tools", []))
    ]  # fmt: skip
    return message | ({"tool_calls": calls} if calls else {})


def chat_end(step: dict[str, Any]) -> str:
    return "tool_calls" if step.get("tools") else "stop"


def chat_usage(usage: dict[str, int]) -> dict[str, int]:
    counts = {"prompt_tokens": usage["input"], "completion_tokens": usage["output"]}
    return counts | {"total_tokens": usage["input"] + usage["output"]}


def chat_chunks(step: dict[str, Any], usage: dict[str, int], tag: str, model: str) -> Iterator[dict[str, Any]]:
    """The stream of a chat completion: the message, its end, and the usage."""
    common = {"id": f"chatcmpl-{tag}", "object": "chat.completion.chunk", "created": int(time.time()), "model": model}
    yield common | {"choices": [{"index": 0, "delta": chat_message(step, tag), "finish_reason": None}]}
    yield common | {"choices": [{"index": 0, "delta": {}, "finish_reason": chat_end(step)}]}
    yield common | {"choices": [], "usage": chat_usage(usage)}


def gemini_chunk(step: dict[str, Any], usage: dict[str, int]) -> dict[str, Any]:
    """A whole answer of Gemini's, as one step tells it."""
    parts: list[dict[str, Any]] = []
    if "reasoning" in step:
        parts.append({"text": step["reasoning"], "thought": True})
    if "text" in step:
        parts.append({"text": step["text"]})
    for tool in step.get("tools", []):
        parts.append({"functionCall": {"name": tool["name"], "args": tool["arguments"]}})
    counts = {"promptTokenCount": usage["input"], "candidatesTokenCount": usage["output"]}
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": counts | {"totalTokenCount": usage["input"] + usage["output"]},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="A stub LLM that answers from a script and records requests.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    with Stub(options.port, json.loads(options.script.read_text(encoding="utf-8")), options.record) as stub:
        threading.Thread(target=stub.serve_forever, daemon=True).start()
        with subprocess.Popen(options.command) as client:
            returncode = client.wait()
        stub.shutdown()
    return returncode


if __name__ == "__main__":
    sys.exit(main())
