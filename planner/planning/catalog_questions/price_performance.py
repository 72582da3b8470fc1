"""Performance per dollar of each instance type: operations, bandwidth, arithmetic.

Sources: Scalyr, A Systematic Look at EC2 I/O (operations and bulk transfers per dollar, hourly rates without monthly
storage fees for local disks); Lee & Fox, section III-E and Figure 8 (price over measured FLOPS) and Table VI (volumes).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from planner.arrays import Floats, Texts
from planner.catalog import Catalog
from planner.cost_model.model import CostModel
from planner.cost_model.prices import Offer
from planner.cost_model.rates import evidence_codes, evidence_name
from planner.cost_model.run_overheads import RunOverheads
from planner.cost_model.volumes.block_volumes import choose_volumes
from planner.errors import BadInputError, nearest
from planner.planning.candidates.candidate_grid import build_grid
from planner.planning.request.region import Region
from planner.schemas.plan import Request
from planner.units import format_rate

MEASURES: Final = {
    "usd_per_op": "USD per operation of 4 KiB at random places, of 4 MiB for those named so",
    "usd_per_MBps": "USD per hour for each MB/s of the instance's storage",
    "usd_per_GFLOPS": "USD per hour for each GFLOP/s in double precision",
}
MODES: Final = ("read_only", "write_only", "simultaneous")
OPERATIONS: Final = {"read4K": 4096, "read4M": 4 << 20, "write4K": 4096, "write4M": 4 << 20, "write4K/64": 4096}
"""Scalyr's operations, with the bytes each moves."""

LINKS: Final = {"network": "network_baseline_bytes_per_s", "volume rate": "volume_bytes_per_s"}
"""What a type sustains for as long as asked: without bursts, and of all its volumes together."""

ALL_OPERATIONS: Final = "all"
_USUAL_BYTES: Final = 5e11
"""Bytes that a node's volumes hold when compared with included disks."""


@dataclass(frozen=True, kw_only=True)
class Worth:
    """One configuration: its hourly cost with storage, its performance, and the quotient."""

    catalog: str
    instance_type: str
    storage: str
    price_usd_per_hour: float
    rate: float
    value: float
    evidence: str
    operation: str = ""


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Configurations by value, the cheapest first; `left_out` counts the types without one, by reason."""

    by: str
    unit: str
    rows: tuple[Worth, ...]
    left_out: Mapping[str, int]


def rank(
    offers: Sequence[tuple[Catalog, Offer]],
    *,
    by: str,
    mode: str,
    operation: str | None = None,
    least: Mapping[str, float] = MappingProxyType({}),
) -> Ranking:
    """Rank the types of catalogs at the prices offered. `mode` is how the storage is driven, where that matters.

    `least` has the bytes/s that a type must sustain, by LINKS: types that do not, or may not, are left out.

    `operation`, one of OPERATIONS or "all", ranks measured small operations on disks and volumes by dollars per
    operation, without monthly fees for storage, as Scalyr did. Raises BadInputError for an unknown measure, mode or
    operation, and for operations in a mode that was never measured.
    """
    if by not in MEASURES:
        raise BadInputError(
            f"--by {by}: unknown.{nearest(by, list(MEASURES))} Known: {', '.join(MEASURES)}", code="unknown-word"
        )
    if mode not in MODES or (by == "usd_per_op" and mode == "simultaneous"):
        modes = MODES if by != "usd_per_op" else MODES[:2]
        raise BadInputError(f"--mode {mode}: {by} is ranked by {', '.join(modes)}", code="contradiction")
    if operation is not None and (by != "usd_per_op" or operation not in (*OPERATIONS, ALL_OPERATIONS)):
        raise BadInputError(
            f"--operation {operation}: with --by usd_per_op, one of {', '.join(OPERATIONS)}, all", code="contradiction"
        )
    rows: list[Worth] = []
    left_out: Counter[str] = Counter()
    for catalog, offer in offers:
        worths = [
            worth for choice in _choices(catalog, offer, by=by, mode=mode, operation=operation) for worth in choice
        ]
        left_out += _lacking(catalog, offer, {worth.instance_type for worth in worths})
        weak = _weak(catalog, least)
        rows += [worth for worth in worths if worth.instance_type not in weak]
        left_out += Counter(weak[name] for name in {worth.instance_type for worth in worths} & weak.keys())
    rows.sort(key=lambda worth: (worth.value, worth.catalog, worth.instance_type))
    return Ranking(by=by, unit=MEASURES[by], rows=tuple(rows), left_out=dict(+left_out))


def _choices(catalog: Catalog, offer: Offer, *, by: str, mode: str, operation: str | None) -> list[list[Worth]]:
    price = offer.price_usd_per_hour
    if by == "usd_per_GFLOPS":
        words = _evidence_of_compute(catalog)
        return [_worths(catalog, offer, "none", price=price, rate=catalog.flop_per_s / 1e9, words=words, per_hour=True)]
    if operation is not None:
        return [_small_operations(catalog, offer, OPERATIONS if operation == ALL_OPERATIONS else [operation])]
    local = catalog.disk_rates(mode)
    if by == "usd_per_op":
        return _random_operations(catalog, offer, mode=mode)
    rate = local.bytes_per_s / 1e6
    on_disks = _worths(catalog, offer, "local", price=price, rate=rate, words=local.evidence, per_hour=True)
    return [on_disks] if mode == "simultaneous" else [on_disks, _on_volumes(catalog, offer, mode=mode)]


def _random_operations(catalog: Catalog, offer: Offer, *, mode: str) -> list[list[Worth]]:
    """Return stated or measured operations of 4 KiB on disks and volumes; if there are none, `read4K` of small-io."""
    rates_of = {"local": catalog.disk_rates(mode)}
    rates_of |= {name: catalog.volume_rates(name, mode) for name in catalog.volume_types}
    worths = [
        _worths(
            catalog,
            offer,
            name,
            price=_with_fee(catalog, offer, on_volumes=name != "local"),
            rate=rates.operations_per_s,
            words=rates.operations_evidence,
            per_hour=False,
        )
        for name, rates in rates_of.items()
    ]
    ranked = {_what(worth) for row in worths for worth in row}
    small = _small_operations(catalog, offer, ["read4K"]) if mode == "read_only" else []
    return [*worths, [worth for worth in small if _what(worth) not in ranked]]


def _what(worth: Worth) -> tuple[str, str]:
    """Return the type and the kind of storage; for `4 x gp3`, the kind is `gp3`."""
    return worth.instance_type, worth.storage.rpartition(" x ")[2]


def _with_fee(catalog: Catalog, offer: Offer, *, on_volumes: bool) -> Floats:
    fee = catalog.surcharges_usd_per_hour("volume_optimized", offer.region)
    return offer.price_usd_per_hour + (fee if on_volumes else 0.0)


def _small_operations(catalog: Catalog, offer: Offer, operations: Collection[str]) -> list[Worth]:
    """Return a row for each measured operation on each storage: the first if a type has several."""
    worths: dict[tuple[str, str, str], Worth] = {}
    for row in catalog.tables["small_io"].rows():
        volume, type_row = row["volume_type"], catalog.instances.index(row["instance_type"])
        price = float(_with_fee(catalog, offer, on_volumes=bool(volume))[type_row])
        if row["operation"] not in operations or not np.isfinite(price):
            continue
        storage = f"{row['volumes']:.0f} x {volume}" if volume else "local"
        rate = row["bytes_per_s"] / OPERATIONS[row["operation"]]
        worth = Worth(
            catalog=catalog.name,
            instance_type=row["instance_type"],
            storage=storage,
            price_usd_per_hour=price,
            rate=rate,
            value=price / rate / 3600,
            evidence=_weaker(row["evidence"], offer.evidence[type_row]),
            operation=row["operation"],
        )
        worths.setdefault((worth.instance_type, storage, worth.operation), worth)
    return list(worths.values())


def _on_volumes(catalog: Catalog, offer: Offer, *, mode: str) -> list[Worth]:
    """Return volumes as the planner would choose them, with at least _USUAL_BYTES; the price includes them."""
    chosen = choose_volumes(catalog, region=offer.region, price_usd_per_hour=offer.price_usd_per_hour)
    capacity_usd = np.maximum(chosen.bytes_min, _USUAL_BYTES) * chosen.usd_per_byte_hour
    price = offer.price_usd_per_hour + chosen.fixed_usd_per_hour + capacity_usd
    rate = (chosen.read if mode == "read_only" else chosen.write) / 1e6
    words = np.array([evidence_name(int(code)) for code in chosen.evidence])
    names = np.array(
        [f"{count:.0f} x {name}" if name else "" for count, name in zip(chosen.count, chosen.volume_type, strict=True)]
    )
    return _worths(catalog, offer, names, price=price, rate=rate, words=words, per_hour=True)


def _worths(
    catalog: Catalog, offer: Offer, storage: str | Texts, *, price: Floats, rate: Floats, words: Texts, per_hour: bool
) -> list[Worth]:
    value = price / rate / (1 if per_hour else 3600)
    names = catalog.instances.instance_type
    return [
        Worth(
            catalog=catalog.name,
            instance_type=str(names[type_row]),
            storage=storage if isinstance(storage, str) else str(storage[type_row]),
            price_usd_per_hour=float(price[type_row]),
            rate=float(rate[type_row]),
            value=float(value[type_row]),
            evidence=_weaker(str(words[type_row]), offer.evidence[type_row]),
        )
        for type_row in np.flatnonzero(np.isfinite(value)).tolist()
    ]


def _evidence_of_compute(catalog: Catalog) -> Texts:
    table, words = catalog.tables["compute"], np.full(len(catalog.instances), "", dtype="U16")
    words[[catalog.instances.rows[name] for name in table["instance_type"].tolist()]] = table["evidence"]
    return words


def _weak(catalog: Catalog, least: Mapping[str, float]) -> dict[str, str]:
    """Return the types that do not sustain what is asked, and why each is left out."""
    weak: dict[str, str] = {}
    for link, asked in least.items():
        sustained = getattr(catalog.instances, LINKS[link])
        for row in np.flatnonzero(~(sustained >= asked)).tolist():
            what = "unknown" if np.isnan(sustained[row]) else f"below {format_rate(asked)}"
            weak.setdefault(str(catalog.instances.instance_type[row]), f"{catalog.name}: sustained {link} {what}")
    return weak


def _weaker(first: str, second: str) -> str:
    """Return the weaker evidence; a price stated by the cloud counts as the strongest."""
    codes = evidence_codes(np.array([first, second if second not in ("spec", "derived") else "measured"]))
    return evidence_name(int(codes.max()))


def _lacking(catalog: Catalog, offer: Offer, ranked: set[str]) -> Counter[str]:
    unpriced = np.isnan(offer.price_usd_per_hour)
    lacking: Counter[str] = Counter()
    for type_row, name in enumerate(catalog.instances.instance_type.tolist()):
        if name not in ranked:
            lacking[f"{catalog.name}: {'price' if unpriced[type_row] else 'rate'} unknown"] += 1
    return lacking


_DATA_BYTES: Final = 1
"""Data size small enough for every type, since whether facts are known does not depend on the size."""


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """`usable` of `types` have every fact that the model needs; `reasons` counts the others' first missing fact."""

    catalog: str
    model: str
    types: int
    usable: int
    reasons: Mapping[str, int]


def coverage(catalog: Catalog, models: Sequence[CostModel], *, overheads: RunOverheads) -> list[Coverage]:
    """Return a row for each model, at the on-demand prices of the catalog's default region."""
    return [_of_model(catalog, model, overheads) for model in models] if catalog.regions() else []


def _of_model(catalog: Catalog, model: CostModel, overheads: RunOverheads) -> Coverage:
    request = Request(data_bytes=_DATA_BYTES, model=model.name, max_nodes=3, previous_generations=True)
    grid, lacking = build_grid(
        request, model=model, region=Region.of(request, catalog, catalog.default_region), overheads=overheads
    )
    plannable = len(grid.rows_of_types())
    reasons = Counter(rejection.reason for rejection in lacking)
    return Coverage(
        catalog=catalog.name,
        model=model.name,
        types=len(catalog.instances),
        usable=plannable,
        reasons=dict(reasons.most_common()),
    )
