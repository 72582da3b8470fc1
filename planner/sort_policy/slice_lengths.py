"""Lengths of the slices of an input.

The first slices are short, so that links soon have something to carry; the last are short, so that all nodes end
together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_SHORTEST_SHARE: Final = 4
"""The shortest slices are this part of the longest."""
_LEAST_BYTES: Final = 1_000_000
"""Shorter slices cost more to order than to group."""


def slice_lengths(records: int, *, longest: int, record_size: int) -> Iterator[int]:
    """Yield the records of each slice of a partition of the input in turn: each is as long as all before it, or half of
    what is left, within bounds. `longest` is in records.
    """
    shortest = max(longest // _SHORTEST_SHARE, min(longest, max(1, _LEAST_BYTES // record_size)))
    first = 0
    while (left := records - first) > 0:
        length = min(left, longest, max(shortest, first), max(shortest, -(-left // 2)))
        yield length
        first += length
