"""The content of a dataset (records, lines of text or tables): sampling, grouping, sorting and checking it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from planner.arrays import Bytes, Ints
from planner.distributed_sort.content import buffers
from planner.distributed_sort.content.partitioning import Splitting, split
from planner.distributed_sort.dataset import partition_reader
from planner.distributed_sort.dataset.dataset import Layout, Partition
from planner.distributed_sort.dataset.object_store import is_object
from planner.distributed_sort.dataset.partition_reader import Slice
from planner.native import core, core_errors

SAMPLE_WINDOW_RECORDS = 64


class Summary(Protocol):
    """Summary of consecutive records; order is also checked where two summaries meet."""

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
    """A dataset's content. Its counts are in units of `layout.record_size` bytes: those of text are bytes."""

    @property
    def prologue(self) -> bytes:
        """First bytes of each output file; they are not part of its partition."""

    @property
    def suffix(self) -> str:
        """Suffix of each output file's name."""

    def sample(self, partition: Partition, keys: int) -> list[bytes]:
        """Return about `keys` keys, or lines, read in windows spaced evenly over a partition."""

    def split(self, samples: list[list[bytes]], partitions: int) -> tuple[Any, int]:
        """Return the splitting into about `partitions` partitions of equal weight, chosen from the samples of all input
        partitions, and the number of bytes read for it.
        """

    def read_slice(self, partition: Partition, slice_: Slice) -> Any:
        """Return the records of a slice, in memory that the next call overwrites."""

    def size_bytes(self, records: Any) -> int:
        """Return the size of the records of a slice in bytes."""

    def checksum(self, records: Any, threads: int) -> int:
        """Return the checksum of the records of a slice."""

    def group(self, records: Any, splitting: Any, threads: int) -> tuple[Bytes, Ints]:
        """Return the records of a slice by partition, in an array that the next call overwrites, and the beginning of
        each partition, counted in `layout.stored_size`.
        """

    def needed_bytes(self, gathered: Bytes, threads: int) -> int:
        """Return the memory needed to sort the grouped data of a partition, including that data."""

    def sort(self, gathered: Bytes, threads: int) -> Bytes:
        """Return a partition in order, as in its file, in an array that the next call overwrites."""

    def summary(self, output: Bytes, threads: int) -> Summary:
        """Return the summary of a sorted partition."""

    def empty_summary(self) -> Summary:
        """Return the summary of no records."""

    def parse_summary(self, serialized: bytes) -> Summary:
        """Parse a serialized summary."""

    def describe(self, output: Bytes, summary: Any) -> Partition:
        """Return a sorted partition without its copies: its number of records, and its first and last key."""

    def read_output(self, partition: Partition) -> Bytes:
        """Return a sorted partition as in its file. Raises IoFailureError."""

    def validate(self, partition: Partition, threads: int) -> tuple[Summary, int]:
        """Return the summary of a partition, read back in place, and its number of records. Raises IoFailureError."""


class Records:
    """Records of a fixed size."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    @property
    def prologue(self) -> bytes:
        """See Content."""
        return b""

    @property
    def suffix(self) -> str:
        """See Content."""
        return ""

    def sample(self, partition: Partition, keys: int) -> list[bytes]:
        """See Content: all keys are one value, as they have the same length."""
        layout = self._layout
        windows = max(1, -(-keys // SAMPLE_WINDOW_RECORDS))
        if partition.records <= keys or partition.records <= windows * SAMPLE_WINDOW_RECORDS:
            windows, width = 1, partition.records
        else:
            width = SAMPLE_WINDOW_RECORDS
        starts = [(partition.records - width) * number // max(1, windows - 1) for number in range(windows)]
        together = np.concatenate(partition_reader.read_windows(partition, layout, starts=starts, records=width))
        with core_errors():
            count = min(keys, len(together) // layout.record_size)
            return [core.sample_keys(together.data, count=count, **layout.core())]

    def split(self, samples: list[list[bytes]], partitions: int) -> tuple[Splitting, int]:
        """See Content."""
        keys = b"".join(part for of_partition in samples for part in of_partition)
        read_bytes = len(keys) // self._layout.key_size * self._layout.record_size
        return split(keys, partitions=partitions, layout=self._layout), read_bytes

    def read_slice(self, partition: Partition, slice_: Slice) -> Bytes:
        """See Content."""
        records = buffers.array(buffers.RAW, slice_.records * self._layout.record_size)
        return partition_reader.read_records(
            partition, self._layout, first=slice_.first, records=slice_.records, into=records
        )

    def size_bytes(self, records: Bytes) -> int:
        """See Content."""
        return len(records)

    def checksum(self, records: Bytes, threads: int) -> int:
        """See Content."""
        return self.summary(records, threads).checksum

    def group(self, records: Bytes, splitting: Splitting, threads: int) -> tuple[Bytes, Ints]:
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

    def sort(self, records: Bytes, threads: int) -> Bytes:
        """See Content."""
        output = buffers.array(buffers.ORDERED, len(records))
        with core_errors():
            core.sort_records(records.data, output.data, **self._layout.core(), threads=threads)
        return output

    def summary(self, records: Bytes, threads: int) -> Summary:
        """See Content."""
        with core_errors():
            return core.validate_records(records.data, **self._layout.core(), threads=threads)

    def empty_summary(self) -> Summary:
        """See Content."""
        return self.summary(np.empty(0, np.uint8), threads=1)

    def parse_summary(self, serialized: bytes) -> Summary:
        """See Content."""
        return core.Summary.parse(serialized)

    def describe(self, output: Bytes, summary: Any) -> Partition:
        """See Content: keys are in hex."""
        layout = self._layout
        key = slice(layout.key_offset, layout.key_offset + layout.key_size)
        return Partition(
            records=len(output) // layout.record_size,
            copies=(),
            first_key=summary.first_record[key].hex(),
            last_key=summary.last_record[key].hex(),
        )

    def read_output(self, partition: Partition) -> Bytes:
        """See Content."""
        return partition_reader.read_records(partition, self._layout, first=0, records=partition.records)

    def validate(self, partition: Partition, threads: int) -> tuple[Summary, int]:
        """See Content."""
        if is_object(partition.uri):
            summary = self.summary(self.read_output(partition), threads)
        else:
            with core_errors():
                summary = core.validate_file(partition.uri, **self._layout.core(), threads=threads)
        return summary, summary.records


def content_of(layout: Layout) -> Content:
    """Return the content of a dataset with this layout."""
    if layout.table is not None:
        from planner.distributed_sort.content.table_content import Tables

        return Tables(layout, layout.table)
    if layout.text is None:
        return Records(layout)
    from planner.distributed_sort.content.text_content import Text

    return Text(layout.text)


def merge_summaries(summaries: Iterator[bytes], layout: Layout) -> Summary:
    """Return the summary of consecutive partitions; order is also checked where they meet."""
    content = content_of(layout)
    whole = content.parse_summary(next(summaries))
    for summary in summaries:
        whole.append(content.parse_summary(summary))
    return whole
