"""Codex sessions -> Session: every form since 2025, legacy and paginated, forks, compactions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ... import timestamps
from ...errors import FormatError, NoConversation
from ...losses import Loss
from ...model import REPLACED, Compaction, Role, Session, Text
from ..drafts import Draft, Drafts
from ..jsonl import Record, rows, table, text
from ..spec import Reading
from . import files
from .forms import envelopes
from .items import KINDS, KINDS_OF, Items, environment_folder

# Remote compaction: readable by its own provider only.
_ENCRYPTED = {"compaction", "context_compaction"}
# What is in the file for the client itself.
_PASSED = {"world_state", "token_usage_record", "inter_agent_communication"}
# Each session of a line of forks stays open while its parent is read: fewer than the open files of any system.
_GENERATIONS = 200
_SHOWN: dict[str, Role] = {"user_message": "user", "agent_message": "assistant"}


def read(path: Path) -> Reading:
    """Read one rollout. Raises ReadError, FormatError (no session_meta), NoConversation."""
    rollout = _Rollout()
    _feed(rollout, path, None, frozenset())
    meta = rollout.meta
    if not meta:
        raise FormatError(f"{path} is no Codex session: it has no session_meta line", "name a rollout-*.jsonl file")
    live = rollout.items.drafts.messages() or rollout.shown.messages()
    if all(message.origin == "injected" for message in live):
        raise NoConversation(f"{path} holds no conversation", "name another session (session-migrator list --all)")
    session_id = text(meta.get("id")) or path.stem
    session = Session(
        id=session_id,
        agent="codex",
        messages=live,
        earlier=rollout.earlier.messages(),
        title=files.titles(files.home_of(path)).get(session_id),
        cwd=text(meta.get("cwd")) or environment_folder(live),
        model=rollout.model,
        git=table(meta.get("git")) or None,
        created_at=timestamps.parse(meta.get("timestamp")),
        updated_at=rollout.updated_at,
        parent_id=text(meta.get("forked_from_id")) or text(meta.get("parent_thread_id")),
        source=str(path),
        children=tuple(filter(None, rollout.items.children.values())),
        extra={"cli_version": meta.get("cli_version"), "source": meta.get("source"), REPLACED: rollout.replaced},
    )
    unknown = {**rollout.unknown, **rollout.items.unknown}
    detail = "{} x {} is not understood and not carried"
    losses = (
        Loss(kind="unknown_record", severity="info", detail=detail.format(n, kind)) for kind, n in unknown.items()
    )
    return Reading(session=session, losses=(*rollout.losses, *losses))


def _feed(rollout: _Rollout, path: Path, limit: int | None, passed: frozenset[Path]) -> None:
    """The lines of a file within its first ``limit`` bytes. A paginated fork (0.171) holds its own lines only and
    points to its parent's up to a byte; those come first, and so on up."""
    headed = False
    for number, record, *_ in envelopes(path, limit):
        if record is None:
            rollout.losses.append(Loss(kind="bad_line", detail=f"line {number} is not a JSON record and was skipped"))
            continue
        rollout.take(record)
        if headed or record.get("type") != "session_meta":
            continue
        headed = True  # a copied fork repeats its parent's header
        base = table(table(record.get("payload")).get("history_base"))
        if base:
            _feed_parent(rollout, base, path, passed | {path})


def _feed_parent(rollout: _Rollout, base: Record, path: Path, passed: frozenset[Path]) -> None:
    parent = files.find(files.home_of(path), str(base.get("thread_id")))
    end = base.get("end_byte_offset")
    if parent is None or parent in passed or not isinstance(end, int):
        detail = f"the session this one was forked from ({base.get('thread_id')}) is not here: its part is missing"
        rollout.losses.append(Loss(kind="branch", detail=detail))
    elif len(passed) >= _GENERATIONS:
        detail = f"a fork of a fork, {_GENERATIONS} times over: what the sessions before those said is missing"
        rollout.losses.append(Loss(kind="branch", detail=detail))
    else:
        _feed(rollout, parent, end, passed)


@dataclass(slots=True)
class _Rollout:
    """What has been read of a rollout so far."""

    meta: Record = field(default_factory=dict[str, Any])
    failed: dict[str, bool] = field(default_factory=dict[str, bool])
    items: Items = field(init=False)
    earlier: Drafts = field(default_factory=Drafts)
    shown: Drafts = field(default_factory=Drafts)
    losses: list[Loss] = field(default_factory=list[Loss])
    unknown: Counter[str] = field(default_factory=Counter[str])
    replaced: int = 0
    model: str | None = None
    updated_at: str | None = None

    def __post_init__(self) -> None:
        self.items = Items(self.failed)

    def take(self, record: Record) -> None:
        """One line of the file; lines of unknown types are passed over, as the client does."""
        payload = table(record.get("payload"))
        timestamp = timestamps.parse(record.get("timestamp"))
        self.updated_at = max(filter(None, (timestamp, self.updated_at)), default=None)
        match str(record.get("type")):
            case "session_meta":
                self.meta = self.meta or payload  # a fork copies its parent's after its own
            case "turn_context":
                self.model = model_of(record) or self.model
            case "response_item":
                self.items.add(payload, timestamp, self.model)
            case "compacted":
                self._compact(payload, timestamp)
            case "event_msg":
                self._event(payload, timestamp)
            case kind if kind not in _PASSED:
                self.unknown[kind] += 1
            case _:
                pass

    def _event(self, payload: Record, timestamp: str | None) -> None:
        """Events repeat the conversation for display: only what they alone know is used, or all of them where
        the file holds nothing else."""
        role = _SHOWN.get(str(payload.get("type")))
        if role and not self.items.drafts and isinstance(payload.get("message"), str):
            origin = "human" if role == "user" else "model"
            words = Text(text=payload["message"])
            self.shown.add(Draft(role=role, parts=[words], timestamp=timestamp, origin=origin))
        item = table(payload.get("item"))
        if payload.get("type") == "thread_rolled_back":
            turns = payload.get("num_turns")
            self.items.drafts.roll_back(turns if isinstance(turns, int) else 0)
        elif item.get("status") in ("completed", "failed") and isinstance(item.get("id"), str):
            self.failed[item["id"]] = item["status"] == "failed"

    def _compact(self, payload: Record, timestamp: str | None) -> None:
        """A compaction: what stood before is earlier, and its replacement is live."""
        replacement = [table(item) for item in rows(payload.get("replacement_history"))]
        if any(str(item.get("type")) in _ENCRYPTED for item in replacement):
            detail = "a compaction encrypted for its own provider cannot be read; the messages before it are used"
            self.losses.append(Loss(kind="unknown_record", severity="info", detail=detail))
            return
        words = str(payload.get("message") or "")
        before = self.items.drafts.messages()
        self.earlier.extend(before[self.replaced :])
        self.items.drafts = Drafts(self.failed)
        for item in replacement:
            self.items.add(_as_summary(item, words), timestamp, self.model)
        if not replacement:  # up to 0.55 the client kept all of the user's messages and the summary
            self.items.drafts.extend(message for message in before if message.origin == "human")
            summary = Draft(role="user", parts=[Compaction(summary=words)], timestamp=timestamp, origin="summary")
            self.items.drafts.add(summary)
        self.replaced = len(self.items.drafts)


def _as_summary(item: Record, words: str) -> Record:
    """An item of a replacement; the one that repeats the compaction's own words is its summary, said so."""
    content = rows(item.get("content"))
    if not words or [table(part).get("text") for part in content] != [words]:
        return item
    return {**item, KINDS_OF: {KINDS: ["compaction.summary"]}}


def model_of(record: Record) -> str | None:
    """The model a line names, if it is one that does."""
    return text(table(record.get("payload")).get("model")) if record.get("type") == "turn_context" else None
