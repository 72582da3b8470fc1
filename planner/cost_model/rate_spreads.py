"""Spread of each resource's rate from node to node: the usual spread, the network's where the request names a
distribution, and the straggler tails observed for single rows of a catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.catalog import Catalog, Straggler
from planner.statistics.order_statistics import Spread, lognormal, with_tail

SIGMA_OF: Final = {
    "local_disks": "disk",
    "data_disks": "disk",
    "intermediate_disks": "disk",
    "volumes": "volumes",
    "object_store": "network",
    "cpu": "cpu",
    "network": "network",
}
"""Entry of `RunOverheads.node_sigma` with the spread of each resource."""

_SIGMA_IN: Final = {"disks": "disk", "networks": "network", "volume_rates": "volumes"}
"""Entry of `RunOverheads.node_sigma` that the measured variation in each file of a catalog replaces."""

_TAILED: Final = {
    "local": ("local_disks", "data_disks", "intermediate_disks"),
    "volume": ("volumes",),
    "network": ("network",),
}
"""Resources slowed by a straggler, by the first word of its `resource`."""


@dataclass(frozen=True, kw_only=True)
class Spreads:
    """Spreads of a catalog's types: `tails` and `measured_sigma` (by entry of `RunOverheads.node_sigma`) hold
    observations by row of the catalog; `lasting` has the entries whose spread mostly stays with a node.
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
        return SIGMA_OF.get(resource) in self.lasting.get(type_row, ())

    def default(self, resource: str) -> Spread:
        """Return the spread of a resource on a type without observations."""
        if resource == "network" and self.network is not None:
            return self.network
        return lognormal(self.node_sigma.get(SIGMA_OF[resource], 0.0))

    def of(self, resource: str, *, type_row: int, slow_factor: Callable[[Straggler], float]) -> Spread:
        """Return the spread of a resource of one type, with its observed width and tails.

        `slow_factor` returns the factor by which a tail lengthens the resource's time on a slowed node: 1 if the tail's
        direction has no effect.
        """
        sigma = self.measured_sigma.get(type_row, {}).get(SIGMA_OF[resource])
        named = resource == "network" and self.network is not None
        spread = self.default(resource) if sigma is None or named else lognormal(sigma)
        for tail in self.tails.get(type_row, ()):
            if resource in slowed_by(tail) and (factor := slow_factor(tail)) > 1:
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


def slowed_by(tail: Straggler) -> frozenset[str]:
    """Return the resources that a tail may slow."""
    return frozenset(_TAILED[tail.resource.partition("_")[0]])


def spreads_of(
    catalog: Catalog, *, node_sigma: Mapping[str, float], network: Spread | None, volumes_each: Floats, tailed: bool
) -> Spreads:
    """Return the spreads of a catalog's types, whose nodes have `volumes_each` (T,) volumes; observations on single
    types count only if `tailed`.
    """
    if not tailed:
        return Spreads(node_sigma=node_sigma, network=network)
    tails = {catalog.instances.index(name): tuple(seen) for name, seen in catalog.stragglers.items()}
    sigma, lasting = _measured_sigma(catalog, node_sigma)
    return Spreads(
        node_sigma=node_sigma,
        network=network,
        tails=tails,
        measured_sigma=sigma,
        lasting=lasting,
        volumes_each=volumes_each,
    )


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
    for table_name, sigma_name in _SIGMA_IN.items():
        table = catalog.tables[table_name]
        instances, times = table["across_instances_sigma"], table["across_time_sigma"]
        varies = ~(np.isnan(instances) & np.isnan(times)) & ~np.isnan(table["bytes_per_s"])
        for row in np.flatnonzero(varies).tolist():
            compared, over_time = float(instances[row]), float(np.nan_to_num(times[row]))
            sigma = (
                max(default_sigma.get(sigma_name, 0.0), over_time)
                if np.isnan(compared)
                else float(np.hypot(compared, over_time))
            )
            type_row = catalog.instances.index(str(table["instance_type"][row]))
            of_type = sigma_by_row.setdefault(type_row, {})
            of_type[sigma_name] = max(sigma, of_type.get(sigma_name, 0.0))
            if compared > over_time:
                lasting[type_row] = lasting.get(type_row, frozenset()) | {sigma_name}
    return sigma_by_row, lasting
