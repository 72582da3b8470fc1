"""Inputs of the sorts of `bench_kills.py`, and checks of their outputs: records by valsort's sums, all else by DuckDB,
which shares no code with the sort.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from planner.clusters.emulated.ray import EmulatedRay
from planner.distributed_sort.content.content import content_of
from planner.distributed_sort.dataset.dataset import Copy, Dataset, Partition, Recipe, TextFormat
from planner.distributed_sort.dataset.table_dataset import tables_of
from planner.distributed_sort.dataset.text_dataset import lines_of, rows_of
from planner.native import core
from planner.sorting.records.keys import parse_key
from planner.sorting.text.text_job import CsvColumns

_PACKED_FILES: Final = 4
"""Number per node: a compressed file is one split."""
_LINES: Final = "read_csv({files}, header=false, columns={{'line': 'VARCHAR'}}, delim='\\x01', quote='', escape='')"
_CSV: Final = (
    "read_csv({files}, header=true, delim=',', quote='\"', parallel=false,"
    " columns={{'small': 'INTEGER', 'number': 'BIGINT', 'text': 'VARCHAR'}})"
)


@dataclass(frozen=True, kw_only=True)
class Input:
    """An input of a sort; `is_right` returns whether files, a copy of the output in order, hold exactly that,
    in order.
    """

    source: Dataset
    is_right: Callable[[Dataset, int], bool]


def records(cluster: EmulatedRay, count: int) -> Input:
    """Write `count` records to each node."""
    partitions, checksum = [], 0
    for node in range(1, cluster.nodes.workers + 1):
        path, start = cluster.nodes.directory(node) / "input", (node - 1) * count
        core.generate_file(str(path), records=count, start=start)
        checksum += core.validate_file(str(path)).checksum
        copy = Copy(uri=str(path), node=cluster.nodes.name(node))
        partitions.append(Partition(records=count, copies=(copy,), recipe=Recipe(start=start)))
    whole = count * cluster.nodes.workers

    def is_right(output: Dataset, copy: int) -> bool:
        content = content_of(output.layout)
        read = content.empty_summary()
        for partition in output.partitions:
            alone = replace(partition, copies=(replace(partition.copies[copy], node=""),))
            read.append(content.validate(alone, 2)[0])
        return bool((read.records, read.unordered, read.checksum) == (whole, 0, checksum))

    return Input(source=Dataset(partitions=tuple(partitions)), is_right=is_right)


def lines(cluster: EmulatedRay, count: int) -> Input:
    """Write the same number of lines of 100 bytes for each node; the greatest number comes first."""
    paths = [path / "input.txt" for path in _folders(cluster)]
    for node, path in enumerate(paths):
        path.write_bytes(_lines(count, seed=node))
    return _of_lines(paths)


def packed(cluster: EmulatedRay, count: int) -> Input:
    """Write the same in files compressed with gzip and zstd, in turn."""
    paths = list[Path]()
    for node, folder in enumerate(_folders(cluster)):
        for number in range(_PACKED_FILES):
            plain = _lines(count // _PACKED_FILES, seed=node * _PACKED_FILES + number)
            path = folder / f"input-{number}.{'zst' if number % 2 else 'gz'}"
            path.write_bytes(zstandard.compress(plain) if number % 2 else gzip.compress(plain, compresslevel=1))
            paths.append(path)
    return _of_lines(paths)


def csv(cluster: EmulatedRay, count: int) -> Input:
    """Write the same number of rows of about 100 bytes for each node, a tenth with a newline within quotes."""
    paths = [path / "input.csv" for path in _folders(cluster)]
    for node, path in enumerate(paths):
        chance = np.random.default_rng(node)
        keys = zip(chance.integers(0, 1000, count).tolist(), chance.integers(0, 1 << 60, count).tolist(), strict=True)
        texts = ['"two\nlines, ' + "x" * 62 + '"', *["y" * 74] * 9]
        rows = (f"{small},{number},{texts[number % 10]}\n" for small, number in keys)
        path.write_text("small,number,text\n" + "".join(rows), encoding="ascii")
    source = rows_of(list(map(str, paths)), CsvColumns(keys=("small:int", "number:int:desc")), unique=False)
    return _by_duckdb(source, _CSV, "small, -number")


def tables(cluster: EmulatedRay, count: int) -> Input:
    """Write the same number of rows of 100 bytes for each node."""
    paths = [path / "input.parquet" for path in _folders(cluster)]
    for node, path in enumerate(paths):
        chance = np.random.default_rng(node)
        columns = {f"number{column}": chance.integers(0, 1 << 60, count) for column in range(12)}
        rows = pa.table(columns | {"small": chance.integers(0, 1000, count).astype(np.int32)})
        pq.write_table(rows, path, row_group_size=100_000)
    source = tables_of(list(map(str, paths)), ["small", "number0:desc"])
    return _by_duckdb(source, "read_parquet({files})", "small, -number0")


MADE: Final = {"records": records, "lines": lines, "csv": csv, "parquet": tables, "packed": packed}


def _folders(cluster: EmulatedRay) -> list[Path]:
    return [cluster.nodes.directory(node) for node in range(1, cluster.nodes.workers + 1)]


def _lines(count: int, *, seed: int) -> bytes:
    return b"".join(b"%-99d\n" % number for number in np.random.default_rng(seed).integers(0, 1 << 60, count).tolist())


def _of_lines(paths: list[Path]) -> Input:
    source = lines_of(list(map(str, paths)), TextFormat(keys=(parse_key("1,1nr"),)))
    return _by_duckdb(source, _LINES, "-line::bigint")


def _by_duckdb(source: Dataset, rows: str, keys: str) -> Input:
    """Return an input whose output must have the same rows, by their number and the sum of their hashes, and `keys`
    that never decrease.
    """
    expected = _sums([partition.uri for partition in source.partitions], rows)

    def is_right(output: Dataset, copy: int) -> bool:
        files = [partition.copies[copy].uri for partition in output.partitions]
        return _sums(files, rows) == expected and _is_ordered(files, rows, keys)

    return Input(source=source, is_right=is_right)


def _sums(files: list[str], rows: str) -> Any:
    """Return the number of rows and the sum of their hashes. Files are read one by one, as each has its own
    compression.
    """
    whole = [0, 0]
    with duckdb.connect() as database:
        for file in files:
            query = f"select count(*), coalesce(sum(hash(t)::hugeint), 0) from {rows.format(files=[file])} t"
            for place, value in enumerate(database.execute(query).fetchone() or ()):
                whole[place] += int(value)
    return whole


def _is_ordered(files: list[str], rows: str, keys: str) -> bool:
    last: tuple[int, ...] = ()
    with duckdb.connect() as database:
        for file in files:
            values = database.execute(f"select {keys} from {rows.format(files=[file])}").fetchnumpy()
            columns = [np.asarray(column) for column in values.values()]
            if not len(columns[0]):
                continue
            if last > tuple(int(column[0]) for column in columns) or not _rises(columns):
                return False
            last = tuple(int(column[-1]) for column in columns)
    return True


def _rises(columns: list[Any]) -> bool:
    """Return whether rows never decrease, the first column before the second."""
    first, *others = columns
    differs = np.diff(first)
    if (differs < 0).any():
        return False
    return not others or bool((np.diff(others[0])[differs == 0] >= 0).all())
