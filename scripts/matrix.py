"""The table of what each agent can do, made from the registry and the pins: ``python scripts/matrix.py`` writes it into
the READMEs."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from session_migrator import agents

_BETWEEN = re.compile(r"(?<=<!-- matrix -->\n).*?(?=<!-- /matrix -->)", re.DOTALL)
_WORDS = {
    "README.md": {
        "agent": "agent", "reads": "reads", "writes": "writes", "reasoning": "reasoning", "images": "images",
        "compaction": "`--native`",
        "memory": "memory", "proven": "proven with", "yes": "yes", "no": "–", "native": "kept, where it is its own",
        "text": "as quoted text", "drop": "left out", "contract": "by the file's contract",
        "core": "its core, which is {core}'s",
    },
    "README.zh-CN.md": {
        "agent": "智能体", "reads": "读取", "writes": "写入", "reasoning": "推理内容", "images": "图片",
        "compaction": "`--native`",
        "memory": "记忆", "proven": "验证依据", "yes": "支持", "no": "–", "native": "自家的原样保留",
        "text": "转为引用文本", "drop": "省略", "contract": "按文件格式约定",
        "core": "其内核（与 {core} 相同）",
    },
    "README.ru.md": {
        "agent": "агент", "reads": "чтение", "writes": "запись", "reasoning": "рассуждения", "images": "изображения",
        "compaction": "`--native`",
        "memory": "память", "proven": "чем проверено", "yes": "да", "no": "–", "native": "сохраняются, если свои",
        "text": "цитатой", "drop": "опускаются", "contract": "по описанию формата",
        "core": "его ядро, оно же у {core}",
    },
}  # fmt: skip


def matrix(readme: str) -> str:
    """The table, in the words of that README."""
    words = _WORDS[readme]
    names = ("agent", "reads", "writes", "reasoning", "images", "compaction", "memory", "proven")
    rows = [[words[name] for name in names], ["---"] * len(names), *(_row(agent, words) for agent in agents.AGENTS)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(agent: str, words: dict[str, str]) -> list[str]:
    memory = agents.memory(agent)
    where = f"`{memory.index}`"
    if memory.default == "memory":
        where = f"{where} ({words['contract']})"
    spec = agents.get(agent)
    can = spec.capabilities
    able = (spec.write is not None, can.images, can.native_compaction)
    writes, images, compaction = (words["yes" if each else "no"] for each in able)
    versions = ", ".join(_versions(agent, words))
    return [memory.name, words["yes"], writes, words[can.thinking], images, compaction, where, versions]


def _versions(agent: str, words: dict[str, str]) -> list[str]:
    """The pinned versions of the client that the tests run, and whose core it is where it is no more than that."""
    pins = tomllib.loads((ROOT / "tests" / "clients" / "versions.toml").read_text(encoding="utf-8"))
    named = [pin for pin in pins.values() if pin.get("agent") == agent]
    return [
        f"{pin['version']} ({words['core'].format(core=pin['core'])})" if "core" in pin else pin["version"]
        for pin in named
    ]


def refreshed(readme: str, text: str) -> str:
    """A README's text with the table as it is now."""
    return _BETWEEN.sub(matrix(readme), text)


if __name__ == "__main__":
    for name in _WORDS:
        path = ROOT / name
        path.write_text(refreshed(name, path.read_text(encoding="utf-8")), encoding="utf-8")
