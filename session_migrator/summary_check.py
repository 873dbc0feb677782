"""What a summary claims word for word, and whether it stands in the conversation: quotations, code, paths, identifiers,
numbers. What is said in prose cannot be told from what was said in other words, and is left alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# A quotation, by its pair of marks; and code. Shorter quotations are names.
_QUOTED = re.compile(r'"([^"\n]{8,})"|“([^”\n]{8,})”|«([^»\n]{8,})»|「([^」\n]{4,})」|『([^』\n]{4,})』')
_CODE = re.compile(r"(?<!`)(`+)(?!`)([^\n]+?)(?<!`)\1(?!`)")
_LEFT_OUT = re.compile(r"\s*(?:\[?(?:…|\.\.\.)\]?)\s*")
_WORD = re.compile(r"[A-Za-z0-9_~./@#:,%\\+-]+")
_NUMBER = re.compile(r"[0-9][0-9.,:%-]*")
_IDENTIFIER = re.compile(
    r".*(?:[A-Za-z0-9]_[A-Za-z0-9]|[a-z][A-Z]).*"  # snake_case, camelCase
    r"|(?=.*[0-9])(?=.*[A-Za-z]).{4,}"  # ids, versions
    r"|(?:\.{0,2}|~)/.*[A-Za-z].*|[^/]+/[^/]+/.*"  # paths
    r"|.*[A-Za-z0-9]{2}\.[A-Za-z][A-Za-z0-9]{0,5}"  # names of files
)


def claims(text: str) -> list[str]:
    """What a text claims word for word, each once, in order."""
    found = [next(filter(None, match.groups())) for match in _QUOTED.finditer(text)]
    text = _QUOTED.sub(" ", text)
    found += [match[2].strip() for match in _CODE.finditer(text)]
    text = _CODE.sub(" ", text)
    return list(dict.fromkeys([*found, *_names(text)]))


def _names(text: str) -> Iterator[str]:
    """Paths, identifiers and numbers of two digits or more."""
    for match in _WORD.finditer(text):
        word = match[0].strip(",:#\\+-").rstrip(".")
        if _NUMBER.fullmatch(word):
            if sum(map(str.isdigit, word)) > 1:
                yield word
        elif _IDENTIFIER.fullmatch(word):
            yield word


def unfounded(claimed: Iterable[str], source: Iterable[str]) -> set[str]:
    """The claims that occur in none of the texts, whatever the case and the white space."""
    open_claims = {claim: [_plain(piece) for piece in _pieces(claim)] for claim in claimed}
    for text in source:
        if not any(open_claims.values()):
            break
        plain = _plain(text)
        for claim, pieces in open_claims.items():
            open_claims[claim] = [piece for piece in pieces if not _occurs(piece, plain)]
    return {claim for claim, pieces in open_claims.items() if pieces}


def _pieces(claim: str) -> list[str]:
    """What a claim says around what it says that it leaves out; a call without its empty brackets."""
    return [piece for piece in _LEFT_OUT.split(claim.removesuffix("()")) if piece]


def _plain(text: str) -> str:
    """A text in lower case, with single spaces, and numbers without the commas in them."""
    return re.sub(r"(?<=\d),(?=\d{3})", "", " ".join(text.split()).casefold())


def _occurs(piece: str, text: str) -> bool:
    """Whether a piece stands in a text; a number not as a part of another."""
    if not _NUMBER.fullmatch(piece):
        return piece in text
    digits = piece.rstrip("%")
    return digits in text and re.search(rf"(?<!\d)(?<!\d\.){re.escape(digits)}(?!\d|\.\d)", text) is not None
