"""Rates of a node with one block volume, two, three ...: up to the capacity of its link, with the price of the rate.

Source: SoCC 2015, section 4.4 and Figure 10. One volume does not fill the link between a node and its volumes; once the
link is full, more volumes only add cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.catalog import Catalog, VolumeType
from planner.cost_model.rates import evidence_name
from planner.cost_model.volumes.block_volumes import most_bytes_per_s, stated_volumes

_COUNTS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


@dataclass(frozen=True, kw_only=True)
class VolumeCount:
    """`count` volumes of a type on one node: their joint rate (`bytes_per_s`, in each direction alone), the capacity of
    their link, and their hourly price at the least size that has the rate (None: not for sale, or unknown).

    `rated` is the origin of a volume's rate: `at its most`, `included` in its price, or as `measured` on the type.
    """

    instance_type: str
    volume_type: str
    rated: str
    count: int
    read_bytes_per_s: float
    write_bytes_per_s: float
    link_bytes_per_s: float
    usd_per_hour: float | None
    evidence: str


def volume_counts(catalog: Catalog, instance_type: str) -> list[VolumeCount]:
    """Return the rates of each of the catalog's volume types in growing numbers on an instance type, until the link is
    full or no more can be attached; empty where the rate of the link or of a volume is unknown.
    """
    volumes = catalog.volume_types.values()
    row = catalog.instances.index(instance_type)
    return [step for volume in volumes if catalog.can_attach(volume)[row] for step in _of_volume(catalog, volume, row)]


def counts_on(types: Iterable[tuple[str, str]], catalogs: Sequence[Catalog]) -> list[VolumeCount]:
    """Return the `volume_counts` of types, given as pairs of cloud and name, each once."""
    return [
        step
        for cloud, name in dict.fromkeys(types)
        for catalog in catalogs
        if catalog.cloud == cloud and name in catalog.instances.rows
        for step in volume_counts(catalog, name)
    ]


def _of_volume(catalog: Catalog, volume: VolumeType, row: int) -> Iterator[VolumeCount]:
    yield from _measured(catalog, volume, row)
    ways = {"at its most": most_bytes_per_s(volume), "included": float(volume.free_bytes_per_s)}
    link = float(catalog.instances.volume_bytes_per_s[row])
    for rated, bytes_per_s_each in ways.items():
        if not (0 < bytes_per_s_each < np.inf and link > 0):
            continue
        for count in _counts(catalog, row, fill=link / bytes_per_s_each):
            rate = min(link, count * bytes_per_s_each)
            yield _step(catalog, volume, row, rated=rated, count=count, rate=rate, bytes_per_s_each=bytes_per_s_each)


def _counts(catalog: Catalog, row: int, *, fill: float) -> list[int]:
    """Return the numbers of volumes to show: up to the one that fills the link, or as many as can be attached."""
    most = float(np.nan_to_num(catalog.instances.volumes_max[row], nan=max(_COUNTS)))
    last = int(min(most, np.ceil(fill - 1e-9)))
    return sorted({count for count in _COUNTS if count < last} | {last})


def _step(
    catalog: Catalog, volume: VolumeType, row: int, *, rated: str, count: int, rate: float, bytes_per_s_each: float
) -> VolumeCount:
    rate_each = np.full(len(catalog.instances), rate / count)
    alone = stated_volumes(catalog, volume, link=rate_each, bytes_per_s_each=bytes_per_s_each)
    usd_each = float(alone.fixed_usd_per_hour[row] + alone.bytes_min[row] * alone.usd_per_byte_hour[row])
    return VolumeCount(
        instance_type=str(catalog.instances.instance_type[row]),
        volume_type=volume.volume_type,
        rated=rated,
        count=count,
        read_bytes_per_s=rate,
        write_bytes_per_s=rate,
        link_bytes_per_s=float(catalog.instances.volume_bytes_per_s[row]),
        usd_per_hour=count * usd_each if np.isfinite(usd_each) else None,
        evidence=evidence_name(int(alone.evidence[row])),
    )


def _measured(catalog: Catalog, volume: VolumeType, row: int) -> Iterator[VolumeCount]:
    name, table = str(catalog.instances.instance_type[row]), catalog.tables["volume_rates"]
    of_type = (table["instance_type"] == name) & (table["volume_type"] == volume.volume_type)
    of_type &= ~np.isnan(table["bytes_per_s"])
    least = table["volumes_least"][of_type]
    if not of_type.any() or not np.isfinite(least).all():
        return
    read, write = (catalog.volume_rates(volume.volume_type, mode) for mode in ("read_only", "write_only"))
    yield VolumeCount(
        instance_type=name,
        volume_type=volume.volume_type,
        rated="measured",
        count=int(least.max()),
        read_bytes_per_s=float(read.bytes_per_s[row]),
        write_bytes_per_s=float(write.bytes_per_s[row]),
        link_bytes_per_s=float(catalog.instances.volume_bytes_per_s[row]),
        usd_per_hour=None,
        evidence=str(read.evidence[row]),
    )
