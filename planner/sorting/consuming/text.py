"""Text and records whose space is freed as they are read: runs of whole rows, and their merge."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

from planner.compression.text_codecs import BLOCK_BYTES, Pipe, Source, open_source
from planner.errors import BadInputError
from planner.native import Progress, core, core_errors
from planner.sorting.consuming.consuming_sort import LEAST_STRETCH_BYTES, STEPS, STRETCHES, Range, RunMade, Step
from planner.sorting.consuming.work_folder import Merge, Run, State, identity_of
from planner.sorting.records.keyed import TextOrder, sort_text
from planner.sorting.records.keys import Key
from planner.sorting.text.text_files import TextJob, ended_text, open_csv

_MOST_MERGED: Final = 256
_STRETCHES_IN_MEMORY: Final = 4
"""A stretch with what its sort takes is in memory once, so that nothing of it is spilled."""


def form_of(job: TextJob, progress: Progress) -> dict[str, Any]:
    """Return what is needed to go on without the beginnings of the inputs. Raises BadInputError."""
    with core_errors():
        sources = [open_source(path, progress, by_name=bool(job.order.record_bytes)) for path in job.inputs]
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
    """Return an order with texts instead of bytes."""
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
        self._rest: _Rows | None = None
        total_bytes = sum(size for _, _, size in state.identities)
        self._stretch_bytes = min(
            max(total_bytes // STRETCHES, LEAST_STRETCH_BYTES), self._memory_bytes // _STRETCHES_IN_MEMORY
        )
        self._step_bytes = max(total_bytes // STEPS, LEAST_STRETCH_BYTES)
        self.most_merged = _MOST_MERGED

    def make_run(self, place: tuple[int, int], path: str) -> RunMade:
        """Sort a stretch."""
        if self._rest is None:
            self._rest = _Rows(self._state, self._order, place, self._progress, ahead_bytes=self._stretch_bytes)
        pipe = Pipe(self._progress)
        pipe.feed(self._rest.take(self._stretch_bytes))
        try:
            report = sort_text(
                [pipe.path],
                path,
                order=self._order,
                memory_bytes=self._memory_bytes,
                temp_dirs=[self._folder],
                threads=self._threads,
                progress=self._progress,
            )
        except BaseException as error:
            pipe.close()
            pipe.raise_failure()
            raise self._named(error, place, pipe.path) from error
        pipe.close()
        pipe.raise_failure()
        return RunMade(self._rest.place, self._rest.is_end, report.lines)

    def _named(self, error: BaseException, place: tuple[int, int], pipe_path: str) -> BaseException:
        """Return the error with the name of the input in which it is, or from which on it is."""
        if not isinstance(error, BadInputError):
            return error
        name, first = self._state.inputs[place[0]], max(place[1], self._form["first_bytes"][place[0]])
        message = error.message.replace(f"{pipe_path}: ", "")
        return BadInputError(f"{name}: {message}", [*error.details, f"it is counted from byte {first} of this file on"])

    def input_ranges(self, number: int, end: int | None) -> list[Range]:
        """Return bytes behind the header; of a compressed file all, once it has been read to its end."""
        size = self._state.identities[number][2]
        if not self._form["is_plain"][number]:
            return [(0, size)] if end is None else []
        first = self._form["first_bytes"][number]
        last = size if end is None else min(end, size)
        return [(first, last - first)] if last > first else []

    def run_ranges(self, path: str, end: int) -> list[Range]:
        """Return the bytes themselves."""
        del path
        return [(0, end)]

    def merge(self, merge: Merge, runs: Sequence[Run], paths: Sequence[str], path: str, *, is_last: bool) -> Step:
        """Write another piece."""
        if merge.end == 0:
            prologue = self._form["prologue"].encode("latin-1") if is_last else b""
            Path(path).write_bytes(prologue)
            merge = replace(merge, end=len(prologue))
        lines, end, taken = core.merge_step(
            [os.fsencode(run) for run in paths],
            [run.taken for run in runs],
            os.fsencode(path),
            self._order.for_core(),
            end=merge.end,
            most_bytes=self._step_bytes,
            unique=self._order.unique,
            memory_bytes=self._memory_bytes,
            progress=self._progress,
        )
        is_end = all(now >= run.bytes for now, run in zip(taken, runs, strict=True))
        if is_end:
            with open(path, "r+b") as file:  # noqa: PTH123
                file.truncate(end)  # a sort that was killed may have written beyond
                os.fsync(file.fileno())
        return Step(replace(merge, end=end, rows=merge.rows + lines), taken, is_end)


class _Rows:
    """The rows of all inputs from a place on, in stretches."""

    def __init__(
        self, state: State, order: TextOrder, place: tuple[int, int], progress: Progress, *, ahead_bytes: int
    ) -> None:
        self._ahead_bytes = ahead_bytes
        self._state = state
        self._order = order
        self._core_order = order.for_core()
        self._progress = progress
        self._number, self._offset = place
        self._chunks: Iterator[bytes] | None = None
        self._left = 0

    @property
    def is_end(self) -> bool:
        """Whether nothing is left."""
        return self._number >= len(self._state.inputs)

    @property
    def place(self) -> tuple[int, int]:
        """Which input goes on, and where."""
        return self._number, self._offset

    def take(self, most_bytes: int) -> Iterator[bytes]:
        """Yield about so many bytes of whole rows."""
        self._left = most_bytes
        while self._left and not self.is_end:
            yield from self._take_of_input()

    def _take_of_input(self) -> Iterator[bytes]:
        """Yield rows of one input, and behind its end turn to the next."""
        self._chunks = self._chunks or self._open()
        is_within = False
        for chunk in self._chunks:
            cut = self._row_end(chunk, self._left, is_within=is_within)
            if cut is not None:
                self._offset += cut
                self._chunks = chain([chunk[cut:]], self._chunks)
                self._left = 0
                yield chunk[:cut]
                return
            is_within = core.is_within_quotes_behind(chunk, self._core_order, is_within)
            self._offset += len(chunk)
            self._left = max(self._left - len(chunk), 0)
            yield chunk
        self._require_unchanged()
        self._chunks, self._number, self._offset = None, self._number + 1, 0

    def _require_unchanged(self) -> None:
        """Raise BadInputError for an input that others wrote to or cut: the rest of its rows would be gone with it."""
        path, identity = self._state.inputs[self._number], self._state.identities[self._number]
        if (now := identity_of(path)) != identity:
            raise BadInputError(
                f"{path} changed while it was sorted",
                [f"it had {identity[2]} bytes at first and has {now[2]} now; make it as long as it was, and resume"],
            )

    def _open(self) -> Iterator[bytes]:
        path, first = self._state.inputs[self._number], self._state.form["first_bytes"][self._number]
        self._offset = max(self._offset, first)
        if self._state.form["is_plain"][self._number]:
            return ended_text(path, _chunks_from(path, self._offset, self._ahead_bytes), self._order)
        source: Source = open_source(path, self._progress, by_name=bool(self._order.record_bytes))
        source.skip(self._offset)
        return ended_text(path, source.chunks or iter(()), self._order)

    def _row_end(self, chunk: bytes, least: int, *, is_within: bool) -> int | None:
        """Return where the first row ends that goes beyond the first `least` bytes."""
        if least > len(chunk):
            return None
        if record_bytes := self._order.record_bytes:
            begun = self._offset - self._state.form["first_bytes"][self._number]
            cut = least + -(begun + least) % record_bytes
            return cut if cut <= len(chunk) else None
        is_within = core.is_within_quotes_behind(chunk[:least], self._core_order, is_within)
        behind, _ = core.find_line_end(memoryview(chunk)[least:], self._core_order, is_within)
        return None if behind is None else least + behind


def _chunks_from(path: str, offset: int, ahead_bytes: int) -> Iterator[bytes]:
    """Yield what a file holds behind a place; the system reads the next stretch while this one is sorted."""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        file.seek(offset)
        while chunk := file.read(BLOCK_BYTES):
            offset += len(chunk)
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), offset + ahead_bytes, BLOCK_BYTES, os.POSIX_FADV_WILLNEED)
            yield chunk
