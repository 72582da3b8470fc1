"""Partitions of text of equal weight, chosen from a sample of its lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from planner.arrays import Bytes, Ints
from planner.distributed_sort.content.base import WHOLE, Splitting, divide
from planner.distributed_sort.dataset.dataset import TextFormat
from planner.native import core, core_errors


@dataclass(frozen=True, kw_only=True)
class TextSplitting(Splitting):
    """Boundaries between ranges of lines, each a line and whether the range begins behind it."""

    boundaries: tuple[tuple[bytes, bool], ...]

    def document(self) -> dict[str, Any]:
        lines = [[line.decode("latin-1"), is_above] for line, is_above in self.boundaries]
        return super().document() | {"boundaries": lines}

    def offsets(self, begins: Sequence[int], grouped: Bytes, *, order: core.KeyOrder) -> Ints:
        """Return the beginnings of partitions and the end of the last, in lines grouped by the boundaries' ranges."""
        return self.edges(begins, lambda begin, end, count: _cut(grouped, begin, end, count, order=order))


def split_text(sample: Sequence[bytes], *, partitions: int, text: TextFormat) -> TextSplitting:
    """Return about `partitions` partitions of equal weight from sampled lines; one if there are none."""
    if not sample:
        return TextSplitting(boundaries=(), **WHOLE)
    lines = _in_order(sample, text)
    boundaries = _boundaries(lines, partitions)
    weights = _weights(lines, boundaries, text)
    shares = [weight / sum(weights) for weight in weights]
    is_one_line = [_holds_one_line(boundaries, index) and not text.unique for index in range(len(weights))]
    return TextSplitting(boundaries=tuple(boundaries), **divide(shares, is_one_line, partitions=partitions))


def _boundaries(lines: Sequence[bytes], partitions: int) -> list[tuple[bytes, bool]]:
    """Return boundaries chosen from sorted lines. A line that would fill a partition has a range of its own: it is
    chosen twice, or, with few partitions, once.
    """
    wanted = Counter(lines[len(lines) * number // partitions] for number in range(1, partitions))
    counts, full_bytes = Counter(lines), sum(len(line) + 1 for line in lines) / partitions
    return [
        (line, is_behind)
        for line, times in wanted.items()
        for is_behind in (False, True)
        if not is_behind or times > 1 or counts[line] * (len(line) + 1) >= full_bytes
    ]


def _in_order(sample: Sequence[bytes], text: TextFormat) -> list[bytes]:
    end, order = text.line_end.encode(), text.order().for_core()
    with core_errors():
        return core.first_lines(core.sorted_text(end.join(sample) + end, order), order)


def _weights(lines: Sequence[bytes], boundaries: Sequence[tuple[bytes, bool]], text: TextFormat) -> list[float]:
    """Return the bytes of the sample between boundaries."""
    end = text.line_end.encode()
    together = np.frombuffer(end.join(lines) + end, np.uint8)
    with core_errors():
        begins = core.partition_text(
            together.data, np.empty_like(together).data, text.order().for_core(), list(boundaries)
        )
    return [float(stop - begin) for begin, stop in pairwise(begins)]


def _holds_one_line(boundaries: Sequence[tuple[bytes, bool]], index: int) -> bool:
    """Return whether a range holds a single line: from the line to behind the same line."""
    return 0 < index < len(boundaries) and boundaries[index] == (boundaries[index - 1][0], True)


def _cut(grouped: Bytes, begin: int, end: int, count: int, *, order: core.KeyOrder) -> list[int]:
    """Return the beginnings of `count` pieces of some lines, at lines; if there are several pieces, the lines are
    equal.
    """
    line_bytes, _ = core.find_line_end(grouped[begin:end].data, order)
    lines = 0 if line_bytes is None else (end - begin) // line_bytes
    return [begin + lines * piece // count * (line_bytes or 0) for piece in range(count)]
