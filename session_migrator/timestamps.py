"""Times of every agent in one form: UTC text with milliseconds, ``2026-03-02T09:00:00.000Z``."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

_NUMERIC = re.compile(r"\s*\d{9,}(\.\d+)?\s*")
# Our own form already, and surely a moment after 1970.
_RENDERED = re.compile(r"20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse(value: Any) -> str | None:
    """Any client's time as UTC text, or None where it is no time.

    Takes ISO 8601 text, and numbers (or numeric text) in seconds, milliseconds, microseconds or
    nanoseconds since 1970; the unit is told by the size (years 1973 to 5138 are unambiguous).
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str) and _RENDERED.fullmatch(value):
        return value
    try:
        if isinstance(value, (int, float)):
            return _from_number(float(value))
        text = str(value).strip()
        if _NUMERIC.fullmatch(text):
            return _from_number(float(text))
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return render(moment) if moment > _EPOCH else None
    except (ValueError, OverflowError):
        return None


def _from_number(number: float) -> str | None:
    if not 0 < number < math.inf:
        return None
    while number > 1e11:
        number /= 1000
    return render(_EPOCH + timedelta(milliseconds=round(number * 1000)))


def render(moment: datetime) -> str:
    """An aware datetime as UTC text."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_datetime(timestamp: str) -> datetime:
    """The inverse of ``render``."""
    return datetime.fromisoformat(timestamp)


def to_milliseconds(timestamp: str) -> int:
    """A rendered time as milliseconds since 1970."""
    return round(to_datetime(timestamp).timestamp() * 1000)


def now() -> str:
    """The present moment."""
    return render(datetime.now(UTC))


def today() -> date:
    """The present day, where this machine is."""
    return date.today()
