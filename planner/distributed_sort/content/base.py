"""What all contents share: their functions, summaries, splittings of the order, and arrays for their records.

Arrays are kept from one task to the next, as the first touch of fresh memory costs more than grouping or sorting the
records put there. A task with new arrays pays that cost each time. Ray runs one task at a time in a process and copies
its results, so the next task may use the same arrays.
"""

from __future__ import annotations

import base64
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Final, Protocol, Self

import numpy as np

from planner.arrays import Bytes, Ints
from planner.distributed_sort.dataset.dataset import Partition
from planner.distributed_sort.dataset.partition_reader import Slice

RAW: Final = "raw"
ORDERED: Final = "ordered"
"""Roles: records as read, and grouped or sorted records."""
_LEAST_BYTES: Final = 64 << 20
"""The first size of an array: untouched parts take no memory, and an array that grows is touched again."""
_SPARE: Final = 8
"""When an array has to grow, it grows by one byte in this many: partitions differ in size by a few percent."""


class _Arrays(threading.local):
    def __init__(self) -> None:
        self.arrays: dict[str, Bytes] = {}


_OWN: Final = _Arrays()


def reused_array(role: str, size: int) -> Bytes:
    """Return `size` bytes with any content; in one thread a `role` gets the same memory each time.

    A call overwrites the array that an earlier call with the same role returned, so copy anything that must last.
    """
    if role not in _OWN.arrays or len(_OWN.arrays[role]) < size:
        _OWN.arrays.pop(role, None)  # frees it before the larger one is made
        _OWN.arrays[role] = np.empty(max(_LEAST_BYTES, size + size // _SPARE), np.uint8)
    return _OWN.arrays[role][:size]


def _cut_evenly(begin: int, end: int, count: int) -> Iterable[int]:
    return (begin + (end - begin) * piece // count for piece in range(count))


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
