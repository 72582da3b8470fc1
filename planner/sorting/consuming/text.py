"""Text and records whose space is freed as they are read: runs of whole rows, and their merge."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import FileIO
from pathlib import Path
from typing import Any, Final, NamedTuple

from planner.compression.text_codecs import BLOCK_BYTES, Pipe, open_source
from planner.errors import BadInputError, PlannerError, reading
from planner.native import Progress, core, core_errors
from planner.sorting.consuming.consuming_sort import LEAST_STRETCH_BYTES, STEPS, STRETCHES, SortedRun, Step
from planner.sorting.consuming.inputs import FREED_BYTES, Range
from planner.sorting.consuming.work_folder import Merge, Run, State
from planner.sorting.records.keyed import TextOrder, sort_text
from planner.sorting.records.keys import Key
from planner.sorting.text.text_files import cut_rows, ended_text, open_csv, open_sources
from planner.sorting.text.text_job import TextJob

_MOST_MERGED: Final = 256
_STRETCHES_IN_MEMORY: Final = 4
"""A stretch and its sort fit into this fraction of the memory, so that nothing is spilled."""
_ROW_END_BYTES: Final = 1 << 16
"""Bytes per read when searching for the end of a row."""
_READ_AHEAD_BYTES: Final = 1 << 17
"""Bytes per read-ahead call: Linux reads no more than its usual read-ahead for one call."""


def form_of(job: TextJob, progress: Progress) -> dict[str, Any]:
    """Return what is needed to resume without the beginnings of the inputs. Raises BadInputError."""
    with core_errors():
        sources = open_sources(job, progress)
        is_plain = [source.chunks is None for source in sources]
        order, first_bytes, prologue = job.order, [0] * len(sources), b""
        if job.csv:
            opened = open_csv(job.csv, sources, job.order)
            order, first_bytes, prologue = opened.order, opened.first_bytes, opened.prologue
    return {
        "order": _stored(order),
        "first_bytes": first_bytes,
        "is_plain": is_plain,
        "prologue": prologue.decode("latin-1"),
    }


def _stored(value: Any) -> Any:
    """Return an order with its bytes as text."""
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    return [_stored(item) for item in value] if isinstance(value, tuple) else value


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        return value["bytes"].encode("latin-1")
    return tuple(_restored(item) for item in value) if isinstance(value, list) else value


def _order_of(form: dict[str, Any]) -> TextOrder:
    order = TextOrder(*_restored(form["order"]))
    return order._replace(keys=tuple(Key(*key) for key in order.keys))


class TextEngine:
    """The engine of lines, rows of CSV and records."""

    def __init__(self, state: State, folder: Path, progress: Progress, *, memory_bytes: int, threads: int) -> None:
        self._state = state
        self._form = state.form
        self._order = _order_of(state.form)
        self._folder = str(folder)
        self._progress = progress
        self._memory_bytes = memory_bytes or core.default_memory_bytes()
        self._threads = threads
        self._core_order = self._order.for_core()
        self._rest: _CompressedRows | None = None
        self._merging: tuple[str, core.PiecewiseMerge] | None = None
        total_bytes = sum(size for _, _, size in state.identities)
        stretch_bytes = min(total_bytes // STRETCHES, self._memory_bytes // _STRETCHES_IN_MEMORY)
        self._stretch_bytes = max(stretch_bytes, LEAST_STRETCH_BYTES)
        self._step_bytes = max(total_bytes // STEPS, LEAST_STRETCH_BYTES)
        self.most_merged = _MOST_MERGED

    def make_run(self, place: tuple[int, int], path: str) -> SortedRun:
        """Sort a stretch: the core reads parts of plain files directly, and compressed data through a pipe."""
        if not self._form["is_plain"][place[0]]:
            return self._make_run_of_compressed(place, path)
        parts, end = self._stretch(place)
        try:
            lines = self._sort([part.path for part in parts], path, parts)
        except PlannerError as error:
            raise self._named(error, parts) from error
        return SortedRun(end, end[0] == len(self._state.inputs), lines)

    def _make_run_of_compressed(self, place: tuple[int, int], path: str) -> SortedRun:
        if self._rest is None or self._rest.place != place:
            self._rest = _CompressedRows(self._state, self._order, place, self._progress)
        pipe = Pipe(self._progress)
        pipe.feed(self._rest.take(self._stretch_bytes))
        try:
            lines = self._sort([pipe.path], path, ())
        except BaseException as error:
            pipe.close()
            pipe.raise_failure()
            if not isinstance(error, BadInputError):
                raise
            first = max(place[1], self._form["first_bytes"][place[0]])
            raise _counted_from(self._state.inputs[place[0]], first, error, pipe.path) from error
        pipe.close()
        pipe.raise_failure()
        return SortedRun(self._rest.place, self._rest.is_end, lines)

    def _sort(self, paths: Sequence[str], path: str, parts: Sequence[_Part]) -> int:
        """Sort into a run and return its number of lines."""
        report = sort_text(
            paths,
            path,
            order=self._order,
            memory_bytes=self._memory_bytes,
            temp_dirs=[self._folder],
            threads=self._threads,
            first_bytes=[part.first for part in parts],
            end_bytes=[part.end for part in parts],
            progress=self._progress,
        )
        return report.lines

    def _stretch(self, place: tuple[int, int]) -> tuple[list[_Part], tuple[int, int]]:
        """Return parts of adjacent plain files and the place after them, and start reading ahead there."""
        (number, offset), left = place, self._stretch_bytes
        parts: list[_Part] = []
        while left > 0 and number < len(self._state.inputs) and self._form["is_plain"][number]:
            path, size = self._state.inputs[number], self._state.identities[number][2]
            first = min(max(offset, self._form["first_bytes"][number]), size)
            end = size if first + left >= size else self._row_end(path, first, first + left, size)
            parts.append(_Part(path, first, end))
            left -= end - first
            number, offset = (number + 1, 0) if end == size else (number, end)
        if offset:
            _read_ahead(self._state.inputs[number], offset, self._stretch_bytes)
        return parts, (number, offset)

    def _row_end(self, path: str, first: int, least: int, size: int) -> int:
        """Return the end of the first row that reaches byte `least` or beyond; the stretch begins at `first`."""
        if record_bytes := self._order.record_bytes:
            return min(least + -(least - first) % record_bytes, size)
        with reading(path), open(path, "rb", buffering=0) as file:  # noqa: PTH123
            is_within = self._order.csv is not None and self._is_within_quotes(file, first, least)
            file.seek(least)
            while chunk := file.read(_ROW_END_BYTES):
                behind, is_within = core.find_line_end(chunk, self._core_order, is_within)
                if behind is not None:
                    return least + behind
                least += len(chunk)
        return size

    def _is_within_quotes(self, file: FileIO, first: int, least: int) -> bool:
        """Return whether a place is within quotes; the start of the stretch is not."""
        file.seek(first)
        is_within = False
        while first < least and (chunk := file.read(min(BLOCK_BYTES, least - first))):
            is_within = core.is_within_quotes_behind(chunk, self._core_order, is_within)
            first += len(chunk)
        return is_within

    def _named(self, error: PlannerError, parts: Sequence[_Part]) -> PlannerError:
        """Return an error in the input, with the place from which its rows are counted."""
        if not isinstance(error, BadInputError):
            return error
        part = next((part for part in parts if error.message.startswith(f"{part.path}: ")), parts[0])
        return _counted_from(part.path, part.first, error, part.path)

    def input_ranges(self, number: int, end: int | None) -> list[Range]:
        """Return the bytes after the header; for a compressed file all bytes, once it is read to its end."""
        size = self._state.identities[number][2]
        whole = -(-size // FREED_BYTES) * FREED_BYTES  # including the block in which the file ends
        if not self._form["is_plain"][number]:
            return [(0, whole)] if end is None else []
        first = self._form["first_bytes"][number]
        last = whole if end is None else min(end, size)
        return [(first, last - first)] if last > first else []

    def run_ranges(self, path: str, end: int) -> list[Range]:
        """Return the range up to that place."""
        del path
        return [(0, end)]

    def merge(self, merge: Merge, runs: Sequence[Run], paths: Sequence[str], path: str, *, is_last: bool) -> Step:
        """Write another piece."""
        if merge.end == 0:
            prologue = self._form["prologue"].encode("latin-1") if is_last else b""
            Path(path).write_bytes(prologue)
            merge = replace(merge, end=len(prologue))
        if self._merging is None or self._merging[0] != merge.name:
            self._merging = (merge.name, self._begin_merge(merge, runs, paths, path))
        lines, end, taken = self._merging[1].write(self._step_bytes, self._progress)
        is_end = all(now >= run.bytes for now, run in zip(taken, runs, strict=True))
        if is_end:
            self._merging = None
            with open(path, "r+b") as file:  # noqa: PTH123
                file.truncate(end)  # a sort that was killed may have written beyond
                os.fsync(file.fileno())
        return Step(replace(merge, end=end, rows=merge.rows + lines), taken, is_end)

    def _begin_merge(self, merge: Merge, runs: Sequence[Run], paths: Sequence[str], path: str) -> core.PiecewiseMerge:
        return core.PiecewiseMerge(
            [os.fsencode(run) for run in paths],
            [run.taken for run in runs],
            os.fsencode(path),
            self._core_order,
            end=merge.end,
            unique=self._order.unique,
            memory_bytes=self._memory_bytes,
        )


class _Part(NamedTuple):
    """Bytes `first` to `end` of an input."""

    path: str
    first: int
    end: int


class _CompressedRows:
    """The rows of adjacent compressed inputs from a `place` on, an input and a position in it."""

    def __init__(self, state: State, order: TextOrder, place: tuple[int, int], progress: Progress) -> None:
        self._state = state
        self._order = order
        self._progress = progress
        self._parts: Iterator[tuple[bytes, bool]] | None = None
        self.place = place

    @property
    def is_end(self) -> bool:
        """Return whether no input is left."""
        return self.place[0] >= len(self._state.inputs)

    def take(self, least_bytes: int) -> Iterator[bytes]:
        """Yield whole rows of about `least_bytes` in total."""
        while not self.is_end and not self._state.form["is_plain"][self.place[0]]:
            self._parts = self._parts or self._open()
            number, offset = self.place
            part, ends_row = next(self._parts, (None, True))
            if part is None:
                self._parts, self.place = None, (number + 1, 0)
            else:
                self.place = number, offset + len(part)
                least_bytes -= len(part)
                yield part
            if ends_row and least_bytes <= 0:
                return

    def _open(self) -> Iterator[tuple[bytes, bool]]:
        number, offset = self.place
        path, first = self._state.inputs[number], max(offset, self._state.form["first_bytes"][number])
        self.place = number, first
        source = open_source(path, self._progress, by_name=bool(self._order.record_bytes))
        source.skip(first)
        return cut_rows(ended_text(path, source.chunks or iter(()), self._order), self._order)


def _counted_from(name: str, first: int, error: BadInputError, path: str) -> BadInputError:
    """Return an error in an input that the core read under another path, starting at byte `first`."""
    message = error.message.replace(f"{path}: ", "")
    return error.reworded(f"{name}: {message}", f"it is counted from byte {first} of this file on")


def _read_ahead(path: str, offset: int, size: int) -> None:
    """Ask the system to read the next stretch while this one is sorted."""
    if hasattr(os, "posix_fadvise"):
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            for begin in range(offset, offset + size, _READ_AHEAD_BYTES):
                length = min(_READ_AHEAD_BYTES, offset + size - begin)
                os.posix_fadvise(file.fileno(), begin, length, os.POSIX_FADV_WILLNEED)
