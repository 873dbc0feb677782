"""The count of a session by the model's own vendor: asked for only where the caller says so, with the key that the
environment holds. The session goes to that vendor alone, as its API takes conversations.

Endpoints, variables and base URLs are those of the vendors' references and Python SDKs (November 2026).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from . import decision
from .context_windows import family, normalize
from .decision import Counted, Decision, Target
from .errors import FormatError, Unavailable
from .exporter import to_messages
from .jsondata import Record, as_object
from .model import Session
from .sequences import collect
from .tokens import Count, Counter
from .tokens.content import as_sent

_PATIENCE = 20  # seconds for a count


def decide(session: Session, target: Target, counter: Counter, ask: bool) -> tuple[Decision, list[str]]:
    """Whether a lowered session fits: by the counter, or (``ask``) by the vendor's count; and a warning where that
    could not be had."""
    if not ask:
        return decision.decide(session, target, counter), []
    try:
        sent = collect(as_sent(message, target.longest_result) for message in session.messages)
        counted = count(replace(session, messages=sent), target.model)
        return decision.decide(session, target, counter, counted), []
    except Unavailable as error:
        warning = f"tokens of {target.model} are counted here, not online: {error}"
        return decision.decide(session, target, counter), [warning]


def room(decided: Decision, session: Session, counter: Counter) -> int:
    """The decision's budget as the counter is to keep it: less by what a vendor has counted over its upper end."""
    if decided.counter.name == counter.name:
        return decided.budget
    return decided.budget - max(0, decided.tokens - counter.session(session).high)


def count(session: Session, model: str) -> Counted:
    """The tokens of a lowered session's live messages as the vendor of the model counts them.

    Raises Unavailable: no vendor counts for the model, its key is not in the environment, or it did not answer with a
    number. The message holds neither the key nor anything of the session.
    """
    vendor = next((each for each in _VENDORS if family(model) in each.families), None)
    if vendor is None:
        raise Unavailable("no vendor's endpoint is known for it")
    key = _variable(*vendor.keys)
    if not key:
        raise Unavailable(f"{' or '.join(vendor.keys)} is not set")
    tokens = _asked(vendor, key, normalize(model), session)
    exact = Count(low=tokens, high=tokens, method="exact")
    return Counted(count=exact, name=vendor.counter, why=f"counted by {vendor.name}'s {vendor.endpoint}: exact")


def _asked(vendor: _Vendor, key: str, model: str, session: Session) -> int:
    from . import web  # what speaks HTTP is loaded when it is used

    variable, default = vendor.base
    url = (_variable(variable) or default).rstrip("/") + vendor.path.format(model=quote(model, safe=""))
    header, before = vendor.authorization
    try:
        body = vendor.body(session, model)
    except FormatError:
        raise Unavailable("the session holds what is no JSON data") from None
    answer = web.ask(vendor.name, url, {header: before + key, **vendor.headers}, body, patience=_PATIENCE)
    found = (as_object(answer) or {}).get(vendor.number)
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise Unavailable(f"{vendor.name} did not answer with a number of tokens")
    return found


def _variable(*names: str) -> str:
    """What the first of the environment variables that is not empty holds, else nothing."""
    return next((value for name in names if (value := os.environ.get(name, "").strip())), "")


def _anthropic(session: Session, model: str) -> Record:
    """The body for Anthropic. Tools need not be defined for calls in the history. A conversation begins with the user,
    and since Opus 4.6 it ends with one; reasoning is counted only where the request has it turned on, which since
    Opus 4.7 has another form."""
    system, messages = _system_apart(to_messages(session, "anthropic"))
    body: Record = {"model": model, "messages": _between_users(messages)}
    if system:
        body["system"] = [block for message in system for block in message["content"]]
    if any(block["type"] == "thinking" for message in messages for block in message["content"]):
        fixed = family(model) == "claude-4.6"
        body["thinking"] = {"type": "enabled", "budget_tokens": 1_024} if fixed else {"type": "adaptive"}
    return body


def _gemini(session: Session, model: str) -> Record:
    """The body for Gemini, which counts a system instruction only within a whole request, model and all."""
    system, contents = _system_apart(to_messages(session, "gemini"))
    request: Record = {"model": f"models/{model}", "contents": contents}
    if system:
        request["systemInstruction"] = {"parts": [part for content in system for part in content["parts"]]}
    return {"generateContentRequest": request}


def _openai(session: Session, model: str) -> Record:
    return {"model": model, "input": to_messages(session, "responses")}


def _system_apart(messages: list[Record]) -> tuple[list[Record], list[Record]]:
    """What the system says, and the conversation."""
    system = [message for message in messages if message["role"] == "system"]
    return system, [message for message in messages if message["role"] != "system"]


def _between_users(messages: list[Record]) -> list[Record]:
    """The conversation with the shortest of messages where the user has not the first and the last word."""
    dot: Record = {"role": "user", "content": "."}
    before = [] if messages and messages[0]["role"] == "user" else [dot]
    after = [dot] if messages and messages[-1]["role"] != "user" else []
    return [*before, *messages, *after]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Vendor:
    """Who counts: for which tokenizer families; the variables that may hold the key, the first that does; the variable
    and the default of the base URL, with what its SDK puts behind it (``path``); the header of the key, with what
    stands before it; how a session is sent; where the answer has the number. ``counter`` is the name in decisions."""

    name: str
    endpoint: str
    counter: str
    families: tuple[str, ...]
    keys: tuple[str, ...]
    base: tuple[str, str]
    path: str
    authorization: tuple[str, str]
    body: Callable[[Session, str], Record]
    number: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


_VENDORS = (
    _Vendor(
        name="Anthropic", endpoint="count_tokens", counter="anthropic count_tokens",
        families=("claude-4.6", "claude-4.7"), keys=("ANTHROPIC_API_KEY",),
        base=("ANTHROPIC_BASE_URL", "https://api.anthropic.com"), path="/v1/messages/count_tokens",
        authorization=("x-api-key", ""), headers={"anthropic-version": "2023-06-01"},
        body=_anthropic, number="input_tokens",
    ),
    _Vendor(
        name="Gemini", endpoint="countTokens", counter="gemini countTokens",
        families=("gemini",), keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        base=("GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com"),
        path="/v1beta/models/{model}:countTokens", authorization=("x-goog-api-key", ""),
        body=_gemini, number="totalTokens",
    ),
    _Vendor(
        name="OpenAI", endpoint="input_tokens", counter="openai input_tokens",
        families=("openai", "openai-cl100k"), keys=("OPENAI_API_KEY",),
        base=("OPENAI_BASE_URL", "https://api.openai.com/v1"), path="/responses/input_tokens",
        authorization=("Authorization", "Bearer "),
        body=_openai, number="input_tokens",
    ),
)  # fmt: skip
