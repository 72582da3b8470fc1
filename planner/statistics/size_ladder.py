"""What changes smoothly with a cluster's size, at very many sizes: worked out at some of them, drawn between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from planner.arrays import Floats

EXACT_TO: Final = 1000.0
"""Up to so many nodes every size is worked out."""

_PER_DOUBLING: Final = 64
"""Rungs between a size and twice it: of a law that falls as a power of the size the error is below 1 in 10^5."""


def on_ladder(law: Callable[[Floats], Floats], sizes: Floats) -> Floats:
    """Return law(sizes), shape (N,): exact to `EXACT_TO` nodes, and beyond where no more sizes are asked for than the
    ladder has rungs; else straight in the logarithm of the size between two rungs. The rungs do not depend on `sizes`.
    """
    beyond = sizes > EXACT_TO
    doublings = np.log2(np.max(sizes, initial=EXACT_TO) / EXACT_TO)
    rungs = EXACT_TO * 2 ** (np.arange(np.ceil(doublings * _PER_DOUBLING) + 1) / _PER_DOUBLING)
    if beyond.sum() <= len(rungs):
        return law(sizes)
    values = np.empty(len(sizes))
    values[~beyond] = law(sizes[~beyond])
    values[beyond] = np.interp(np.log(sizes[beyond]), np.log(rungs), law(rungs))
    return values
