"""Many small files become few partitions, which hold the same lines or rows in the same order."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

from planner.distributed_sort.dataset.dataset import Dataset, TextFormat, dataset_of
from planner.distributed_sort.dataset.readable_input import decompress, or_error
from planner.distributed_sort.dataset.table_dataset import tables_of
from planner.distributed_sort.dataset.text_dataset import lines_of, rows_of
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.errors import BadInputError, IoFailureError
from planner.sorting.text.text_job import CsvColumns

FILES = JobFiles(job="j", output="out")
COUNT = 300
COLUMNS = CsvColumns(keys=("k:num",))


def text_files(folder: Path, *, header: str = "", end: str = "\n") -> list[Path]:
    """Write files of two rows; the last has no line end."""
    folder.mkdir()
    paths = [folder / f"{number:04d}.csv" for number in range(COUNT)]
    for number, path in enumerate(paths):
        path.write_bytes(f'{header}{number},"a{end}b"{end}{-number},x'.encode())
    return paths


def joined(dataset: Dataset) -> list[bytes]:
    """Return a node's output for each partition, as kept in a manifest."""
    dataset = dataset_of(json.loads(dataset.to_json()))
    done = [decompress(part, FILES, number, dataset.layout) for number, part in enumerate(dataset.partitions)]
    for part, one in zip(dataset.partitions, done, strict=True):
        copy, content = one.partition.copies[0], Path(one.partition.uri).read_bytes()
        expected = part.records if part.groups else len(content) - copy.offset
        assert (one.partition.records, one.partition.is_estimated, copy.node) == (expected, False, "node-1")
    return [Path(one.partition.uri).read_bytes() for one in done]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_is_joined_without_headers_and_each_file_ends_with_a_line(this_node: Path, end: str) -> None:
    text_files(this_node / "in", header=f"k,t{end}", end=end)
    source = rows_of([str(this_node / "in")], COLUMNS, unique=False)
    assert [len(part.copies[0].parts) for part in source.partitions] == [256, COUNT - 256]
    wanted = "".join(f'{number},"a{end}b"{end}{-number},x{end}' for number in range(COUNT))
    assert b"".join(joined(source)) == wanted.encode()


def test_small_compressed_files_are_joined_and_few_or_large_files_are_not(this_node: Path) -> None:
    paths = text_files(this_node / "in")
    for path in paths[::2]:
        path.write_bytes(gzip.compress(path.read_bytes()))
    wanted = b"".join(b'%d,"a\nb"\n%d,x\n' % (number, -number) for number in range(COUNT))
    assert b"".join(joined(lines_of([str(this_node / "in")], TextFormat()))) == wanted
    few = lines_of([str(path) for path in paths[1:60]], TextFormat())
    assert all(not part.copies[0].parts for part in few.partitions)
    paths[100].write_bytes(b"x\n" * 600_000)
    mixed = lines_of([str(this_node / "in")], TextFormat()).partitions
    assert [len(part.copies[0].parts) for part in mixed] == [100, 0, COUNT - 101]


def test_what_is_wrong_with_a_part_is_said_of_the_part(this_node: Path) -> None:
    paths = text_files(this_node / "in", header="k,t\n")
    paths[270].write_text("k,t\n1,2,3\n")
    paths[280].write_text('k,t\n1,"open\n')
    source = rows_of([str(this_node / "in")], COLUMNS, unique=False)
    error = or_error(source.partitions[1], decompress, FILES, 1, source.layout)
    assert isinstance(error, BadInputError)
    assert "0270.csv: row '1,2,3': 3 fields" in str(error)
    paths[270].write_text("k,t\n1,2\n")
    with refused("input-changed", "0270.csv", kind=IoFailureError):
        decompress(source.partitions[1], FILES, 1, source.layout)
    source = rows_of([str(this_node / "in")], COLUMNS, unique=False)
    error = or_error(source.partitions[1], decompress, FILES, 1, source.layout)
    assert isinstance(error, BadInputError) and "0280.csv" in str(error)


def test_tables_are_joined_with_the_columns_of_their_folders(this_node: Path) -> None:
    kinds = [("k", pa.int64()), ("c", pa.dictionary(pa.int32(), pa.string())), ("d", pa.decimal128(9, 2))]
    schema = pa.schema([*kinds, pa.field("t", pa.timestamp("ns"), nullable=False)])
    for number in range(COUNT):
        folder = this_node / "in" / f"day={number % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        columns = [[number, None], ["a", "b"], [None, None], [number, 0]]
        arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
        pq.write_table(pa.Table.from_arrays(arrays, schema=schema), folder / f"{number}.parquet")
    source = tables_of([str(this_node / "in")], ["k"])
    assert [(len(part.copies[0].parts), part.groups) for part in source.partitions] == [(256, (512,)), (44, (88,))]
    tables = [pq.read_table(pa.BufferReader(content)) for content in joined(source)]
    whole = pa.concat_tables(tables)
    assert source.layout.table is not None
    assert whole.schema.equals(source.layout.table.arrow_schema())
    assert whole.schema.names == ["k", "c", "d", "t", "day"]
    held = sorted((row["k"], row["day"]) for row in whole.to_pylist() if row["k"] is not None)
    assert held == [(number, number % 3) for number in range(COUNT)]
