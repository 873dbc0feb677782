"""Make a large session of stated content: ``python benchmarks/generate.py AGENT MEGABYTES LIVE_SHARE FILE``.

The mix, of every hundred turns: each a prompt of the user's, reasoning, two to six calls with outputs whose sizes
run from 200 bytes to 200 kB (many small, few large; about 90 % of the bytes), an edit of 1 to 4 kB, an answer of
300 to 1,500 characters; every twentieth turn has an image of about 60 kB. Words are drawn from a list of 4,000 made
ones, with a seed. With a live share below 1 there are compactions: nine of equal distance up to the last, after
which lies the live share of the bytes. The same arguments give the same bytes.
"""

from __future__ import annotations

import base64
import json
import random
import struct
import sys
import uuid
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

CWD = "/home/user/project"
COMPACTIONS = 10


def words(random_: random.Random, count: int, vocabulary: list[str]) -> str:
    return " ".join(random_.choices(vocabulary, k=count))


def noise(random_: random.Random) -> bytes:
    """A picture (PNG) of 512 x 352 points in four shades of grey, which nothing makes smaller."""
    header = struct.pack(">IIBBBBB", 512, 352, 2, 0, 0, 0, 0)
    rows = b"".join(b"\0" + random_.randbytes(512 // 4) for _ in range(352))
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 0)), (b"IEND", b""))
    framed = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(framed)


class Story:
    """An endless conversation, turn by turn, as plain values that each agent's lines are made of."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        syllables = [
            "ba",
            "con",
            "der",
            "fi",
            "gra",
            "im",
            "jo",
            "ka",
            "lem",
            "mo",
            "nu",
            "ost",
            "pre",
            "qui",
            "ra",
            "sol",
        ]
        self.vocabulary = ["".join(self.random.choices(syllables, k=self.random.randint(1, 4))) for _ in range(4000)]
        self.image = base64.b64encode(noise(self.random))

    def text(self, characters: int) -> str:
        return words(self.random, max(1, characters // 7), self.vocabulary)

    def output(self) -> str:
        size = int(200 * 1000 ** (self.random.random() ** 1.5))
        lines = [f"{number:>5}  {self.text(60)}" for number in range(size // 70 + 1)]
        return "\n".join(lines)

    def turns(self) -> Iterator[dict[str, Any]]:
        for number in range(10**9):
            yield {
                "number": number,
                "prompt": self.text(self.random.randint(40, 400)),
                "image": self.image.decode() if number % 20 == 19 else None,
                "thinking": self.text(self.random.randint(100, 600)),
                "outputs": [self.output() for _ in range(self.random.randint(2, 6))],
                "edit": (self.text(self.random.randint(500, 2000)), self.text(self.random.randint(500, 2000))),
                "answer": self.text(self.random.randint(300, 1500)),
            }


def stamp(number: int, step: int) -> str:
    moment = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=number * 60 + step)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def codex_header() -> dict[str, Any]:
    meta = {"id": str(uuid.UUID(int=7)), "timestamp": stamp(0, 0), "cwd": CWD, "originator": "codex_cli_rs",
            "cli_version": "0.140.0", "source": "cli", "model_provider": "openai"}  # fmt: skip
    return {"timestamp": stamp(0, 0), "type": "session_meta", "payload": meta}


def codex_turn(turn: dict[str, Any]) -> Iterator[dict[str, Any]]:
    n, step = turn["number"], 0

    def line(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        nonlocal step
        step += 1
        return {"timestamp": stamp(n, step), "type": kind, "payload": payload}

    yield line("event_msg", {"type": "task_started", "turn_id": f"t{n}", "model_context_window": 258400})
    yield line("turn_context", {"cwd": CWD, "model": "gpt-5.5", "approval_policy": "never"})
    content = [{"type": "input_text", "text": turn["prompt"]}]
    if turn["image"]:
        content.insert(0, {"type": "input_image", "image_url": "data:image/png;base64," + turn["image"]})
    yield line("response_item", {"type": "message", "role": "user", "content": content})
    yield line("event_msg", {"type": "user_message", "message": turn["prompt"], "images": []})
    summary = [{"type": "summary_text", "text": turn["thinking"]}]
    yield line("response_item", {"type": "reasoning", "summary": summary, "encrypted_content": "gAAAA" + "x" * 800})
    for place, output in enumerate(turn["outputs"]):
        call = {"type": "function_call", "name": "exec_command", "call_id": f"call_{n}_{place}"}
        yield line("response_item", {**call, "arguments": json.dumps({"cmd": f"cat part-{n}-{place}.txt"})})
        done = {"type": "function_call_output", "call_id": f"call_{n}_{place}"}
        yield line("response_item", {**done, "output": f"Process exited with code 0\nOutput:\n{output}"})
        usage = {"input_tokens": 1000, "output_tokens": 20, "total_tokens": 1020}
        yield line(
            "event_msg", {"type": "token_count", "info": {"last_token_usage": usage, "total_token_usage": usage}}
        )
    old, new = turn["edit"]
    patch = f"*** Begin Patch\n*** Update File: a.txt\n@@\n-{old}\n+{new}\n*** End Patch\n"
    edit = {"type": "custom_tool_call", "name": "apply_patch", "call_id": f"call_{n}_e", "input": patch}
    yield line("response_item", edit)
    yield line("response_item", {"type": "custom_tool_call_output", "call_id": f"call_{n}_e", "output": "Exit code: 0"})
    said = [{"type": "output_text", "text": turn["answer"]}]
    yield line("response_item", {"type": "message", "role": "assistant", "content": said})
    yield line("event_msg", {"type": "agent_message", "message": turn["answer"]})
    yield line("event_msg", {"type": "task_complete", "turn_id": f"t{n}", "last_agent_message": turn["answer"]})


def codex_compaction(number: int, summary: str) -> dict[str, Any]:
    words_ = f"Another language model started to solve this problem. {summary}"
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": words_}]}
    payload = {"message": words_, "replacement_history": [item]}
    return {"timestamp": stamp(number, 59), "type": "compacted", "payload": payload}


class Claude:
    """Claude Code's records: a chain over the whole file."""

    def __init__(self) -> None:
        self.last: str | None = None
        self.count = 0

    def record(self, number: int, step: int, **body: Any) -> dict[str, Any]:
        self.count += 1
        record_id = str(uuid.UUID(int=self.count))
        made = {
            "parentUuid": self.last, "isSidechain": False, "userType": "external", "cwd": CWD,
            "sessionId": str(uuid.UUID(int=7)), "version": "2.1.332", "gitBranch": "main", **body,
            "uuid": record_id, "timestamp": stamp(number, step),
        }  # fmt: skip
        self.last = record_id
        return made

    def turn(self, turn: dict[str, Any]) -> Iterator[dict[str, Any]]:
        n, step = turn["number"], 0

        def said(block: dict[str, Any], part: int, stop: str = "tool_use") -> dict[str, Any]:
            nonlocal step
            step += 1
            usage = {"input_tokens": 1000, "output_tokens": 20}
            message = {"id": f"msg_{n}_{part}", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
                       "content": [block], "stop_reason": stop, "usage": usage}  # fmt: skip
            return self.record(n, step, type="assistant", message=message)

        def told(content: Any, **more: Any) -> dict[str, Any]:
            nonlocal step
            step += 1
            return self.record(n, step, type="user", message={"role": "user", "content": content}, **more)

        content: Any = turn["prompt"]
        if turn["image"]:
            source = {"type": "base64", "media_type": "image/png", "data": turn["image"]}
            content = [{"type": "image", "source": source}, {"type": "text", "text": turn["prompt"]}]
        yield told(content)
        yield said({"type": "thinking", "thinking": turn["thinking"], "signature": "c2ln" * 100}, 0)
        for place, output in enumerate(turn["outputs"]):
            call_id = f"toolu_{n}_{place}"
            given = {"command": f"cat part-{n}-{place}.txt"}
            yield said({"type": "tool_use", "id": call_id, "name": "Bash", "input": given}, place)
            result = {"type": "tool_result", "tool_use_id": call_id, "content": output, "is_error": False}
            yield told([result], toolUseResult={"stdout": output, "stderr": "", "interrupted": False})
        old, new = turn["edit"]
        edit = {"file_path": f"{CWD}/a.txt", "old_string": old, "new_string": new}
        yield said({"type": "tool_use", "id": f"toolu_{n}_e", "name": "Edit", "input": edit}, 98)
        done = {"type": "tool_result", "tool_use_id": f"toolu_{n}_e", "content": "The file has been updated."}
        yield told([done], toolUseResult={"oldString": old, "newString": new, "originalFile": old * 3})
        yield said({"type": "text", "text": turn["answer"]}, 99, "end_turn")

    def compaction(self, number: int, summary: str) -> Iterator[dict[str, Any]]:
        before, self.last = self.last, None
        boundary = {"type": "system", "subtype": "compact_boundary", "logicalParentUuid": before}
        yield self.record(number, 58, **boundary, compactMetadata={"trigger": "auto", "preTokens": 150_000})
        message = {"role": "user", "content": f"This session is being continued from a previous one. {summary}"}
        yield self.record(number, 59, type="user", message=message, isCompactSummary=True)


def lines(agent: str, size: int, live_share: float) -> Iterator[bytes]:
    """The lines of a session of about ``size`` bytes."""
    story, claude = Story(11), Claude()
    written = 0
    compacted = 0
    before = size * (1 - live_share)
    if agent == "codex":
        yield json.dumps(codex_header()).encode() + b"\n"
    for turn in story.turns():
        records: list[dict[str, Any]] = []
        if live_share < 1 and compacted < COMPACTIONS and written >= before * (compacted + 1) / COMPACTIONS:
            compacted += 1
            summary = story.text(4000)
            made = (
                [codex_compaction(turn["number"], summary)]
                if agent == "codex"
                else claude.compaction(turn["number"], summary)
            )
            records += made
        records += codex_turn(turn) if agent == "codex" else claude.turn(turn)
        for record in records:
            line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            written += len(line)
            yield line
        if written >= size:
            return


def generate(agent: str, megabytes: float, live_share: float, path: Path) -> None:
    """Write the session file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.writelines(lines(agent, int(megabytes * 1_000_000), live_share))


if __name__ == "__main__":
    generate(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4]))
