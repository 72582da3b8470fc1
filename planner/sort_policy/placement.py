"""The placement of output partitions, of their second copies, and of the partitions of lost nodes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

import numpy as np

_CACHE_SHARE: Final = 1 / 12
"""Share of a node's available memory for intermediate files in the page cache. From a tenth on, the kernel writes them
to the disk while output is written and synced, which then takes longer than without the cache.
"""

Name = TypeVar("Name", bound=Hashable)


def share_out(weights: Sequence[float], nodes: Mapping[str, float]) -> list[str]:
    """Return the node of each partition: consecutive ones together, each node's share proportional to its rate (any
    unit).
    """
    names = list(nodes)
    ends = np.cumsum([nodes[name] for name in names]) / sum(nodes.values())
    middles = np.cumsum(weights) - np.asarray(weights) / 2
    total = float(np.sum(weights)) or 1.0
    return [names[min(int(np.searchsorted(ends, middle / total)), len(names) - 1)] for middle in middles]


def share_within_space(
    rates: Mapping[str, float], space_bytes: Mapping[str, float], *, needed_bytes: float
) -> dict[str, float]:
    """Return each node's share of the bytes needed: proportional to its rate, but at most its room. The total room must
    suffice.
    """
    shares, left, left_bytes = dict[str, float](), dict(rates), needed_bytes
    while left:
        unit = left_bytes / (sum(left.values()) or 1.0)
        full = [name for name, rate in left.items() if rate * unit > space_bytes[name]]
        if not full:
            return shares | {name: rate * unit for name, rate in left.items()}
        for name in full:
            shares[name] = space_bytes[name]
            left_bytes -= space_bytes[name]
            del left[name]
    return shares


def copy_target(others: Iterable[Name], *, in_flight: Mapping[Name, float], sent: Mapping[Name, float]) -> Name:
    """Return the node for a second copy: the one with the fewest copies in flight to it, and among those with the
    fewest sent so far.
    """
    return min(others, key=lambda name: (in_flight.get(name, 0), sent.get(name, 0)))


def reassign_partitions(count: int, left: Sequence[str]) -> list[str]:
    """Return the new node of each of `count` partitions of lost nodes: an equal part for each node in `left`."""
    return [left[turn * len(left) // count] for turn in range(count)]


def fits_in_cache(*, node_bytes: float, available_bytes: float) -> bool:
    """Return whether a node's memory has room for its share of the intermediate data in addition to its other uses."""
    return node_bytes <= available_bytes * _CACHE_SHARE
