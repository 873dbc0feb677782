"""The harbours and their harmonic constituents."""

import csv
from dataclasses import dataclass
from datetime import timedelta, timezone
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data" / "harbours.csv"
CONSTITUENTS = ("m2", "s2", "n2", "k1", "o1")


@dataclass(frozen=True)
class Constituent:
    """One cosine term: its name, amplitude in metres and phase in degrees."""

    name: str
    amplitude: float
    phase: float


@dataclass(frozen=True)
class Harbour:
    """A place with a tide; ``mean`` is the mean level in metres above chart datum."""

    id: str
    name: str
    country: str
    zone: timezone
    mean: float
    constituents: tuple[Constituent, ...]


class UnknownHarbour(LookupError):
    """No harbour has this id."""


def load(path: Path = DATA) -> dict[str, Harbour]:
    """All harbours of the CSV file, by id."""
    with path.open(encoding="utf-8", newline="") as file:
        return {row["id"]: _harbour(row) for row in csv.DictReader(file)}


def find(harbour_id: str, path: Path = DATA) -> Harbour:
    """The harbour with this id. Raises ``UnknownHarbour``."""
    harbours = load(path)
    if harbour_id not in harbours:
        raise UnknownHarbour(f"no harbour {harbour_id!r}; known: {', '.join(sorted(harbours))}")
    return harbours[harbour_id]


def _harbour(row: dict[str, str]) -> Harbour:
    terms = tuple(Constituent(name, float(row[name]), float(row[f"{name}_phase"])) for name in CONSTITUENTS)
    zone = timezone(timedelta(hours=int(row["utc_offset"])))
    return Harbour(row["id"], row["name"], row["country"], zone, float(row["mean"]), terms)
