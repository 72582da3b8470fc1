"""Rows of Parquet files, decoded ahead of their use by several threads."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from planner.errors import BadInputError
from planner.native import Progress
from planner.sorting.table_keys import arrow
from planner.sorting.table_runs import Tables

BATCH_ROWS: Final = 1 << 14


def open_parquet(path: str, *, metadata: Any = None) -> Any:
    """Return a `ParquetFile`, whose metadata are read if they are not given. Raises BadInputError."""
    library, parquet = arrow(), arrow("pyarrow.parquet")
    try:
        return parquet.ParquetFile(path, metadata=metadata, pre_buffer=False, buffer_size=1 << 20)
    except library.ArrowInvalid as error:
        raise BadInputError(f"{path} is no Parquet file, or is damaged: {error}") from error


def decoded_bytes(files: Sequence[Any]) -> int:
    """Return about how many bytes the rows of all files take in memory, as their metadata have it."""
    return sum(file.metadata.row_group(i).total_byte_size for file in files for i in range(file.num_row_groups))


def rows_of(file: Any, progress: Progress) -> Tables:
    """Yield the rows of a file; what is decoded counts as progress. Raises KeyboardInterrupt if cancelled."""
    for batch in file.iter_batches(batch_size=BATCH_ROWS):
        yield _counted(batch, progress)


def rows_ahead(
    paths: Sequence[str], files: Sequence[Any], progress: Progress, *, threads: int, most_bytes: int
) -> Tables:
    """Yield the rows of all files in turn, while threads decode the next row groups.

    Rows that are ready take about `most_bytes`, and a batch of each thread more. Raises KeyboardInterrupt if cancelled.
    """
    named = list(zip(paths, files, strict=True))
    groups = [_Group(path, file, number) for path, file in named for number in range(file.num_row_groups)]
    ready = _Ready(len(groups), most_bytes)
    with ThreadPoolExecutor(max(threads, 1)) as pool:
        for _ in range(min(threads, len(groups))):
            pool.submit(ready.fill, groups, side_by_side=len(groups) < threads)
        try:
            for batch in ready.batches():
                yield _counted(batch, progress)
        finally:
            ready.stop()


class _Group:
    """A row group, which the thread that decodes it reads through a descriptor of its own."""

    def __init__(self, path: str, file: Any, number: int) -> None:
        self._path, self._file, self._number = path, file, number

    def batches(self, *, side_by_side: bool) -> Iterator[Any]:
        with open_parquet(self._path, metadata=self._file.metadata) as reader:
            yield from reader.iter_batches(BATCH_ROWS, row_groups=[self._number], use_threads=side_by_side)


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

    def fill(self, groups: Sequence[_Group], *, side_by_side: bool) -> None:
        """Decode the groups that no other thread has begun, their columns side by side if there are few groups."""
        while (number := self._next()) is not None:
            end: BaseException | None = None
            try:
                for batch in groups[number].batches(side_by_side=side_by_side):
                    if not self._put(number, batch):
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


def _counted(batch: Any, progress: Progress) -> Any:
    if progress.is_cancelled:
        raise KeyboardInterrupt
    progress.add_bytes(batch.nbytes)
    return arrow().Table.from_batches([batch])
