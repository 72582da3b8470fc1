"""The content of a dataset (records, lines of text or tables): sampling, grouping, sorting and checking it."""

from __future__ import annotations

import base64
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Final, Protocol, Self

import numpy as np

from planner.arrays import Bytes, Ints
from planner.distributed_sort.content import buffers
from planner.distributed_sort.content.partitioning import RecordSplitting, split
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


@dataclass(kw_only=True)
class RowsSummary(ABC):
    """Summary of consecutive lines or rows, and the `first` and the `last` of them, b'' for none."""

    records: int = 0
    checksum: int = 0
    unordered: int = 0
    duplicates: int = 0
    first: bytes = b""
    last: bytes = b""

    @abstractmethod
    def disorder_before(self, first: bytes) -> tuple[int, int]:
        """Return the numbers of disorders and repeats where the rows behind begin with this one."""

    def append(self, behind: Self) -> None:
        """Add the summary of the rows behind; order is also checked where both meet."""
        if behind.records == 0:
            return
        unordered, duplicates = self.disorder_before(behind.first) if self.records else (0, 0)
        self.first = self.first if self.records else behind.first
        self.records += behind.records
        self.checksum += behind.checksum
        self.unordered += behind.unordered + unordered
        self.duplicates += behind.duplicates + duplicates
        self.last = behind.last

    def serialize(self) -> bytes:
        """Return the summary as one JSON object."""
        numbers = {field.name: getattr(self, field.name) for field in fields(RowsSummary)}
        return json.dumps(numbers | {name: base64.b64encode(numbers[name]).decode() for name in _ENDS}).encode()


_ENDS: Final = ("first", "last")


def parse_rows(serialized: bytes) -> dict[str, Any]:
    """Return the fields of a serialized summary."""
    values: dict[str, Any] = json.loads(serialized)
    return values | {name: base64.b64decode(values[name]) for name in _ENDS}


class Content(ABC):
    """A dataset's content. Its counts are in units of `layout.record_size` bytes: those of text are bytes."""

    prologue = b""
    """First bytes of each output file; they are not part of its partition."""
    suffix = ""
    """Suffix of each output file's name."""

    @abstractmethod
    def sample(self, partition: Partition, keys: int) -> list[bytes]:
        """Return about `keys` keys, or lines, read in windows spaced evenly over a partition."""

    @abstractmethod
    def split(self, samples: list[list[bytes]], partitions: int) -> tuple[Any, int]:
        """Return the splitting into about `partitions` partitions of equal weight, chosen from the samples of all input
        partitions, and the number of bytes read for it.
        """

    @abstractmethod
    def read_slice(self, partition: Partition, slice_: Slice) -> Any:
        """Return the records of a slice, in memory that the next call overwrites."""

    def size_bytes(self, records: Any) -> int:
        """Return the size of the records of a slice in bytes."""
        return len(records)

    def checksum(self, records: Any, threads: int) -> int:
        """Return the checksum of the records of a slice."""
        return self.summary(records, threads).checksum

    @abstractmethod
    def group(self, records: Any, splitting: Any, threads: int) -> tuple[Bytes, Ints]:
        """Return the records of a slice by partition, in an array that the next call overwrites, and the beginning of
        each partition, counted in `layout.stored_size`.
        """

    @abstractmethod
    def needed_bytes(self, gathered: Bytes, threads: int) -> int:
        """Return the memory needed to sort the grouped data of a partition, including that data."""

    @abstractmethod
    def sort(self, gathered: Bytes, threads: int) -> Bytes:
        """Return a partition in order, as in its file, in an array that the next call overwrites."""

    @abstractmethod
    def summary(self, output: Bytes, threads: int) -> Summary:
        """Return the summary of a sorted partition."""

    def empty_summary(self) -> Summary:
        """Return the summary of no records."""
        return self.summary(np.empty(0, np.uint8), threads=1)

    @abstractmethod
    def parse_summary(self, serialized: bytes) -> Summary:
        """Parse a serialized summary."""

    @abstractmethod
    def describe(self, output: Bytes, summary: Any) -> Partition:
        """Return a sorted partition without its copies: its number of records, and its first and last key."""

    @abstractmethod
    def read_output(self, partition: Partition) -> Bytes:
        """Return a sorted partition as in its file. Raises IoFailureError."""

    @abstractmethod
    def validate(self, partition: Partition, threads: int) -> tuple[Summary, int]:
        """Return the summary of a partition, read back in place, and its number of records. Raises IoFailureError."""


class Records(Content):
    """Records of a fixed size."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

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

    def split(self, samples: list[list[bytes]], partitions: int) -> tuple[RecordSplitting, int]:
        keys = b"".join(part for of_partition in samples for part in of_partition)
        read_bytes = len(keys) // self._layout.key_size * self._layout.record_size
        return split(keys, partitions=partitions, layout=self._layout), read_bytes

    def read_slice(self, partition: Partition, slice_: Slice) -> Bytes:
        records = buffers.array(buffers.RAW, slice_.records * self._layout.record_size)
        return partition_reader.read_records(
            partition, self._layout, first=slice_.first, records=slice_.records, into=records
        )

    def group(self, records: Bytes, splitting: RecordSplitting, threads: int) -> tuple[Bytes, Ints]:
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
        count = len(records) // self._layout.record_size
        return 2 * len(records) + core.scratch_bytes(count, threads=threads)

    def sort(self, records: Bytes, threads: int) -> Bytes:
        output = buffers.array(buffers.ORDERED, len(records))
        with core_errors():
            core.sort_records(records.data, output.data, **self._layout.core(), threads=threads)
        return output

    def summary(self, records: Bytes, threads: int) -> Summary:
        with core_errors():
            return core.validate_records(records.data, **self._layout.core(), threads=threads)

    def parse_summary(self, serialized: bytes) -> Summary:
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
        return partition_reader.read_records(partition, self._layout, first=0, records=partition.records)

    def validate(self, partition: Partition, threads: int) -> tuple[Summary, int]:
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
