"""Conversion of catalog rows to bytes/s per resource, for all types of a catalog at once.

A rate that is neither measured nor stated is NaN. The user's assumptions replace the catalog's values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from typing import Final

import numpy as np

from planner.arrays import Codes, Flags, Floats, Rows, Texts
from planner.catalog import EVIDENCE, Catalog, NetworkPoint
from planner.catalog.columns import AT_LEAST
from planner.catalog.facts import Rates as DiskRates
from planner.catalog.processors.burstable import ProcessorCredits
from planner.errors import BadInputError, nearest
from planner.statistics.scaling_curve import BAND_VALUES, ScalingCurve, prior_curve, stated_slowdowns


@dataclass(frozen=True, kw_only=True, eq=False)
class Network:
    """Network rates per node: a flat rate for each type, shape (T,), which also counts for traffic outside the cluster,
    and curves for the rows that were measured.

    Links with a token bucket run at `burst` until `bucket_bytes` more than the rate have gone; both NaN elsewhere.
    """

    flat: Floats
    evidence: Codes
    slowest_of_n: Flags
    burst: Floats
    bucket_bytes: Floats
    curves: Mapping[int, ScalingCurve] = field(default_factory=dict)
    stated: Flags
    """True for rates that are only documented: used unchanged in the equations; at scale expected to be lower by the
    scaling prior.
    """
    most: Floats
    """Stated maximum rate of a link (T,): NaN where unknown, or where the user gives the network's rate."""

    def at(self, rows: Rows, nodes: Floats) -> Floats:
        """Return bytes/s per node, shape (rows, nodes); (rows, 1) for `nodes` of each row (rows, 1)."""
        rates = np.repeat(self.flat[rows][:, None], nodes.shape[-1], axis=1)
        for row in set(rows.tolist()) & self.curves.keys():
            of_row = rows == row
            curve = self.curves[row]
            rates[of_row] = curve.at(nodes) if nodes.ndim == 1 else curve.each(nodes[of_row, 0])[:, None]
        return rates

    def slowdowns(self, row: int, nodes: Floats) -> Floats:
        """Return equally likely factors of the network's time at each of `nodes` (N,), shape (8, N) and rising, for a
        rate that is only stated, or measured on other sizes; no link exceeds the catalog's maximum.
        """
        if self.stated[row]:
            return stated_slowdowns(nodes)
        curve = self.curves[row]
        most = np.fmin(np.nan_to_num(curve.at(nodes) / self.most[row], nan=0.0), 1.0)
        slowdowns = np.maximum(curve.slowdowns_at(nodes, count=BAND_VALUES), most)
        return np.where(nodes < 2, 1.0, slowdowns)

    def ideal(self) -> Network:
        """Return the network without slowdown by the cluster's size: each type at the rate measured between the fewest
        nodes, or stated.
        """
        flat = self.flat.copy()
        for row, curve in self.curves.items():
            flat[row] = curve.bytes_per_s[0]
        return replace(self, flat=flat, curves={}, stated=np.zeros(len(flat), bool))

    def curve_of(self, row: int) -> ScalingCurve | None:
        """Return the curve whose band is the possible error of a type's rate at scale; None for a rate of unstated
        cluster size, or one assumed by the user.
        """
        return prior_curve() if self.stated[row] else self.curves.get(row)

    def evidence_at(self, row: int, nodes: int) -> str:
        """Return the evidence for the rate of one type at one cluster size: beyond its measured points it is
        extrapolated.
        """
        curve = self.curves.get(row)
        beyond = curve is not None and nodes > curve.measured_to_nodes
        return "extrapolated" if beyond else evidence_name(int(self.evidence[row]))


ASSUMABLE: Final = (
    "network", "local_read", "local_write", "volume_read", "volume_write", "object_read", "object_write",
    "partition", "sort", "price", "power",
)  # fmt: skip
"""Names that `--assume` can set: bytes/s per node, bytes/s per vCPU for `partition` and `sort`, USD per node-hour
all-in for `price`, watts per node for `power`.
"""

OF_TYPES: Final = ("network", "local_read", "local_write", "power")
"""Names of `ASSUMABLE` that may be of some types: `network:i4i.*` is of those that match the pattern."""


def assumed_of(assume: Mapping[str, float], name: str, catalog: Catalog) -> Floats:
    """Return what is assumed under a name of every type (T,): the first pattern that fits counts, then the bare name;
    NaN where nothing is.
    """
    stated = np.full(len(catalog.instances), assume.get(name, np.nan))
    for given in reversed([given for given in assume if given.startswith(f"{name}:")]):
        pattern = given.partition(":")[2]
        fits = [fnmatchcase(of_type, pattern) for of_type in catalog.instances.cloud_type.tolist()]
        stated[fits] = assume[given]
    return stated


UNLIMITED_BYTES_PER_S: Final = 1e15
"""A rate at which no cluster waits for its network."""

RESOURCES: Final = ("network", "local", "volumes", "objects", "cpu", "driver", "requests", "startup", "barriers")
"""Resources that a run can wait for and a what-if can speed up: besides rates, the driver that orders tasks, the
requests that an object store takes, boot, start-up and other one-time work, and barriers, where all nodes wait for the
slowest.
"""

MACHINES: Final = frozenset({"memory", "disks"})
"""What a what-if can give each machine more of: memory, and local disks, whose capacity and rate grow alike."""

SCALABLE: Final = (*RESOURCES, *sorted(MACHINES), "price", "data")
"""Quantities that a what-if can multiply by a factor."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Device:
    """A group of disks or volumes of one node, shape (T,): `read` and `write` are rates of one operation alone (times
    add); `simultaneous` is the rate of each direction with half the disks reading and half writing (it contains the
    sharing).
    """

    read: Floats
    write: Floats
    simultaneous: Floats
    evidence: Codes
    edges: tuple[Floats, Floats] | None = None
    """Factors (T,) of the rates that bound the middle 90%: NaN for rates that were not computed."""

    @property
    def known(self) -> Flags:
        """Types whose rates are known in either mode."""
        return ~np.isnan(self.simultaneous) | ~(np.isnan(self.read) | np.isnan(self.write))


@dataclass(frozen=True, kw_only=True, eq=False)
class Rates:
    """Rates of everything a phase can wait for, row i being type i of the catalog; CPU rates are bytes/s per vCPU: the
    sort's own, and for types on which sorting was measured `measured_sort_per_vcpu`, NaN elsewhere. `vcpu` counts those
    of the processor that the software was measured on: more than a type has where they are faster.
    """

    local: Device
    volumes: Device
    objects: Device
    network: Network
    vcpu: Floats
    credits: ProcessorCredits
    cpu_bytes_per_s_per_vcpu: Mapping[str, float]
    measured_sort_per_vcpu: Floats
    vcpu_sigma: Floats = field(default_factory=lambda: np.zeros(1))
    """Standard deviation of the logarithm of a virtual CPU's speed, (T,) or (1,) for all types."""
    cpu_evidence: str = "measured"
    """Evidence for the software's rates, `one_stream` and start-up included."""
    one_stream_bytes_per_s: float = float("inf")


def evidence_name(code: int) -> str:
    """Return the word for an evidence code, `unknown` for any other number."""
    return EVIDENCE[code] if code >= 0 else "unknown"


def evidence_codes(words: Texts) -> Codes:
    """Return the code of each word a catalog uses, its index in EVIDENCE; '' (unknown) is -1."""
    listed = words.tolist()
    codes = {word: EVIDENCE.index(word) if word else -1 for word in set(listed)}
    return np.array([codes[word] for word in listed], np.int8)


def weakest(*words: str) -> str:
    """Return the weakest of several evidence words."""
    return max(words, key=lambda word: EVIDENCE.index(word) if word in EVIDENCE else len(EVIDENCE))


_LEAST_BYTES_PER_S: Final = 1e3
_MOST_BYTES_PER_S: Final = 1e18


def check_rates(
    *, assume: Mapping[str, float], scale: Mapping[str, float], compute_bytes_per_s_per_vcpu: float | None
) -> None:
    """Raise BadInputError for a name that cannot be assumed or scaled, or an invalid rate or factor."""
    if compute_bytes_per_s_per_vcpu is not None:
        _check_rate(compute_bytes_per_s_per_vcpu, option="--compute")
    for name, amount in assume.items():
        if name not in ASSUMABLE and name.partition(":")[0] not in OF_TYPES:
            names = ", ".join(ASSUMABLE)
            raise BadInputError(
                f"assume {name}: unknown; what can be assumed is {names}.{quantity_meant(name, ASSUMABLE)}",
                code="unknown-word",
            )
        if name == "price" or name.startswith("power"):
            continue
        _check_rate(amount, option=f"assume {name}")
    for name, factor in scale.items():
        if name not in SCALABLE:
            names = ", ".join(SCALABLE)
            raise BadInputError(
                f"what-if {name}: unknown; what can be scaled is {names}.{quantity_meant(name, SCALABLE)}",
                code="unknown-word",
            )
        if not 0.001 <= factor < 1e6:
            raise BadInputError(
                f"what-if {name}={factor:g}: a factor must be positive, from 0.001 to below a million",
                code="out-of-range",
            )


_WORDS: Final = {
    "network": ("bandwidth", "net", "nic"),
    "local local_read local_write": ("disk", "hdd", "io", "nvme", "read", "ssd", "storage", "write"),
    "volumes volume_read volume_write": ("ebs", "volume"),
    "objects object_read object_write": ("bucket", "gcs", "object", "s3", "store"),
    "cpu sort": ("compute", "cores", "processors", "vcpu", "vcpus"),
    "memory": ("ram",),
    "price": ("cost", "costs", "usd"),
    "data": ("bytes", "input", "size"),
}
"""Words of users for what can be scaled or assumed."""


def quantity_meant(word: str, names: Sequence[str]) -> str:
    """Return a sentence with what a word means among quantities, else with the names of a similar spelling."""
    if word in ("count", "machines", "nodes", "workers"):
        return " --nodes 10 sets the number of nodes"
    meant = (of.split() for of, words in _WORDS.items() if word.casefold() in words)
    known = next(([name for name in of if name in names] for of in meant), [])
    return f" Did you mean {' or '.join(known)}?" if known else nearest(word, names)


def _check_rate(bytes_per_s: float, *, option: str) -> None:
    """Raise BadInputError for an impossible bytes/s: a typing mistake, with which a plan would take centuries."""
    if not _LEAST_BYTES_PER_S <= bytes_per_s <= _MOST_BYTES_PER_S:
        raise BadInputError(f"{option}: {bytes_per_s:g} B/s must lie between 1KB/s and 1EB/s", code="out-of-range")


def catalog_rates(
    catalog: Catalog,
    *,
    volumes: Device,
    objects: Device,
    cpu: Mapping[str, float],
    assume: Mapping[str, float],
    literal: bool = False,
) -> Rates:
    """Return the rates of all types of `catalog`, overridden by `assume`.

    `volumes` are the rates of the block volumes that would be bought (`block_volumes`), `objects` those of the object
    store; `cpu` is bytes/s per vCPU of each kind of work. Volumes assumed to be faster than those bought, or than the
    instance's link, are limited to these, unless assumptions are `literal` (the papers').
    """
    assumed_device = partial(_assumed_device, catalog, assume)
    assumed_volumes = assumed_device(volumes, prefix="volume")
    if not literal:
        assumed_volumes = replace(
            assumed_volumes,
            read=np.fmin(assumed_volumes.read, volumes.read),
            write=np.fmin(assumed_volumes.write, volumes.write),
        )
    return Rates(
        local=assumed_device(_local(catalog), prefix="local"),
        volumes=assumed_volumes,
        objects=assumed_device(objects, prefix="object"),
        network=_assumed_network(catalog, assume, literal=literal),
        vcpu=catalog.instances.vcpu,
        credits=catalog.processor_credits,
        cpu_bytes_per_s_per_vcpu={work: assume.get(work, rate) for work, rate in cpu.items()},
        measured_sort_per_vcpu=catalog.sort_bytes_per_s_per_vcpu,
    )


@lru_cache(maxsize=16)
def _local(catalog: Catalog) -> Device:
    """Return local disks. Disks only known to have kept up with a slower resource are planned never to be the
    bottleneck: `planner.planning.candidates.feasibility` leaves out layouts without a slower one.
    """
    read, write = catalog.disk_rates("read_only"), catalog.disk_rates("write_only")
    both = catalog.disk_rates("simultaneous")
    exclusive = np.maximum(evidence_codes(read.evidence), evidence_codes(write.evidence))
    bounds = [catalog.disk_bounds(mode) for mode in ("read_only", "write_only")]
    bounded = ~np.isnan(bounds[0] + bounds[1]) & np.isnan(read.bytes_per_s + write.bytes_per_s)
    return Device(
        read=np.where(bounded, np.inf, read.bytes_per_s),
        write=np.where(bounded, np.inf, write.bytes_per_s),
        simultaneous=both.bytes_per_s,
        edges=_edges(read, write, alone=np.isnan(both.bytes_per_s)),
        evidence=np.where(np.isnan(both.bytes_per_s), exclusive, evidence_codes(both.evidence)).astype(np.int8),
    )


def _edges(read: DiskRates, write: DiskRates, *, alone: Flags) -> tuple[Floats, Floats]:
    """Return the wider of the edges of reading and writing, for types for which they are known `alone`."""
    low = np.fmin(read.low_bytes_per_s / read.bytes_per_s, write.low_bytes_per_s / write.bytes_per_s)
    high = np.fmax(read.high_bytes_per_s / read.bytes_per_s, write.high_bytes_per_s / write.bytes_per_s)
    return np.where(alone, low, np.nan), np.where(alone, high, np.nan)


def _assumed_device(catalog: Catalog, assume: Mapping[str, float], device: Device, *, prefix: str) -> Device:
    """Apply assumed rates; a read or write rate replaces the simultaneous one, which shows nothing about either."""
    read, write = (assumed_of(assume, f"{prefix}_{way}", catalog) for way in ("read", "write"))
    given = ~np.isnan(read) | ~np.isnan(write)
    if not given.any():
        return device
    half, other = half_rates(device)
    edges = device.edges and (np.where(given, np.nan, device.edges[0]), np.where(given, np.nan, device.edges[1]))
    return replace(
        device,
        read=np.where(given, np.where(np.isnan(read), half, read), device.read),
        write=np.where(given, np.where(np.isnan(write), other, write), device.write),
        simultaneous=np.where(given, np.nan, device.simultaneous),
        evidence=np.where(given, EVIDENCE.index("assumed"), device.evidence).astype(np.int8),
        edges=None if given.all() else edges,
    )


def half_rates(device: Device) -> tuple[Floats, Floats]:
    """Return the rates of reading and writing (T,): while the other goes on, where that is known."""
    alone = np.isnan(device.simultaneous)
    return np.where(alone, device.read, device.simultaneous), np.where(alone, device.write, device.simultaneous)


def _assumed_network(catalog: Catalog, assume: Mapping[str, float], *, literal: bool) -> Network:
    """Return the network of every type, with an assumed rate in place of all that is known of it."""
    stated, known = assumed_of(assume, "network", catalog), _network(catalog, literal=literal)
    given = ~np.isnan(stated)
    return replace(
        known,
        flat=np.where(given, stated, known.flat),
        evidence=np.where(given, EVIDENCE.index("assumed"), known.evidence).astype(np.int8),
        slowest_of_n=known.slowest_of_n | given,
        burst=np.where(given, np.nan, known.burst),
        bucket_bytes=np.where(given, np.nan, known.bucket_bytes),
        curves={row: curve for row, curve in known.curves.items() if not given[row]},
        stated=known.stated & ~given,
        most=np.where(given, np.nan, known.most),
    )


def _network(catalog: Catalog, *, literal: bool) -> Network:
    size = len(catalog.instances)
    flat = catalog.instances.network_baseline_bytes_per_s.copy()
    evidence = np.where(np.isnan(flat), -1, evidence_codes(catalog.networks.evidence)).astype(np.int8)
    slowest, curves, stated = np.zeros(size, bool), {}, np.full(size, not literal)
    for instance_type, points in catalog.network_points.items():
        row = catalog.instances.index(instance_type)
        rates = [point for point in points if point.aggregate != AT_LEAST]
        if not rates:
            _keep_up(row, flat=flat, evidence=evidence, stated=stated)
            continue
        stated[row] = False
        chosen = _preferred(rates, near=bool(catalog.instances.placement_group[row]))
        flat[row] = min(point.bytes_per_s for point in chosen)
        evidence[row] = evidence_codes(np.array([point.evidence for point in chosen])).max()
        slowest[row] = any(point.aggregate == "slowest_of_n" for point in chosen)
        sized = [(point.nodes, point.bytes_per_s) for point in chosen if point.nodes is not None]
        if sized:
            curves[row] = ScalingCurve.through([n for n, _ in sized], [rate for _, rate in sized])
        else:  # measured on a cluster of unstated size: any other size is an extrapolation
            evidence[row] = max(evidence[row], EVIDENCE.index("extrapolated"))
    burst, tokens = _buckets(catalog)
    return Network(
        flat=flat,
        evidence=evidence,
        slowest_of_n=slowest,
        burst=burst,
        bucket_bytes=tokens,
        curves=curves,
        stated=stated,
        most=np.fmax(catalog.instances.network_baseline_bytes_per_s, catalog.instances.network_peak_bytes_per_s),
    )


def _keep_up(row: int, *, flat: Floats, evidence: Codes, stated: Flags) -> None:
    """Treat a link of no stated rate that kept up with a slower resource as never the bottleneck."""
    if np.isnan(flat[row]):
        flat[row], stated[row], evidence[row] = np.inf, False, EVIDENCE.index("derived")


def _buckets(catalog: Catalog) -> tuple[Floats, Floats]:
    """Return burst rates and bucket sizes; of several variants of network card the slowest, as any may be assigned."""
    burst, tokens = (np.full(len(catalog.instances), np.nan) for _ in range(2))
    for instance_type, variants in catalog.token_buckets.items():
        slowest = min(variants, key=lambda bucket: bucket.burst_bytes_per_s)
        row = catalog.instances.index(instance_type)
        burst[row], tokens[row] = slowest.burst_bytes_per_s, slowest.bucket_bytes
    return burst, tokens


def _preferred(points: Sequence[NetworkPoint], *, near: bool) -> list[NetworkPoint]:
    """Return points measured inside a placement group if the type allows one and there are any; else those without."""
    inside = [point for point in points if point.placement_group]
    outside = [point for point in points if not point.placement_group]
    return (inside or outside) if near else (outside or inside)


def time_s(amount: Floats, rate: Floats) -> Floats:
    """Divide, but moving nothing takes no time even at an unknown rate."""
    nothing = np.zeros(np.broadcast(amount, rate).shape)
    return np.divide(amount, rate, out=nothing, where=np.asarray(amount > 0))
