"""Network scaling curves: bytes/s per node against the number of nodes.

SoCC 2015, section 4.3 and Figure 8: a node's share of the network falls as the cluster grows, so the two-node rate is
not the rate that a large job sees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class ScalingCurve:
    """Measured points, both of shape (P,): `nodes` strictly increasing, `bytes_per_s` per node, never increasing.

    Between points the curve is a power law (straight in log-log); beyond the last point the last power law goes on,
    and is an extrapolation. With one point the curve is flat.
    """

    nodes: Floats
    bytes_per_s: Floats

    @classmethod
    def through(cls, nodes: ArrayLike, bytes_per_s: ArrayLike) -> ScalingCurve:
        """Return the curve through points in any order; several at one node count count as their mean, and a rate
        above that of a smaller cluster is taken down to it (Figure 8: small clusters drawn on other days beat the
        baseline by chance).
        """
        raw_nodes, raw_rates = np.asarray(nodes, float), np.asarray(bytes_per_s, float)
        unique = np.unique(raw_nodes)
        means = np.array([raw_rates[raw_nodes == count].mean() for count in unique])
        return cls(nodes=unique, bytes_per_s=np.minimum.accumulate(means))

    @property
    def measured_to_nodes(self) -> float:
        """The largest cluster measured."""
        return float(self.nodes[-1])

    def at(self, nodes: ArrayLike) -> Floats:
        """Return bytes/s per node for each cluster size; sizes below the first point get the first point's rate."""
        x, y = np.log(self.nodes), np.log(self.bytes_per_s)
        wanted = np.log(np.asarray(nodes, float))
        inside = np.interp(wanted, x, y)
        slope = 0.0 if len(x) == 1 else (y[-1] - y[-2]) / (x[-1] - x[-2])
        return np.asarray(np.exp(np.where(wanted > x[-1], y[-1] + slope * (wanted - x[-1]), inside)))
