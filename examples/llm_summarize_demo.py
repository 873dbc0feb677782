"""A Codex session as a memory in Markdown, summarized by an LLM: ``python examples/llm_summarize_demo.py [THREAD_ID]``.

Without an id it takes the recorded session that lies beside it. It needs the extra ``llm`` and a key, or a local model;
without one it says what to set.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from session_migrator.codex_adapter import extract_rollout, get_thread_meta, summarize_session
from session_migrator.errors import MigrationError


def main() -> None:
    if len(sys.argv) < 2:
        os.environ["CODEX_HOME"] = str(HERE / "codex-home")
    try:
        meta = get_thread_meta(sys.argv[1] if len(sys.argv) > 1 else "01a22882-e15d")
        session = extract_rollout(meta["rollout_path"], meta["id"], meta["model"])
        print(summarize_session(session, meta, target_chars=5000))
    except MigrationError as error:
        print(f"{error}; {error.remedy}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
