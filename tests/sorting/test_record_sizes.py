"""Records of any size in two passes, transferred directly whether or not they share blocks with pages."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from planner.native import core

SIZES = (1, 2, 3, 10, 99, 100, 101, 255, 257, 511, 513, 1_001, 4_095, 4_097, 65_537, 70_000)
PAGE_BYTES = 4_096


def write_cold(path: Path, records: NDArray[np.uint8]) -> None:
    """Write records and evict them from the page cache, so that they are read directly."""
    records.tofile(path)
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def sorted_stably(records: NDArray[np.uint8], key: slice) -> bytes:
    keys = np.ascontiguousarray(records[:, key]).view(f"S{key.stop - key.start}").ravel()
    return records[np.argsort(keys, kind="stable")].tobytes()


def sorted_in_two_passes(tmp_path: Path, *, record_size: int, seed: int, most_bytes: int) -> dict[str, object]:
    """Sort several inputs into several outputs in random small memory, check all of them, and return the report."""
    random = np.random.default_rng([record_size, seed])
    count = int(min(random.integers(most_bytes // 2, most_bytes) // record_size, 150_000))
    records = random.integers(0, random.choice([2, 256]), (count, record_size), dtype=np.uint8)
    key_size = int(random.integers(1, min(record_size, 12) + 1))
    key_offset = int(random.integers(0, record_size - key_size + 1))
    parts = np.split(records, np.sort(random.integers(0, count + 1, 2)))
    places = [tmp_path / f"disk{number}" for number in range(2)]
    for place in places:
        place.mkdir(exist_ok=True)
    inputs = [tmp_path / f"in{number}" for number in range(len(parts))]
    for path, part in zip(inputs, parts, strict=True):
        write_cold(path, part)
    outputs = [place / "out" for place in places[: int(random.integers(1, 3))]]
    replicas = [tmp_path / f"replica{number}" for number in range(len(outputs))] if random.random() < 0.5 else []
    memory_bytes = int(random.integers(21_000_000, 30_000_000)) * (2 if record_size > 60_000 else 1)
    report = core.sort_files(
        [str(path) for path in inputs], [str(path) for path in outputs],
        replicas=[str(path) for path in replicas], temporary_directories=[str(place) for place in places],
        record_bytes=record_size, key_offset=key_offset, key_bytes=key_size, stable=True,
        memory_bytes=memory_bytes, threads=2, queue_depth=2, passes=2,
    )  # fmt: skip
    expected = sorted_stably(records, slice(key_offset, key_offset + key_size))
    assert b"".join(path.read_bytes() for path in outputs) == expected
    assert [path.read_bytes() for path in replicas] == [path.read_bytes() for path in outputs[: len(replicas)]]
    assert report["records"] == count
    assert sum(len(list(place.iterdir())) for place in places) == len(outputs)
    return dict(report)


def choice_of(report: dict[str, object], name: str) -> str:
    return next(str(choice["value"]) for choice in report["choices"] if choice["name"] == name)  # type: ignore[attr-defined]


@pytest.mark.parametrize("record_size", [255, 1_001, 65_537])
def test_records_of_any_size_are_transferred_directly(tmp_path: Path, record_size: int) -> None:
    report = sorted_in_two_passes(tmp_path, record_size=record_size, seed=0, most_bytes=36_000_000)
    assert choice_of(report, "input and output") == "direct"
    if choice_of(report, "input") == "direct":  # the file system allows it
        assert report["input_bytes_read"] - report["input_bytes"] > 0  # type: ignore[operator]
    assert report["input_bytes_read"] - report["input_bytes"] < 1_000 * PAGE_BYTES  # type: ignore[operator]


@pytest.mark.parametrize("record_size", [257, 5_001])
@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("passes", [1, 2])
def test_a_few_records_of_no_round_size(tmp_path: Path, record_size: int, count: int, passes: int) -> None:
    records = np.random.default_rng(count).integers(0, 256, (count, record_size), dtype=np.uint8)
    write_cold(tmp_path / "in", records)
    core.sort_files(
        [str(tmp_path / "in")], [str(tmp_path / "out")], record_bytes=record_size, memory_bytes=64_000_000,
        passes=passes,
    )  # fmt: skip
    assert (tmp_path / "out").read_bytes() == sorted_stably(records, slice(0, 10))


@pytest.mark.soak
@pytest.mark.parametrize("record_size", SIZES)
def test_records_of_every_size(tmp_path: Path, record_size: int) -> None:
    for seed in range(8):
        (tmp_path / f"{seed}").mkdir()
        sorted_in_two_passes(tmp_path / f"{seed}", record_size=record_size, seed=seed, most_bytes=45_000_000)
        shutil.rmtree(tmp_path / f"{seed}")
