"""Partitions of equal weight, chosen from a sample.

The sort core gives a key a range of its own if it is frequent enough to fill a partition. Its records are equal, so
such a range is cut into pieces by position rather than by key, until no piece is too heavy.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Ints
from planner.distributed_sort.dataset.dataset import Layout
from planner.native import Splitters, core


def _cut_evenly(begin: int, end: int, count: int) -> Iterable[int]:
    return (begin + (end - begin) * piece // count for piece in range(count))


SAMPLE_PER_PARTITION: Final = 2000
"""Sampled keys per partition; the weight of a partition is then off by 1/sqrt(2000), 2.2%, in the mean, and rarely by
10%.
"""


@dataclass(frozen=True, kw_only=True)
class Splitting:
    """Ranges of the order, and `pieces`: the number of partitions that each range is cut into, 1 except for a frequent
    key. The boundaries of ranges depend on the content.
    """

    pieces: tuple[int, ...]
    weights: tuple[float, ...]
    """Expected share of the data for each partition."""

    @property
    def partitions(self) -> int:
        """Number of output partitions."""
        return len(self.weights)

    def document(self) -> dict[str, Any]:
        """Return the splitting as JSON-able values."""
        return {"pieces": self.pieces, "weights": self.weights}

    def edges(self, begins: Sequence[int], cut: Callable[[int, int, int], Iterable[int]] = _cut_evenly) -> Ints:
        """Return the beginnings of the partitions and the end of the last, from those of the ranges. `cut` returns the
        beginnings of a number of pieces between two places.
        """
        ranges = zip(pairwise(begins), self.pieces, strict=True)
        return np.array([edge for (begin, end), count in ranges for edge in cut(begin, end, count)] + [begins[-1]])


def divide(shares: Sequence[float], is_one_key: Sequence[bool], *, partitions: int) -> dict[str, Any]:
    """Return the pieces and weights of ranges with these shares of the data: a range of one key that would fill several
    of `partitions` is cut into as many.
    """
    pieces = [max(1, round(share * partitions)) if one else 1 for share, one in zip(shares, is_one_key, strict=True)]
    weights = (share / count for share, count in zip(shares, pieces, strict=True) for _ in range(count))
    return {"pieces": tuple(pieces), "weights": tuple(map(float, weights))}


WHOLE: Final[dict[str, Any]] = {"pieces": (1,), "weights": (1.0,)}
"""One partition, where there is no sample to choose several from."""


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
    from planner.distributed_sort.content.table_splitting import TableSplitting
    from planner.distributed_sort.content.text_splitting import TextSplitting

    shares: dict[str, Any] = {name: tuple(document[name]) for name in WHOLE}
    if "tables" in document:
        own = document["tables"]
        return TableSplitting(boundaries=base64.b64decode(own["rows"]), behind=tuple(own["behind"]), **shares)
    if "boundaries" in document:
        boundaries = tuple((line.encode("latin-1"), is_above) for line, is_above in document["boundaries"])
        return TextSplitting(boundaries=boundaries, **shares)
    splitters = Splitters.parse(base64.b64decode(document["splitters"]), key_bytes=document["key_size"])
    return RecordSplitting(splitters=splitters, **shares)
