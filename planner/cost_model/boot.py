"""How long it takes until every node of a cluster answers: the slowest of n launches, as launches were measured.

Seconds from launch call to answer are taken as lognormal: what the nodes of one launch do not share varies by
`node_sigma`, what they share (type, place, hour) makes up the rest of the spread over all launches.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.catalog.manifest import Boot

_Z90, _Z95 = (NormalDist().inv_cdf(probability) for probability in (0.9, 0.95))
MOST_NODES: Final = 1_000_000


def expected_boot_s(boot: Boot, nodes: Floats) -> Floats:
    """Return the expected seconds until all of `nodes` (N,) answer."""
    median_s, sigma = _slowest(boot, nodes.tobytes())
    return np.asarray(median_s * np.exp(sigma**2 / 2))


def late_boot_s(boot: Boot, nodes: Floats) -> Floats:
    """Return the 95th percentile of those seconds, never less than that of the launches measured."""
    median_s, sigma = _slowest(boot, nodes.tobytes())
    return np.asarray(np.maximum(median_s * np.exp(_Z95 * sigma), boot.p95_s))


@lru_cache(maxsize=64)
def _slowest(boot: Boot, nodes: bytes) -> tuple[Floats, Floats]:
    """Return the median of the slowest of each number of nodes, and the standard deviation of its logarithm."""
    shared_sigma = math.sqrt(max(0.0, (math.log(boot.p90_s / boot.median_s) / _Z90) ** 2 - boot.node_sigma**2))
    normal, counts = NormalDist(), np.frombuffer(nodes).clip(1, MOST_NODES).tolist()
    half, late = (np.array([normal.inv_cdf(p ** (1 / count)) for count in counts]) for p in (0.5, 0.95))
    slowest_sigma = boot.node_sigma * (late - half) / _Z95
    return boot.median_s * np.exp(boot.node_sigma * half), np.hypot(slowest_sigma, shared_sigma)
