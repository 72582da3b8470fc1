"""Row groups decoded ahead by threads: all rows, in order, and within bounds."""

from __future__ import annotations

import resource
from dataclasses import replace
from itertools import chain
from pathlib import Path
from time import sleep
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

from planner.errors import BadInputError
from planner.native import Progress
from planner.sorting.sort_job import SortJob
from planner.sorting.tables import parquet_rows
from planner.sorting.tables.parquet import sort_tables
from planner.sorting.tables.parquet_rows import (
    ParquetInput,
    decoded_bytes,
    largest_group_bytes,
    prefetch_rows,
    read_footer,
)
from tests.sorting.arrow_tables import write_encrypted, write_listing


def as_they_are(batch: Any) -> list[Any]:
    """Return the batch as one part."""
    return [batch]


def numbered(folder: Path, *, files: int, rows: int, group_rows: int) -> list[ParquetInput]:
    """Write files whose rows are numbered from 0."""
    for i in range(files):
        table = pa.table({"n": range(i * rows, (i + 1) * rows)})
        pq.write_table(table, folder / f"{i}.parquet", row_group_size=group_rows)
    return [read_footer(str(folder / f"{i}.parquet")) for i in range(files)]


@pytest.mark.parametrize("threads", [0, 1, 2, 5])
@pytest.mark.parametrize("most_bytes", [0, 300, 1 << 20])
def test_all_rows_come_in_order(threads: int, most_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_rows, "BATCH_ROWS", 7)
    inputs = numbered(tmp_path, files=3, rows=100, group_rows=30)
    progress = Progress()
    tables = list(prefetch_rows(inputs, progress, as_they_are, threads=threads, most_bytes=most_bytes))
    assert pa.Table.from_batches(tables).column("n").to_pylist() == list(range(300))
    assert 300 * 8 <= progress.bytes_done <= 300 * 9  # and the validity bits of the values


def test_what_footers_say_of_sizes(tmp_path: Path) -> None:
    inputs = numbered(tmp_path, files=2, rows=150, group_rows=100)
    assert 100 * 8 <= largest_group_bytes(inputs) <= 100 * 10
    assert 2 * largest_group_bytes(inputs) < decoded_bytes(inputs) < 4 * largest_group_bytes(inputs)
    assert (largest_group_bytes([]), decoded_bytes([])) == (1, 0)


def test_no_more_is_ready_than_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_rows, "BATCH_ROWS", 10)
    inputs = numbered(tmp_path, files=1, rows=1000, group_rows=100)
    most: list[int] = []
    put = parquet_rows._Ready._put

    def watched(ready: Any, number: int, batch: Any) -> bool:
        wanted = put(ready, number, batch)
        with ready._changed:
            in_use, *later = [[batch for batch in waiting if batch] for waiting in ready._batches[ready._taken :]]
            most.extend(sum(batch.nbytes for batch in some) for some in (in_use, chain.from_iterable(later)))
        return wanted

    monkeypatch.setattr(parquet_rows._Ready, "_put", watched)
    rows = 0
    for table in prefetch_rows(inputs, Progress(), as_they_are, threads=4, most_bytes=400):
        sleep(0.002)  # so that the threads are ahead
        rows += table.num_rows
    assert rows == 1000
    assert max(most) <= 400


def test_damage_is_raised_where_it_is_and_whoever_stops_early_waits_for_nobody(tmp_path: Path) -> None:
    inputs = numbered(tmp_path, files=3, rows=5000, group_rows=1000)
    column = inputs[1].metadata.row_group(2).column(0)
    begin = column.dictionary_page_offset or column.data_page_offset
    data = bytearray(Path(inputs[1].path).read_bytes())
    data[begin + 100 : begin + 200] = b"\xff" * 100  # in a page: headers are read before any row
    Path(inputs[1].path).write_bytes(data)
    rows = 0
    with pytest.raises(BadInputError, match="parquet is damaged"):
        for table in prefetch_rows(inputs, Progress(), as_they_are, threads=2, most_bytes=1 << 20):
            rows += table.num_rows
    assert rows == 7000
    some = prefetch_rows(inputs, Progress(), as_they_are, threads=2, most_bytes=0)
    assert next(some).num_rows == 1000
    some.close()  # type: ignore[attr-defined]


def test_a_file_whose_footer_is_encrypted_is_named(tmp_path: Path) -> None:
    footer = b"no footer"
    (tmp_path / "secret").write_bytes(b"PARE" + footer + len(footer).to_bytes(4, "little") + b"PARE")
    with refused("not-a-table", "secret"):
        read_footer(str(tmp_path / "secret"))
    with pytest.raises(FileNotFoundError, match="missing"):
        read_footer(str(tmp_path / "missing"))


def test_encrypted_columns_behind_a_readable_footer_are_refused(tmp_path: Path) -> None:  # apache/arrow#51361
    path = tmp_path / "secret"
    write_encrypted(path, pa.table({"k": [2, 1], "z": [1, 2]}))
    with refused("encrypted", "secret"):
        read_footer(str(path))


def test_a_file_that_lists_the_rows_of_others_is_refused(tmp_path: Path) -> None:  # dask/dask#6047
    write_listing(tmp_path / "_metadata", pa.table({"k": [2, 1]}))
    with refused("no-rows", "_metadata", "part.parquet"):
        read_footer(str(tmp_path / "_metadata"))


@pytest.mark.parametrize("rows", [0, 1, 1000])
@pytest.mark.parametrize("options", [{}, {"write_page_index": True, "store_schema": False}])
def test_files_one_after_the_other_are_refused(rows: int, options: dict[str, Any], tmp_path: Path) -> None:
    """The footer of the second lists places that lie in the first: pyarrow reads the rows of the first."""
    for name, first in (("a", 0), ("b", 10_000)):
        pq.write_table(pa.table({"k": pa.array(range(first, first + rows), pa.int64())}), tmp_path / name, **options)
        assert read_footer(str(tmp_path / name)).metadata.num_rows == rows
    joined = (tmp_path / "a").read_bytes() + (tmp_path / "b").read_bytes()
    (tmp_path / "joined").write_bytes(joined)
    assert pq.read_table(tmp_path / "joined").column("k").to_pylist() == list(range(rows))
    with refused("several-tables", "joined"):
        read_footer(str(tmp_path / "joined"))


def test_what_pyarrow_does_not_read_is_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise pa.ArrowNotImplementedError("Integers with more than 64 bits not implemented")  # as Polars writes them

    (tmp_path / "wide").touch()
    monkeypatch.setattr(pq, "ParquetFile", refuse)
    with refused("unsupported-file", "wide", "64 bits"):
        read_footer(str(tmp_path / "wide"))


@pytest.mark.parametrize("merge", [False, True])
def test_more_files_than_descriptors(merge: bool, tmp_path: Path) -> None:
    paths = tuple(source.path for source in numbered(tmp_path, files=150, rows=1, group_rows=1))
    job = SortJob(
        inputs=paths, output=str(tmp_path / "out"), force=True, key=("n:desc",), merge=merge, memory_bytes=1 << 30,
        temp_dirs=(str(tmp_path),),
    )  # fmt: skip
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 100, limits[1]))
    try:
        sort_tables(job, Progress())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert pq.read_table(tmp_path / "out").column("n").to_pylist() == list(range(149, -1, -1))


def test_a_dictionary_counts_once_and_not_for_each_row(tmp_path: Path) -> None:
    values = pa.array([f"{number:0100d}" for number in range(2000)])
    column = pa.DictionaryArray.from_arrays(pa.array([1, 0, 2], pa.int32()), values)
    pq.write_table(pa.table({"k": [3, 1, 2], "c": column}), tmp_path / "in")
    fits = replace(read_footer(str(tmp_path / "in")), memory_bytes=153_000_000)
    assert sum(batch.num_rows for batch in fits.batches()) == 3
    with pytest.raises(BadInputError, match=r"the dictionaries of its columns have 2\d+ bytes"):
        list(replace(fits, memory_bytes=150_100_000).batches())
