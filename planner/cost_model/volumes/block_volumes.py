"""Choice of block volumes: type, count and least size that reach a rate at the least price.

Volumes measured on an instance type (SoCC 2015, section 4.4) are planned with the measured rates, others with the
cloud's figures for the instance's volume link and one volume. A volume's rate comes with the volume, with its size
(directly, or as operations), or is bought. Burst credit raises a volume's rate above that of its size until the credit
is spent. A node may move `VolumeChoice.credit_bytes` before that; clusters that would move more are not planned on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import chain
from typing import Any, Final

import numpy as np

from planner.arrays import Codes, Flags, Floats, Rows, Texts
from planner.catalog import Catalog, VolumeType
from planner.cost_model.rates import Device, evidence_codes

_GIB: Final = 2**30
_MIB: Final = 2**20

_USUAL_BYTES_PER_NODE: Final = 5e11
"""Bytes assumed on a node when comparing volumes of different price per byte and per rate."""

_SHARES: Final = (1.0, 0.5)
"""Shares of an instance's volume link to try: if the NIC is slower, a full link only adds cost."""


@dataclass(frozen=True, kw_only=True, eq=False)
class VolumeChoice:
    """The volumes of one node for every instance type, each array of shape (T,): NaN and '' where none can be planned.

    A node pays `fixed_usd_per_hour` regardless of capacity (throughput, the fee for a volume link) and
    `usd_per_byte_hour` for capacity, of which it must have `bytes_min` for the rate and can have `bytes_max`. It may
    move `credit_bytes` at these rates before burst credit is spent: inf where none is used.
    """

    read: Floats
    write: Floats
    evidence: Codes
    volume_type: Texts
    count: Floats
    fixed_usd_per_hour: Floats
    usd_per_byte_hour: Floats
    bytes_min: Floats
    bytes_max: Floats
    credit_bytes: Floats

    @property
    def on_credit(self) -> Flags:
        """Types whose rates last only until a node has moved `credit_bytes`."""
        return np.isfinite(self.credit_bytes)

    def where(self, chosen: Flags, other: VolumeChoice) -> VolumeChoice:
        """Return this choice for the `chosen` types (T,), and the other one for the rest."""
        return VolumeChoice(
            **{f.name: np.where(chosen, getattr(self, f.name), getattr(other, f.name)) for f in fields(VolumeChoice)}
        )

    @property
    def device(self) -> Device:
        """The rates as a device that either reads or writes."""
        unknown = np.full(len(self.read), np.nan)
        return Device(read=self.read, write=self.write, simultaneous=unknown, evidence=self.evidence)


def choose_volumes(
    catalog: Catalog,
    *,
    region: str,
    price_usd_per_hour: Floats,
    with_credit: bool = False,
    wanted_bytes_per_s: float | None = None,
) -> VolumeChoice:
    """Return volumes for every type: measured before stated ones, then by least dollars per byte moved, the instance's
    price (T,) included; where no rate is known, volumes with a price, for use with an assumed rate.

    Volumes that are fast only on burst credit are considered `with_credit`. For `wanted_bytes_per_s`, a rate assumed by
    the user, return as many volumes as that rate takes, within the instance's link.
    """
    every = _options(catalog, wanted_bytes_per_s)
    options = [(order, choice) for order, on_credit, choice in every if with_credit or not on_credit]
    if not options:
        return _nothing(len(catalog.instances))
    best = _take([choice for _, choice in options], _first_choice(options, price_usd_per_hour))
    fee = catalog.surcharges_usd_per_hour("volume_optimized", region)
    return replace(best, fixed_usd_per_hour=best.fixed_usd_per_hour + fee)


def has_credit(catalog: Catalog) -> bool:
    """Return whether any volume type of a catalog has burst credit."""
    return any(_burst(volume) > 0 for volume in catalog.volume_types.values())


@lru_cache(maxsize=16)
def _options(catalog: Catalog, wanted_bytes_per_s: float | None) -> tuple[tuple[int, bool, VolumeChoice], ...]:
    """Return the options of all volume types, regardless of region: each with its order of preference, 0 measured, 1
    stated, 2 without a rate, and whether it is fast only on burst credit.
    """
    volumes = catalog.volume_types.values()
    return tuple(chain.from_iterable(_options_of(catalog, volume, wanted_bytes_per_s) for volume in volumes))


def _options_of(
    catalog: Catalog, volume: VolumeType, wanted_bytes_per_s: float | None
) -> Iterator[tuple[int, bool, VolumeChoice]]:
    link = catalog.instances.volume_bytes_per_s
    if wanted_bytes_per_s is None:
        yield 0, False, _measured(catalog, volume)
        links = [link * share for share in _SHARES]
    else:
        links = [np.fmin(link, wanted_bytes_per_s)]
    for rate in links:
        for bytes_per_s_each in {most_bytes_per_s(volume), volume.free_bytes_per_s}:
            if 0 < bytes_per_s_each < np.inf:
                yield 1, False, stated_volumes(catalog, volume, link=rate, bytes_per_s_each=bytes_per_s_each)
        if _burst(volume) > 0:
            yield 1, True, _bursting(catalog, volume, link=rate)
    if np.isnan(volume.price_usd_per_mibps_month) and np.isnan(volume.price_usd_per_iops_month):
        yield 2, False, _unrated(catalog, volume)


def _measured(catalog: Catalog, volume: VolumeType) -> VolumeChoice:
    read = catalog.volume_rates(volume.volume_type, "read_only")
    write = catalog.volume_rates(volume.volume_type, "write_only")
    count = _measured_count(catalog, volume)
    return _option(
        catalog,
        volume,
        {"read": read.bytes_per_s, "write": write.bytes_per_s, "count": count},
        monthly_usd=np.zeros(len(count)),
        bytes_min=count * np.nan_to_num(volume.size_bytes_min),
        evidence=np.maximum(evidence_codes(read.evidence), evidence_codes(write.evidence)),
    )


def _measured_count(catalog: Catalog, volume: VolumeType) -> Floats:
    """Return the number of volumes for the measured rate, where known; else the most that can be attached, or one."""
    most = catalog.instances.volumes_max
    count = np.where(np.isnan(most), 1.0, most)
    table = catalog.tables["volume_rates"]
    for row in table.rows(np.flatnonzero(table["volume_type"] == volume.volume_type)):
        if np.isfinite(row["volumes_least"] + row["bytes_per_s"]):
            count[catalog.instances.index(row["instance_type"])] = row["volumes_least"]
    return count


def stated_volumes(catalog: Catalog, volume: VolumeType, *, link: Floats, bytes_per_s_each: float) -> VolumeChoice:
    """Return enough volumes of `bytes_per_s_each` to fill `link` bytes/s (T,); rate beyond that included is bought, or
    comes with size.
    """
    most = catalog.instances.volumes_max
    count = np.minimum(np.ceil(link / bytes_per_s_each), np.where(np.isnan(most), 1.0, most))
    rate = np.minimum(link, count * most_bytes_per_s(volume))
    missing = np.maximum(0.0, rate - count * np.nan_to_num(volume.free_bytes_per_s))
    smallest = count * np.nan_to_num(volume.size_bytes_min)
    if not np.isnan(volume.price_usd_per_mibps_month):
        monthly, bytes_min = missing / _MIB * volume.price_usd_per_mibps_month, smallest
        if volume.bytes_per_s_per_gib > 0:
            bytes_min = rate / volume.bytes_per_s_per_gib * _GIB
        if np.isfinite(volume.free_iops + volume.bytes_per_s_per_iops):
            operations_usd, for_operations = _provisioned(volume, rate=rate, count=count)
            monthly, bytes_min = monthly + operations_usd, np.maximum(bytes_min, for_operations)
    elif not np.isnan(volume.price_usd_per_iops_month):
        monthly, bytes_min = _provisioned(volume, rate=rate, count=count)
    elif _grows_with_size(volume):
        monthly, bytes_min = np.zeros(len(rate)), missing / _per_byte(volume)
    else:
        fixed = volume.size_bytes_min == volume.size_bytes_max
        monthly, bytes_min = np.where(fixed | (missing == 0), 0.0, np.nan), smallest
    words = np.array([volume.price_evidence, volume.limit_evidence])
    return _option(
        catalog,
        volume,
        {"read": rate, "write": rate, "count": count},
        monthly_usd=monthly,
        bytes_min=np.maximum(bytes_min, smallest),
        evidence=np.maximum(evidence_codes(catalog.volume_limits.evidence), evidence_codes(words).max()),
    )


def _bursting(catalog: Catalog, volume: VolumeType, *, link: Floats) -> VolumeChoice:
    """Return enough volumes at their burst rate to fill `link` bytes/s (T,), as small as that allows.

    Above the rate that their size sustains they spend credit: a fraction of all bytes moved, taken at its largest, that
    of the smallest size.
    """
    most = catalog.instances.volumes_max
    count = np.minimum(np.ceil(link / _burst(volume)), np.where(np.isnan(most), 1.0, most))
    rate = np.minimum(link, count * _burst(volume))
    bytes_min = count * np.nan_to_num(volume.size_bytes_min)
    if not np.isnan(volume.burst_bytes_per_s_per_gib):
        bytes_min = np.maximum(bytes_min, rate / volume.burst_bytes_per_s_per_gib * _GIB)
    credit = count * np.nan_to_num(volume.credit_bytes) + bytes_min / _GIB * np.nan_to_num(volume.credit_bytes_per_gib)
    spending = np.maximum(0.0, 1 - _per_byte(volume) * bytes_min / rate)
    words = np.array([volume.price_evidence, volume.limit_evidence, volume.burst_evidence])
    option = _option(
        catalog,
        volume,
        {"read": rate, "write": rate, "count": count},
        monthly_usd=np.zeros(len(rate)),
        bytes_min=bytes_min,
        evidence=np.maximum(evidence_codes(catalog.volume_limits.evidence), evidence_codes(words).max()),
    )
    lasts = np.divide(credit, spending, out=np.full(len(rate), np.inf), where=spending > 0)
    return replace(option, credit_bytes=lasts)


def _burst(volume: VolumeType) -> float:
    """Return the rate of one volume while its credit lasts; 0 without credit."""
    if not (volume.credit_bytes > 0 or volume.credit_bytes_per_gib > 0):
        return 0.0
    largest = volume.burst_bytes_per_s_per_gib * volume.size_bytes_max / _GIB
    return min(most_bytes_per_s(volume), float(np.nan_to_num(np.fmax(volume.burst_bytes_per_s, largest))))


def _provisioned(volume: VolumeType, *, rate: Floats, count: Floats) -> tuple[Floats, Floats]:
    """Buy operations: return their monthly price, and the least size that allows them."""
    operations = rate / volume.bytes_per_s_per_iops
    bought = np.maximum(0.0, operations - count * np.nan_to_num(volume.free_iops))
    size = operations / volume.iops_per_gib * _GIB if volume.iops_per_gib > 0 else np.zeros(len(rate))
    return bought * volume.price_usd_per_iops_month, size


def _unrated(catalog: Catalog, volume: VolumeType) -> VolumeChoice:
    """Return one volume of a priced type with an unknown rate on every instance."""
    ones = np.ones(len(catalog.instances))
    option = _option(
        catalog,
        volume,
        {"read": ones, "write": ones, "count": ones},
        monthly_usd=0 * ones,
        bytes_min=ones * np.nan_to_num(volume.size_bytes_min),
        evidence=np.full(len(ones), -1, np.int8),
    )
    unknown = np.full(len(ones), np.nan)
    return replace(option, read=unknown, write=unknown)


def most_bytes_per_s(volume: VolumeType) -> float:
    """Return the highest rate of one volume, in the slower direction."""
    by_operations = volume.iops_max * volume.bytes_per_s_per_iops
    return float(np.nanmin([volume.read_bytes_per_s_max, volume.write_bytes_per_s_max, by_operations, np.inf]))


def _per_byte(volume: VolumeType) -> float:
    """Return the rate that comes with each byte of size; of two limits the lower; 0 for none."""
    ways = [volume.bytes_per_s_per_gib, volume.iops_per_gib * volume.bytes_per_s_per_iops]
    stated = [way for way in ways if way > 0]
    return min(stated) / _GIB if stated else 0.0


def _grows_with_size(volume: VolumeType) -> bool:
    return _per_byte(volume) > 0 and bool(np.isnan(volume.price_usd_per_iops_month))


def _option(
    catalog: Catalog,
    volume: VolumeType,
    columns: dict[str, Floats],
    *,
    monthly_usd: Floats,
    bytes_min: Floats,
    evidence: Codes,
) -> VolumeChoice:
    """Blank out types that lack a figure, cannot have the volume, or would need too large a one."""
    capacity_usd = volume.price_usd_per_gib_month / _GIB / catalog.hours_per_month
    bytes_max = columns["count"] * volume.size_bytes_max
    complete = np.isfinite(
        columns["read"] + columns["write"] + columns["count"] + monthly_usd + capacity_usd + bytes_min
    )
    plannable = complete & (bytes_min <= bytes_max * (1 + 1e-9)) & catalog.can_attach(volume)
    return VolumeChoice(
        **{name: np.where(plannable, values, np.nan) for name, values in columns.items()},
        evidence=np.where(plannable, evidence, -1).astype(np.int8),
        volume_type=np.where(plannable, volume.volume_type, ""),
        fixed_usd_per_hour=np.where(plannable, monthly_usd / catalog.hours_per_month, np.nan),
        usd_per_byte_hour=np.where(plannable, capacity_usd, np.nan),
        bytes_min=np.where(plannable, bytes_min, np.nan),
        bytes_max=np.where(plannable, bytes_max, np.nan),
        credit_bytes=np.full(len(plannable), np.inf),
    )


def _first_choice(options: Sequence[tuple[int, VolumeChoice]], price_usd_per_hour: Floats) -> Rows:
    """Return the index of the option to take for every type."""
    choices = [choice for _, choice in options]
    preference = np.array([float(order) for order, _ in options])[:, None]
    rate = np.stack([2 / (1 / choice.read + 1 / choice.write) for choice in choices])
    held_bytes = [np.maximum(choice.bytes_min, _USUAL_BYTES_PER_NODE) for choice in choices]
    volumes = [c.usd_per_byte_hour * size + c.fixed_usd_per_hour for c, size in zip(choices, held_bytes, strict=True)]
    hourly = np.stack(volumes) + np.nan_to_num(price_usd_per_hour)
    unknown = np.isnan(hourly)
    dollars = np.nan_to_num(np.where(np.isnan(rate), hourly, hourly / rate), nan=np.inf)
    left = unknown == unknown.all(axis=0)
    for key in (np.broadcast_to(preference, rate.shape), dollars):
        left &= key <= np.min(key, axis=0, where=left, initial=np.inf)
    return np.asarray(np.argmax(left, axis=0))


def _take(options: Sequence[VolumeChoice], chosen: Rows) -> VolumeChoice:
    def pick(name: str) -> Any:
        return np.take_along_axis(np.stack([getattr(option, name) for option in options]), chosen[None], axis=0)[0]

    return VolumeChoice(**{column.name: pick(column.name) for column in fields(VolumeChoice)})


def _nothing(size: int) -> VolumeChoice:
    unknown = np.full(size, np.nan)
    special = {
        "evidence": np.full(size, -1, np.int8),
        "volume_type": np.full(size, ""),
        "credit_bytes": np.full(size, np.inf),
    }
    return VolumeChoice(**{f.name: special.get(f.name, unknown) for f in fields(VolumeChoice)})
