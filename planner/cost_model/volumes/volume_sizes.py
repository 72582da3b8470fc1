"""Size of a block volume, with the extras to buy, for given operations and bytes a second.

Operations and throughput come with a volume's size, with the volume, or are bought; a throughput may require bought
operations. Sizes are whole GiB, as volumes are sold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from planner.catalog import VolumeType

_GIB: Final = 2**30
_MIB: Final = 2**20


@dataclass(frozen=True, kw_only=True)
class SizedVolume:
    """A volume that meets the request: its size, the extras to buy, its price, and the rule that set its size.

    `unknown` names an unpublished figure that might require a larger one.
    """

    size_gib: int
    bought_iops: float
    bought_mibps: float
    usd_per_month: float
    size_set_by: str
    unknown: str = ""


@dataclass(frozen=True, kw_only=True)
class Unsuitable:
    """The reason why no volume of a type meets the request."""

    reason: str


def sized(volume: VolumeType, *, iops: float, bytes_per_s: float, data_bytes: float) -> SizedVolume | Unsuitable:
    """Return the smallest volume of a type that does `iops` and `bytes_per_s` and holds `data_bytes`, or why none can.

    0 means no requirement. A limit or price that is unknown and matters is a reason.
    """
    reason = next(_beyond(volume, iops=iops, bytes_per_s=bytes_per_s), "")
    if reason:
        return Unsuitable(reason=reason)
    operations = max(iops, _operations_for(volume, bytes_per_s))
    sizes = dict(_sizes(volume, iops=operations, bytes_per_s=bytes_per_s, data_bytes=data_bytes))
    rule, size = max(sizes.items(), key=lambda item: item[1])
    if volume.size_bytes_max < size * (1 - 1e-9):
        return Unsuitable(reason=f"{rule} needs {size / _GIB:,.0f} GiB, above its {volume.size_bytes_max / _GIB:,.0f}")
    size_gib = math.ceil(size / _GIB - 1e-9)
    bought_iops = max(0.0, operations - _nan_as_zero(volume.free_iops)) if volume.price_usd_per_iops_month > 0 else 0.0
    above_free = (bytes_per_s - _nan_as_zero(volume.free_bytes_per_s)) / _MIB
    bought_mibps = max(0.0, above_free) if volume.price_usd_per_mibps_month > 0 else 0.0
    usd = (
        size_gib * volume.price_usd_per_gib_month
        + bought_iops * _nan_as_zero(volume.price_usd_per_iops_month)
        + bought_mibps * _nan_as_zero(volume.price_usd_per_mibps_month)
    )
    if math.isnan(usd):
        return Unsuitable(reason="its price is unknown")
    unlimited = bought_iops > 0 and not volume.iops_per_gib > 0
    return SizedVolume(
        size_gib=size_gib,
        bought_iops=bought_iops,
        bought_mibps=bought_mibps,
        usd_per_month=usd,
        size_set_by=rule,
        unknown=f"how many operations a GiB of {volume.volume_type} may have" if unlimited else "",
    )


def _beyond(volume: VolumeType, *, iops: float, bytes_per_s: float) -> Iterator[str]:
    """Yield the requirements that one volume cannot meet, or is not known to."""
    if iops > 0:
        if math.isnan(volume.iops_max):
            yield "how many operations a volume does is unknown"
        elif iops > volume.iops_max * (1 + 1e-9):
            yield f"a volume does at most {volume.iops_max:,.0f} IOPS"
        elif not (_has_fixed_size(volume) or volume.iops_per_gib > 0 or volume.price_usd_per_iops_month > 0):
            yield "how its IOPS come with its size is unknown"
    if bytes_per_s > 0:
        most = min(volume.read_bytes_per_s_max, volume.write_bytes_per_s_max)
        if math.isnan(most) and not volume.bytes_per_s_per_gib > 0:
            yield "how fast a volume is is unknown"
        elif bytes_per_s > most * (1 + 1e-9):
            yield f"a volume does at most {most / 1e6:,.0f} MB/s"
        elif not (_has_fixed_size(volume) or _throughput_is_bought(volume) or _per_gib(volume) > 0):
            yield "what its throughput comes with is unknown"


def _sizes(volume: VolumeType, *, iops: float, bytes_per_s: float, data_bytes: float) -> Iterator[tuple[str, float]]:
    """Yield the least size (bytes) by each rule; of equal ones the first counts."""
    yield "data", data_bytes
    if iops > 0 and volume.iops_per_gib > 0:
        above = iops if not volume.price_usd_per_iops_month > 0 or iops > _nan_as_zero(volume.free_iops) else 0.0
        yield f"{volume.iops_per_gib:g} IOPS per GiB", above / volume.iops_per_gib * _GIB
    per_gib = volume.bytes_per_s_per_gib if _throughput_is_bought(volume) else _per_gib(volume)
    if per_gib > 0 and bytes_per_s > 0 and not _has_fixed_size(volume):
        yield "throughput per GiB", bytes_per_s / per_gib * _GIB
    yield "its smallest size", max(_nan_as_zero(volume.size_bytes_min), _GIB)


def _operations_for(volume: VolumeType, bytes_per_s: float) -> float:
    """Return the operations that a volume which sells them needs for this throughput."""
    sells = volume.price_usd_per_iops_month > 0 and volume.bytes_per_s_per_iops > 0
    return bytes_per_s / volume.bytes_per_s_per_iops if sells else 0.0


def _throughput_is_bought(volume: VolumeType) -> bool:
    return bool(
        volume.price_usd_per_mibps_month > 0
        or (volume.price_usd_per_iops_month > 0 and volume.bytes_per_s_per_iops > 0)
    )


def _per_gib(volume: VolumeType) -> float:
    """Return the throughput that comes with each GiB; of two rules the lower; 0 for none."""
    ways = [volume.bytes_per_s_per_gib, volume.iops_per_gib * volume.bytes_per_s_per_iops]
    return min([way for way in ways if way > 0], default=0.0)


def _has_fixed_size(volume: VolumeType) -> bool:
    return bool(volume.size_bytes_min == volume.size_bytes_max)


def _nan_as_zero(value: float) -> float:
    return 0.0 if math.isnan(value) else float(value)
