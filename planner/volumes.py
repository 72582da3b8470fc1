"""Which block volumes to attach: type and count that reach an instance's volume rate at the least price.

Volumes that were measured on an instance type (SoCC 2015, section 4.4) are planned with the measured rates; otherwise
the instance's volume link and the limits of one volume are what the cloud states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from planner.catalog import Catalog, VolumeType
from planner.rates import Device, evidence_codes

Floats = NDArray[np.float64]

_GIB: Final = 2**30
_MIB: Final = 2**20


@dataclass(frozen=True, kw_only=True, eq=False)
class VolumeChoice:
    """The volumes of one node for every instance type, each array of shape (T,): NaN and '' where none can be planned.

    A node pays `fixed_usd_per_hour` for what does not depend on capacity (throughput, the fee for a volume link) and
    `usd_per_byte_hour` for capacity, of which it can have `bytes_max`.
    """

    read: Floats
    write: Floats
    evidence: NDArray[np.int8]
    volume_type: NDArray[np.str_]
    count: Floats
    fixed_usd_per_hour: Floats
    usd_per_byte_hour: Floats
    bytes_max: Floats

    @property
    def device(self) -> Device:
        """The rates as a device that either reads or writes."""
        unknown = np.full(len(self.read), np.nan)
        return Device(read=self.read, write=self.write, simultaneous=unknown, evidence=self.evidence)


def choose_volumes(catalog: Catalog, *, region: str) -> VolumeChoice:
    """Return, for every type, measured volumes before stated ones, then the fastest, then the cheapest.

    Only volume types with stated prices and limits, whose rate does not depend on their size, are options.
    """
    options = [build(catalog, volume) for volume in catalog.volume_types.values() for build in (_measured, _stated)]
    if not options:
        return _nothing(len(catalog.instances))
    best = _take(options, _first_choice(options))
    fee = catalog.surcharges_usd_per_hour("volume_optimized", region)
    return replace(best, fixed_usd_per_hour=best.fixed_usd_per_hour + fee)


def _measured(catalog: Catalog, volume: VolumeType) -> VolumeChoice:
    read = catalog.volume_rates(volume.volume_type, "read_only")
    write = catalog.volume_rates(volume.volume_type, "write_only")
    evidence = np.maximum(evidence_codes(read.evidence), evidence_codes(write.evidence))
    count = catalog.instances.volumes_max
    return _option(
        catalog,
        volume,
        {"read": read.bytes_per_s, "write": write.bytes_per_s, "count": np.where(np.isnan(count), 1.0, count)},
        monthly_usd=np.zeros(len(count)),
        evidence=evidence,
    )


def _stated(catalog: Catalog, volume: VolumeType) -> VolumeChoice:
    """Enough volumes to fill the instance's link, more where the throughput that comes free with each is cheaper than
    bought.
    """
    link, most = catalog.instances.volume_bytes_per_s, catalog.instances.volumes_max
    cap, free = np.fmin(volume.read_bytes_per_s_max, volume.write_bytes_per_s_max), volume.free_bytes_per_s
    count = np.minimum(np.ceil(link / (free if free > 0 else np.nan)), most)
    rate = np.minimum(link, count * cap)
    bought = np.maximum(0.0, rate - count * free) / _MIB
    monthly = np.where(bought > 0, bought * volume.price_usd_per_mibps_month, 0.0 * bought)
    words = np.array([volume.price_evidence, volume.limit_evidence])
    evidence = np.maximum(evidence_codes(catalog.instances.evidence), evidence_codes(words).max())
    return _option(
        catalog, volume, {"read": rate, "write": rate, "count": count}, monthly_usd=monthly, evidence=evidence
    )


def _option(
    catalog: Catalog,
    volume: VolumeType,
    columns: dict[str, Floats],
    *,
    monthly_usd: Floats,
    evidence: NDArray[np.int8],
) -> VolumeChoice:
    """Blank out the types for which anything needed is unknown."""
    capacity_usd = volume.price_usd_per_gib_month / _GIB / catalog.hours_per_month
    known = ~np.isnan(columns["read"] + columns["write"] + columns["count"] + monthly_usd + capacity_usd)
    return VolumeChoice(
        **{name: np.where(known, values, np.nan) for name, values in columns.items()},
        evidence=np.where(known, evidence, -1).astype(np.int8),
        volume_type=np.where(known, volume.volume_type, ""),
        fixed_usd_per_hour=np.where(known, monthly_usd / catalog.hours_per_month, np.nan),
        usd_per_byte_hour=np.where(known, capacity_usd, np.nan),
        bytes_max=np.where(known, columns["count"] * volume.size_bytes_max, np.nan),
    )


def _first_choice(options: Sequence[VolumeChoice]) -> NDArray[np.intp]:
    """Return the index of the option to take for every type: options are in pairs of measured and stated."""
    rate = np.stack([np.minimum(option.read, option.write) for option in options])
    price = np.stack([option.usd_per_byte_hour * 1e12 + option.fixed_usd_per_hour for option in options])
    stated = np.broadcast_to((np.arange(len(options)) % 2)[:, None], rate.shape)
    order = np.lexsort(
        (np.nan_to_num(price, nan=np.inf), -np.nan_to_num(rate, nan=-1.0), stated, np.isnan(rate)), axis=0
    )
    first: NDArray[np.intp] = order[0]
    return first


def _take(options: Sequence[VolumeChoice], chosen: NDArray[np.intp]) -> VolumeChoice:
    def pick(name: str) -> Any:
        return np.take_along_axis(np.stack([getattr(option, name) for option in options]), chosen[None], axis=0)[0]

    return VolumeChoice(**{column.name: pick(column.name) for column in fields(VolumeChoice)})


def _nothing(size: int) -> VolumeChoice:
    unknown = np.full(size, np.nan)
    return VolumeChoice(
        read=unknown,
        write=unknown,
        evidence=np.full(size, -1, np.int8),
        volume_type=np.full(size, ""),
        count=unknown,
        fixed_usd_per_hour=unknown,
        usd_per_byte_hour=unknown,
        bytes_max=unknown,
    )
