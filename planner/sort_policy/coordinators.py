"""Groups of nodes whose tasks one coordinator orders. On few nodes the driver orders all tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from planner.sort_policy.send_queue import FEWEST_PARCELS, STORE_SHARE
from planner.sort_policy.sizing import Sizes

NODES_PER_COORDINATOR: Final = 16
"""At most; on so many nodes the driver orders all tasks itself."""


def groups(names: Sequence[str], *, most: int) -> list[tuple[str, ...]]:
    """Divide nodes into groups of about equal size, of at most so many."""
    count = -(-len(names) // most)
    return [tuple(names[len(names) * at // count : len(names) * (at + 1) // count]) for at in range(count)]


def coordinator_sizes(sizes: Sizes, *, store_bytes: float) -> Sizes:
    """Return the sizes of a coordinator that fills `store_bytes` of each node's store: all have an equal part of it."""
    parcel_bytes = min(sizes.parcel_bytes, int(store_bytes * STORE_SHARE / FEWEST_PARCELS))
    return replace(sizes, parcel_bytes=parcel_bytes, least_parcel_bytes=min(sizes.least_parcel_bytes, parcel_bytes))
