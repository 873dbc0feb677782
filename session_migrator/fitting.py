"""Whether a session fits a target, by which of its histories, and how it is made to fit."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Literal

from . import online
from .agents import Capabilities
from .compressors import Compressed, Compressor
from .decision import Decision, Target
from .errors import Refused, UsageError
from .files import is_folder
from .losses import Loss
from .lowering import lower
from .model import Message, Session, Text, title_of
from .sequences import full_history
from .target import inspect
from .tokens import Counter

History = Literal["live", "full", "auto"]


def decide(
    session: Session, target_model: str | None = None, target_agent: str | None = None, count_online: bool = False
) -> Decision:
    """Whether a session fits a model, an agent as it is set up here, or a model in an agent.

    ``count_online``: counted by the model's vendor, to whom the session is sent (``online``); where that fails, a
    Python warning says why, and the count made here decides. Raises UnknownModel, NotFound (agent).
    """
    if target_model is None and target_agent is None:
        raise UsageError("a model or an agent must be named", "pass target_model or target_agent")
    target = inspect(target_agent, model=target_model, folder=existing_folder(session.cwd))
    decided, found = decide_for(session, target, count_online)
    for warning in (*target.warnings, *found):
        warnings.warn(warning, stacklevel=2)
    return decided


def decide_for(session: Session, target: Target, count_online: bool) -> tuple[Decision, list[str]]:
    """Whether a session, lowered, fits a target that has been inspected, and a warning where it was to be counted
    online and was not."""
    lowered, _ = lower(session, target.capabilities or Capabilities(thinking="text"))
    return online.decide(lowered, target, target.counter, count_online)


def existing_folder(cwd: str | None) -> Path | None:
    """The folder a session names, if it is here."""
    return Path(cwd) if cwd and Path(cwd).is_absolute() and is_folder(cwd) else None


def decide_history(
    session: Session, history: History, capabilities: Capabilities, target: Target, counter: Counter,
    count_online: bool,
) -> tuple[Session, tuple[Loss, ...], Decision, list[str]]:  # fmt: skip
    """The session lowered, what that took, the decision and its warnings: of the history asked for, or (auto) of the
    full one where that fits as it is and else of the live one. A vendor that did not count is not asked again."""
    said: list[str] = []
    if history != "live" and session.earlier:
        lowered, losses = lower(full_history(session), capabilities)
        decided, said = online.decide(lowered, target, counter, count_online)
        if history == "full" or decided.mode == "direct":
            return lowered, losses, decided, said
    lowered, losses = lower(session, capabilities)
    decided, more = online.decide(lowered, target, counter, count_online and not said)
    return lowered, losses, decided, [*said, *more]


def compressed(
    lowered: Session, compressor: Compressor, counter: Counter, capabilities: Capabilities, budget: int
) -> Compressed:
    """Within the budget after lowering once more, or Refused. One retry takes off what lowering had added. The
    session keeps a title, since the words it began with may be gone."""
    lowered = replace(lowered, title=title_of(lowered))
    allowed = budget
    for _ in range(2):
        result = compressor.compress(lowered, allowed, counter)
        session, _ = lower(result.session, capabilities)
        size = counter.session(session).high
        if size <= budget:
            return replace(result, session=session)
        allowed -= size - budget
    name = type(compressor).__name__
    raise Refused(f"{name} cannot bring the session within {budget:,} tokens", "use another --compressor")


def question(capabilities: Capabilities, counter: Counter) -> int:
    """The tokens of what the client itself says before a conversation compressed in its own form."""
    text = capabilities.compaction_question
    return counter.message(Message(role="user", parts=(Text(text=text),))).high if text else 0
