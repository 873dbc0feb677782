"""Image tokens from pixels: sizes out of a picture's first bytes, and each vendor's formula.

Formulas and figures: litellm 1.110.2 (``token_counter``, MIT), whose caps for Claude are those of Claude
Code 2.1.332's own model list.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Callable
from functools import partial
from math import ceil

from ..context_windows import family, normalize

DEFAULT = 4784  # the most a Claude takes for one image: the safe answer where size or formula is unknown
_HEAD = 400_000  # base64 characters decoded to find a size; a JPEG may carry its thumbnail and profile first

Size = tuple[int, int]
Range = tuple[int, int]


def tokens(data: str | None, model: str) -> Range:
    """The tokens (low, high) of an image given as base64, or None where its bytes are elsewhere, for a model."""
    pixels = size(data) if data else None
    formula = _formula(model)
    return formula(pixels) if pixels and formula else (0, DEFAULT)


def size(data: str) -> Size | None:
    """Width and height of a base64 PNG, JPEG, GIF or WebP (a ``data:`` URL too); None if it is none of them."""
    head = data[:_HEAD]
    if head.startswith("data:"):
        head = head.partition(",")[2]
    try:
        raw = base64.b64decode(head[: len(head) // 4 * 4])
        found = next((read(raw) for magic, read in _READERS if re.match(magic, raw, re.S)), None)
    except (binascii.Error, ValueError, struct.error, IndexError):
        return None
    return found if found and min(found) > 0 else None


def _png(raw: bytes) -> Size:
    width, height = struct.unpack_from(">II", raw, 16)
    return width, height


def _gif(raw: bytes) -> Size:
    width, height = struct.unpack_from("<HH", raw, 6)
    return width, height


def _webp(raw: bytes) -> Size | None:
    kind = raw[12:16]
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", raw, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", raw, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":
        return int.from_bytes(raw[24:27], "little") + 1, int.from_bytes(raw[27:30], "little") + 1
    return None


def _jpeg(raw: bytes) -> Size | None:
    at = 2
    while raw[at] == 0xFF:
        marker = raw[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # the start of a frame
            height, width = struct.unpack_from(">HH", raw, at + 5)
            return width, height
        if marker == 0xFF:  # padding
            at += 1
        else:
            at += 2 + struct.unpack_from(">H", raw, at + 2)[0]
    return None


_READERS: tuple[tuple[bytes, Callable[[bytes], Size | None]], ...] = (
    (rb"\x89PNG\r\n\x1a\n", _png),
    (rb"GIF8[79]a", _gif),
    (rb"RIFF....WEBP", _webp),
    (rb"\xff\xd8\xff", _jpeg),
)


def _fit(pixels: Size, edge: int) -> tuple[float, float]:
    """The size scaled down, never up, until the long edge fits."""
    scale = min(1.0, edge / max(pixels))
    return pixels[0] * scale, pixels[1] * scale


def _grid(pixels: tuple[float, float], cell: int) -> int:
    return ceil(pixels[0] / cell) * ceil(pixels[1] / cell)


def _claude(pixels: Size, edge: int, most: int) -> Range:
    tokens = min(_grid(_fit(pixels, edge), 28), most)
    return tokens, tokens


def _openai_tiles(pixels: Size, base: int, tile: int) -> Range:
    """A fixed part, and a part for each 512-pixel tile once the short side is at most 768 pixels."""
    width, height = _fit(pixels, 2048)
    scale = min(1.0, 768 / min(width, height))
    tokens = base + tile * _grid((width * scale, height * scale), 512)
    return tokens, tokens


def _openai_patches(pixels: Size, original: int | None) -> Range:
    """32-pixel patches times 1.2: (in high detail, in original detail). ``original`` is the patch budget of
    the latter, None where there is none."""
    high = min(_grid(_fit(pixels, 2048), 32), 2500)
    full = _grid(_fit(pixels, 6000) if original else pixels, 32)
    return ceil(high * 1.2), ceil(min(full, original or full) * 1.2)


def _gemini(pixels: Size) -> Range:
    tokens = 258 if max(pixels) <= 384 else 258 * _grid(pixels, 768)
    return tokens, tokens


# By how the normalized id begins; what is not here (most mini and nano models) has no formula we know of.
_OPENAI: tuple[tuple[str, Callable[[Size], Range]], ...] = (
    (r"gpt-4o-mini", partial(_openai_tiles, base=2833, tile=5667)),
    (r"gpt-4(?:o|\.1)(?!-mini|-nano)", partial(_openai_tiles, base=85, tile=170)),
    (r"gpt-5(?:\.1)?(?:-(?!.*(?:mini|nano))|$)", partial(_openai_tiles, base=70, tile=140)),
    (r"o[13]$", partial(_openai_tiles, base=75, tile=150)),
    (r"gpt-5\.2", partial(_openai_patches, original=6144)),
    (r"gpt-5\.[45]", partial(_openai_patches, original=10_000)),
    (r"gpt-(?:5\.6|6)", partial(_openai_patches, original=None)),
)


def _formula(model: str) -> Callable[[Size], Range] | None:
    name = normalize(model).lower()
    match family(model):
        case "openai":
            return next((formula for prefix, formula in _OPENAI if re.match(prefix, name)), None)
        case "claude-4.6":
            return partial(_claude, edge=1568, most=1568)
        case "claude-4.7":
            return partial(_claude, edge=2576, most=DEFAULT)
        case "gemini" if re.match(r"gemini-[12]", name):
            return _gemini
        case _:
            return None
