"""The forms Codex has written sessions in, brought to the one the reader knows: envelope lines.

- envelope (0.55 to 0.171): ``{"timestamp", "type", "payload"}``
- bare (0.29): the header's own fields first, then response items, ``{"record_type": "state"}`` between them
- one document (the TypeScript client of 2025): ``{"session": {...}, "items": [...]}``
- stream (``codex exec --json``): ``thread.started``, ``item.completed`` and so on, without the user's prompts
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import FormatError, ReadError
from ...jsondata import clean
from ..jsonl import Line, Record, lines, rows, table, text

# In the head of a file: a session_meta line, a bare header, one document, or a stream's first event.
_HEADS = re.compile(
    rb'\s*\{(?:.{0,400}?"type"\s*:\s*"(?:session_meta|thread\.started)"'
    rb'|\s*"id"\s*:\s*"[0-9a-f-]{36}",\s*"timestamp"\s*:\s*"[^"]*",\s*"instructions"'
    rb'|\s*"session"\s*:\s*\{.{0,400}?"items"\s*:|\s*"session"\s*:\s*\{\s*"(?:timestamp|id)")',
    re.DOTALL,
)
_STATE = "record_type"
_ENVELOPES = {"session_meta", "turn_context", "response_item", "event_msg", "compacted"}


def recognises(head: bytes) -> bool:
    """Whether a file starts as one of these."""
    return bool(_HEADS.match(head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0")))


def envelopes(path: Path, limit: int | None) -> Iterator[Line]:
    """The lines of a session file (within its first ``limit`` bytes) as envelope records; a line that is no
    record stays None. Raises ReadError, NoConversation (empty), FormatError."""
    if path.suffix == ".json":
        for number, record in enumerate(_document(path), start=1):
            yield from (Line(number, envelope) for envelope in enveloped(record))
        return
    for line in lines(path, limit):
        if line.record is None:
            yield line
        else:
            yield from (Line(line.number, envelope) for envelope in enveloped(line.record))


def enveloped(record: Record) -> Iterator[Record]:
    """One record of any form as envelope records: none, one, or a call with its output."""
    kind = record.get("type")
    if "payload" in record:
        yield record
    elif kind == "thread.started":
        yield {"type": "session_meta", "payload": {"id": record.get("thread_id"), "source": "exec"}}
    elif kind == "item.completed":
        for item in _streamed(table(record.get("item"))):
            yield {"type": "response_item", "payload": item}
    elif isinstance(kind, str) and "." not in kind and kind not in _ENVELOPES:
        yield {"type": "response_item", "payload": record, "timestamp": record.get("timestamp")}
    elif kind is None and _STATE not in record and "id" in record:
        yield {"type": "session_meta", "payload": record, "timestamp": record.get("timestamp")}


def _streamed(item: Record) -> Iterator[Record]:
    """An item of the stream as response items; what ran is a call and its output."""
    call_id = str(item.get("id"))
    match item.get("type"):
        case "agent_message":
            yield {"type": "message", "role": "assistant", "content": str(item.get("text") or "")}
        case "reasoning":
            yield {"type": "reasoning", "summary": [{"type": "summary_text", "text": str(item.get("text") or "")}]}
        case "command_execution":
            output = {
                "output": text(item.get("aggregated_output")) or "",
                "metadata": {"exit_code": item.get("exit_code")},
            }
            yield from _pair(call_id, "exec_command", {"cmd": item.get("command")}, output)
        case "file_change":
            yield from _pair(call_id, "apply_patch", {"changes": rows(item.get("changes"))}, str(item.get("status")))
        case "mcp_tool_call":
            name = f"{item.get('server')}__{item.get('tool')}"
            yield from _pair(call_id, name, table(item.get("arguments")), item.get("result") or item.get("error"))
        case kind:
            yield {**item, "type": str(kind)}


def _pair(call_id: str, name: str, arguments: Record, output: Any) -> Iterator[Record]:
    yield {"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)}
    yield {"type": "function_call_output", "call_id": call_id, "output": output}


def _document(path: Path) -> Iterator[Record]:
    try:
        document = table(clean(json.loads(path.read_text(encoding="utf-8-sig", errors="replace"), strict=False)))
    except OSError as error:
        raise ReadError(f"cannot read {path}: {error.strerror}", "check the path and its permissions") from error
    except (ValueError, RecursionError, FormatError) as error:
        raise FormatError(f"{path} is no whole JSON document", "name a session file") from error
    yield {"type": "session_meta", "payload": table(document.get("session"))}
    yield from map(table, rows(document.get("items")))
