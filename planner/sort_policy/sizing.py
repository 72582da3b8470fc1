"""Sizes of slices, parcels and partitions for which the work under way on a node fits in its memory.

The first slices of an input are short, so that links soon have something to carry; the last are short, so that all
nodes finish together. On many nodes each coordinator has a group of them, and its part of their stores.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from planner.errors import BadInputError
from planner.sort_policy.concurrency import Concurrency
from planner.sort_policy.send_queue import FEWEST_PARCELS, STORE_SHARE

_LARGEST_SLICE_BYTES: Final = 1_000_000_000
"""Each slice costs the driver a few tasks; 100 TB has 100,000 slices of this size."""
_LEAST_SLICE_BYTES: Final = 1_000_000
_SLICES_STORE_SHARE: Final = 2 / 5
"""Share of a node's memory for blocks that is for its own slices; the same share is for blocks from others
(`STORE_SHARE`).
"""
_SLICE_BUFFERS: Final = 2
"""A map task holds its slice twice: as read, and grouped."""
_SLICE_TURNS: Final = 2
"""A node's share of the data is cut into this multiple of the slices under way at once, or more."""
_COPIES_STORE_SHARE: Final = 2 / 3
"""Share of a node's memory for blocks that is for partitions being copied."""
_COPY_STORES: Final = 2
"""A partition being copied is in the memory of its sender and of its receiver."""
SORT_BUFFERS: Final = 2.2
"""A sort task holds its partition unsorted and sorted, and 12 bytes a record: less than a fifth of 100-byte records."""
TEXT_SORT_BUFFERS: Final = 5.0
"""The same for text: its lines may be short, and each also has a key."""
_SORT_MEMORY_SHARE: Final = 2 / 3
"""Share of a sort task's memory for the partition as planned; a third is for records not predicted by the sample."""
LEAST_PARTITION_BYTES: Final = 8_000_000
"""Least partition of a small sort, or half of it, if memory allows: each partition is a file, and readers of the output
open all.
"""
LEAST_TABLE_BYTES: Final = 32_000_000
"""The same for a table in memory, which is larger than its encoded file."""
_PARTITIONS_PER_NODE: Final = 8
"""Least number per node, so that the shares of nodes of different speeds can be met to about 6%."""
_LEAST_PIECE_BYTES: Final = 64_000
"""Least size of one partition's piece in an intermediate file, if memory allows: each piece costs a separate read."""
_LINK_S_PER_SLICE: Final = 0.2
"""Link time of a slice, if the node's share is large enough: a slice takes a few tasks, each about 10 ms of processor
time, for which fast links would wait.
"""
_LINK_S_PER_PARCEL: Final = 0.1
"""Link time of a parcel, unless nothing is left to group."""
_PARCELS_PER_SLICE: Final = 2
"""A parcel holds at least half a slice, so that a slice's blocks cost few tasks."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """A map task gets `slice_records` of input, and a node has `slices` slices under way. A task that stores blocks
    gets `parcel_bytes` of them, and at least `least_parcel_bytes` while more is to come. There are `partitions` in all,
    and a sort task may use `sort_bytes` of memory.
    """

    slice_records: int
    slices: int
    parcel_bytes: int
    partitions: int
    sort_bytes: int
    least_parcel_bytes: int = 0

    def resumed(self, *, slice_records: int, record_size: int, store_bytes: int) -> Sizes:
        """Return the sizes for a job that an earlier call, perhaps with different memory, cut into slices."""
        fitting = max(1, int(store_bytes * _SLICES_STORE_SHARE // (slice_records * record_size)))
        return replace(self, slice_records=slice_records, slices=min(self.slices, fitting))


def choose_sizes(
    *,
    data_bytes: int,
    record_size: int,
    node_count: int,
    memory_bytes: int,
    store_bytes: int,
    replicated: bool,
    concurrency: Concurrency,
    sort_buffers: float = SORT_BUFFERS,
    least_partition_bytes: int = LEAST_PARTITION_BYTES,
    partition_bytes: int | None = None,
    link_bytes_per_s: float | None = None,
) -> Sizes:
    """Return the sizes for `node_count` nodes, each with `memory_bytes` for sorting and `store_bytes` for blocks: as
    much as Ray's object store may take, which is hardly used.

    A slice is in the memory of the node that read it, and as much again comes from the other nodes. Many small slices
    keep links busier than a few large ones, because each node soon has something for all others. But a node stores its
    own blocks unjoined, so small slices give small pieces; the blocks of others are joined to parcels (`SendQueue`).
    Partitions have about `partition_bytes` if given and if memory allows. The higher `link_bytes_per_s`, if known, the
    longer the slices. Raises BadInputError when the memory does not hold a record.
    """
    sort_bytes = memory_bytes // concurrency.sorts(copied=replicated)
    largest_bytes = sort_bytes * _SORT_MEMORY_SHARE / sort_buffers
    if replicated:
        copies = _COPY_STORES * concurrency.partitions(copied=True)
        largest_bytes = min(largest_bytes, store_bytes * _COPIES_STORE_SHARE / copies)
    if largest_bytes < record_size:
        raise _too_small(memory_bytes=memory_bytes, store_bytes=store_bytes)
    fewest = min(node_count * _PARTITIONS_PER_NODE, data_bytes // least_partition_bytes)
    if partition_bytes is not None:
        fewest = round(data_bytes / partition_bytes)
    partitions = _partitions(data_bytes, node_count=node_count, largest_bytes=largest_bytes, fewest=fewest)
    wanted_bytes = partitions / node_count * _LEAST_PIECE_BYTES
    slices, slice_bytes = _slices(
        data_bytes / node_count,
        store_bytes=store_bytes,
        most_bytes=min(_LARGEST_SLICE_BYTES, sort_bytes / _SLICE_BUFFERS),
        wanted_bytes=max(wanted_bytes, (link_bytes_per_s or 0) * _LINK_S_PER_SLICE),
        fewest=concurrency.in_progress,
    )
    if slice_bytes < record_size:
        raise _too_small(memory_bytes=memory_bytes, store_bytes=store_bytes)
    largest_parcel_bytes = store_bytes * STORE_SHARE / FEWEST_PARCELS
    link_bytes = (link_bytes_per_s or 0) * _LINK_S_PER_PARCEL
    parcel_bytes = int(max(slice_bytes / _PARCELS_PER_SLICE, min(largest_parcel_bytes, max(wanted_bytes, link_bytes))))
    return Sizes(
        slice_records=int(slice_bytes // record_size),
        slices=slices,
        parcel_bytes=parcel_bytes,
        least_parcel_bytes=int(min(parcel_bytes, link_bytes)),
        partitions=partitions,
        sort_bytes=sort_bytes,
    )


def _partitions(data_bytes: int, *, node_count: int, largest_bytes: float, fewest: int) -> int:
    """Return the number of partitions: equal for all nodes, so that no link has more to carry than others."""
    partitions = max(1, fewest, math.ceil(data_bytes / largest_bytes))
    return math.ceil(partitions / node_count) * node_count if partitions > node_count else partitions


def _slices(
    node_bytes: float, *, store_bytes: int, most_bytes: float, wanted_bytes: float, fewest: int
) -> tuple[int, float]:
    """Return the number of a node's slices under way, and their bytes.

    There are twice `fewest`, and as many again to come, unless slices would then be shorter than `wanted_bytes`.
    """
    for slices, turns in ((2 * fewest, _SLICE_TURNS), (fewest, _SLICE_TURNS), (fewest, 1)):
        enough_bytes = max(_LEAST_SLICE_BYTES, node_bytes / (turns * slices))
        slice_bytes = min(store_bytes * _SLICES_STORE_SHARE / slices, enough_bytes, most_bytes)
        if slice_bytes >= min(wanted_bytes, most_bytes):
            break
    return slices, slice_bytes


def _too_small(*, memory_bytes: int, store_bytes: int) -> BadInputError:
    return BadInputError(
        f"{memory_bytes} bytes of memory and {store_bytes} of object store hold no record", code="memory"
    )


_SHORTEST_SHARE: Final = 4
"""Ratio of the longest slices to the shortest."""
_LEAST_BYTES: Final = 1_000_000
"""Shorter slices cost more to order than to group."""


def slice_lengths(records: int, *, longest: int, record_size: int) -> Iterator[int]:
    """Yield the records of each slice of an input partition in turn: each is as long as all before it, or half of the
    rest, within bounds. `longest` is in records.
    """
    shortest = max(longest // _SHORTEST_SHARE, min(longest, max(1, _LEAST_BYTES // record_size)))
    first = 0
    while (left := records - first) > 0:
        length = min(left, longest, max(shortest, first), max(shortest, -(-left // 2)))
        yield length
        first += length


NODES_PER_COORDINATOR: Final = 16
"""Most nodes of a coordinator; up to this many, the driver orders all tasks itself."""


def groups(names: Sequence[str], *, most: int) -> list[tuple[str, ...]]:
    """Divide nodes into groups of about equal size, of at most `most` nodes."""
    count = -(-len(names) // most)
    return [tuple(names[len(names) * at // count : len(names) * (at + 1) // count]) for at in range(count)]


def coordinator_sizes(sizes: Sizes, *, store_bytes: float) -> Sizes:
    """Return the sizes of a coordinator that fills `store_bytes` of each node's store: an equal part for each."""
    parcel_bytes = min(sizes.parcel_bytes, int(store_bytes * STORE_SHARE / FEWEST_PARCELS))
    return replace(sizes, parcel_bytes=parcel_bytes, least_parcel_bytes=min(sizes.least_parcel_bytes, parcel_bytes))
