"""Doubt about each rate of a type as a whole, by its evidence: a slower type, not a slower node.

Measured rates are not doubted here, as `RunOverheads.shared_sigma` covers the errors of plans from measured rates; nor
are rates assumed by the user. Every other rate is at least as doubtful as one stated by the cloud; if claims of its
kind were never compared with results, as doubtful as the worst that were. A rate computed from similar disks is as
doubtful as its range in the catalog. Rates faster than claimed are not counted on. Only decoding time is assumed, and
is as likely to be less as more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np

from planner.arrays import Floats, Rows
from planner.catalog import EVIDENCE, Catalog
from planner.catalog.shipped_tables import EIGHTHS, load_spreads
from planner.cost_model.rates import Rates, assumed_of
from planner.cost_model.unknowns import Assumed

DOUBTED: Final = {
    "local_disks": "disk",
    "data_disks": "disk",
    "intermediate_disks": "disk",
    "volumes": "volumes",
    "object_store": "object_store",
    "network": "network",
    "cpu": "cpu",
}
"""The rate in doubt for each resource that a phase waits for."""

ORDERS: Final = {
    "network": (0, 1, 2, 3, 4, 5, 6, 7),
    "disk": (4, 1, 6, 3, 0, 7, 2, 5),
    "volumes": (2, 5, 0, 7, 4, 1, 6, 3),
    "object_store": (6, 3, 4, 1, 2, 5, 0, 7),
    "cpu": (3, 6, 1, 4, 7, 0, 5, 2),
    "at_scale": (5, 7, 2, 0, 3, 6, 1, 4),
}
"""Combination of the eight values of several rates: each value once, small ones of one with large ones of another;
`at_scale` is the loss of a network in large clusters.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class RateDoubts:
    """Equally likely slowdowns of each rate, (T, 8) and rising, by the values of `DOUBTED`; others are certain."""

    slowdowns: Mapping[str, Floats] = field(default_factory=dict)

    def mean(self, resource: str, rows: Rows) -> Floats:
        """Return the mean factor by which a resource is slower than claimed, for each of some rows of the catalog."""
        doubted = self.slowdowns.get(DOUBTED.get(resource, ""))
        return np.ones(len(rows)) if doubted is None else np.asarray(doubted[rows].mean(axis=1))

    def together(self, type_row: int) -> list[dict[str, float]]:
        """Return eight equally likely slowdowns of all doubtful rates of a type, by rate; one, empty, if all are
        certain.
        """
        doubted = {
            name: values[type_row] for name, values in self.slowdowns.items() if float(values[type_row].max()) > 1
        }
        if not doubted:
            return [{}]
        return [
            {name: float(values[ORDERS[name][place]]) for name, values in doubted.items()} for place in range(EIGHTHS)
        ]


def rate_doubts(
    rates: Rates, assume: Mapping[str, float], *, decoding: Assumed | None = None, catalog: Catalog | None = None
) -> RateDoubts:
    """Return the doubts about all types' rates; none for rates that the user assumed, of all
    types or of some of `catalog`. `decoding` is the range of the
    processors' time over the planned time where that of decoding is assumed.
    """
    evidence = {
        "disk": ("local", rates.local.evidence),
        "volumes": ("volume", rates.volumes.evidence),
        "object_store": ("object", rates.objects.evidence),
        "network": ("network", rates.network.evidence),
    }
    slowdowns = {
        name: _by_evidence(name)[codes]
        for name, (assumed, codes) in evidence.items()
        if not any(given.partition("_")[0] == assumed for given in assume)
    }
    if "disk" in slowdowns and rates.local.edges is not None:
        slowdowns["disk"] = _within_edges(slowdowns["disk"], *rates.local.edges)
    for name, assumed in (("disk", "local_read"), ("disk", "local_write"), ("network", "network")):
        if name in slowdowns and catalog is not None:
            slowdowns[name] = np.where(np.isnan(assumed_of(assume, assumed, catalog))[:, None], slowdowns[name], 1.0)
    if decoding is not None:
        slowdowns["cpu"] = np.tile(_lognormal(decoding.low, decoding.high), (len(rates.vcpu), 1))
    return RateDoubts(slowdowns=slowdowns)


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
def _by_evidence(resource: str) -> Floats:
    """Return the slowdowns of a resource's rates by evidence code, (E + 1, 8): the last is for missing rates."""
    spreads = load_spreads()
    stated = spreads.get((resource, "spec"), np.ones(EIGHTHS))
    worst = np.max(list(spreads.values()), axis=0)
    rows = [np.ones(EIGHTHS)]
    rows += [np.maximum(spreads.get((resource, word), worst), stated) for word in EVIDENCE[1:]]
    table: Floats = np.maximum(np.array([*rows, np.ones(EIGHTHS)]), 1.0)
    return table


CERTAIN: Final = RateDoubts()
"""Doubts in the papers' equations: none."""
