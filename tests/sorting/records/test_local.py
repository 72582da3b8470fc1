"""Sorting files: every shape of input comes out sorted and complete, in one pass and in two."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.errors import BadInputError, InterruptedRunError, IoFailureError
from planner.native import Progress, core
from planner.sorting.records.generate import generate_file
from planner.sorting.records.local import SortReport, sort_file
from planner.sorting.records.validate import validate_files
from planner.sorting.sort_job import SortJob

SMALL_MEMORY_BYTES = 32_000_000
RECORDS = 600_000  # 60 MB: more than SMALL_MEMORY_BYTES


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def keys_of(shape: str, count: int) -> np.ndarray:
    """Return `count` ten-byte keys as rows of bytes."""
    random = np.random.default_rng(7)
    keys = random.integers(0, 256, (count, 10), dtype=np.uint8)
    if shape == "all equal":
        keys[:] = keys[0]
    elif shape == "two keys":
        keys = keys[:2][random.integers(0, 2, count)]
    elif shape == "nine in ten equal":
        keys[random.random(count) < 0.9] = keys[0]
    elif shape == "long common prefix":
        keys[:, :8] = 7
    elif shape == "sorted":
        keys = keys[np.lexsort(keys.T[::-1])]
    elif shape == "reversed":
        keys = keys[np.lexsort(keys.T[::-1])][::-1]
    return keys


def write_records(path: Path, keys: np.ndarray) -> np.ndarray:
    """Write 100-byte records with these keys and a serial number each; return them."""
    records = np.zeros((len(keys), 100), dtype=np.uint8)
    records[:, :10] = keys
    records[:, 10:18] = np.arange(len(keys), dtype=">u8").view(np.uint8).reshape(-1, 8)
    records.tofile(path)
    return records


def assert_sorted_permutation(path: Path, records: np.ndarray) -> None:
    output = np.fromfile(path, dtype=np.uint8).reshape(-1, 100)
    keys = np.ascontiguousarray(output[:, :10]).view("S10").ravel()
    padded = [np.ascontiguousarray(output[:, i : i + 5]) for i in (0, 5)]
    halves = [part.astype(np.uint64) @ (256 ** np.arange(4, -1, -1, dtype=np.uint64)) for part in padded]
    high, low = halves
    assert np.all((high[:-1] < high[1:]) | ((high[:-1] == high[1:]) & (low[:-1] <= low[1:])))
    assert len(keys) == len(records)
    serial = np.ascontiguousarray(output[:, 10:18]).view(">u8").ravel().astype(np.int64)
    assert np.array_equal(records[serial], output)
    assert len(np.unique(serial)) == len(records)


@pytest.mark.parametrize(
    "shape", ["uniform", "all equal", "two keys", "nine in ten equal", "long common prefix", "sorted", "reversed"]
)
def test_two_passes_sort_any_distribution(tmp_path: Path, shape: str) -> None:
    records = write_records(tmp_path / "in", keys_of(shape, RECORDS))
    report = sort_file(tmp_path / "in", tmp_path / "out", SortJob(memory_bytes=SMALL_MEMORY_BYTES, force=True))
    assert report.mode == "two passes"
    assert_sorted_permutation(tmp_path / "out", records)
    assert names_in(tmp_path) == ["in", "out"]


def test_each_record_is_read_and_written_twice_at_most(tmp_path: Path) -> None:
    generate_file(tmp_path / "in", records=RECORDS)
    report = sort_file(tmp_path / "in", tmp_path / "out", SortJob(memory_bytes=SMALL_MEMORY_BYTES, force=True))
    assert report.input_bytes_read == report.output_bytes_written == RECORDS * 100
    assert report.partitions_split_again == 0
    assert report.temporary_bytes_written == report.temporary_bytes_read <= RECORDS * 100 - report.kept_bytes
    assert report.kept_bytes > 0
    before, after = validate_files([tmp_path / "in"]), validate_files([tmp_path / "out"])
    assert after.unordered == 0
    assert after.checksum == before.checksum


@pytest.mark.parametrize("memory_mb", [30, 45, 60, 75, 90])
def test_only_what_does_not_fit_is_spilled(tmp_path: Path, memory_mb: int) -> None:
    """Memory beyond the records goes to blocks, half-full chunks and sorting: about a tenth of it and 14 MB."""
    for part in range(2):
        generate_file(tmp_path / f"in{part}", records=RECORDS // 2, start=RECORDS // 2 * part)
    inputs, outputs = [tmp_path / "in0", tmp_path / "in1"], [tmp_path / "out0", tmp_path / "out1"]
    memory_bytes = memory_mb * 1_000_000
    report = sort_file(inputs, outputs, SortJob(memory_bytes=memory_bytes, threads=2, force=True))
    assert report.mode == "two passes"
    assert validate_files(outputs).checksum == validate_files(inputs).checksum
    room_bytes = memory_bytes - memory_bytes // 10 - 14_000_000
    assert report.temporary_bytes_written == report.input_bytes - report.kept_bytes
    assert report.temporary_bytes_written <= max(0, report.input_bytes - room_bytes)
    held = next(choice for choice in report.choices if choice.name == "held")
    assert held.value == f"{report.kept_bytes} bytes"


def test_one_pass_when_the_input_is_warm_and_fits(tmp_path: Path) -> None:
    records = write_records(tmp_path / "in", keys_of("uniform", 50_000))
    report = sort_file(tmp_path / "in", tmp_path / "out")
    assert report.mode == "one pass"
    assert report.temporary_bytes_written == 0
    assert_sorted_permutation(tmp_path / "out", records)


def test_several_warm_inputs_go_in_one_pass(tmp_path: Path) -> None:
    records = write_records(tmp_path / "all", keys_of("two keys", 30_011))
    inputs = [tmp_path / f"in{part}" for part in range(5)]
    for path, part in zip(inputs, np.split(records, [7, 7, 12_345, 29_999]), strict=True):
        part.tofile(path)
    report = sort_file(inputs, tmp_path / "out")
    assert report.mode == "one pass"
    assert (report.records, report.input_bytes_read) == (30_011, 3_001_100)
    sort_file(tmp_path / "all", tmp_path / "expected")
    assert (tmp_path / "out").read_bytes() == (tmp_path / "expected").read_bytes()


@pytest.mark.parametrize("record_size", [1, 257, 4_096, 5_001])
def test_several_inputs_of_any_record_go_in_one_pass(tmp_path: Path, record_size: int) -> None:
    random = np.random.default_rng(record_size)
    parts = [random.integers(0, 256, (count, record_size), dtype=np.uint8) for count in (900, 1, 333)]
    for number, part in enumerate(parts):
        part.tofile(tmp_path / f"in{number}")
    inputs = [tmp_path / f"in{number}" for number in range(3)]
    report = sort_file(
        inputs, tmp_path / "out", SortJob(record_size=record_size, key_size=min(record_size, 10), force=True)
    )
    assert report.mode == "one pass"
    ordered = sorted((record.tobytes() for part in parts for record in part), key=lambda record: record[:10])
    assert (tmp_path / "out").read_bytes() == b"".join(ordered)


def test_a_partition_too_large_is_split_again(tmp_path: Path) -> None:
    # Most records share seven key bytes, which the sample of such a small input hardly shows.
    keys = keys_of("uniform", RECORDS)
    keys[RECORDS // 10 :, :7] = 9
    records = write_records(tmp_path / "in", keys)
    sort_file(tmp_path / "in", tmp_path / "out", SortJob(memory_bytes=20_000_000, threads=1, force=True))
    assert_sorted_permutation(tmp_path / "out", records)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    record_size=st.integers(1, 300),
    data=st.data(),
    count=st.sampled_from([0, 1, 2, 3, 17, 1000, 4097]),
    passes=st.sampled_from([1, 2]),
)
def test_every_record_shape(tmp_path: Path, record_size: int, data: st.DataObject, count: int, passes: int) -> None:
    key_size = data.draw(st.integers(1, record_size))
    key_offset = data.draw(st.integers(0, record_size - key_size))
    alphabet = data.draw(st.sampled_from([1, 2, 256]))
    records = np.random.default_rng(count).integers(0, alphabet, (count, record_size), dtype=np.uint8)
    source, target = tmp_path / "in", tmp_path / "out"
    records.tofile(source)
    core.sort_files(
        [str(source)],
        [str(target)],
        record_bytes=record_size,
        key_offset=key_offset,
        key_bytes=key_size,
        memory_bytes=64_000_000,
        passes=passes,
    )
    rows = [row.tobytes() for row in records]
    raw = target.read_bytes()
    output = [raw[i : i + record_size] for i in range(0, len(raw), record_size)]
    key = slice(key_offset, key_offset + key_size)
    assert [row[key] for row in output] == sorted(row[key] for row in rows)
    assert sorted(output) == sorted(rows)


def test_several_inputs_outputs_and_temporary_directories(tmp_path: Path) -> None:
    for part in range(3):
        generate_file(tmp_path / f"in{part}", records=150_000, start=150_000 * part)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    inputs = [tmp_path / f"in{part}" for part in range(3)]
    outputs = [tmp_path / "a" / "out0", tmp_path / "b" / "out1"]
    sort_file(
        inputs,
        outputs,
        SortJob(memory_bytes=SMALL_MEMORY_BYTES, temp_dirs=[tmp_path / "a", tmp_path / "b"], force=True),
    )
    after = validate_files(outputs)
    assert (after.records, after.unordered) == (450_000, 0)
    assert after.checksum == validate_files(inputs).checksum
    shares = [path.stat().st_size for path in outputs]
    assert max(shares) < 1.5 * min(shares)
    assert names_in(tmp_path / "a") == ["out0"]


def test_the_report_tells_stages_and_choices(tmp_path: Path) -> None:
    generate_file(tmp_path / "in", records=RECORDS)
    report = sort_file(tmp_path / "in", tmp_path / "out", SortJob(memory_bytes=SMALL_MEMORY_BYTES, force=True))
    assert isinstance(report, SortReport)
    assert [phase.name for phase in report.phases][:2] == ["sample", "distribute"]
    assert {"memory", "threads", "partitions", "chunk", "output"} <= {choice.name for choice in report.choices}
    assert report.to_dict()["phases"][1]["stages"][0]["name"] == "read"


@pytest.mark.parametrize("link", ["same path", "hard link", "symbolic link"])
def test_an_output_that_is_the_input_is_refused(tmp_path: Path, link: str) -> None:
    generate_file(tmp_path / "in", records=10)
    before = (tmp_path / "in").read_bytes()
    target = tmp_path / ("in" if link == "same path" else "out")
    if link == "hard link":
        os.link(tmp_path / "in", target)
    elif link == "symbolic link":
        target.symlink_to(tmp_path / "in")
    with pytest.raises(BadInputError, match="is the input"):
        sort_file(tmp_path / "in", target)
    assert (tmp_path / "in").read_bytes() == before


def test_half_a_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(bytes(150))
    with pytest.raises(BadInputError, match=r"in.*150"):
        sort_file(tmp_path / "in", tmp_path / "out")
    assert names_in(tmp_path) == ["in"]


def test_a_missing_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(IoFailureError, match="nowhere"):
        sort_file(tmp_path / "nowhere", tmp_path / "out")
    assert names_in(tmp_path) == []


def test_too_little_memory_is_refused(tmp_path: Path) -> None:
    generate_file(tmp_path / "in", records=RECORDS)
    with pytest.raises(BadInputError, match="memory"):
        sort_file(tmp_path / "in", tmp_path / "out", SortJob(memory_bytes=100_000, force=True))
    assert names_in(tmp_path) == ["in"]


@pytest.mark.parametrize("lines", [False, True])
def test_cancel_from_another_thread_leaves_nothing(tmp_path: Path, lines: bool) -> None:
    generate_file(tmp_path / "in", records=2_000_000)
    progress = Progress()

    def cancel_when_begun() -> None:
        while progress.bytes_done == 0:
            time.sleep(0.001)
        progress.cancel()

    watcher = threading.Thread(target=cancel_when_begun)
    watcher.start()
    with pytest.raises(InterruptedRunError):
        sort_file(
            tmp_path / "in",
            tmp_path / "out",
            SortJob(memory_bytes=SMALL_MEMORY_BYTES, lines=lines, force=True),
            progress=progress,
        )
    watcher.join()
    assert names_in(tmp_path) == ["in"]


def test_two_sorts_at_once(tmp_path: Path) -> None:
    generate_file(tmp_path / "in", records=RECORDS)
    threads = [
        threading.Thread(
            target=sort_file, args=(tmp_path / "in", tmp_path / f"out{i}", SortJob(memory_bytes=SMALL_MEMORY_BYTES))
        )
        for i in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "out0").read_bytes() == (tmp_path / "out1").read_bytes()


FORK = """
import os, sys
from planner.errors import BadInputError
from planner.native import Progress
from planner.sorting.sort_job import SortJob
from planner.sorting.records.local import sort_file
progress = Progress()
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
try:
    progress.cancel()
except ValueError as error:
    print(error)
try:
    sort_file(sys.argv[1], sys.argv[2], progress=progress)
except BadInputError as error:
    print(error)
sort_file(sys.argv[1], sys.argv[2], progress=Progress())
os._exit(0 if os.path.exists(sys.argv[2]) else 1)
"""


def test_a_forked_child_is_refused_its_parents_progress_and_may_have_its_own(tmp_path: Path) -> None:
    generate_file(tmp_path / "in", records=1000)
    command = [sys.executable, "-u", "-c", FORK, str(tmp_path / "in"), str(tmp_path / "out")]
    child = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert child.returncode == 0, child.stderr
    assert child.stdout.count("was forked from it") == 2
    assert names_in(tmp_path) == ["in", "out"]


def test_progress_is_not_pickled() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(Progress())
