"""The evidence behind a cluster's rates, in one table: how far each may be wrong for a whole type (doubt), how it
differs between nodes (spread), and what is assumed where nobody states a fact. `caveats` has what a plan says of it.

Doubt depends on the evidence. Measured rates are not doubted here, as `RunOverheads.shared_sigma` covers the errors of
plans from measured rates; nor are rates assumed by the user. Every other rate is at least as doubtful as one stated by
the cloud; if claims of its kind were never compared with results, as doubtful as the worst that were. A rate computed
from similar disks is as doubtful as its range in the catalog. Rates faster than claimed are not counted on. Only
decoding time is assumed, and is as likely to be less as more.

By default a cluster is excluded if its machine's shape, rates or price are unknown: they differ by factors between
types, so that an assumed one would decide the ranking. Facts about its surroundings are assumed, since they differ less
and their range shows in the 95%.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Final, TypeVar

import numpy as np

from planner.arrays import Flags, Floats, Rows
from planner.catalog import EVIDENCE, Catalog, Straggler
from planner.catalog.loading import outside_charges
from planner.catalog.shipped_tables import EIGHTHS, load_spreads
from planner.config.paths import catalogs_directory
from planner.cost_model.rates import Device, Network, Rates, assumed_of
from planner.statistics.order_statistics import Spread, lognormal, with_tail


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A kind of rate: its entry in `RunOverheads.node_sigma`, the file of a catalog with measured variation, the part
    of `Rates` that has it, and the first word of its names in `--assume` and of the stragglers that slow it.

    `order` combines the eight values of several doubtful rates: each value once, small ones of one with large ones of
    another.
    """

    sigma: str = ""
    csv: str = ""
    part: str = ""
    word: str = ""
    order: tuple[int, ...] = ()


RATES: Final = {
    "disk": Rate(sigma="disk", csv="disks", part="local", word="local", order=(4, 1, 6, 3, 0, 7, 2, 5)),
    "volumes": Rate(sigma="volumes", csv="volume_rates", part="volumes", word="volume", order=(2, 5, 0, 7, 4, 1, 6, 3)),
    "object_store": Rate(sigma="network", part="objects", word="object", order=(6, 3, 4, 1, 2, 5, 0, 7)),
    "network": Rate(sigma="network", csv="networks", part="network", word="network", order=(0, 1, 2, 3, 4, 5, 6, 7)),
    "cpu": Rate(sigma="cpu", order=(3, 6, 1, 4, 7, 0, 5, 2)),
    "at_scale": Rate(order=(5, 7, 2, 0, 3, 6, 1, 4)),
    "undivided": Rate(),
}
"""The kinds of rates; `at_scale` is the loss of a network in large clusters, `undivided` what serves a whole job."""

RATE_OF: Final = {
    **dict.fromkeys(("local_disks", "data_disks", "intermediate_disks"), "disk"),
    **{name: name for name in ("volumes", "object_store", "network", "cpu")},
    **dict.fromkeys(("start_up", "one_stream", "driver", "object_requests"), "undivided"),
}
"""The kind of rate of each resource that a phase waits for."""


def is_slowed(resource: str, tail: Straggler) -> bool:
    """Return whether a tail may slow a resource."""
    return RATES[RATE_OF[resource]].word == tail.resource.partition("_")[0]


@dataclass(frozen=True, kw_only=True, eq=False)
class RateDoubts:
    """Equally likely slowdowns of each kind of rate, (T, 8) and rising; others are certain."""

    slowdowns: Mapping[str, Floats] = field(default_factory=dict)

    def mean(self, resource: str, rows: Rows) -> Floats:
        """Return the mean factor by which a resource is slower than claimed, for each of some rows of the catalog."""
        doubted = self.slowdowns.get(RATE_OF[resource])
        return np.ones(len(rows)) if doubted is None else np.asarray(doubted[rows].mean(axis=1))


CERTAIN: Final = RateDoubts()
"""Doubts in the papers' equations: none."""


def rate_doubts(
    rates: Rates, assume: Mapping[str, float], *, decoding: Assumed | None = None, catalog: Catalog | None = None
) -> RateDoubts:
    """Return the doubts about all types' rates; none about those of `catalog` that the user assumed, of all types or of
    some. `decoding` is the range of the processors' time over the planned time where that of decoding is assumed.
    """
    slowdowns = {}
    for name, kind in ((name, kind) for name, kind in RATES.items() if kind.word):
        claimed: Device | Network = getattr(rates, kind.part)
        slowdowns[name] = _by_evidence(name)[claimed.evidence]
        if isinstance(claimed, Device) and claimed.edges is not None:
            slowdowns[name] = _within_edges(slowdowns[name], *claimed.edges)
        for given in {given.partition(":")[0] for given in assume}:
            if catalog is not None and given.partition("_")[0] == kind.word:
                unassumed = np.isnan(assumed_of(assume, given, catalog))
                slowdowns[name] = np.where(unassumed[:, None], slowdowns[name], 1.0)
    if decoding is not None or rates.vcpu_sigma.any():
        slowdowns["cpu"] = _of_processors(rates, decoding or Assumed(low=1.0, middle=1.0, high=1.0))
    return RateDoubts(slowdowns=slowdowns)


def _of_processors(rates: Rates, decoding: Assumed) -> Floats:
    """Return the slowdowns of processors, (T, 8): of their speed and of decoding, whose variances add."""
    low, high = np.log(decoding.low), np.log(decoding.high)
    sigma = np.broadcast_to(rates.vcpu_sigma, rates.vcpu.shape)
    middle, half = (low + high) / 2, np.hypot((high - low) / 2, NormalDist().inv_cdf(0.95) * sigma)
    return _lognormal(np.exp(middle - half), np.exp(middle + half))


def _lognormal(low: Floats | float, high: Floats | float) -> Floats:
    """Return eight equally likely factors, rising, with one in twenty below `low` and one above `high`, (..., 8)."""
    normal = NormalDist()
    places = np.array([normal.inv_cdf((place + 0.5) / EIGHTHS) for place in range(EIGHTHS)])
    middle, half = (np.log(high) + np.log(low)) / 2, (np.log(high) - np.log(low)) / 2
    log = np.multiply.outer(middle, np.ones(EIGHTHS)) + np.multiply.outer(half, places / normal.inv_cdf(0.95))
    return np.asarray(np.exp(log))


def _within_edges(slowdowns: Floats, low: Floats, high: Floats) -> Floats:
    """Return the slowdowns (T, 8), replaced for rates with their own range (T,): lognormal, with one in twenty below
    the range and one above; at least as doubtful as a stated rate.
    """
    ranged = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
    stated = _by_evidence("disk")[EVIDENCE.index("spec")]
    changed = slowdowns.copy()
    changed[ranged] = np.maximum(np.maximum(_lognormal(1 / high[ranged], 1 / low[ranged]), stated), 1.0)
    return changed


@lru_cache
def _by_evidence(rate: str) -> Floats:
    """Return the slowdowns of a kind of rate by evidence code, (E + 1, 8): the last is for missing rates."""
    spreads, certain = load_spreads(), np.ones(EIGHTHS)
    stated, worst = spreads.get((rate, "spec"), certain), np.max(list(spreads.values()), axis=0)
    rows = [np.maximum(spreads.get((rate, word), worst), stated) for word in EVIDENCE[1:]]
    return np.asarray(np.maximum(np.array([certain, *rows, certain]), 1.0))


@dataclass(frozen=True, kw_only=True)
class Spreads:
    """Spreads of a catalog's types: `tails` and `measured_sigma` (by entry of `RunOverheads.node_sigma`) hold
    observations by row of the catalog; `lasting` has the entries whose spread mostly stays with a node. The
    `network`'s is given where the request names a distribution.
    """

    node_sigma: Mapping[str, float]
    network: Spread | None = None
    tails: Mapping[int, tuple[Straggler, ...]] = field(default_factory=dict)
    measured_sigma: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    lasting: Mapping[int, frozenset[str]] = field(default_factory=dict)
    volumes_each: Floats = field(default_factory=lambda: np.ones(1))
    """Volumes of a node, by row of the catalog."""

    @property
    def own_rows(self) -> list[int]:
        """Rows of the catalog whose spread is not the usual one."""
        return sorted({*self.tails, *self.measured_sigma})

    def is_persistent(self, resource: str, *, type_row: int) -> bool:
        """Return whether measurements show that instances of a type differ in a resource more than each varies over
        time: only then is it worth rejecting a node that is slow today. For tails this is not known.
        """
        return RATES[RATE_OF[resource]].sigma in self.lasting.get(type_row, ())

    def default(self, resource: str) -> Spread:
        """Return the spread of a resource on a type without observations."""
        return self.of(resource, type_row=-1, slow_factor=lambda tail: tail.slow_factor)

    def of(self, resource: str, *, type_row: int, slow_factor: Callable[[Straggler], float]) -> Spread:
        """Return the spread of a resource of one type, with its observed width and tails.

        `slow_factor` returns the factor by which a tail lengthens the resource's time on a slowed node: 1 if the tail's
        direction has no effect.
        """
        entry = RATES[RATE_OF[resource]].sigma
        sigma = self.measured_sigma.get(type_row, {}).get(entry, self.node_sigma.get(entry, 0.0))
        spread = self.network if resource == "network" and self.network is not None else lognormal(sigma)
        for tail in self.tails.get(type_row, ()):
            if is_slowed(resource, tail) and (factor := slow_factor(tail)) > 1:
                spread = with_tail(spread, fraction=self.slow_nodes(tail, type_row), factor=factor)
        return spread

    def slow_nodes(self, tail: Straggler, type_row: int) -> float:
        """Return the fraction of nodes that a tail slows: a node waits for the slowest of its volumes."""
        volumes = float(np.nan_to_num(self.volumes_each[type_row], nan=1.0)) if tail.per == "volume" else 1.0
        return float(1 - (1 - tail.slow_fraction) ** max(volumes, 1.0))


@lru_cache(maxsize=64)
def narrowed(spread: Spread, factor: float) -> Spread:
    """Return a spread `factor` times as narrow, in the logarithm."""
    return spread if factor == 1 else replace(spread, log_slowness=spread.log_slowness / factor)


def spreads_of(
    catalog: Catalog, *, node_sigma: Mapping[str, float], network: Spread | None, volumes_each: Floats
) -> Spreads:
    """Return the spreads of a catalog's types, whose nodes have `volumes_each` (T,) volumes; observations on single
    types count only where nodes differ by `node_sigma` at all.
    """
    spreads = Spreads(node_sigma=node_sigma, network=network)
    if not node_sigma:
        return spreads
    tails = {catalog.instances.index(name): tuple(seen) for name, seen in catalog.stragglers.items()}
    sigma, lasting = _measured_sigma(catalog, node_sigma)
    return replace(spreads, tails=tails, measured_sigma=sigma, lasting=lasting, volumes_each=volumes_each)


def _measured_sigma(
    catalog: Catalog, default_sigma: Mapping[str, float]
) -> tuple[dict[int, dict[str, float]], dict[int, frozenset[str]]]:
    """Return the measured differences between nodes, and the entries where most of that stays with a node; of several
    figures on one resource the widest counts.

    On the day of a job a node deviates by a lasting and a passing part, whose variances add. Where instances were not
    compared, variation over time can only widen the usual spread. Variation within a run averages out over a phase, and
    is left out.
    """
    sigma_by_row: dict[int, dict[str, float]] = {}
    lasting: dict[int, frozenset[str]] = {}
    for kind in (kind for kind in RATES.values() if kind.csv):
        table, entry = catalog.tables[kind.csv], kind.sigma
        compared, over_time = table["across_instances_sigma"], table["across_time_sigma"]
        varies = ~(np.isnan(compared) & np.isnan(over_time)) & ~np.isnan(table["bytes_per_s"])
        passing = np.nan_to_num(over_time)
        usual = np.maximum(default_sigma.get(entry, 0.0), passing)
        sigma = np.where(np.isnan(compared), usual, np.hypot(compared, passing))
        for row in np.flatnonzero(varies).tolist():
            type_row = catalog.instances.index(str(table["instance_type"][row]))
            of_type = sigma_by_row.setdefault(type_row, {})
            of_type[entry] = max(float(sigma[row]), of_type.get(entry, 0.0))
            if compared[row] > passing[row]:
                lasting[type_row] = lasting.get(type_row, frozenset()) | {entry}
    return sigma_by_row, lasting


KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("shape", "price"), ""),
    "rate": "exclude",
    **dict.fromkeys(("evictions", "charge", "requests", "place", "link", "packing", "decoding", "power"), "assume"),
}
"""The kinds of facts that may be unknown, and what is done by default: '' for what is always excluded.
`docs/equations.md#unknown-facts` says what is assumed. Users give a price with `--assume price=`, and a shape with a
catalog of their own.
"""

CHOICES: Final = ("exclude", "assume")
"""What `--unknown` accepts: one treatment of every kind that can be assumed, instead of the defaults in `KINDS`."""


def is_assumed(kind: str, unknown: str | None) -> bool:
    """Return whether an unknown fact of this kind is assumed; `unknown` is one of `CHOICES`, or None."""
    return bool(KINDS[kind]) and (unknown or KINDS[kind]) == "assume"


@dataclass(frozen=True, kw_only=True)
class Assumed:
    """An unknown number, and its possible range."""

    low: float
    middle: float
    high: float


@lru_cache
def assumptions() -> Mapping[str, Any]:
    """Return `catalogs/unknowns.toml`."""
    with (catalogs_directory() / "unknowns.toml").open("rb") as file:
        return tomllib.load(file)


def assumed_range(table: str, entry: str = "") -> Assumed:
    """Return a range that `catalogs/unknowns.toml` states: that of a table, or of an entry of it."""
    known = assumptions()[table][entry] if entry else assumptions()[table]
    return Assumed(**{name: float(known[name]) for name in ("low", "middle", "high")})


_CLOUDS: Final = ("aws", "gcp", "azure", "oci")


def assumed_transfer(transfer: str, moved_gib: Floats) -> tuple[Floats, Floats, str]:
    """Return the cost of traffic of a kind as the mean of the clouds that state it, the highest of them, and the basis.
    If none states it, as between most regions, any traffic that leaves a zone's region counts: a wider range. NaN if no
    cloud states any.
    """
    clouds = [outside_charges(cloud).transfers for cloud in _CLOUDS]
    ways = ((ASSUMED_CHARGE, (transfer,)), (ASSUMED_TRAFFIC, ("region", "continent", "internet")))
    for basis, kinds in ways:
        stated = [charges[kind].usd(moved_gib) for charges in clouds for kind in kinds if kind in charges]
        if known := [usd for usd in stated if not np.isnan(usd).any()]:
            return np.asarray(np.mean(known, axis=0)), np.asarray(np.max(known, axis=0)), basis
    return np.full(np.shape(moved_gib), np.nan), np.full(np.shape(moved_gib), np.nan), ""


ASSUMED_CHARGE: Final = "price unknown: assumed as the mean of what the other clouds charge"
ASSUMED_TRAFFIC: Final = "price unknown in every cloud: assumed as the mean of their prices between regions and outward"
"""Bases of assumed charges."""


def stated_of_stores(name: str) -> list[float]:
    """Return a figure of the clouds' stores, such as `egress_usd_per_gib`, of each cloud that states it."""
    values = [float(getattr(outside_charges(cloud), name)) for cloud in _CLOUDS]
    return [value for value in values if not np.isnan(value)]


def with_assumed_rates(rates: Rates, catalog: Catalog) -> Rates:
    """Return the rates with the median for each vCPU of the catalog's types in place of each unknown one; its evidence
    is `assumed`, which the plan doubts most.
    """
    vcpu, with_disks = catalog.instances.vcpu, catalog.instances.local_disks > 0
    local, volumes, network = rates.local, rates.volumes, rates.network
    return replace(
        rates,
        local=_filled(local, ("read", "write"), unknown=with_disks & ~local.known, vcpu=vcpu),
        volumes=_filled(volumes, ("read", "write"), unknown=~volumes.known, vcpu=vcpu),
        network=_filled(network, ("flat",), unknown=np.isnan(network.flat), vcpu=vcpu),
    )


_Claimed = TypeVar("_Claimed", Device, Network)


def _filled(claimed: _Claimed, names: tuple[str, ...], *, unknown: Flags, vcpu: Floats) -> _Claimed:
    """Return a device or network with the median for each vCPU of its known rates in place of the `unknown` ones."""
    assumed = {name: _median_per_vcpu(getattr(claimed, name), vcpu) * vcpu for name in names}
    filled = unknown & ~np.isnan(sum(assumed.values()))
    changed: dict[str, Any] = {name: np.where(filled, rate, getattr(claimed, name)) for name, rate in assumed.items()}
    changed["evidence"] = np.where(filled, EVIDENCE.index("assumed"), claimed.evidence).astype(np.int8)
    return replace(claimed, **changed)


def _median_per_vcpu(rates: Floats, vcpu: Floats) -> float:
    known = np.isfinite(rates) & (rates > 0) & (vcpu > 0)
    return float(np.median(rates[known] / vcpu[known])) if known.any() else np.nan
