"""Sorted runs of Arrow tables in unnamed scratch files, their merge, and the first row out of order."""

from __future__ import annotations

import tempfile
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final, NamedTuple

from planner.errors import BadInputError, IoFailureError
from planner.native import Progress
from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.table import rows_at, sorted_table
from planner.sorting.tables.table_keys import ColumnKey, KeyColumn, first_of_equals, key_columns, row_key

MOST_MERGED: Final = 32
_MOST_OF_PIECES: Final = 128
_PIECE_BYTES: Final = 1 << 18
"""More runs than `MOST_MERGED` are merged at once, up to `_MOST_OF_PIECES`, where their pieces have this size: smaller
ones cost more than another round.
"""
Tables = Iterator[Any]


class Runs:
    """Runs spread over the directories in turn; a merge reads each in pieces of about `piece_bytes`."""

    def __init__(self, keys: Sequence[ColumnKey], directories: Sequence[str], *, progress: Progress) -> None:
        self._keys = list(keys)
        self._directories = list(directories)
        self._at_once = MOST_MERGED
        self.piece_bytes = 0
        self._loaded_bytes = 0
        self._progress = progress
        self._turn = 0
        self._waiting: list[Callable[[], Tables]] = []
        self.spilled_bytes = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def expect(self, runs: int, *, memory_bytes: int) -> None:
        """Share the memory among `runs` runs, or as many as are merged at once; more runs take several rounds."""
        most = max(min(memory_bytes // _PIECE_BYTES, _MOST_OF_PIECES), MOST_MERGED)
        self._at_once = min(max(runs, 2), most)
        self.piece_bytes = max(memory_bytes // self._at_once, 1)
        self._loaded_bytes = memory_bytes + memory_bytes // 4

    def add(self, tables: Tables) -> None:
        """Write sorted tables while the next one is made."""
        self._write(prefetch_tables(tables))

    def add_sorted(self, tables: Callable[[], Tables]) -> None:
        """Add a run that is already sorted and readable."""
        self._waiting.append(tables)

    def merge(self) -> Tables:
        """Return all rows in order; equal rows stay in the order in which their runs were added.

        Rounds before the last merge as few runs as leave so many as are merged at once.
        """
        most = self._at_once
        while (beyond := len(self._waiting) - most) > 0:
            first, self._waiting = self._waiting[: min(beyond + 1, most)], self._waiting[min(beyond + 1, most) :]
            self._write(self._merge(first))
            self._waiting.insert(0, self._waiting.pop())  # where its rows were
        return self._merge(self._waiting)

    def _write(self, tables: Iterator[Any]) -> None:
        directory = self._directories[self._turn % len(self._directories)]
        self._turn += 1
        file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115  # it lives as long as the run
        writer = None
        for table in tables:
            self._raise_if_cancelled()
            with writing_in(directory):
                if writer is None:
                    writer = arrow("pyarrow.ipc").new_stream(file, table.schema)
                writer.write_table(table.combine_chunks(), max_chunksize=self._piece_rows(table))
        with writing_in(directory):
            if writer is not None:
                writer.close()
            file.flush()
        self.spilled_bytes += file.tell()
        self._waiting.append(lambda: _read(file))

    def _piece_rows(self, table: Any) -> int | None:
        """Return how many rows of a merge's output make a piece; None for all."""
        if not self.piece_bytes or table.nbytes <= 2 * self.piece_bytes:
            return None
        return max(int(table.num_rows * self.piece_bytes // table.nbytes), 1)

    def _merge(self, runs: Sequence[Callable[[], Tables]]) -> Tables:
        """Sort rows while a thread reads the next ones."""
        for parts in prefetch_tables(self._cut(runs)):
            yield parts[0] if len(parts) == 1 else sorted_table(arrow().concat_tables(parts), self._keys)

    def _cut(self, runs: Sequence[Callable[[], Tables]]) -> Iterator[list[Any]]:
        """Yield the rows of all runs that come before all others."""
        cursors = [_Cursor(run(), self._keys) for run in runs]
        while True:
            self._raise_if_cancelled()
            cursors = [cursor for cursor in cursors if cursor.load()]
            if not cursors:
                return
            yield _next_rows(cursors, self._loaded_bytes)

    def _raise_if_cancelled(self) -> None:
        if self._progress.is_cancelled:
            raise KeyboardInterrupt


@contextmanager
def writing_in(directory: str) -> Iterator[None]:
    """Name the directory in errors where the system refuses a write."""
    try:
        yield
    except OSError as error:
        raise IoFailureError(
            f"cannot write temporary file in {directory}: {error.strerror or error}", code="io"
        ) from error


def _read(file: Any) -> Tables:
    """Yield the tables of a run, whose space is freed after the last."""
    file.seek(0)
    with file:
        if file.seek(0, 2) == 0:
            return
        file.seek(0)
        for batch in arrow("pyarrow.ipc").open_stream(file):
            yield arrow().Table.from_batches([batch])


class _Piece(NamedTuple):
    """Sorted rows with their keys, and the first of them that is not taken yet."""

    table: Any
    parts: Sequence[KeyColumn]
    last_key: Any
    first: int = 0

    def end_before(self, bound: Any, *, with_equals: bool) -> int:
        """Return the end of the rows before a key, or up to and including it."""
        search = bisect_right if with_equals else bisect_left
        rows = range(self.table.num_rows)
        return search(rows, bound, lo=self.first, key=lambda row: row_key(self.parts, row))


class _Cursor:
    """The position of a run, and the rows loaded from there on."""

    def __init__(self, tables: Tables, keys: Sequence[ColumnKey]) -> None:
        self._tables = tables
        self._keys = keys
        self._pieces: deque[_Piece] = deque()
        self.has_more = True

    def load(self) -> bool:
        """Load rows if none are left; return whether there are any."""
        if not self._pieces:
            self.load_more()
        return bool(self._pieces)

    def load_more(self) -> None:
        """Load the next piece, if there is one."""
        table = next((table for table in self._tables if table.num_rows), None)
        if table is None:
            self.has_more = False
        else:
            parts = key_columns(table, self._keys, all_parts=True)
            self._pieces.append(_Piece(table, parts, row_key(parts, table.num_rows - 1)))

    @property
    def last_key(self) -> Any:
        """The key of the last loaded row."""
        return self._pieces[-1].last_key

    @property
    def nbytes(self) -> int:
        return sum(piece.table.nbytes for piece in self._pieces)

    def take_until(self, bound: Any, *, with_equals: bool) -> Iterator[Any]:
        """Yield the rows before a key, or up to and including it, piece by piece."""
        while self._pieces:
            piece = self._pieces.popleft()
            end = piece.end_before(bound, with_equals=with_equals)
            yield piece.table.slice(piece.first, end - piece.first)
            if end < piece.table.num_rows:
                self._pieces.appendleft(piece._replace(first=end))
                return

    def take_all(self) -> Iterator[Any]:
        """Yield all loaded rows."""
        while self._pieces:
            piece = self._pieces.popleft()
            yield piece.table.slice(piece.first)


def _next_rows(cursors: Sequence[_Cursor], loaded_bytes: int) -> list[Any]:
    """Return the rows of all runs up to a bound: the least of the last loaded keys of runs that have more.

    Pieces are loaded up to `loaded_bytes`, always for the run that ends first, as no row after its end can be taken.
    Its next piece may begin with rows that equal the bound. So later runs hold theirs back, and equal rows stay in
    order.
    """
    size = sum(cursor.nbytes for cursor in cursors)
    while (least := _first_to_end(cursors)) is not None and size < loaded_bytes:
        before = cursors[least].nbytes
        cursors[least].load_more()
        size += cursors[least].nbytes - before
    if least is None:
        parts = [part for cursor in cursors for part in cursor.take_all()]
    else:
        bound = cursors[least].last_key
        parts = [part for i, cursor in enumerate(cursors) for part in cursor.take_until(bound, with_equals=i <= least)]
    return [part for part in parts if part.num_rows]


def _first_to_end(cursors: Sequence[_Cursor]) -> int | None:
    """Return the run whose loaded rows end first, among those that have more."""
    going_on = [i for i, cursor in enumerate(cursors) if cursor.has_more]
    return min(going_on, key=lambda i: cursors[i].last_key, default=None)


def prefetch_tables(tables: Iterator[Any]) -> Iterator[Any]:
    """Yield tables, or lists of them, while a thread makes the next."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, tables, None)
        while (table := waiting.result()) is not None:
            waiting = pool.submit(next, tables, None)
            yield table


def made_in_turn(tasks: Iterator[Callable[[], Any]], *, threads: int) -> Iterator[Any]:
    """Yield what tasks return, in order, while threads work on as many of the next ones, and one more waits."""
    with ThreadPoolExecutor(threads) as pool:
        submitted = (pool.submit(task) for task in tasks)
        waiting = deque(islice(submitted, threads + 1))
        try:
            while waiting:
                yield waiting.popleft().result()
                waiting.extend(islice(submitted, 1))
        finally:
            pool.shutdown(cancel_futures=True)


def behind_last(tables: Tables) -> Iterator[tuple[Any, Any]]:
    """Yield each table that has rows, and its rows behind the last row of the table before it."""
    last: Any = None
    for table in tables:
        if table.num_rows:
            yield table, table if last is None else arrow().concat_tables([last, table])
            last = table.slice(table.num_rows - 1)


def drop_repeats(tables: Tables, keys: Sequence[ColumnKey]) -> Tables:
    """Yield only the first of rows with equal keys; the tables are in order."""
    for table, joined in behind_last(tables):
        parts = key_columns(joined, keys, all_parts=True)
        firsts = first_of_equals(parts, joined.num_rows).slice(joined.num_rows - table.num_rows)
        yield (
            table
            if firsts.true_count == len(firsts)
            else rows_at(table, arrow("pyarrow.compute").indices_nonzero(firsts))
        )


def take_first(tables: Tables, rows: int) -> Tables:
    """Yield the first rows."""
    for table in tables:
        yield table.slice(0, rows)
        rows -= table.num_rows
        if rows <= 0:
            return


def first_disorder(tables: Tables, keys: Sequence[ColumnKey], *, unique: bool) -> tuple[int, list[Any]] | None:
    """Return the number, from 1, and the key values of the first row that sorts before its predecessor.

    With `unique`, a row whose keys equal its predecessor's is out of order, too.
    """
    read = 0
    for table, joined in behind_last(tables):
        read += table.num_rows
        row = _first_wrong(key_columns(joined, keys, all_parts=True), joined.num_rows, unique=unique)
        if row >= 0:
            return read - joined.num_rows + row + 1, [_python_value(joined.column(key.column)[row]) for key in keys]
    return None


def in_order(tables: Tables, keys: Sequence[ColumnKey], *, path: str) -> Tables:
    """Yield the tables of a file to be merged. Raises BadInputError where they are not sorted."""
    read = 0
    for table, joined in behind_last(tables):
        read += table.num_rows
        row = _first_wrong(key_columns(joined, keys, all_parts=True), joined.num_rows, unique=False)
        if row >= 0:
            raise BadInputError(
                f"{path}: row {read - joined.num_rows + row + 1} is out of order: only sorted inputs can be merged",
                code="out-of-order",
            )
        yield table


def _python_value(scalar: Any) -> Any:
    """Return a value as a Python object; times outside Python's range as stored, invalid text as bytes."""
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return scalar.as_buffer().to_pybytes()
    except (OverflowError, ValueError):
        return f"{scalar.value} ({scalar.type})"


def count_disorder(table: Any, keys: Sequence[ColumnKey]) -> tuple[int, int]:
    """Return how many rows sort before their predecessor, and how many have equal keys."""
    if table.num_rows < 2:
        return 0, 0
    wrong, equal = _compare_neighbours(key_columns(table, keys, all_parts=True), table.num_rows)
    compute = arrow("pyarrow.compute")
    return compute.sum(wrong).as_py(), compute.sum(equal).as_py()


def _first_wrong(parts: Sequence[KeyColumn], rows: int, *, unique: bool) -> int:
    """Return the index of the first row that is out of order, -1 for none."""
    compute = arrow("pyarrow.compute")
    wrong, equal = _compare_neighbours(parts, rows)
    place: int = compute.index(compute.or_(wrong, equal) if unique else wrong, True).as_py()
    return place + 1 if place >= 0 else -1


def _compare_neighbours(parts: Sequence[KeyColumn], rows: int) -> tuple[Any, Any]:
    """Return for each row but the first whether it sorts before its predecessor, and whether both are equal."""
    compute, library = arrow("pyarrow.compute"), arrow()
    undecided = library.repeat(True, rows - 1)
    wrong = compute.invert(undecided)
    for values, descending in parts:
        now, then = values.slice(1), values.slice(0, rows - 1)
        falls = (compute.greater if descending else compute.less)(now, then)
        wrong = compute.or_(wrong, compute.and_(undecided, falls.fill_null(False)))
        undecided = compute.and_(undecided, compute.equal(now, then).fill_null(True))
    return wrong, undecided
