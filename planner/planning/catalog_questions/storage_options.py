"""The cheapest storage of a catalog for given operations, bytes per second and data: on one type, or on any.

Covers volumes of every kind, one or several striped, and local disks. The question is from Lee & Fox (2019), section
III-F and Table VI, where 16,000 IOPS take 5,334 GB of gp2 and 267 GB on Oracle's cloud.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.arrays import Flags, Floats
from planner.catalog import Catalog, VolumeType
from planner.cost_model.prices import Offer
from planner.cost_model.rates import evidence_codes, evidence_name
from planner.cost_model.volumes.volume_sizes import SizedVolume, Unsuitable, sized
from planner.units import count_text

_MOST_STRIPED: Final = 32
"""Volumes tried together if a type does not state how many can be attached."""
_SAME: Final = 1e-3
"""More volumes must be cheaper by this share, since rounding to whole GiB alone makes a difference."""

_OPERATIONS_UNKNOWN: Final = "the type's limit of volume operations"


@dataclass(frozen=True, kw_only=True)
class Need:
    """Requirements for the storage of a node; 0 means no requirement."""

    iops: float = 0.0
    bytes_per_s: float = 0.0
    data_bytes: float = 0.0


@dataclass(frozen=True, kw_only=True)
class StorageOption:
    """Storage that meets the need, on the cheapest type that carries it. `size_gib_each` and the purchased figures are
    of one volume; None for local disks, whose price is the type's. `size_set_by` names the rule that set the size, or
    why no smaller type is enough.
    """

    catalog: str
    storage: str
    count: int
    size_gib_each: int | None
    bought_iops_each: float
    bought_mibps_each: float
    storage_usd_per_month: float
    instance_type: str
    usd_per_hour: float
    size_set_by: str
    evidence: str
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Excluded:
    """Storage of a catalog that does not meet the need, and why."""

    catalog: str
    storage: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class StorageAnswer:
    """Options of all catalogs, the cheapest first, and the storage left out."""

    options: tuple[StorageOption, ...]
    excluded: tuple[Excluded, ...]


def storage_options(
    offers: Sequence[tuple[Catalog, Offer]], need: Need, *, instance_type: str | None = None
) -> StorageAnswer:
    """Return the storage that meets `need` in each catalog, on `instance_type` or on any type."""
    options: list[StorageOption] = []
    excluded: list[Excluded] = []
    for catalog, offer in offers:
        wanted = np.ones(len(catalog.instances), bool)
        if instance_type is not None:
            wanted = catalog.instances.instance_type == instance_type
        wanted = wanted & np.isfinite(offer.price_usd_per_hour)
        for answer in (*_on_volumes(catalog, offer, need, wanted), _on_local_disks(catalog, offer, need, wanted)):
            (options if isinstance(answer, StorageOption) else excluded).append(answer)  # type: ignore[arg-type]
    return StorageAnswer(
        options=tuple(sorted(options, key=lambda option: (option.usd_per_hour, option.count))), excluded=tuple(excluded)
    )


def _on_volumes(catalog: Catalog, offer: Offer, need: Need, wanted: Flags) -> Iterator[StorageOption | Excluded]:
    """Yield a volume type's single volume, and its cheapest stripe if that is cheaper or a single one is not enough."""
    for volume in catalog.volume_types.values():
        able = wanted & catalog.can_attach(volume)
        if wanted.any() and not able.any():
            reason = "the family of the type cannot have it"
            yield Excluded(catalog=catalog.name, storage=volume.volume_type, reason=reason)
            continue
        single = _cheapest(catalog, offer, need, able, volume=volume, counts=range(1, 2))
        striped = _cheapest(catalog, offer, need, able, volume=volume, counts=range(2, _MOST_STRIPED + 1))
        if isinstance(single, StorageOption):
            yield single
        if isinstance(single, Excluded) or (
            isinstance(striped, StorageOption) and striped.usd_per_hour < single.usd_per_hour * (1 - 1e-9)
        ):
            yield striped


def _cheapest(
    catalog: Catalog, offer: Offer, need: Need, wanted: Flags, *, volume: VolumeType, counts: range
) -> StorageOption | Excluded:
    best: StorageOption | None = None
    reason = ""
    for count in counts:  # the reason of the most volumes counts: it is why no stripe is enough
        of_one = sized(
            volume, iops=need.iops / count, bytes_per_s=need.bytes_per_s / count, data_bytes=need.data_bytes / count
        )
        carriers, unknown = _carriers(catalog, need, wanted, count=count)
        if isinstance(of_one, Unsuitable):
            is_plain = "unknown" in of_one.reason
            reason = of_one.reason if is_plain else f"{of_one.reason}, also of {count} striped"
        elif not carriers.any():
            # Larger stripes do not need less of a type.
            reason = _why_not_carried(catalog, need, wanted, count=count)
            break
        else:
            option = _option(catalog, offer, volume, of_one, count=count, carriers=carriers, unknown=unknown)
            best = option if best is None or option.usd_per_hour < best.usd_per_hour * (1 - _SAME) else best
    return best or Excluded(catalog=catalog.name, storage=volume.volume_type, reason=reason)


def _carriers(catalog: Catalog, need: Need, wanted: Flags, *, count: int) -> tuple[Flags, Flags]:
    """Return the types whose limits allow `count` volumes, and those of them with an unknown limit of operations."""
    instances = catalog.instances
    most = np.where(np.isnan(instances.volumes_max), 1, instances.volumes_max)
    fast = (
        instances.volume_bytes_per_s >= need.bytes_per_s * (1 - 1e-9) if need.bytes_per_s else np.ones(len(most), bool)
    )
    unknown = np.isnan(instances.volume_iops) & (need.iops > 0)
    carriers = wanted & fast & (most >= count) & (unknown | ~(instances.volume_iops < need.iops))
    # Types known to be enough go before unknown ones.
    certain = carriers & ~unknown
    return (certain, np.zeros(len(most), bool)) if certain.any() else (carriers, unknown)


def _why_not_carried(catalog: Catalog, need: Need, wanted: Flags, *, count: int) -> str:
    """Return what the types lack to carry `count` volumes, for the requested type or for all."""
    instances = catalog.instances
    who = f"{instances.instance_type[wanted][0]}'s" if wanted.sum() == 1 else "no type's"
    limits = (
        (instances.volumes_max, count, "volumes", 1.0),
        (instances.volume_bytes_per_s, need.bytes_per_s, "MB/s of volumes", 1e6),
        (instances.volume_iops, need.iops, "operations of volumes", 1.0),
    )
    for limit, asked, what, unit in limits:
        stated = limit[wanted & np.isfinite(limit)]
        if asked and stated.size and stated.max() < asked * (1 - 1e-9):
            limit_text = f"{stated.max() / unit:,.0f} {what}"
            return f"{who} limit is {limit_text}" if who != "no type's" else f"no type does more than {limit_text}"
    if need.bytes_per_s and not np.isfinite(instances.volume_bytes_per_s[wanted]).any():
        return "how fast the volumes of " + ("any type" if who == "no type's" else who[:-2]) + " are is unknown"
    if not np.isfinite(instances.volumes_max[wanted]).any():
        return f"whether {count_text(count, 'volume')} can be attached is unknown"
    return f"no type is known to carry {count} of them at that rate"


def _option(
    catalog: Catalog,
    offer: Offer,
    volume: VolumeType,
    of_one: SizedVolume,
    *,
    count: int,
    carriers: Flags,
    unknown: Flags,
) -> StorageOption:
    fee = catalog.surcharges_usd_per_hour("volume_optimized", offer.region)
    price: Floats = np.where(carriers, offer.price_usd_per_hour + fee, np.inf)
    type_row = int(np.argmin(price))
    words = [volume.price_evidence, volume.limit_evidence, str(catalog.volume_limits.evidence[type_row])]
    monthly = count * of_one.usd_per_month
    return StorageOption(
        catalog=catalog.name,
        storage=volume.volume_type,
        count=count,
        size_gib_each=of_one.size_gib,
        bought_iops_each=of_one.bought_iops,
        bought_mibps_each=of_one.bought_mibps,
        storage_usd_per_month=monthly,
        instance_type=str(catalog.instances.instance_type[type_row]),
        usd_per_hour=float(price[type_row]) + monthly / catalog.hours_per_month,
        size_set_by=of_one.size_set_by,
        evidence=_weakest(words),
        unknown=tuple(filter(None, (of_one.unknown, _OPERATIONS_UNKNOWN if unknown[type_row] else ""))),
    )


def _on_local_disks(catalog: Catalog, offer: Offer, need: Need, wanted: Flags) -> StorageOption | Excluded:
    """Return the cheapest type whose own disks meet the need; an unknown rate does not."""
    instances = catalog.instances
    read, write = (catalog.disk_rates(mode) for mode in ("read_only", "write_only"))
    available = {
        "data": (instances.local_disks * instances.local_disk_bytes, need.data_bytes),
        "throughput": (np.minimum(read.bytes_per_s, write.bytes_per_s), need.bytes_per_s),
        "IOPS": (np.minimum(read.operations_per_s, write.operations_per_s), need.iops),
    }
    enough = {name: (amount >= asked) | (asked == 0) for name, (amount, asked) in available.items()}
    able = wanted & (instances.local_disks >= 1) & np.all(list(enough.values()), axis=0)
    if not able.any():
        reason = _why_not_on_disks(catalog, available, wanted)
        return Excluded(catalog=catalog.name, storage="local disks", reason=reason)
    type_row = int(np.argmin(np.where(able, offer.price_usd_per_hour, np.inf)))
    room = {name: amount[type_row] / asked for name, (amount, asked) in available.items() if asked}
    used = {"throughput": read.evidence[type_row], "IOPS": read.operations_evidence[type_row]}
    words = [str(word) for name, word in used.items() if available[name][1]]
    return StorageOption(
        catalog=catalog.name,
        storage="local disks",
        count=int(instances.local_disks[type_row]),
        size_gib_each=None,
        bought_iops_each=0.0,
        bought_mibps_each=0.0,
        storage_usd_per_month=0.0,
        instance_type=str(instances.instance_type[type_row]),
        usd_per_hour=float(offer.price_usd_per_hour[type_row]),
        size_set_by=min(room, key=lambda name: room[name], default="its smallest size"),
        evidence=_weakest([*words, str(instances.evidence[type_row])]),
    )


def _why_not_on_disks(catalog: Catalog, available: Mapping[str, tuple[Floats, float]], wanted: Flags) -> str:
    """Return what the disks of the only requested type lack; for many types, that no type's disks are enough."""
    if wanted.sum() != 1:
        return "no type is known to do it with its own disks"
    instances, row = catalog.instances, int(np.argmax(wanted))
    if not instances.local_disks[row] >= 1:
        is_unknown = np.isnan(instances.local_disks[row])
        return "how many disks it has is unknown" if is_unknown else "it has none"
    units = {"data": (1e9, "GB"), "throughput": (1e6, "MB/s"), "IOPS": (1.0, "IOPS")}
    for name, (amount, asked) in available.items():
        unit, what = units[name]
        if asked and np.isnan(amount[row]):
            return f"their {name} is unknown"
        if amount[row] < asked:
            return f"they have {amount[row] / unit:,.0f} {what}"
    return "no type is known to do it with its own disks"


def _weakest(words: Sequence[str]) -> str:
    return evidence_name(int(evidence_codes(np.array([word for word in words if word])).max()))


def has_requirements(need: Need) -> bool:
    """Return whether any requirement is set."""
    return not math.isclose(need.iops + need.bytes_per_s + need.data_bytes, 0.0)
