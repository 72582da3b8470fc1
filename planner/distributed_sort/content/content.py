"""The content of a dataset: records of a fixed size here, lines of text and tables elsewhere.

Partitions get equal weight, by a sample. The sort core gives a key a range of its own if it is frequent enough to fill
a partition. Its records are equal, so such a range is cut into pieces by position rather than by key, until no piece is
too heavy.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Bytes, Ints
from planner.distributed_sort.content.base import ORDERED, RAW, WHOLE, Content, Splitting, Summary, divide, reused_array
from planner.distributed_sort.dataset import partition_reader
from planner.distributed_sort.dataset.dataset import Layout, Partition
from planner.distributed_sort.dataset.object_store import is_object
from planner.distributed_sort.dataset.partition_reader import Slice
from planner.native import Splitters, core, core_errors

SAMPLE_WINDOW_RECORDS = 64
SAMPLE_PER_PARTITION: Final = 2000
"""Sampled keys per partition; the weight of a partition is then off by 1/sqrt(2000), 2.2%, in the mean, and rarely by
10%.
"""


@dataclass(frozen=True, kw_only=True)
class RecordSplitting(Splitting):
    """Splitters between ranges of records."""

    splitters: Splitters

    def document(self) -> dict[str, Any]:
        serialized = base64.b64encode(self.splitters.serialize()).decode()
        return super().document() | {"splitters": serialized, "key_size": self.splitters.key_bytes}

    def offsets(self, ranges: Sequence[int]) -> Ints:
        """Return the beginnings of partitions and the end of the last, in records grouped by the splitters' ranges,
        whose beginnings and end are `ranges`.
        """
        return self.edges(ranges[: len(self.pieces) + 1])


def split(sample: bytes, *, partitions: int, layout: Layout) -> RecordSplitting:
    """Return about `partitions` partitions of equal weight from sampled keys; one if there are no keys."""
    keys = np.frombuffer(sample, np.uint8)
    if not len(keys):
        return RecordSplitting(splitters=Splitters.parse(b"", key_bytes=layout.key_size), **WHOLE)
    splitters = core.choose_splitters(keys.data, key_bytes=layout.key_size, partitions=partitions)
    counts = _counts(keys, splitters, key_size=layout.key_size)
    is_one_key = [splitters.holds_one_key(index) for index in range(len(counts))]
    return RecordSplitting(splitters=splitters, **divide(counts / counts.sum(), is_one_key, partitions=partitions))


def _counts(keys: NDArray[np.uint8], splitters: Splitters, *, key_size: int) -> Ints:
    """Return the number of keys in each range: they are partitioned as records that consist of the key alone."""
    grouped = np.empty_like(keys)
    offsets = core.partition_records(keys.data, grouped.data, splitters, record_bytes=key_size, key_offset=0, threads=1)
    return np.diff(offsets).astype(np.int64)


def splitting_of(document: Mapping[str, Any]) -> Splitting:
    """Parse a splitting from the values of its document."""
    from planner.distributed_sort.content.table_content import TableSplitting
    from planner.distributed_sort.content.text_content import TextSplitting

    shares: dict[str, Any] = {name: tuple(document[name]) for name in WHOLE}
    if "tables" in document:
        own = document["tables"]
        return TableSplitting(boundaries=base64.b64decode(own["rows"]), behind=tuple(own["behind"]), **shares)
    if "boundaries" in document:
        boundaries = tuple((line.encode("latin-1"), is_above) for line, is_above in document["boundaries"])
        return TextSplitting(boundaries=boundaries, **shares)
    splitters = Splitters.parse(base64.b64decode(document["splitters"]), key_bytes=document["key_size"])
    return RecordSplitting(splitters=splitters, **shares)


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
        records = reused_array(RAW, slice_.records * self._layout.record_size)
        return partition_reader.read_records(
            partition, self._layout, first=slice_.first, records=slice_.records, into=records
        )

    def group(self, records: Bytes, splitting: RecordSplitting, threads: int) -> tuple[Bytes, Ints]:
        grouped = reused_array(ORDERED, len(records))
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
        output = reused_array(ORDERED, len(records))
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
