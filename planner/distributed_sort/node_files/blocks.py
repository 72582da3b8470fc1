"""Blocks: the data of a slice for consecutive partitions, with a checksum of each partition's records.

The checksums are computed when a slice is grouped, and stay with the records over the network and on the disk until
these are sorted.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from planner.arrays import Bytes, Ints
from planner.native import core


class Block(NamedTuple):
    """The number of records of each partition, their CRC-32, and the records one after another."""

    counts: Ints
    checksums: Ints
    records: Bytes

    @classmethod
    def of(cls, counts: Ints, records: Bytes) -> Self:
        """Return the block of a slice that has just been grouped."""
        return cls(counts.astype("<i8"), checksums_of(records, _lengths(counts, records)), records)

    @classmethod
    def parse(cls, content: Bytes, *, partitions: int) -> Self:
        """Parse the block that was sent as `head` and records."""
        counts, checksums = content[: head_bytes(partitions)].view("<i8").reshape(2, partitions)
        return cls(counts, checksums, content[head_bytes(partitions) :])

    @property
    def head(self) -> Ints:
        """Head, sent before the records."""
        return np.stack([self.counts, self.checksums])

    @property
    def is_intact(self) -> bool:
        """True if the records are those that were grouped."""
        lengths = _lengths(self.counts, self.records)
        if (lengths < 0).any() or lengths.sum() != len(self.records):
            return False
        return bool((checksums_of(self.records, lengths) == self.checksums).all())


def head_bytes(partitions: int) -> int:
    """Return the size of a block's head in bytes."""
    return 2 * 8 * partitions


def checksums_of(records: Bytes, lengths: Ints) -> Ints:
    """Return the CRC-32 of each of consecutive pieces with these `lengths` in bytes."""
    checksums = np.empty(len(lengths), np.uint32)
    core.checksum_pieces(records.data, lengths=lengths.astype("<u8").data, out=checksums.data)
    return checksums.astype("<i8")


def _lengths(counts: Ints, records: Bytes) -> Ints:
    lengths: Ints = counts * (len(records) // max(1, int(counts.sum())))
    return lengths
