"""Network rates per node of every type: what is stated, curves of what was measured, and how far either may be off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from planner.arrays import Codes, Flags, Floats, Rows
from planner.catalog import EVIDENCE
from planner.statistics.scaling_curve import BAND_VALUES, ScalingCurve, stated_slowdowns, unmeasured


@dataclass(frozen=True, kw_only=True, eq=False)
class Network:
    """Network rates per node: a flat rate for each type, shape (T,), and curves for the rows that were measured.

    Links with a token bucket run at `burst` until `bucket_bytes` more than the rate have gone; both NaN elsewhere.
    """

    flat: Floats
    evidence: Codes
    slowest_of_n: Flags
    burst: Floats
    bucket_bytes: Floats
    curves: Mapping[int, ScalingCurve] = field(default_factory=dict)
    stated: Flags
    """Which rates only a document states: as they are in the equations; at scale they are expected to be
    as much lower as the scaling prior says."""
    most: Floats
    """What a link carries at most, as stated (T,): NaN where unknown, or where the user says what the network does."""
    factor: float = 1.0

    def at(self, rows: Rows, nodes: Floats) -> Floats:
        """Return bytes/s per node, shape (rows, nodes)."""
        rates = np.repeat(self.flat[rows, None], len(nodes), axis=1)
        for place, row in enumerate(rows.tolist()):
            if row in self.curves:
                rates[place] = self.curves[row].at(nodes)
        return rates * self.factor

    def link_at(self, rows: Rows) -> Floats:
        """Return bytes/s of a node whatever the cluster's size, shape (rows,): what goes to no other node of it."""
        return np.asarray(self.flat[rows] * self.factor)

    def slowdowns(self, row: int, nodes: Floats) -> Floats:
        """Return equally likely factors of the network's time at each of `nodes` (N,), shape (8, N) and rising: where a
        rate is only stated, or measured on other sizes; no link carries more than the catalog says.
        """
        if self.stated[row]:
            return stated_slowdowns(nodes)
        curve = self.curves[row]
        most = np.fmin(np.nan_to_num(curve.at(nodes) / self.most[row], nan=0.0), 1.0)
        slowdowns = np.maximum(curve.slowdowns_at(nodes, count=BAND_VALUES), most)
        return np.where(nodes < 2, 1.0, slowdowns)

    def ideal(self) -> Network:
        """Return the network that no cluster's size slows: each type's at the rate measured between the fewest nodes,
        or stated.
        """
        flat = self.flat.copy()
        for row, curve in self.curves.items():
            flat[row] = curve.bytes_per_s[0]
        return replace(self, flat=flat, curves={}, stated=np.zeros(len(flat), bool))

    def burst_at(self, rows: Rows) -> Floats:
        """Return the burst rate of the links, shape (rows,): NaN without a token bucket."""
        return np.asarray(self.burst[rows] * self.factor)

    def curve_of(self, row: int) -> ScalingCurve | None:
        """Return the curve whose band says how far the rate of a type may be off at scale; None for a rate of unstated
        cluster size, or one that the user assumes.
        """
        return unmeasured() if self.stated[row] else self.curves.get(row)

    def evidence_at(self, row: int, nodes: int) -> str:
        """Return what the rate of one type at one cluster size rests on: beyond its measured points it is
        extrapolated.
        """
        curve = self.curves.get(row)
        beyond = curve is not None and nodes > curve.measured_to_nodes
        code = int(self.evidence[row])
        return "extrapolated" if beyond else EVIDENCE[code] if code >= 0 else "unknown"
