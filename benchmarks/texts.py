"""Texts of ten kinds to count: from this repository, and made here."""

from __future__ import annotations

import base64
import json
import random
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = next((ROOT / "examples" / "codex-home").rglob("rollout-*T18-13-15-*.jsonl"))

_JAPANESE = """\
このツールは、ある AI エージェントとの会話を、別のエージェントへ移します。移した会話は、相手のク\
ライアント自身のセッションとして再開できます。まず、元のセッションを読み、トークンを数えます。次に、\
移す先のモデルが実際に受け取れる大きさを調べ、収まるかどうかを計算します。収まるなら、すべてのメッセ\
ージをそのまま運びます。収まらないときは、新しいものから順に残し、省いた部分がどこにあるかを書き添え\
ます。ツールの呼び出しとその結果は、決して切り離しません。書き込んだあとは読み直して比べ、違いがあれ\
ば取り消します。元のファイルには一切触れません。失敗しても途中のファイルは残らず、後から元に戻すこと\
もできます。画像は画素の数から、推論の文章はその長さから数えます。秘密の鍵やパスワードは、頼まれれば\
伏せ字にします。テストでは本物のクライアントを動かし、モデルに何が届いたかを確かめています。「収まる\
はずだ」という勘ではなく、足し算で決めるのが、この道具の考え方です。
"""


def texts() -> dict[str, str]:
    """One text of each kind, of some ten to a hundred kilobytes; the same at every call."""
    pick = random.Random(5)
    return {
        "prose": _prose("README.md") + _prose("docs/architecture.md"),
        "code": "".join(path.read_text("utf-8") for path in sorted((ROOT / "session_migrator").glob("*.py"))),
        "json": EXAMPLE.read_text("utf-8"),
        "logs": "".join(_log_line(pick) for _ in range(400)),
        "base64": base64.b64encode(pick.randbytes(20_000)).decode(),
        "chinese": _prose("README.zh-CN.md"),
        "japanese": _JAPANESE,
        "russian": _prose("README.ru.md"),
        "emoji": "".join(chr(pick.choice((pick.randrange(0x1F300, 0x1F650), 0x2705, 0x26A0))) for _ in range(4_000)),
        "mixed": "\n".join(_said()),
    }


def _prose(name: str) -> str:
    """A document without its code blocks and tables."""
    whole = (ROOT / name).read_text("utf-8")
    return re.sub(r"(?s)```.*?```|(?m:^\|.*\n)", "", whole)


def _log_line(pick: random.Random) -> str:
    at = f"2026-11-{pick.randrange(10, 30)}T10:{pick.randrange(10, 60)}:07.{pick.randrange(999):03}Z"
    who = f"{pick.choice(('INFO', 'WARN', 'DEBUG'))} [worker-{pick.randrange(16)}]"
    return f"{at} {who} request {pick.getrandbits(128):032x} took {pick.randrange(9000)} ms\n"


def _said() -> list[str]:
    """Everything that was said, called and returned in the example session."""
    found: list[str] = []
    for line in EXAMPLE.read_text("utf-8").splitlines():
        payload = json.loads(line).get("payload", {})
        found += [payload[key] for key in ("arguments", "input", "output") if isinstance(payload.get(key), str)]
        parts = payload.get("content")
        found += [part["text"] for part in parts if "text" in part] if isinstance(parts, list) else []
    return found
