"""Equal keys keep their order in two passes if requested."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.native import core
from planner.sorting.records.local import sort_file
from planner.sorting.sort_job import SortJob

SMALL_MEMORY_BYTES = 20_000_000


def records_of(shape: str, count: int) -> np.ndarray:
    """Return records of 100 bytes: a key of ten, the record's number, zeros."""
    random = np.random.default_rng(5)
    records = np.zeros((count, 100), dtype=np.uint8)
    if shape == "few keys":
        records[:, 9] = random.integers(0, 5, count)
    elif shape == "many keys, each often":
        records[:, 7:10] = random.integers(0, 20, (count, 3))
    elif shape == "mostly one key, beyond memory":
        records[random.random(count) < 0.1, 3] = 1
    records[:, 10:18] = np.arange(count, dtype=">u8").view(np.uint8).reshape(-1, 8)
    return records


def in_order(records: np.ndarray) -> bytes:
    out = np.empty_like(records)
    core.sort_records(records, out)
    return out.tobytes()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("shape", ["all equal", "few keys", "many keys, each often", "mostly one key, beyond memory"])
def test_two_passes(tmp_path: Path, shape: str, threads: int) -> None:
    records = records_of(shape, 400_000)
    records.tofile(tmp_path / "in")
    report = sort_file(
        tmp_path / "in",
        tmp_path / "out",
        SortJob(stable=True, memory_bytes=SMALL_MEMORY_BYTES, threads=threads, force=True),
    )
    assert report.mode == "two passes"
    assert report.temporary_bytes_written > 0
    assert (tmp_path / "out").read_bytes() == in_order(records)


def test_a_partition_that_is_split_again(tmp_path: Path) -> None:
    # The sample sees windows of the file; keys between them are unknown to it.
    records = records_of("all equal", 600_000)
    records[:, :8] = np.random.default_rng(2).integers(0, 256, (600_000, 8), dtype=np.uint8)
    records[100_000:, :7] = 9
    records[100_000:, 7] &= 15
    records.tofile(tmp_path / "in")
    sort_file(
        tmp_path / "in", tmp_path / "out", SortJob(stable=True, memory_bytes=SMALL_MEMORY_BYTES, threads=1, force=True)
    )
    assert (tmp_path / "out").read_bytes() == in_order(records)


def test_several_inputs_count_as_one_after_another(tmp_path: Path) -> None:
    records = records_of("few keys", 300_000)
    parts = np.split(records, [20_000, 200_000])
    inputs = [tmp_path / f"in{number}" for number in range(len(parts))]
    for path, part in zip(inputs, parts, strict=True):
        part.tofile(path)
    outputs = [tmp_path / "out0", tmp_path / "out1"]
    sort_file(inputs, outputs, SortJob(stable=True, memory_bytes=SMALL_MEMORY_BYTES, force=True))
    assert b"".join(path.read_bytes() for path in outputs) == in_order(records)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record_size=st.integers(2, 60), count=st.integers(0, 3000), data=st.data())
def test_every_record_shape(tmp_path: Path, record_size: int, count: int, data: st.DataObject) -> None:
    key_size = data.draw(st.integers(1, record_size))
    key_offset = data.draw(st.integers(0, record_size - key_size))
    records = np.random.default_rng(count).integers(0, 2, (count, record_size), dtype=np.uint8)
    records.tofile(tmp_path / "in")
    core.sort_files(
        [str(tmp_path / "in")],
        [str(tmp_path / "out")],
        record_bytes=record_size,
        key_offset=key_offset,
        key_bytes=key_size,
        stable=True,
        memory_bytes=64_000_000,
        passes=2,
    )
    rows = [row.tobytes() for row in records]
    key = slice(key_offset, key_offset + key_size)
    assert (tmp_path / "out").read_bytes() == b"".join(sorted(rows, key=lambda row: row[key]))
