"""Rows of Parquet files, decoded ahead of their use by several threads."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from planner.errors import BadInputError
from planner.native import Progress
from planner.sorting.arrow_library import arrow
from planner.sorting.table_runs import Tables

BATCH_ROWS: Final = 1 << 14


@dataclass(frozen=True)
class ParquetInput:
    """A file by its name, and what its footer says; it is open only while it is read, as there may be thousands."""

    path: str
    metadata: Any
    schema: Any

    def batches(self, groups: Sequence[int] | None = None, *, use_threads: bool = True) -> Iterator[Any]:
        """Yield the rows of all row groups, or of some."""
        with _opened(self.path, self.metadata) as file:
            yield from file.iter_batches(BATCH_ROWS, row_groups=groups, use_threads=use_threads)


def read_footer(path: str) -> ParquetInput:
    """Raises BadInputError for what is no Parquet, damaged or encrypted."""
    with _opened(path, None) as file:
        return ParquetInput(path, file.metadata, file.schema_arrow)


@contextmanager
def _opened(path: str, metadata: Any) -> Iterator[Any]:
    library, parquet = arrow(), arrow("pyarrow.parquet")
    try:
        file = parquet.ParquetFile(path, metadata=metadata, pre_buffer=False, buffer_size=1 << 20)
    except (library.ArrowInvalid, OSError) as error:
        if getattr(error, "errno", None):  # the system's, which names the file
            raise
        raise BadInputError(f"{path} is no Parquet file, or is damaged or encrypted: {error}") from error
    with file:
        yield file


def decoded_bytes(inputs: Sequence[ParquetInput]) -> int:
    """Return about how many bytes the rows of all files take in memory, as their metadata have it."""
    return sum(_group_bytes(inputs))


def largest_group_bytes(inputs: Sequence[ParquetInput]) -> int:
    """Return about how many bytes the rows of the largest row group take in memory, 1 at least."""
    return max([1, *_group_bytes(inputs)])


def _group_bytes(inputs: Sequence[ParquetInput]) -> Iterator[int]:
    footers = [source.metadata for source in inputs]
    return (footer.row_group(i).total_byte_size for footer in footers for i in range(footer.num_row_groups))


def rows_of(source: ParquetInput, progress: Progress) -> Tables:
    """Yield the rows of a file; what is decoded counts as progress. Raises KeyboardInterrupt if cancelled."""
    for batch in source.batches():
        _count(batch, progress)
        yield arrow().Table.from_batches([batch])


def rows_ahead(
    inputs: Sequence[ParquetInput],
    progress: Progress,
    prepare: Callable[[Any], Iterable[Any]],
    *,
    threads: int,
    most_bytes: int,
) -> Iterator[Any]:
    """Yield what `prepare` makes of the batches of all files in turn, while threads decode and prepare the next ones.

    What is ready takes about `most_bytes`, and a batch of each thread more. One thread is always there. Raises
    KeyboardInterrupt if cancelled.
    """
    groups = [(source, number) for source in inputs for number in range(source.metadata.num_row_groups)]
    threads = max(threads, 1)
    ready = _Ready(len(groups), most_bytes)
    with ThreadPoolExecutor(threads) as pool:
        try:
            for _ in range(min(threads, len(groups))):
                pool.submit(ready.fill, groups, prepare, side_by_side=len(groups) < threads)
            for prepared in ready.batches():
                _count(prepared, progress)
                yield prepared
        finally:
            ready.stop()


_Group = tuple[ParquetInput, int]


class _Ready:
    """Batches of row groups, which threads put in and one takes out in order.

    A thread waits if too much is ready, unless its group is the one that is taken: so one always goes on.
    """

    def __init__(self, groups: int, most_bytes: int) -> None:
        self._changed = threading.Condition()
        self._batches: list[deque[Any]] = [deque() for _ in range(groups)]
        self._most_bytes = most_bytes
        self._bytes = self._begun = self._taken = 0
        self._is_stopped = False

    def fill(self, groups: Sequence[_Group], prepare: Callable[[Any], Iterable[Any]], *, side_by_side: bool) -> None:
        """Decode the groups that no other thread has begun, their columns side by side if there are few groups."""
        while (number := self._next()) is not None:
            end: BaseException | None = None
            try:
                source, group = groups[number]
                batches = source.batches([group], use_threads=side_by_side)
                for prepared in (part for batch in batches for part in prepare(batch)):
                    if not self._put(number, prepared):
                        return
            except BaseException as error:  # which is for the one who takes
                end = error
            with self._changed:
                self._batches[number].append(end)
                self._changed.notify_all()

    def _next(self) -> int | None:
        with self._changed:
            if self._is_stopped or self._begun == len(self._batches):
                return None
            self._begun += 1
            return self._begun - 1

    def _put(self, number: int, batch: Any) -> bool:
        """Return whether more is wanted."""
        size = batch.nbytes
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_stopped or self._taken == number or self._bytes + size <= self._most_bytes
            )
            self._batches[number].append(batch)
            self._bytes += size
            self._changed.notify_all()
            return not self._is_stopped

    def batches(self) -> Iterator[Any]:
        """Yield all in order; raise what a thread that decoded raised."""
        for number, waiting in enumerate(self._batches):
            with self._changed:
                self._taken = number
                self._changed.notify_all()
            while (batch := self._take(waiting)) is not None:
                if isinstance(batch, BaseException):
                    raise batch
                yield batch

    def _take(self, waiting: deque[Any]) -> Any:
        with self._changed:
            self._changed.wait_for(lambda: waiting)
            batch = waiting.popleft()
            self._bytes -= getattr(batch, "nbytes", 0)
            self._changed.notify_all()
            return batch

    def stop(self) -> None:
        """Make all threads end."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()


def _count(batch: Any, progress: Progress) -> None:
    if progress.is_cancelled:
        raise KeyboardInterrupt
    progress.add_bytes(batch.nbytes)
