"""Lines of text as the content of a dataset: counts are bytes, and no line is cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from planner.arrays import Bytes, Ints
from planner.distributed_sort.content.base import (
    ORDERED,
    WHOLE,
    Content,
    RowsSummary,
    Splitting,
    divide,
    parse_rows,
    reused_array,
)
from planner.distributed_sort.dataset import partition_reader
from planner.distributed_sort.dataset.dataset import Layout, Partition, TextFormat
from planner.distributed_sort.dataset.partition_reader import Slice
from planner.errors import BadInputError
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


_WINDOW_BYTES: Final = 16_000
_WINDOW_LINES: Final = 16
_MOST_WINDOW_LINES: Final = 64
"""Most lines taken from a window: lines of a window may be alike, so few are taken from each, and more where windows
would cover more than a share of the file. More windows take long where each is a request.
"""
_SAMPLED_SHARE: Final = 0.05
_STEP_BYTES: Final = 64_000
"""Step for reading a line that continues behind its slice."""
_BESIDE_LINE_BYTES: Final = 32
"""Extra memory for each line that is sorted: an entry, its place and its number, rounded up."""
_QUOTE: Final = ord('"')
_BYTES: Final = Layout(record_size=1)


@dataclass(kw_only=True)
class TextSummary(RowsSummary):
    """Summary of consecutive lines; the first and last are without their ends."""

    text: TextFormat

    def disorder_before(self, first: bytes) -> tuple[int, int]:
        end = self.text.line_end.encode()
        with core_errors():
            _, _, unordered, duplicates, _, _ = core.summarize_text(
                self.last + end + first + end, self.text.order().for_core()
            )
        return unordered, duplicates


class Text(Content):
    """Lines of a text format."""

    def __init__(self, text: TextFormat) -> None:
        self._text = text
        self._order = text.order().for_core()
        self._end = ord(text.line_end)
        self.prologue = b"" if text.csv is None else text.csv.header.encode("latin-1")
        if text.csv is not None:  # readers of folders look for it
            self.suffix = ".tsv" if text.csv.delimiter == "\t" else ".csv"

    def sample(self, partition: Partition, keys: int) -> list[bytes]:
        """See Content: the first lines that begin in each window."""
        most = max(1, min(keys, -(-partition.records // _WINDOW_BYTES)))
        share = round(_SAMPLED_SHARE * partition.records) // _WINDOW_BYTES
        windows = max(1, min(most, keys // _WINDOW_LINES, max(share, keys // _MOST_WINDOW_LINES)))
        lines = self._first_lines(partition, windows, keys)
        if 2 * len(lines) < keys and windows < most:  # lines are long
            lines = self._first_lines(partition, min(most, windows * keys // max(1, len(lines))), keys)
        if lines and self._text.csv is not None:  # report a wrong row where it was read
            with core_errors():
                core.summarize_text(b"\n".join([*lines, b""]), self._order)
        return lines

    def _first_lines(self, partition: Partition, windows: int, keys: int) -> list[bytes]:
        """Return up to `keys` lines, equally many per window: the first that begin in it."""
        width, lines = min(_WINDOW_BYTES, partition.records), list[bytes]()
        starts = _window_starts(partition, windows, width)
        wanted, length = -(-keys // len(starts)), min(width + 1, partition.records)
        stretches = partition_reader.read_windows(partition, _BYTES, starts=starts, records=length)
        for start, stretch in zip(starts, stretches, strict=True):
            begun, is_within = self._from_line_begin(partition, stretch, at=start, is_cut=start > 0)
            lines_here = core.first_lines(begun.data, self._order, wanted + 1)
            if len(lines_here) <= wanted:  # the last one may continue behind the window
                begun = self._to_line_end(partition, start + length, begun, is_within=is_within)
                lines_here = core.first_lines(begun.data, self._order, wanted)
            lines += lines_here[:wanted]
        return lines

    def split(self, samples: list[list[bytes]], partitions: int) -> tuple[TextSplitting, int]:
        lines = [line for of_partition in samples for line in of_partition]
        return split_text(lines, partitions=partitions, text=self._text), sum(map(len, lines))

    def peak_bytes_per_byte(self, samples: list[list[bytes]], splitting: TextSplitting) -> float:
        """Return the sorting memory of the partition that needs most, per byte of the samples."""
        end = self._text.line_end.encode()
        lines = np.frombuffer(b"".join(line + end for of_partition in samples for line in of_partition), np.uint8)
        grouped, offsets = self.group(lines, splitting, 1)
        needed = [self.needed_bytes(grouped[begin:stop], 1) for begin, stop in pairwise(offsets)]
        return max(needed) / max(1, len(lines))

    def read_slice(self, partition: Partition, slice_: Slice) -> Bytes:
        """See Content: the lines that begin in the slice, the last of them to its end."""
        return self._read_lines(partition, slice_.first, slice_.records)

    def group(self, records: Bytes, splitting: TextSplitting, threads: int) -> tuple[Bytes, Ints]:
        del threads
        grouped = reused_array(ORDERED, len(records))
        with core_errors():
            begins = core.partition_text(records.data, grouped.data, self._order, splitting.boundaries)
        return grouped, splitting.offsets(begins, grouped, order=self._order)

    def needed_bytes(self, records: Bytes, threads: int) -> int:
        """See Content. A key is taken to be as long as its line."""
        del threads
        lines = self._ends_outside_quotes(records) if self._text.csv else int(np.count_nonzero(records == self._end))
        return 2 * len(records) + lines * _BESIDE_LINE_BYTES + (len(records) if self._text.keys else 0)

    def begin_of(self, partition: Partition, slice_: Slice) -> int:
        """Return the place in its partition of the first line that begins in a slice."""
        begun, _ = self._read_from_first_line(partition, slice_.first, slice_.records)
        return slice_.first + slice_.records - len(begun)

    def has_line_end(self, stretch: Bytes) -> bool:
        """Return whether a stretch holds the byte that ends lines, also within quotes."""
        steps = (stretch[begin : begin + _STEP_BYTES] for begin in range(0, len(stretch), _STEP_BYTES))
        return any(bool((step == self._end).any()) for step in steps)

    def line_ends(self, lines: Bytes) -> Ints:
        """Return the ends of lines, each behind its end byte."""
        is_end = lines == self._end
        if self._text.csv is not None:
            is_end &= ~np.logical_xor.accumulate(lines == _QUOTE)
        return np.flatnonzero(is_end) + 1

    def _ends_outside_quotes(self, records: Bytes) -> int:
        """Count rows: newlines within quotes end no row, and some fields have hundreds."""
        rows, is_within = 0, np.False_
        for begin in range(0, len(records), _STEP_BYTES):
            step = records[begin : begin + _STEP_BYTES]
            within = np.logical_xor.accumulate(step == _QUOTE) ^ is_within
            rows += int(np.count_nonzero((step == self._end) & ~within))
            is_within = within[-1]
        return rows

    def sort(self, records: Bytes, threads: int) -> Bytes:
        del threads
        with core_errors():
            return np.frombuffer(core.sorted_text(records.data, self._order, unique=self._text.unique), np.uint8)

    def summary(self, records: Bytes, threads: int) -> TextSummary:
        del threads
        with core_errors():
            lines, checksum, unordered, duplicates, first, last = core.summarize_text(records.data, self._order)
        return TextSummary(
            text=self._text,
            records=lines,
            checksum=checksum,
            unordered=unordered,
            duplicates=duplicates,
            first=first,
            last=last,
        )

    def parse_summary(self, serialized: bytes) -> TextSummary:
        return TextSummary(**parse_rows(serialized), text=self._text)

    def describe(self, output: Bytes, summary: TextSummary) -> Partition:
        """See Content: keys can be long, and are left out."""
        del summary
        return Partition(records=len(output), copies=())

    def read_output(self, partition: Partition) -> Bytes:
        return self._read(partition, 0, partition.records)

    def validate(self, partition: Partition, threads: int) -> tuple[TextSummary, int]:
        lines = self.read_output(partition)
        return self.summary(lines, threads), len(lines)

    def _read_lines(self, partition: Partition, first: int, count: int) -> Bytes:
        """Return the lines that begin within a range of a partition's bytes, each with its end."""
        begun, is_within = self._read_from_first_line(partition, first, count)
        return self._to_line_end(partition, first + count, begun, is_within=is_within)

    def _read_from_first_line(self, partition: Partition, first: int, count: int) -> tuple[Bytes, bool]:
        """Return a range of a partition's bytes from the first line that begins there, and whether quotes are open at
        its end.
        """
        before = min(first, 1)  # a line begins behind another's end
        stretch = self._read(partition, first - before, count + before)
        return self._from_line_begin(partition, stretch, at=first - before, is_cut=first > 0)

    def _from_line_begin(self, partition: Partition, stretch: Bytes, *, at: int, is_cut: bool) -> tuple[Bytes, bool]:
        """Return a stretch that begins at byte `at`, and whether quotes are open at its end. If it `is_cut`, it is
        returned from the first line that begins behind another's end.
        """
        if is_cut:
            begin, _ = core.find_line_end(stretch.data, self._order, self._is_within(partition, at))
            stretch = stretch[len(stretch) if begin is None else begin :]
        return stretch, bool(len(stretch)) and core.is_within_quotes_behind(stretch.data, self._order)

    def _to_line_end(self, partition: Partition, behind: int, lines: Bytes, *, is_within: bool) -> Bytes:
        """Return lines read up to the byte `behind`, with the rest of the last line."""
        if not len(lines) or (lines[-1] == self._end and not is_within):
            return lines
        return np.concatenate(
            [lines, *self._read_rest_of_line(partition, behind, is_within=is_within, last=int(lines[-1]))]
        )

    def _read_rest_of_line(self, partition: Partition, at: int, *, is_within: bool, last: int) -> list[Bytes]:
        """Return the rest of a line from `at` on, behind a byte `last`, with its end. Raises BadInputError for a row
        without an end.
        """
        steps = list[Bytes]()
        while at < partition.records:
            step = self._read(partition, at, min(_STEP_BYTES, partition.records - at))
            behind, is_within = core.find_line_end(step.data, self._order, is_within)
            if behind is not None:
                return [*steps, step[:behind]]
            steps.append(step)
            at, last = at + len(step), int(step[-1])
        if is_within:
            raise BadInputError("the last row has a quoted field that has no end", code="open-quote")
        needs_return = self._text.longest_end_bytes == 2 and last != ord("\r")
        return [*steps, np.array([ord("\r")] * needs_return + [self._end], np.uint8)]

    def _is_within(self, partition: Partition, at: int) -> bool:
        """Return whether a byte of a partition lies within quotes."""
        if partition.quotes is None:
            return False
        point, is_within = partition.quotes.point_before(at)
        if point == at:
            return is_within
        return core.is_within_quotes_behind(self._read(partition, point, at - point).data, self._order, is_within)

    def _read(self, partition: Partition, first: int, count: int) -> Bytes:
        return partition_reader.read_records(partition, _BYTES, first=first, records=count)


def _window_starts(partition: Partition, windows: int, width: int) -> list[int]:
    """Return the beginnings of windows of a partition, one byte early except at the start; at grid points where quotes
    are known.
    """
    last, step = partition.records - width, partition.quotes.step_bytes if partition.quotes else 1
    starts = (max(0, last * number // max(1, windows - 1) - 1) for number in range(windows))
    return sorted({start // step * step for start in starts})
