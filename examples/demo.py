"""Decision, compression and storage end to end, with nothing but Python: ``python examples/demo.py``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from session_migrator import Store, TruncationCompressor, from_messages, tokens
from session_migrator.context_windows import Window
from session_migrator.decision import Decision, Target, decide
from session_migrator.exporter import from_document, to_document

STEPS = ["read the parser", "find the off-by-one in its loop", "write a failing test", "mend it", "run the tests"]


def conversation(rounds: int) -> list[dict[str, str]]:
    """A conversation as an array of chat messages."""
    messages = [{"role": "user", "content": "The parser loses the last row of a CSV file. Find out why and mend it."}]
    for number in range(rounds):
        step = STEPS[number % len(STEPS)]
        messages.append({"role": "assistant", "content": f"Step {number + 1}: I {step}. " + "It took a while. " * 20})
        messages.append({"role": "user", "content": f"Good. After step {number + 1}, go on."})
    return messages


def show(name: str, decided: Decision) -> None:
    print(f"\n{name}: {decided.mode}")
    for entry in decided.ledger:
        print(f"  {entry.name:<12} {entry.tokens:>9,}  {entry.why}")


def main() -> None:
    session = from_messages(conversation(rounds=40), title="CSV parser")
    print(f"a session of {len(session.messages)} messages")

    show("into gpt-5, which has room", decide(session, "gpt-5"))

    small = Target(model="gpt-4o", window=Window(context=8_000, source="user"))
    decided = decide(session, small)
    show("into a model with 8,000 tokens", decided)

    counter = tokens.counter(small.model)
    result = TruncationCompressor().compress(session, decided.budget, counter)
    print(f"\nkept {len(result.session.messages) - 1} messages, left out {len(result.elided)}")
    print(f"now {counter.session(result.session).tokens:,} of {decided.budget:,} tokens; the note at the top:")
    print(result.session.messages[0].text)

    with tempfile.TemporaryDirectory() as folder:
        workspace = Store(folder).workspace("my-project")
        path = workspace.put("sessions", session.id, to_document(session))
        assert from_document(workspace.get("sessions", session.id)) == session
        print(f"\nstored whole, and read back the same ({path.stat().st_size:,} bytes, {path.name})")


if __name__ == "__main__":
    main()
