"""Whether passages that answer the last message are worth their room: ``python benchmarks/retrieval/injection.py D``.

D is a folder of recorded sessions; they are compressed by the ladder to the sizes of
``benchmarks/compression/compare.py``, without passages and with (``session_migrator.injection``: of the session itself,
since it has no project here), and asked the same probes. ``--write FILE`` puts the table into a Markdown file.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "compression")]

from compare import by_size, read, scores
from document import put

from session_migrator.compressors import Compressed, LadderCompressor
from session_migrator.injection import with_passages
from session_migrator.model import Session
from session_migrator.tokens import Counter


def fit(session: Session, counter: Counter, budget: int) -> Compressed:
    return LadderCompressor().compress(session, budget, counter)


def without(session: Session, budget: int, counter: Counter) -> Session:
    return fit(session, counter, budget).session


def quoting(session: Session, budget: int, counter: Counter) -> Session:
    return with_passages(session, partial(fit, session, counter), budget, counter, ()).session


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path, metavar="D")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    cases, _ = read(options.data)
    text = by_size(cases, {"ladder": scores(cases, without), "ladder, with passages": scores(cases, quoting)})
    print(text)
    if options.write:
        put(options.write, injection=text)


if __name__ == "__main__":
    main()
