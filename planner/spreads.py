"""How the rate of each resource differs from node to node: the usual spread, the network's where the request names a
distribution, and the straggler tails that were seen on single rows of a catalog.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from planner.catalog import Catalog, Straggler
from planner.model import Phase
from planner.variability import Spread, lognormal, with_tail

SIGMA_OF: Final = {
    "local_disks": "disk",
    "data_disks": "disk",
    "intermediate_disks": "disk",
    "volumes": "volumes",
    "object_store": "network",
    "cpu": "cpu",
    "network": "network",
}
"""Which entry of `Lifecycle.node_sigma` blurs a resource."""

_TAILED: Final = {
    "local": ("local_disks", "data_disks", "intermediate_disks"),
    "volume": ("volumes",),
    "network": ("network",),
}
"""Which resources a straggler's `resource` slows, by its first word."""


@dataclass(frozen=True, kw_only=True)
class Spreads:
    """Spreads of a catalog's types: `tails` holds, by row of the catalog, what was seen there."""

    node_sigma: Mapping[str, float]
    network: Spread | None = None
    tails: Mapping[int, tuple[Straggler, ...]] = field(default_factory=dict)

    def usual(self, resource: str) -> Spread:
        """Return the spread of a resource on a type without a tail."""
        if resource == "network" and self.network is not None:
            return self.network
        return lognormal(self.node_sigma.get(SIGMA_OF[resource], 0.0))

    def of(self, resource: str, *, type_row: int, phase: Phase) -> Spread:
        """Return the spread of a resource of one type in a phase, with the tails that were seen there."""
        spread = self.usual(resource)
        for tail in self.tails.get(type_row, ()):
            if _slows(tail, resource, phase):
                spread = with_tail(spread, fraction=tail.slow_fraction, factor=tail.slow_factor)
        return spread


def spreads_of(catalog: Catalog, *, node_sigma: Mapping[str, float], network: Spread | None, tailed: bool) -> Spreads:
    """Return the spreads of a catalog's types; without tails unless `tailed`."""
    rows = catalog.stragglers.items() if tailed else ()
    tails = {catalog.instances.index(name): tuple(seen) for name, seen in rows}
    return Spreads(node_sigma=node_sigma, network=network, tails=tails)


def _slows(tail: Straggler, resource: str, phase: Phase) -> bool:
    medium, _, direction = tail.resource.partition("_")
    moved = {"read": phase.read, "write": phase.write}.get(direction, True)
    return resource in _TAILED[medium] and bool(moved)
