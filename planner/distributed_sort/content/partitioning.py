"""Partitions of equal weight, chosen from a sample.

The sort core gives a key a range of its own if it is frequent enough to fill a partition. Its records are equal, so
such a range is cut into pieces by position rather than by key, until no piece is too heavy.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Ints
from planner.distributed_sort.content.table_splitting import TableSplitting
from planner.distributed_sort.content.text_splitting import TextSplitting
from planner.distributed_sort.dataset.dataset import Layout
from planner.native import Splitters, core

SAMPLE_PER_PARTITION: Final = 2000
"""Sampled keys per partition; the weight of a partition is then off by 1/sqrt(2000), 2.2%, in the mean, and rarely by
10%.
"""


@dataclass(frozen=True, kw_only=True)
class Splitting:
    """Splitters, and `pieces`: the number of partitions that each range between them is cut into, 1 except for frequent
    keys.
    """

    splitters: Splitters
    pieces: tuple[int, ...]
    weights: tuple[float, ...]
    """Expected share of the records for each partition."""

    @property
    def partitions(self) -> int:
        """Number of output partitions."""
        return len(self.weights)

    def offsets(self, ranges: Sequence[int]) -> Ints:
        """Return the beginnings of the partitions and the end of the last, in records grouped by the splitters' ranges,
        whose beginnings and end are `ranges`.
        """
        edges = [
            start + (end - start) * piece // count
            for start, end, count in zip(ranges, ranges[1:], self.pieces, strict=False)
            for piece in range(count)
        ]
        return np.array([*edges, ranges[len(self.pieces)]], np.int64)


def split(sample: bytes, *, partitions: int, layout: Layout) -> Splitting:
    """Return about `partitions` partitions of equal weight from sampled keys; one if there are no keys."""
    keys = np.frombuffer(sample, np.uint8)
    if not len(keys):
        return Splitting(splitters=Splitters.parse(b"", key_bytes=layout.key_size), pieces=(1,), weights=(1.0,))
    splitters = core.choose_splitters(keys.data, key_bytes=layout.key_size, partitions=partitions)
    counts = _counts(keys, splitters, key_size=layout.key_size)
    mean = counts.sum() / partitions
    pieces = [
        max(1, round(float(count) / mean)) if splitters.holds_one_key(index) else 1
        for index, count in enumerate(counts)
    ]
    weights = [count / counts.sum() / parts for count, parts in zip(counts, pieces, strict=True) for _ in range(parts)]
    return Splitting(splitters=splitters, pieces=tuple(pieces), weights=tuple(weights))


def _counts(keys: NDArray[np.uint8], splitters: Splitters, *, key_size: int) -> Ints:
    """Return the number of keys in each range: they are partitioned as records that consist of the key alone."""
    grouped = np.empty_like(keys)
    offsets = core.partition_records(keys.data, grouped.data, splitters, record_bytes=key_size, key_offset=0, threads=1)
    return np.diff(offsets).astype(np.int64)


AnySplitting = Splitting | TextSplitting | TableSplitting


def document_of(splitting: AnySplitting) -> dict[str, Any]:
    """Return a splitting as JSON-able values."""
    shares = {"pieces": splitting.pieces, "weights": splitting.weights}
    if isinstance(splitting, TableSplitting):
        return shares | {"tables": splitting.document()}
    if isinstance(splitting, TextSplitting):
        return shares | {"boundaries": [[line.decode("latin-1"), is_above] for line, is_above in splitting.boundaries]}
    serialized = base64.b64encode(splitting.splitters.serialize()).decode()
    return shares | {"splitters": serialized, "key_size": splitting.splitters.key_bytes}


def splitting_of(document: Mapping[str, Any]) -> AnySplitting:
    """Parse a splitting from such values."""
    pieces, weights = tuple(document["pieces"]), tuple(document["weights"])
    if "tables" in document:
        return TableSplitting.of(document["tables"], pieces=pieces, weights=weights)
    if "boundaries" in document:
        boundaries = tuple((line.encode("latin-1"), is_above) for line, is_above in document["boundaries"])
        return TextSplitting(boundaries=boundaries, pieces=pieces, weights=weights)
    splitters = Splitters.parse(base64.b64decode(document["splitters"]), key_bytes=document["key_size"])
    return Splitting(splitters=splitters, pieces=pieces, weights=weights)
