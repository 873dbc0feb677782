"""The ladder, with a summary of what it left out, written by a large language model, in its note."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from . import llm
from .compressors import Compressed, LadderCompressor
from .errors import MigrationError
from .llm_summarizer import LEAST, Progress, Summary, notes_of, quoted, summarize, to_terminal
from .memory import Memory, render
from .model import Session, Text
from .sequences import collect
from .storage import Store
from .tokens import Counter

# What of the budget the summary may take at most, as a share and in tokens; characters that are asked for, a token.
_SHARE, _MOST, _CHARACTERS = 0.125, 4_000, 3


class LlmCompressor:
    """Keeps what the ladder keeps, in a little less room, and tells in the note at its head what is in the rest, with
    the ids of the marks. Unlike the others it uses the network and the store (``llm_summarizer``). Where the model
    fails, the result is the ladder's, with a note that says so."""

    def __init__(self, store: Store | None = None, progress: Progress = to_terminal) -> None:
        """Raises UsageError where no model is set up, or the SDK is not installed."""
        self._endpoint = llm.configured()
        llm.check_installed()
        self._store, self._progress = store, progress

    def compress(self, session: Session, budget: int, counter: Counter) -> Compressed:
        """At most ``budget`` tokens by the counter's upper end. Raises Refused as the ladder does."""
        ladder = LadderCompressor()
        alone = replace(ladder.compress(session, budget, counter), by="ladder")
        if not alone.elided:
            return alone
        room = min(int(budget * _SHARE), _MOST)
        try:
            result = ladder.compress(session, budget - room, counter)
            made = self._summary(session, result, room)
        except MigrationError as error:
            problem = f"what is left out is not summarized: {error}; {error.remedy}"
            return replace(alone, notes=(problem, *notes_of(error)))
        for share in (1.0, 0.5):
            noted = self._noted(result, made, int(room * share), counter)
            if counter.session(noted.session).high <= budget:
                return noted
        return replace(alone, notes=(made.report, "the summary of what is left out has no room"))

    def _summary(self, session: Session, result: Compressed, room: int) -> Summary:
        most = max(LEAST, room * _CHARACTERS)
        names = _names(session, result)
        return summarize(session, None, most, names=names, store=self._store, progress=self._progress)

    def _noted(self, result: Compressed, made: Summary, room: int, counter: Counter) -> Compressed:
        """The result with the summary below its note, within the room (tokens)."""
        title = f"What was left out, summarized by {self._endpoint.model}, which may err; the ids lead to the originals"
        sections = quoted(section for section in made.memory.sections if not section.name)
        memory = Memory(title=title, language=made.memory.language, sections=sections)
        text = render(memory, level=2, most=room, size=lambda text: counter.text(text).high, each=room)
        note, *_ = result.session.messages[:1]
        note = replace(note, parts=(Text(text=f"{note.text}\n\n{text.rstrip()}"),))
        messages = collect(chain([note], result.session.messages[1:]))
        return replace(result, session=replace(result.session, messages=messages), notes=(made.report,))


def _names(session: Session, result: Compressed) -> dict[int, str]:
    """The id of a mark for each message of the session that is left out or shortened."""
    left = iter(range(len(session.messages)))
    places = [next(place for place in left if session.messages[place] == elided) for elided in result.elided]
    return {
        places[at]: elision.id
        for elision in reversed(result.elisions)
        for start, stop, _ in elision.spans
        for at in range(start, stop)
    }
