"""Parquet that cannot be sorted: damaged, too long for the memory, out of order. Each error names the file."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

from planner.errors import BadInputError
from planner.native import Progress
from planner.sorting.sort_job import SortJob
from planner.sorting.tables.parquet import find_disorder, sort_tables
from planner.sorting.tables.parquet_rows import read_footer

LEAST_BYTES = 320 << 20


def job_of(*inputs: Path, key: str = "a", merge: bool = False) -> SortJob:
    folder = inputs[0].parent
    return SortJob(
        inputs=tuple(map(str, inputs)), output=str(folder / "out"), key=(key,), merge=merge, memory_bytes=LEAST_BYTES,
        force=True, temp_dirs=(str(folder),),
    )  # fmt: skip


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    table = pa.table({"a": [i * 7919 % 3000 for i in range(3000)], "s": [f"{i}" for i in range(3000)],
                      "l": [[i, i + 1] for i in range(3000)]})  # fmt: skip
    pq.write_table(table, path, row_group_size=700)
    return path


def test_truncated_anywhere(source: Path) -> None:
    content, chance = source.read_bytes(), random.Random(5)
    for _ in range(20):
        source.write_bytes(content[: chance.randrange(len(content))])
        with refused("not-a-table", str(source)):
            sort_tables(job_of(source), Progress())


def test_flipped_bits_are_an_error_that_names_the_file_or_pass(source: Path) -> None:
    """Data without a checksum may change unnoticed."""
    content, chance = source.read_bytes(), random.Random(6)
    refused = 0
    for number in range(40):
        damaged = bytearray(content)
        damaged[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        source.write_bytes(damaged)
        try:
            if number % 2:
                sort_tables(job_of(source, key=chance.choice(["a", "s"])), Progress())
            else:
                find_disorder(SortJob(inputs=(str(source),), format="parquet", key=["a"]), Progress())
        except BadInputError as error:
            refused += 1
            assert str(source) in str(error)
    assert refused


def test_inputs_of_a_merge_that_are_out_of_order(source: Path) -> None:
    second = source.with_name("second")
    pq.write_table(pa.table({"a": [5, 7, 6]}), second)
    pq.write_table(pa.table({"a": list(range(3000, 0, -1))}), source, row_group_size=100)
    for inputs, row in (((source, second), "in: row 2"), ((second,), "second: row 3"), ((second, second), "row 3")):
        with refused("out-of-order", row):
            sort_tables(job_of(*inputs, merge=True), Progress())
    pq.write_table(pa.table({"a": [*range(40_000), 7]}), source)  # in another batch
    with refused("out-of-order", "in: row 40001"):
        sort_tables(job_of(source, merge=True), Progress())


def test_a_row_too_long_for_the_memory_is_named_with_what_would_do(source: Path) -> None:
    texts = [f"{i}" for i in range(2000)]
    texts[1500] = "x" * 30_000_000
    pq.write_table(pa.table({"a": range(2000), "s": texts}), source, row_group_size=700)
    for merge in (False, True):
        with refused("memory", "in: row 1501", "30000", "--memory", "451MB"):
            sort_tables(replace(job_of(source, merge=merge), memory_bytes=430_000_000), Progress())
    assert [path.name for path in source.parent.iterdir()] == ["in"]


def test_fewer_long_rows_are_decoded_at_a_time(source: Path) -> None:
    pq.write_table(pa.table({"s": [b"%d" % i * 40_000 for i in range(300)]}), source, use_dictionary=False)
    batches = list(read_footer(str(source)).batches())
    assert max(batch.nbytes for batch in batches) < 20_000_000
    assert sum(batch.num_rows for batch in batches) == 300
