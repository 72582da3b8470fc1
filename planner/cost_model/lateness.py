"""By how much a run that is kept with some probability takes longer than the mean."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

_EARLY: Final = (0.5, 0.45)
"""What share of the mean of its slowest node a run takes at least with a small probability: so much, and so much for
each unit of the probability, below what was seen of any cluster (docs/measurements.md).
"""


def later(probability: float, *, shared_sigma: float) -> float:
    """Return by what factor a quantile of the time exceeds its mean, at least, as far as what a run's nodes share makes
    it. Below 80% a run may also be faster than the mean of its slowest node: `_EARLY` bounds by how much.
    """
    early = 1.0 if probability >= 0.8 else _EARLY[0] + _EARLY[1] * probability
    return early * math.exp(shared_sigma * NormalDist().inv_cdf(probability) - shared_sigma**2 / 2)
