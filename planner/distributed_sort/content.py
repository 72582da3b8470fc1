"""What a dataset holds, records or lines of text, as the tasks of a sort need to know it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from planner.arrays import Bytes, Ints
from planner.distributed_sort import buffers, partition_reader
from planner.distributed_sort.dataset import Layout, Partition
from planner.distributed_sort.partition_reader import Slice
from planner.native import core, core_errors

SAMPLE_WINDOW_RECORDS = 64


class Summary(Protocol):
    """What consecutive records hold; order is also checked where two summaries meet."""

    @property
    def records(self) -> int: ...
    @property
    def checksum(self) -> int: ...
    @property
    def unordered(self) -> int: ...
    @property
    def duplicates(self) -> int: ...
    def append(self, behind: Any) -> None: ...
    def serialize(self) -> bytes: ...


class Content(Protocol):
    """A dataset's content. Its counts are of `layout.record_size` bytes: those of text are bytes."""

    @property
    def prologue(self) -> bytes:
        """What each file of the output begins with; it is no part of its partition."""

    def sample(self, partition: Partition, keys: int) -> list[bytes]:
        """Return about so many keys, or lines, read in windows spaced evenly over a partition."""

    def read_slice(self, partition: Partition, slice_: Slice) -> Bytes:
        """Return the records of a slice, in an array that the next call overwrites."""

    def group(self, records: Bytes, splitting: Any, threads: int) -> tuple[Bytes, Ints]:
        """Return the records by partition, in an array that the next call overwrites, and where each begins."""

    def needed_bytes(self, records: Bytes, threads: int) -> int:
        """Return the memory that it takes to sort records, themselves included."""

    def sorted(self, records: Bytes, threads: int) -> Bytes:
        """Return the records in order, in an array that the next call overwrites."""

    def summary(self, records: Bytes, threads: int) -> Summary:
        """Return what records hold."""

    def parse_summary(self, serialized: bytes) -> Summary:
        """Return a summary that was serialized."""


class Records:
    """Fixed records."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    @property
    def prologue(self) -> bytes:
        """See Content."""
        return b""

    def sample(self, partition: Partition, keys: int) -> list[bytes]:
        """See Content: all keys are one value, as they are of one length."""
        layout = self._layout
        windows = max(1, -(-keys // SAMPLE_WINDOW_RECORDS))
        if partition.records <= keys or partition.records <= windows * SAMPLE_WINDOW_RECORDS:
            windows, width = 1, partition.records
        else:
            width = SAMPLE_WINDOW_RECORDS
        starts = [(partition.records - width) * number // max(1, windows - 1) for number in range(windows)]
        read = [partition_reader.read_records(partition, layout, first=start, records=width) for start in starts]
        together = np.concatenate(read)
        with core_errors():
            count = min(keys, len(together) // layout.record_size)
            return [core.sample_keys(together.data, count=count, **layout.core())]

    def read_slice(self, partition: Partition, slice_: Slice) -> Bytes:
        """See Content."""
        records = buffers.array(buffers.RAW, slice_.records * self._layout.record_size)
        return partition_reader.read_records(
            partition, self._layout, first=slice_.first, records=slice_.records, into=records
        )

    def group(self, records: Bytes, splitting: Any, threads: int) -> tuple[Bytes, Ints]:
        """See Content."""
        grouped = buffers.array(buffers.ORDERED, len(records))
        with core_errors():
            ranges = core.partition_records(
                records.data,
                grouped.data,
                splitting.splitters,
                record_bytes=self._layout.record_size,
                key_offset=self._layout.key_offset,
                threads=threads,
            )
        return grouped, splitting.offsets(ranges)

    def needed_bytes(self, records: Bytes, threads: int) -> int:
        """See Content."""
        count = len(records) // self._layout.record_size
        return 2 * len(records) + core.scratch_bytes(count, threads=threads)

    def sorted(self, records: Bytes, threads: int) -> Bytes:
        """See Content."""
        output = buffers.array(buffers.ORDERED, len(records))
        with core_errors():
            core.sort_records(records.data, output.data, **self._layout.core(), threads=threads)
        return output

    def summary(self, records: Bytes, threads: int) -> Summary:
        """See Content."""
        with core_errors():
            return core.validate_records(records.data, **self._layout.core(), threads=threads)

    def parse_summary(self, serialized: bytes) -> Summary:
        """See Content."""
        return core.Summary.parse(serialized)


def content_of(layout: Layout) -> Content:
    """Return what a dataset of this layout holds."""
    if layout.text is None:
        return Records(layout)
    from planner.distributed_sort.text_content import Text

    return Text(layout.text)
