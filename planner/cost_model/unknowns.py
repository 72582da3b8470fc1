"""The rule for unknown facts: which exclude a cluster, which are assumed, and within which range.

`KINDS` lists the facts that may be unknown. With `--unknown exclude` every one of them excludes the clusters that need
it; with `--unknown assume` all that can be assumed are. By default a cluster is excluded if its machine's shape, rates
or price are unknown: they differ by factors between types, so that an assumed one would decide the ranking. Facts about
its surroundings are assumed, since they differ less and their range shows in the 95%.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Literal, get_args

import numpy as np

from planner.arrays import Flags, Floats
from planner.catalog import EVIDENCE, Catalog
from planner.catalog.loading import outside_charges
from planner.config.paths import catalogs_directory
from planner.cost_model.rates import Device, Network, Rates
from planner.errors import BadInputError, nearest

Choice = Literal["exclude", "assume"]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of facts: the treatment `by_default` of an unknown one, and what can be `assumed`, '' for nothing."""

    by_default: Choice
    assumed: str


KINDS: Final[Mapping[str, Kind]] = {
    "shape": Kind(by_default="exclude", assumed=""),
    "price": Kind(by_default="exclude", assumed=""),
    "rate": Kind(
        by_default="exclude",
        assumed="the median for each vCPU of the catalog's types, as doubtful as the worst rates are",
    ),
    "evictions": Kind(by_default="assume", assumed="0.0012 for each node and hour; 0.0002 to 0.0068"),
    "charge": Kind(by_default="assume", assumed="the mean of what the other clouds charge; least to most of them"),
    "requests": Kind(by_default="assume", assumed="the fewest a second that another cloud's store takes; at least"),
    "place": Kind(by_default="assume", assumed="the price in the catalog's own region; 1.0 to 1.7 times of it"),
    "link": Kind(by_default="assume", assumed="between clouds, the machine's own network; at most"),
    "packing": Kind(by_default="assume", assumed="the ratio of the Silesia corpus; half to twice of it"),
    "decoding": Kind(by_default="assume", assumed="200 or 250 MB/s for each vCPU; 100 to 400 or 500"),
}
"""The kinds of unknown facts, by name; `docs/equations.md#unknown-facts` has the table. Users give a price with
`--assume price=`, and a shape with a catalog of their own.
"""


@dataclass(frozen=True)
class Policy:
    """A request's treatment of unknown facts: one of `Choice`, or None for the defaults in `KINDS`."""

    choice: Choice | None = None

    @classmethod
    def of(cls, word: str | None) -> Policy:
        """Return the policy for `--unknown`. Raises BadInputError for an invalid word."""
        if word is not None and word not in get_args(Choice):
            choices = " or ".join(get_args(Choice))
            raise BadInputError(
                f"--unknown {word}: use {choices}.{nearest(word, get_args(Choice))}", code="unknown-word"
            )
        return cls(word)  # type: ignore[arg-type]

    def assumes(self, kind: str) -> bool:
        """Return whether an unknown fact of this kind is assumed."""
        known = KINDS[kind]
        return bool(known.assumed) and (self.choice or known.by_default) == "assume"


BY_DEFAULT: Final = Policy()
"""The treatment without `--unknown`."""


@dataclass(frozen=True, kw_only=True)
class Assumed:
    """An unknown number, and its possible range."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Packing:
    """Performance of a codec: unpacked bytes over stored ones, and bytes/s of unpacked data on one core."""

    ratio: float
    pack_bytes_per_s: float
    unpack_bytes_per_s: float


@lru_cache
def assumptions() -> Mapping[str, Any]:
    """Return `catalogs/unknowns.toml`."""
    with (catalogs_directory() / "unknowns.toml").open("rb") as file:
        return tomllib.load(file)


def interruptions_per_node_hour() -> Assumed:
    """Return how often a spot node is taken back if its cloud does not state it."""
    known = assumptions()["interruptions_per_node_hour"]
    return Assumed(**{name: float(known[name]) for name in ("low", "middle", "high")})


def price_elsewhere() -> Assumed:
    """Return the price of volumes and store in another region, over that in the catalog's own."""
    known = assumptions()["place"]
    return Assumed(**{name: float(known[name]) for name in ("low", "middle", "high")})


def format_bytes_per_s_per_vcpu(name: str) -> Assumed | None:
    """Return the rate of decoding or encoding a format; None for one that needs neither."""
    known = assumptions()["format_bytes_per_s_per_vcpu"].get(name)
    return None if known is None else Assumed(**known)


def packings() -> dict[str, Packing]:
    """Return the codecs by name."""
    table = assumptions()["compression"]
    return {name: Packing(**known) for name, known in table.items() if isinstance(known, dict)}


def packing_factor() -> float:
    """Return the factor by which data may pack more, or less, than assumed."""
    return float(assumptions()["compression"]["factor"])


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


def assumed_of_stores(name: str) -> tuple[float, float]:
    """Return the mean and the highest charge of the clouds' stores, such as `egress_usd_per_gib`; NaN if unknown."""
    known = _of_stores(name)
    return (float(np.mean(known)), max(known)) if known else (np.nan, np.nan)


def fewest_requests_per_s(name: str) -> float:
    """Return the fewest `reads_per_s` or `writes_per_s` that any cloud's store takes at one place; inf if none states
    it.
    """
    return min(_of_stores(name), default=np.inf)


def _of_stores(name: str) -> list[float]:
    values = [float(getattr(outside_charges(cloud), name)) for cloud in _CLOUDS]
    return [value for value in values if not np.isnan(value)]


def with_assumed_rates(rates: Rates, catalog: Catalog) -> Rates:
    """Return the rates with the median for each vCPU of the catalog's types in place of each unknown one; its evidence
    is `assumed`, which the plan doubts most.
    """
    with_disks = catalog.instances.local_disks > 0
    return replace(
        rates,
        local=_with_assumed_device(rates.local, catalog, where=with_disks),
        volumes=_with_assumed_device(rates.volumes, catalog, where=np.ones(len(with_disks), bool)),
        network=_with_assumed_network(rates.network, catalog),
    )


def _with_assumed_device(device: Device, catalog: Catalog, *, where: Flags) -> Device:
    unknown = where & ~device.known
    read, write = (_filled(r, unknown, catalog) for r in (device.read, device.write))
    filled = unknown & ~np.isnan(read + write)
    return replace(
        device,
        read=np.where(filled, read, device.read),
        write=np.where(filled, write, device.write),
        evidence=np.where(filled, _ASSUMED, device.evidence).astype(np.int8),
    )


def _with_assumed_network(network: Network, catalog: Catalog) -> Network:
    unknown = np.isnan(network.flat)
    flat = _filled(network.flat, unknown, catalog)
    filled = unknown & ~np.isnan(flat)
    return replace(network, flat=flat, evidence=np.where(filled, _ASSUMED, network.evidence).astype(np.int8))


_ASSUMED: Final = EVIDENCE.index("assumed")


def _filled(rates: Floats, unknown: Flags, catalog: Catalog) -> Floats:
    """Return rates (T,) with the median for each vCPU of the known ones in place of the `unknown` ones."""
    vcpu = catalog.instances.vcpu
    known = np.isfinite(rates) & (rates > 0) & (vcpu > 0)
    if not known.any():
        return rates
    return np.where(unknown, float(np.median(rates[known] / vcpu[known])) * vcpu, rates)
