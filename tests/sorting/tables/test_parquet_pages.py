"""The memory of Parquet pages is known before they are decoded, and kept within its limit or refused."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import planner
from planner.errors import BadInputError
from planner.sorting.tables.parquet_pages import PageSizes, page_sizes
from planner.sorting.tables.parquet_rows import read_footer


def written(path: Path, **columns: list[Any]) -> Any:
    """Return the footer of a file with one row group."""
    pq.write_table(pa.table(columns), path, compression="zstd")
    return pq.ParquetFile(path).metadata


def test_long_pages_are_measured(tmp_path: Path) -> None:
    texts = [b"%d" % i * 20_000 for i in range(1500)]
    sizes = page_sizes(str(tmp_path / "in"), written(tmp_path / "in", s=texts, n=list(range(1500))))
    longest = sum(len(text) + 4 for text in texts[:1024])  # pyarrow checks a page's size after this many values
    assert longest <= sizes.longest < longest * 1.01
    assert sum(map(len, texts)) / 1500 <= sizes.row < sum(map(len, texts)) / 1500 * 1.1


def test_few_long_values_that_come_often_are_long_rows(tmp_path: Path) -> None:
    texts = [b"%d" % (i % 2) * 100_000 for i in range(5000)]
    metadata = written(tmp_path / "in", s=texts)
    assert metadata.row_group(0).total_byte_size < 300_000
    assert page_sizes(str(tmp_path / "in"), metadata).row > 100_000
    assert max(batch.nbytes for batch in read_footer(str(tmp_path / "in")).batches()) < 20_000_000


def test_damaged_headers_are_refused(tmp_path: Path) -> None:
    metadata = written(tmp_path / "in", s=[os.urandom(3000) for _ in range(1000)])
    with (tmp_path / "in").open("r+b") as file:
        file.write(b"PAR1" + b"\xff" * 100)
    with pytest.raises(BadInputError, match="is damaged: row group 0, column s"):
        page_sizes(str(tmp_path / "in"), metadata)


def test_no_rows_have_no_pages(tmp_path: Path) -> None:
    assert page_sizes(str(tmp_path / "in"), written(tmp_path / "in", s=[])) == PageSizes(0, 0)


PEAK = "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"


def peak_ratio(folder: Path, memory_mb: int) -> float:
    """Sort `in` to `out` in a process of its own; return its most resident memory over what it was given."""
    call = f"format='parquet', key='n', memory_bytes={memory_mb}_000_000, force=True"
    script = f"import planner; planner.sort('in', 'out', {call}); {PEAK}"
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    if refused := re.search(r"give `memory_bytes` of at least (\d+)MB", done.stderr):
        return peak_ratio(folder, int(refused[1]))
    return int(done.stdout) * 1024 / (memory_mb * 1_000_000)


def long_values_beside_a_dictionary(rows: int) -> dict[str, Any]:
    """Values of which pyarrow puts the first 1024 in a dictionary page, and the rest in pages of their own."""
    return {"s": [os.urandom(150_000) for _ in range(rows)], "n": list(range(rows, 0, -1))}


def many_columns_in_one_group(rows: int) -> dict[str, Any]:
    random = np.random.default_rng(1)
    columns = {f"c{i}": random.integers(0, 1 << 60, rows) for i in range(120)}
    return columns | {"n": np.arange(rows, 0, -1)}


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read in /proc")
@pytest.mark.parametrize(
    ("columns", "rows"), [(long_values_beside_a_dictionary, 2100), (many_columns_in_one_group, 250_000)]
)
def test_the_memory_that_is_advised_is_enough_and_kept(
    tmp_path: Path, columns: Callable[[int], dict[str, Any]], rows: int
) -> None:
    written(tmp_path / "in", **columns(rows))
    assert peak_ratio(tmp_path, 340) < 1.1
    assert pq.read_table(tmp_path / "out").column("n").to_pylist() == list(range(1, rows + 1))


def test_a_long_value_is_refused_at_once_by_row_and_column(tmp_path: Path) -> None:
    long = os.urandom(30_000_000)
    columns = pa.table({"n": [3, 2, 1], "blob": [b"a", long, b"b"]})
    pq.write_table(columns, tmp_path / "in", use_dictionary=False, data_page_size=1, write_batch_size=1)
    with pytest.raises(BadInputError, match="row 2, column blob, has at least") as error:
        planner.sort(tmp_path / "in", tmp_path / "out", format="parquet", key="n", memory_bytes=340_000_000)
    advised = re.search(r"at least (\d+)MB", str(error.value))
    assert advised
    memory_bytes = int(advised[1]) * 1_000_000
    planner.sort(tmp_path / "in", tmp_path / "out", format="parquet", key="n", memory_bytes=memory_bytes)
    assert pq.read_table(tmp_path / "out").column("n").to_pylist() == [1, 2, 3]
