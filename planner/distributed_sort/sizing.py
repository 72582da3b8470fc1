"""How large slices, parcels and partitions are, so that what is under way on a node fits in its memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from planner.distributed_sort.concurrency import Concurrency
from planner.distributed_sort.send_queue import FEWEST_PARCELS, STORE_SHARE
from planner.errors import BadInputError

_LARGEST_SLICE_BYTES: Final = 1_000_000_000
"""Each slice costs the driver a few tasks, and of 100 TB there are 100,000 of this size."""
_STORES_SLICES: Final = 2 / 5
"""Of a node's object store, for its own slices; as much is for what comes from others."""
_LEAST_SLICE_BYTES: Final = 1_000_000
_STORES_COPIES: Final = 2 / 3
"""Of a node's object store, for partitions on their way to the nodes of their copies, and as many coming to it."""
_LEAST_PARTITION_BYTES: Final = 1_000_000
_LEAST_PIECE_BYTES: Final = 64_000
"""Of what an intermediate file holds for a partition, where there is memory for it: each is a read of its own."""
_PARTITIONS_PER_NODE: Final = 8
"""At least, so that shares of nodes of different speed can be met to some 6%."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """`slice_records` of input to a map task, and so many `slices` of a node under way; `parcel_bytes` of blocks to a
    task that stores them; `partitions` in all, `sort_bytes` of memory for one sort task.
    """

    slice_records: int
    slices: int
    parcel_bytes: int
    partitions: int
    sort_bytes: int

    def going_on(self, *, slice_records: int, record_size: int, store_bytes: int) -> Sizes:
        """Return sizes for a job that was cut into slices by an earlier call, when memory may have been another."""
        fitting = max(1, int(store_bytes * _STORES_SLICES // (slice_records * record_size)))
        return replace(self, slice_records=slice_records, slices=min(self.slices, fitting))


def choose_sizes(
    *,
    data_bytes: int,
    record_size: int,
    nodes: int,
    memory_bytes: int,
    store_bytes: int,
    replicated: bool,
    concurrency: Concurrency,
) -> Sizes:
    """Return the sizes for `nodes` nodes, each with `memory_bytes` for sorting and an object store of `store_bytes`.

    A slice lies in the store of the node it came from, and as much again has come from the others. Many small ones keep
    links busier than a few large ones, because then all have something for all others; but the pieces that they are cut
    into are small too, where the node stores them itself: those of others are joined (`Lines`). A partition takes twice
    its size to be sorted, and once in two stores on its way to its replica; a third is left for records that the sample
    did not foresee. Raises BadInputError when the memory is too small for a record.
    """
    sort_bytes = memory_bytes // concurrency.sorts(copied=replicated)
    largest_bytes = sort_bytes * 2 // 3 / 2.2
    if replicated:
        largest_bytes = min(largest_bytes, store_bytes * _STORES_COPIES / (2 * concurrency.partitions(copied=True)))
    if largest_bytes < record_size:
        raise _too_small(memory_bytes=memory_bytes, store_bytes=store_bytes)
    least = min(nodes * _PARTITIONS_PER_NODE, max(1, data_bytes // _LEAST_PARTITION_BYTES))
    partitions = max(least, math.ceil(data_bytes / largest_bytes))
    if partitions > nodes:  # so that all can have equally many, and no link has more to carry than others
        partitions = math.ceil(partitions / nodes) * nodes
    slices, slice_bytes = _slices(
        data_bytes / nodes,
        store_bytes=store_bytes,
        most_bytes=min(_LARGEST_SLICE_BYTES, sort_bytes / 2),
        wanted_bytes=partitions / nodes * _LEAST_PIECE_BYTES,
        fewest=concurrency.under_way,
    )
    if slice_bytes < record_size:
        raise _too_small(memory_bytes=memory_bytes, store_bytes=store_bytes)
    wanted_bytes = min(store_bytes * STORE_SHARE / FEWEST_PARCELS, partitions / nodes * _LEAST_PIECE_BYTES)
    return Sizes(
        slice_records=int(slice_bytes // record_size),
        slices=slices,
        parcel_bytes=int(max(slice_bytes / 2, wanted_bytes)),
        partitions=partitions,
        sort_bytes=sort_bytes,
    )


def _slices(
    node_bytes: float, *, store_bytes: int, most_bytes: float, wanted_bytes: float, fewest: int
) -> tuple[int, float]:
    """Return how many slices of a node are under way, and their bytes: `fewest` where twice as many would be shorter
    than they are wanted.
    """
    for slices in (2 * fewest, fewest):
        enough_bytes = max(_LEAST_SLICE_BYTES, node_bytes / (2 * slices))
        slice_bytes = min(store_bytes * _STORES_SLICES / slices, enough_bytes, most_bytes)
        if slice_bytes >= min(wanted_bytes, most_bytes):
            break
    return slices, slice_bytes


def _too_small(*, memory_bytes: int, store_bytes: int) -> BadInputError:
    return BadInputError(f"{memory_bytes} bytes of memory and {store_bytes} of object store hold no record")
