"""The water level at a harbour, as a sum of cosines."""

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

from tidetables.harbours import Harbour

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)

# Degrees an hour.
SPEED = {
    "m2": 28.9841042,
    "s2": 30.0,
    "n2": 28.4397295,
    "k1": 15.0410686,
    "o1": 13.9430356,
}


def level(harbour: Harbour, moment: datetime) -> float:
    """Metres above chart datum at an aware ``moment``."""
    hours = (moment - EPOCH) / timedelta(hours=1)
    return harbour.mean + sum(
        term.amplitude * math.cos(math.radians(SPEED[term.name] * hours - term.phase)) for term in harbour.constituents
    )


def day(harbour: Harbour, when: date, step: timedelta = timedelta(hours=1)) -> Iterator[tuple[datetime, float]]:
    """The level every ``step`` of a local day, midnight to midnight, both ends included."""
    start = datetime.combine(when, time(), harbour.zone)
    moment = start
    while moment <= start + timedelta(days=1):
        yield moment, level(harbour, moment)
        moment += step
