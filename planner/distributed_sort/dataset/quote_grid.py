"""A grid over a partition of CSV that marks the points within quotes, where a newline does not end a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

_LEAST_STEP_BYTES: Final = 64_000
_MOST_STEP_BYTES: Final = 4_000_000
_MOST_POINTS: Final = 100_000


@dataclass(frozen=True, kw_only=True)
class QuoteGrid:
    """Byte number `step_bytes` x (`first` + i) of a partition lies within quotes if `within[i]` is 1."""

    step_bytes: int
    within: bytes
    first: int = 0

    def point_before(self, byte: int) -> tuple[int, bool]:
        """Return the last point of the grid that is not behind a byte, and whether it is within quotes."""
        number = byte // self.step_bytes
        return number * self.step_bytes, bool(self.within[number - self.first])

    def for_slice(self, first: int, count: int) -> QuoteGrid:
        """Return the part for some bytes and for the one before them, which is small enough to send to a task."""
        begin = max(0, first - 1) // self.step_bytes
        end = (first + count) // self.step_bytes + 1
        return replace(self, within=self.within[begin - self.first : end - self.first], first=begin)


def step_bytes_of(data_bytes: int) -> int:
    """Return the distance between points of the grid: a slice is read from the point before it."""
    return min(max(data_bytes // _MOST_POINTS, _LEAST_STEP_BYTES), _MOST_STEP_BYTES)


def grid_of(flips: Sequence[bytes], step_bytes: int) -> QuoteGrid:
    """Return the grid of a partition from its steps: 1 for each with an odd number of quotes."""
    odd = np.frombuffer(b"".join(flips), np.uint8)
    behind = np.bitwise_xor.accumulate(odd) if len(odd) else odd
    return QuoteGrid(step_bytes=step_bytes, within=b"\0" + behind.tobytes())
