"""Who serves a model, and what that provider's own list of models says of their windows.

One reader for all, driven by ``data/providers.json``: where a list is, how the key travels, which fields hold what.
A key goes into a header of the first request of a redirect only, and into no message.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, cast
from urllib.parse import quote, urlsplit

from .context_windows import Window, family
from .errors import Unavailable

_PATIENCE, _MOST_PAGES = 10, 50  # seconds for a page of a list; pages
_LONGEST_ID = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A row of the table.

    ``ids``: how an id begins that says who serves it; ``family``: the first word of the tokenizer families of its own
    models. ``keys``, ``base_variables``: environment variables, the first that is set counts; a provider without a
    ``base`` is a server of the user's own, and needs an address (without a scheme: http, at ``port``) and no key.
    ``path``: of the list, None where it gives no windows. ``headers`` with ``{key}`` are sent where there is a key.
    ``list``: where in the answer the rows are; ``name_field``: their id. ``context``, ``max_input``, ``max_output``:
    the fields of a row, as paths; the smallest counts. ``page``: how the rest of a list is asked for: the parameter,
    and the fields of the answer that hold its value and whether there is more. ``beside``: a second list with fields
    of the same rows; ``detail``: where more of a row is had by a POST of its id.
    """

    id: str
    name: str
    ids: str
    family: str | None = None
    keys: tuple[str, ...] = ()
    base: str | None = None
    base_variables: tuple[str, ...] = ()
    port: int | None = None
    path: str | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: {"Authorization": "Bearer {key}"})
    list: str = "data"
    name_field: str = "id"
    context: tuple[str, ...] = ()
    max_input: tuple[str, ...] = ()
    max_output: tuple[str, ...] = ()
    page: Mapping[str, str] | None = None
    beside: str | None = None
    detail: str | None = None

    @property
    def needed(self) -> tuple[str, ...]:
        """The environment variables of which one must be set before anything is asked."""
        return self.keys if self.base else self.base_variables

    @property
    def reachable(self) -> bool:
        """Whether there is a list, and the key or the address for it is in the environment."""
        return self.path is not None and _variable(self.needed) is not None


@cache
def providers() -> tuple[Provider, ...]:
    """The table."""
    rows = json.loads((files("session_migrator") / "data" / "providers.json").read_text("utf-8"))["providers"]
    return tuple(Provider(**{name: _frozen(value) for name, value in row.items()}) for row in rows)


def _frozen(value: Any) -> Any:
    return tuple(cast(list[Any], value)) if isinstance(value, list) else value


def serving(model: str) -> Provider | None:
    """Who serves a model: whom its id begins with (``openrouter/...``, ``us.anthropic...``), else its vendor."""
    spelled = model.strip().lower()
    named = next((provider for provider in providers() if re.match(provider.ids, spelled)), None)
    if named:
        return named
    vendor = (family(model) or "").split("-")[0]
    return next((provider for provider in providers() if vendor and provider.family == vendor), None)


def own_id(provider: Provider, model: str) -> str:
    """The id without the provider's own mark at its beginning."""
    return re.sub(rf"^(?:{provider.ids})", "", model.strip(), flags=re.IGNORECASE)


def address(provider: Provider) -> str | None:
    """Where a provider is: scheme, host and folder, without anything secret. None where the environment must say it
    and does not. Raises Unavailable for what is no address of HTTP."""
    given = _variable(provider.base_variables) or provider.base
    if given is None:
        return None
    bare = "://" not in given
    try:
        parts = urlsplit(f"http://{given}" if bare else given)
        port = f":{provider.port}" if parts.port is None and bare and provider.port else ""
        base = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{port}{parts.path.rstrip('/')}"
        if parts.scheme in ("http", "https") and parts.hostname and re.fullmatch(r"[!-~]+", base):
            return base
    except ValueError:  # a port that is no number
        pass
    variable = next(name for name in provider.base_variables if os.environ.get(name, "").strip())
    raise Unavailable(f"{variable} holds no address", f"set {variable} to one, such as http://localhost:8000")


def fetch(provider: Provider) -> dict[str, Window]:
    """The windows of a provider's models by id, as it lists them now (source "live"). A model of which it gives none
    is left out. Raises Unavailable, in one line without the key."""
    base, key = address(provider), _variable(provider.keys)
    if base is None or provider.path is None or not provider.reachable:
        raise Unavailable(f"{provider.name} cannot be asked", f"set {' or '.join(provider.needed)}")
    if key and not (key.isascii() and key.isprintable()):
        raise Unavailable("the key holds characters that no header can carry", f"set {' or '.join(provider.keys)} anew")
    found: dict[str, Window] = {}
    for row in _rows(provider, base, key):
        name = row.get(provider.name_field)
        window = _window(provider, row)
        if window and isinstance(name, str) and name.isprintable() and 0 < len(name) <= _LONGEST_ID:
            found[name] = smaller(window, found[name]) if name in found else window
    return found


def smaller(one: Window, other: Window) -> Window:
    """What holds for both: the smaller of each limit, of one where only one is known; with the first's source."""
    return Window(
        context=least((one.context, other.context)), max_input=least((one.max_input, other.max_input)),
        max_output=least((one.max_output, other.max_output)), source=one.source,
    )  # fmt: skip


def least(limits: Iterable[int | None]) -> int | None:
    """The smallest of the limits that are known."""
    return min((limit for limit in limits if limit is not None), default=None)


def limit(value: Any) -> int | None:
    """A number of tokens; null, 0, negative numbers, texts and all else are none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _variable(names: tuple[str, ...]) -> str | None:
    values = (os.environ.get(name, "").strip() for name in names)
    return next((value for value in values if value), None)


def _window(provider: Provider, row: Mapping[str, Any]) -> Window | None:
    """The limits a row gives; None without one of the input (a ``max_tokens`` alone may mean anything)."""
    context, max_input, max_output = (
        least([limit(value) for path in paths for value in _at(row, path)])
        for paths in (provider.context, provider.max_input, provider.max_output)
    )
    if context is None and max_input is None:
        return None
    return Window(context=context, max_input=max_input, max_output=max_output, source="live")


def _at(value: Any, path: str) -> Iterator[Any]:
    """The values at a path of keys, ``a/b``; ``*`` in a key stands for a word."""
    if not path:
        yield value
        return
    wanted, _, rest = path.partition("/")
    if isinstance(value, str):  # Ollama's parameters are a text, a name and a number a line
        value = {name: int(number) for name, number in re.findall(r"^(\w+)\s+(\d{1,12})$", value, re.MULTILINE)}
    if isinstance(value, dict):
        key = re.compile(re.escape(wanted).replace(r"\*", r"[\w-]+"))
        for name, item in cast(dict[str, Any], value).items():
            if key.fullmatch(name):
                yield from _at(item, rest)


def _rows(provider: Provider, base: str, key: str | None) -> Iterator[dict[str, Any]]:
    assert provider.path is not None
    beside: dict[Any, dict[str, Any]] = {}
    if provider.beside:
        document = _get(provider, _joined(base, provider.beside), key)
        beside = {str(row.get(provider.name_field)): row for row in _listed(provider, document)}
    url = _joined(base, provider.path)
    for document in _pages(provider, url, key):
        for row in _listed(provider, document):
            name = row.get(provider.name_field)
            if provider.detail:
                more = _get(provider, _joined(base, provider.detail), key, {"model": name})
                row = {**row, **(cast(dict[str, Any], more) if isinstance(more, dict) else {})}
            yield {**row, **beside.get(str(name), {})}


def _pages(provider: Provider, url: str, key: str | None) -> Iterator[Any]:
    page, asked = provider.page, url
    for _ in range(_MOST_PAGES):
        document = _get(provider, asked, key)
        yield document
        if page is None or not isinstance(document, dict):
            return
        answer = cast(dict[str, Any], document)
        cursor = answer.get(page["next"])
        if not isinstance(cursor, str) or not cursor or answer.get(page.get("more", "")) is False:
            return
        asked = f"{url}{'&' if '?' in url else '?'}{page['parameter']}={quote(cursor, safe='')}"


def _listed(provider: Provider, document: Any) -> list[dict[str, Any]]:
    rows = next(_at(document, provider.list), None)
    if not isinstance(rows, list):
        raise Unavailable("the answer is no list of models", "check the address")
    return [cast(dict[str, Any], row) for row in cast(list[Any], rows) if isinstance(row, dict)]


def _joined(base: str, path: str) -> str:
    """The path below the base, which other programs want with a version or the path's first folders at its end."""
    base, folders = base.removesuffix("/v1"), path.split("/")[:-1]
    heads = ("/".join(folders[:length]) for length in range(len(folders), 1, -1))
    return base.removesuffix(next((head for head in heads if base.endswith(head)), "")) + path


def _get(provider: Provider, url: str, key: str | None, body: Any = None) -> Any:
    """The document at an address, by POST where there is a body. Raises Unavailable."""
    from . import web  # what opens a connection is loaded where one is wanted

    headers = {
        name: value.replace("{key}", key or "")
        for name, value in provider.headers.items()
        if key or "{key}" not in value
    }
    return web.ask(url.partition("?")[0], url, headers, body, patience=_PATIENCE)
