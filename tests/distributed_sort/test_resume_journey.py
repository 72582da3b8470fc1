"""A second call continues where a killed driver stopped, with any data: text, compressed or not, CSV and tables."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.distributed_sort.dataset.dataset import Dataset
from planner.distributed_sort.dataset.table_dataset import tables_of
from planner.distributed_sort.dataset.text_dataset import lines_of, rows_of
from planner.errors import IoFailureError
from planner.sorting.tables.table import sort_table
from planner.sorting.text.text_job import CsvColumns
from tests.distributed_sort import test_table_journey as tables
from tests.distributed_sort import test_text_journey as texts
from tests.distributed_sort.test_sort_journey import MAP, REDUCE, Once

if TYPE_CHECKING:
    from conftest import SortCluster

HEADER = b"number,text\n"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Data to sort; `is_right` returns whether an output is that data, in order."""

    source: Dataset
    is_right: Callable[[Dataset], bool]


def _text(source: Dataset, contents: list[bytes], header: bytes = b"") -> Sample:
    assert source.layout.text is not None
    expected = texts.expected(contents, source.layout.text)

    def is_right(output: Dataset) -> bool:
        parts = [Path(partition.uri).read_bytes() for partition in output.partitions]
        return all(part.startswith(header) for part in parts) and expected == b"".join(
            part.removeprefix(header) for part in parts
        )

    return Sample(source=source, is_right=is_right)


def lines(folder: Path) -> Sample:
    contents = [texts.rows(300_000, seed=seed) for seed in range(3)]
    return _text(lines_of(_files(folder, contents), texts.TABLE), contents)


def packed(folder: Path) -> Sample:
    contents = [texts.rows(150_000, seed=seed) for seed in range(6)]
    return _text(lines_of(texts.packed_files(folder, contents), texts.TABLE), contents)


def csv(folder: Path) -> Sample:
    contents = [texts.csv_rows(600_000, seed=seed) for seed in range(3)]
    files = _files(folder, [HEADER + content for content in contents])
    source = rows_of(files, CsvColumns(keys=("number:int:desc",)), unique=False)
    return _text(source, contents, HEADER)


def parquet(folder: Path) -> Sample:
    contents = [tables.table(200_000, seed=seed) for seed in range(4)]
    source = tables_of([str(tables.written(folder, contents, group_rows=10_000))], tables.KEYS)
    whole = pa.concat_tables(contents)
    keys, numbers = (
        tables.keys_of(sort_table(whole, keys=tables.KEYS), tables.KEYS),
        sorted(whole["number"].to_pylist()),
    )

    def is_right(output: Dataset) -> bool:
        rows = pa.concat_tables([pq.read_table(partition.uri) for partition in output.partitions])
        return tables.keys_of(rows, tables.KEYS) == keys and sorted(rows["number"].to_pylist()) == numbers

    return Sample(source=source, is_right=is_right)


def _files(folder: Path, contents: list[bytes]) -> list[str]:
    folder.mkdir()
    for number, content in enumerate(contents):
        (folder / str(number)).write_bytes(content)
    return [str(folder)]


@pytest.mark.soak
@pytest.mark.needs_root(why="finds a node's processes by its network namespace")
@pytest.mark.parametrize("phase", [MAP, pytest.param(REDUCE, marks=pytest.mark.quick)])
@pytest.mark.parametrize("made", [lines, csv, packed, parquet])
def test_what_a_killed_driver_had_done_is_not_done_again(
    sort_cluster: SortCluster, tmp_path: Path, made: Callable[[Path], Sample], phase: str
) -> None:
    data, output = made(tmp_path / "in"), f"resume-{made.__name__}-{phase[:3]}"
    event = Once(lambda: os.kill(sort_cluster.driver(), signal.SIGKILL), phase=phase, share=0.3)
    with pytest.raises(IoFailureError, match="run the same command again"):
        sort_cluster.sort(data.source, tmp_path / "j", output=output, on_event=event)
    result, report = sort_cluster.sort(data.source, tmp_path / "j", output=output)
    assert report["resumed"] and data.is_right(result)
    moved = report["moved_bytes"]
    if phase == MAP:
        assert moved["intermediate_written"] < 0.9 * moved["intermediate_read"], "what was stored is not stored again"
    else:
        assert moved["input_read"] == 0
        assert moved["output_written"] < 0.8 * sum(Path(part.uri).stat().st_size for part in result.partitions)
    assert not list(sort_cluster.directory(1).parent.rglob(".planner-sort-*"))
