"""A Codex session as a memory in Markdown, without an LLM: ``python examples/codex_to_workbuddy_demo.py [THREAD_ID]``.

Without an id it takes the recorded session that lies beside it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from session_migrator.codex_adapter import extract_rollout, get_thread_meta, to_memory_markdown


def main() -> None:
    if len(sys.argv) < 2:
        os.environ["CODEX_HOME"] = str(HERE / "codex-home")
    meta = get_thread_meta(sys.argv[1] if len(sys.argv) > 1 else "01a22882-e15d")
    session = extract_rollout(meta["rollout_path"], meta["id"], meta["model"])
    print(to_memory_markdown(session, meta))


if __name__ == "__main__":
    main()
