"""A line or a cell that needs more memory than there is for a partition is named where it is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.distributed_sort.content.partitioning import AnySplitting
from planner.distributed_sort.content.table_content import Tables
from planner.distributed_sort.content.text_splitting import TextSplitting
from planner.distributed_sort.dataset.dataset import Dataset, TextFormat
from planner.distributed_sort.dataset.quote_grid import grid_of
from planner.distributed_sort.dataset.quote_scan import flips
from planner.distributed_sort.dataset.slicing import slices
from planner.distributed_sort.dataset.table_dataset import tables_of
from planner.distributed_sort.dataset.text_dataset import lines_of, rows_of
from planner.distributed_sort.node_files.node_environment import NODE_DIRECTORY, NODE_NAME, JobFiles
from planner.distributed_sort.node_tasks.map_task import MapOrder, map_slice
from planner.errors import BadInputError
from planner.sorting.text.text_files import CsvColumns

LONG = 50_000
ONE_RANGE = TextSplitting(boundaries=(), pieces=(1,), weights=(1.0,))
LINES = TextFormat()


@pytest.fixture(autouse=True)
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NODE_NAME, "a")
    monkeypatch.setenv(NODE_DIRECTORY, str(tmp_path))


def group(source: Dataset, splitting: AnySplitting, *, memory_bytes: int, slice_records: int) -> None:
    for slice_ in slices(source, slice_records):
        order = MapOrder(
            slice=slice_,
            partition=source.partitions[0],
            layout=source.layout,
            files=JobFiles(job="j", output="out"),
            ranges=(),
            memory_bytes=memory_bytes,
        )
        map_slice(order, splitting)


@pytest.mark.parametrize("is_csv", [False, True], ids=["lines", "csv"])
def test_a_line_is_named_by_file_and_byte(tmp_path: Path, is_csv: bool) -> None:
    path, header, others = tmp_path / "in", b"a,b\n" * is_csv, b"x,y\n" * 10_000
    long = b'1,"' + b"\nz" * 99 + b"z" * LONG + b'"\n' if is_csv else b"z" * LONG + b"\n"
    path.write_bytes(header + others + long + others)
    source = rows_of([str(path)], CsvColumns(keys=("b",)), unique=False) if is_csv else lines_of([str(path)], LINES)
    quotes = grid_of([flips(source.partitions[0], source.layout, 0, 1000)], 1000)
    source = replace(source, partitions=(replace(source.partitions[0], quotes=quotes),))
    told = rf"{path}: the line that begins at byte {len(header + others)} has {len(long)} bytes"
    group(source, ONE_RANGE, memory_bytes=4 * LONG, slice_records=200_000)
    for slice_records in (200_000, len(others) + 100):
        with pytest.raises(BadInputError, match=told):
            group(source, ONE_RANGE, memory_bytes=2 * LONG, slice_records=slice_records)


def test_a_cell_is_named_by_file_column_and_row(tmp_path: Path) -> None:
    texts = ["short"] * 1000 + ["z" * LONG] + ["short"] * 99
    pq.write_table(pa.table({"k": list(range(1100)), "t": texts}), tmp_path / "in.parquet", row_group_size=300)
    source = tables_of([str(tmp_path / "in.parquet")], ["k"])
    splitting, _ = Tables(source.layout, source.layout.table).split([[]], 1)  # type: ignore[arg-type]
    group(source, splitting, memory_bytes=4 * LONG, slice_records=350)
    with pytest.raises(BadInputError, match=rf"{tmp_path}/in\.parquet: column t of row 1001 has {LONG} bytes"):
        group(source, splitting, memory_bytes=2 * LONG, slice_records=350)
