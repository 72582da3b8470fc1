"""Lines of text as the content of a dataset: counts are bytes, and no line is cut."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from planner.arrays import Bytes, Ints
from planner.distributed_sort import buffers, partition_reader
from planner.distributed_sort.dataset import Layout, Partition, TextFormat
from planner.distributed_sort.partition_reader import Slice
from planner.distributed_sort.text_splitting import TextSplitting
from planner.native import core, core_errors

_WINDOW_BYTES: Final = 16_000
_STEP_BYTES: Final = 64_000
"""A line that goes on behind its slice is read in such steps."""
_BESIDE_LINE_BYTES: Final = 32
"""Of memory for each line that is sorted: an entry, its place and its number, rounded up."""
_BYTES: Final = Layout(record_size=1)


@dataclass(kw_only=True)
class TextSummary:
    """What consecutive lines hold, and the first and last of them, without their ends."""

    text: TextFormat
    records: int
    checksum: int
    unordered: int
    duplicates: int
    first_line: bytes
    last_line: bytes

    def append(self, behind: TextSummary) -> None:
        """Add what lies behind; order is also checked where both meet."""
        if behind.records == 0:
            return
        if self.records:
            end = self.text.line_end.encode()
            between = self.last_line + end + behind.first_line + end
            with core_errors():
                _, _, unordered, duplicates = core.summarize_text(between, self.text.order().for_core())
            self.unordered += unordered
            self.duplicates += duplicates
        else:
            self.first_line = behind.first_line
        self.records += behind.records
        self.checksum += behind.checksum
        self.unordered += behind.unordered
        self.duplicates += behind.duplicates
        self.last_line = behind.last_line

    def serialize(self) -> bytes:
        """Return the summary as one JSON object."""
        fields = {name: value for name, value in asdict(self).items() if name != "text"}
        lines = {name: fields[name].decode("latin-1") for name in ("first_line", "last_line")}
        return json.dumps(fields | lines).encode()


class Text:
    """Lines of a text format."""

    def __init__(self, text: TextFormat) -> None:
        self._text = text
        self._order = text.order().for_core()
        self._end = ord(text.line_end)

    def sample(self, partition: Partition, keys: int) -> list[bytes]:
        """See Content: the first lines that begin in each window."""
        end = self._text.line_end.encode()
        width = min(_WINDOW_BYTES, partition.records)
        windows = max(1, min(keys, -(-partition.records // width)))
        lines = list[bytes]()
        for number in range(windows):
            first = (partition.records - width) * number // max(1, windows - 1)
            begun = self._lines_begun(partition, first, width).tobytes()
            if begun:
                lines += begun.removesuffix(end).split(end)[: -(-keys // windows)]
        return lines

    def read_slice(self, partition: Partition, slice_: Slice) -> Bytes:
        """See Content: the lines that begin in the slice, the last of them to its end."""
        return self._lines_begun(partition, slice_.first, slice_.records)

    def group(self, records: Bytes, splitting: TextSplitting, threads: int) -> tuple[Bytes, Ints]:
        """See Content."""
        del threads
        lacks_end = len(records) > 0 and records[-1] != self._end
        grouped = buffers.array(buffers.ORDERED, len(records) + int(lacks_end))
        with core_errors():
            begins = core.partition_text(records.data, grouped.data, self._order, splitting.boundaries)
        return grouped, splitting.offsets(begins, grouped, line_end=self._end)

    def needed_bytes(self, records: Bytes, threads: int) -> int:
        """See Content. A key is taken to be as long as its line."""
        del threads
        lines = int(np.count_nonzero(records == self._end))
        return 2 * len(records) + lines * _BESIDE_LINE_BYTES + (len(records) if self._text.keys else 0)

    def sorted(self, records: Bytes, threads: int) -> Bytes:
        """See Content."""
        del threads
        with core_errors():
            return np.frombuffer(core.sorted_text(records.data, self._order, unique=self._text.unique), np.uint8)

    def summary(self, records: Bytes, threads: int) -> TextSummary:
        """See Content."""
        del threads
        with core_errors():
            lines, checksum, unordered, duplicates = core.summarize_text(records.data, self._order)
        first, last = self._first_and_last(records)
        return TextSummary(
            text=self._text,
            records=lines,
            checksum=checksum,
            unordered=unordered,
            duplicates=duplicates,
            first_line=first,
            last_line=last,
        )

    def parse_summary(self, serialized: bytes) -> TextSummary:
        """See Content."""
        fields: dict[str, Any] = json.loads(serialized)
        lines = {name: fields[name].encode("latin-1") for name in ("first_line", "last_line")}
        return TextSummary(**fields | lines, text=self._text)

    def _lines_begun(self, partition: Partition, first: int, count: int) -> Bytes:
        """Return the lines that begin within some bytes of a partition."""
        before = min(first, 1)  # a line begins behind the end of another
        stretch = self._read(partition, first - before, count + before)
        begin = 0 if first == 0 else _behind(stretch, self._end)
        if begin is None or begin >= len(stretch):
            return stretch[:0]
        if stretch[-1] == self._end:
            return stretch[begin:]
        return np.concatenate([stretch[begin:], *self._rest(partition, first + count)])

    def _rest(self, partition: Partition, at: int) -> list[Bytes]:
        """Return what a line has from `at` on, to its end or that of the partition."""
        steps = list[Bytes]()
        while at < partition.records:
            step = self._read(partition, at, min(_STEP_BYTES, partition.records - at)).copy()
            if (end := _behind(step, self._end)) is not None:
                return [*steps, step[:end]]
            steps.append(step)
            at += len(step)
        return steps

    def _read(self, partition: Partition, first: int, count: int) -> Bytes:
        return partition_reader.read_records(partition, _BYTES, first=first, records=count)

    def _first_and_last(self, records: Bytes) -> tuple[bytes, bytes]:
        if not len(records):
            return b"", b""
        whole = records[:-1] if records[-1] == self._end else records
        first_end = _behind(whole, self._end)
        first = whole if first_end is None else whole[: first_end - 1]
        return first.tobytes(), whole[_last_begin(whole, self._end) :].tobytes()


def _behind(stretch: Bytes, end: int) -> int | None:
    """Return the place behind the first line's end, None where there is none. Steps spare a copy of it all."""
    for at in range(0, len(stretch), _STEP_BYTES):
        place = stretch[at : at + _STEP_BYTES].tobytes().find(bytes([end]))
        if place >= 0:
            return at + place + 1
    return None


def _last_begin(stretch: Bytes, end: int) -> int:
    """Return the place behind the last line's end, 0 where there is none."""
    for stop in range(len(stretch), 0, -_STEP_BYTES):
        begin = max(0, stop - _STEP_BYTES)
        place = stretch[begin:stop].tobytes().rfind(bytes([end]))
        if place >= 0:
            return begin + place + 1
    return 0
