"""What is known of models' windows beyond the table: the user's own file, and what providers said, kept between runs.

    ROOT/models.json             the user's: {"model id": {"context": N, "max_input": N, "max_output": N}}
    ROOT/cache/capacities.json   what each provider said, by its address, and when
    ROOT/cache/failed/ID.json    when a provider could not be read

ROOT is the store's. Limits are in tokens.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache, reduce
from pathlib import Path
from typing import Any, cast

from . import providers, timestamps
from .context_windows import Window, normalize
from .errors import MigrationError, ReadError, Unavailable
from .files import replace
from .model import Value
from .providers import Provider
from .storage import Store

_FRESH, _PAUSE = timedelta(days=1), timedelta(hours=1)
_FORM = 1  # of the cache
_LIMITS = ("context", "max_input", "max_output")
_normal = lru_cache(maxsize=4096)(normalize)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Value):
    """The windows of a provider's models by id, as it gave them ``at`` a time (UTC)."""

    at: str
    models: Mapping[str, Window]


class Capacities:
    """What one store has. Each file is read once, when it is first needed."""

    def __init__(self, store: Store) -> None:
        self.users_file = store.root / "models.json"
        self._cache = store.root / "cache" / "capacities.json"
        self._failed = store.root / "cache" / "failed"

    @cached_property
    def users(self) -> Mapping[str, Window]:
        """The windows in the user's file, by id (source "user"). Raises ReadError where it cannot be read or has
        another form."""
        return _users(self.users_file)

    def user(self, model: str) -> Window | None:
        """What the user's file says of a model, by any spelling of its id. Raises ReadError as ``users`` does."""
        return _find(self.users, model)

    def kept(self, provider: Provider) -> Reading | None:
        """What a provider said last at the address it has now, however long ago."""
        with contextlib.suppress(Unavailable):
            return self._readings.get(_key(provider))
        return None

    def current(self, provider: Provider) -> tuple[Reading | None, str | None]:
        """What is kept, read anew first where it is over a day old and the provider can be asked; and a warning where
        that failed. A provider that failed is left alone for an hour: each attempt may take its time."""
        known = self.kept(provider)
        if not provider.reachable or (known and _is_younger(known.at, _FRESH)):
            return known, None
        instead = f"those of {known.at[:16]}Z are used" if known else "they are left out"
        failed = self._failed / f"{provider.id}.json"
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, Unavailable):
            last = json.loads(failed.read_text(encoding="utf-8"))
            if last["key"] == _key(provider) and _is_younger(last["at"], _PAUSE):
                return known, f"the windows of {provider.name} could not be read at {last['at'][:16]}Z; {instead}"
        try:
            return self.refresh(provider), None
        except MigrationError as error:
            with contextlib.suppress(MigrationError):
                replace(failed, [json.dumps({"key": _key(provider), "at": timestamps.now()}).encode("ascii")])
            return known, f"the windows of {provider.name} could not be read anew: {error}; {instead}"

    def refresh(self, provider: Provider) -> Reading:
        """Ask a provider, and keep what it says. Raises Unavailable, WriteError; then what was kept stays."""
        reading = Reading(at=timestamps.now(), models=providers.fetch(provider))
        readings = {**_load(self._cache), _key(provider): reading}
        replace(self._cache, [_dump(readings)])
        self._readings = readings
        return reading

    @cached_property
    def _readings(self) -> Mapping[str, Reading]:
        return _load(self._cache)


def live(provider: Provider, model: str, reading: Reading) -> Window | None:
    """What a provider said of a model (source "live")."""
    return _find(reading.models, model, providers.own_id(provider, model))


def _find(models: Mapping[str, Window], *spellings: str) -> Window | None:
    """The window of the model with one of these ids, else of those that are the same by ``normalize``: the smaller of
    each limit."""
    rules: tuple[Callable[[str], str], ...] = (str.lower, _normal)
    for rule in rules:
        wanted = set(map(rule, spellings))
        found = [window for name, window in models.items() if rule(name) in wanted]
        if found:
            return reduce(providers.smaller, found)
    return None


def _is_younger(at: str, most: timedelta) -> bool:
    return timedelta() <= datetime.now(UTC) - datetime.fromisoformat(at) < most


def _key(provider: Provider) -> str:
    return f"{provider.id} {providers.address(provider)}"


def _dump(readings: Mapping[str, Reading]) -> bytes:
    said = {
        key: {
            "at": reading.at,
            "models": {name: [getattr(window, limit) for limit in _LIMITS] for name, window in reading.models.items()},
        }
        for key, reading in readings.items()
    }
    return json.dumps({"form": _FORM, "readings": said}, separators=(",", ":")).encode("ascii")


def _load(path: Path) -> dict[str, Reading]:
    """The cache; nothing where it is damaged, since it can be had again."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["form"] == _FORM:
            return {key: _reading(said) for key, said in document["readings"].items()}
    return {}


def _reading(said: Any) -> Reading:
    at = timestamps.parse(said["at"])
    if at is None:
        raise ValueError("no time")
    models = {
        name: Window(**dict(zip(_LIMITS, map(providers.limit, limits), strict=True)), source="live")
        for name, limits in said["models"].items()
    }
    return Reading(at=at, models=models)


def _users(path: Path) -> dict[str, Window]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise _unusable(path, "it cannot be read" if isinstance(error, OSError) else "it is no JSON") from error
    if not isinstance(document, dict):
        raise _unusable(path, "it is no JSON object")
    return {model: _said(path, model, entry) for model, entry in cast(dict[str, Any], document).items()}


def _said(path: Path, model: str, entry: Any) -> Window:
    limits = cast(dict[str, Any], entry) if isinstance(entry, dict) else {}
    for name, value in limits.items():
        if name not in _LIMITS or (value is not None and providers.limit(value) is None):
            raise _unusable(path, f"{name!r} of {model!r} is not one of {', '.join(_LIMITS)} with a number of tokens")
    window = Window(**limits, source="user")
    if window.context is None and window.max_input is None:
        raise _unusable(path, f"{model!r} has neither context nor max_input")
    return window


def _unusable(path: Path, why: str) -> ReadError:
    return ReadError(f"{path}: {why}", 'give it the form {"model id": {"context": 200000}}, or remove it')
