"""The session's other forms: neutral JSON, the message arrays of four APIs, readable transcripts."""

from __future__ import annotations

from .chat import SHAPES, from_json, from_messages, to_messages
from .estimate import estimate_tokens
from .markdown import markdown_pieces, to_markdown
from .neutral import dump, from_document, to_document
from .terminal import to_text

__all__ = [
    "SHAPES",
    "dump",
    "estimate_tokens",
    "from_document",
    "from_json",
    "from_messages",
    "markdown_pieces",
    "to_document",
    "to_markdown",
    "to_messages",
    "to_text",
]
