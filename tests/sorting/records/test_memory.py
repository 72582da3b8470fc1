"""Sorting buffers from Python, compared with sorted()."""

from __future__ import annotations

import mmap
import pickle
import re
import signal
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import planner
from planner.errors import BadInputError, InterruptedRunError
from planner.native import Progress, Splitters, core, core_errors, run_interruptible
from planner.sorting.records import memory
from planner.sorting.records.memory import sort_memory_bytes
from planner.units import parse_size


@st.composite
def shaped_records(draw: st.DrawFn) -> tuple[bytes, dict[str, int]]:
    """Records of any shape, with frequently repeated keys."""
    record_size = draw(st.integers(1, 40))
    key_size = draw(st.integers(1, record_size))
    key_offset = draw(st.integers(0, record_size - key_size))
    alphabet = draw(st.sampled_from([b"\x00\x01", b"\x00\x7f\x80\xff", bytes(range(256))]))
    count = draw(st.integers(0, 60))
    drawn = draw(st.lists(st.sampled_from(list(alphabet)), min_size=count * record_size, max_size=count * record_size))
    return bytes(drawn), {"record_size": record_size, "key_offset": key_offset, "key_size": key_size}


def sort_buffer(
    source: Any, out: Any, *, record_size: int = 100, key_offset: int = 0, key_size: int = 10, **how: Any
) -> None:
    """Sort records into `out`."""
    layout = {"record_bytes": record_size, "key_offset": key_offset, "key_bytes": key_size}
    with core_errors():
        core.sort_records(source, out, **layout, **how)


def expected(records: bytes, *, record_size: int, key_offset: int, key_size: int) -> bytes:
    split = [records[at : at + record_size] for at in range(0, len(records), record_size)]
    return b"".join(sorted(split, key=lambda record: record[key_offset : key_offset + key_size]))


@given(shaped_records(), st.integers(1, 4))
def test_like_sorted(shaped: tuple[bytes, dict[str, int]], threads: int) -> None:
    records, shape = shaped
    target = bytearray(len(records))
    sort_buffer(records, target, threads=threads, **shape)
    assert target == expected(records, **shape)


def splitters_of(records: bytes, parts: int, *, record_size: int, key_offset: int, key_size: int) -> Splitters:
    sample = core.sample_keys(records, count=30, record_bytes=record_size, key_offset=key_offset, key_bytes=key_size)
    return core.choose_splitters(sample, key_bytes=key_size, partitions=parts)


@given(shaped_records(), st.integers(1, 6))
def test_partitions_and_merges(shaped: tuple[bytes, dict[str, int]], parts: int) -> None:
    records, shape = shaped
    size, offset, key = shape["record_size"], shape["key_offset"], shape["key_size"]
    splitters = splitters_of(records, parts, **shape)
    grouped = bytearray(len(records))
    edges = core.partition_records(records, grouped, splitters, record_bytes=size, key_offset=offset)
    assert len(edges) == splitters.partitions + 1
    runs = [grouped[a * size : b * size] for a, b in pairwise(edges)]
    for run in runs:
        sort_buffer(bytes(run), run, **shape)
    assert b"".join(runs) == expected(records, **shape)
    merged = bytearray(len(records))
    core.merge_runs(runs[::-1], merged, record_bytes=size, key_offset=offset, key_bytes=key)
    assert [merged[i + offset : i + offset + key] for i in range(0, len(merged), size)] == sorted(
        records[i + offset : i + offset + key] for i in range(0, len(records), size)
    )


def test_numpy_arrays_and_memory_maps() -> None:
    rng = np.random.default_rng(1)
    records = rng.integers(0, 256, size=(30_000, 16), dtype=np.uint8)
    out = np.empty_like(records)
    sort_buffer(records, out, record_size=16, key_size=4)
    keys = records[:, :4].copy().view(">u4").ravel()
    assert np.array_equal(out, records[np.argsort(keys, kind="stable")])
    with mmap.mmap(-1, records.nbytes) as mapped:
        sort_buffer(records, mapped, record_size=16, key_size=4)
        assert mapped[:] == out.tobytes()


@pytest.mark.parametrize(
    ("source", "out", "shape", "message"),
    [
        (bytes(200), bytearray(100), {}, "differ in size"),
        (bytes(250), bytearray(250), {}, "no whole number"),
        (bytes(200), bytes(200), {}, "writable"),
        (np.zeros((4, 100), np.uint8)[::2], bytearray(200), {}, "contiguous"),
        (bytes(200), bytearray(200), {"key_offset": 95, "key_size": 6}, "does not lie within"),
        (bytes(200), bytearray(200), {"record_size": 0}, "at least one byte"),
    ],
)
def test_refused(source: object, out: object, shape: dict[str, int], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        sort_buffer(source, out, **shape)


def test_overlap_is_refused() -> None:
    buffer = memoryview(bytearray(300))
    with pytest.raises(BadInputError, match="overlap"):
        sort_buffer(buffer[:200], buffer[100:])


def test_two_sorts_at_once_in_one_process() -> None:
    records = np.random.default_rng(3).integers(0, 256, size=(60_000, 100), dtype=np.uint8)
    outs = [np.empty_like(records) for _ in range(3)]
    threads = [threading.Thread(target=sort_buffer, args=(records, out)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.array_equal(outs[0], outs[1])
    assert np.array_equal(outs[0], outs[2])


def test_cancel_from_another_thread() -> None:
    progress = Progress()
    progress.cancel()
    with pytest.raises(InterruptedRunError):
        sort_buffer(bytes(10_000), bytearray(10_000), progress=progress)


def test_ctrl_c_cancels_the_work() -> None:
    def work(progress: Progress) -> None:
        signal.raise_signal(signal.SIGINT)
        while not progress.is_cancelled:
            time.sleep(0.001)
        raise core.CancelledError

    with pytest.raises(InterruptedRunError, match="interrupted"):
        run_interruptible(work)


@given(shaped_records(), st.integers(1, 6))
def test_splitters_travel(shaped: tuple[bytes, dict[str, int]], parts: int) -> None:
    records, shape = shaped
    size, offset, key = shape["record_size"], shape["key_offset"], shape["key_size"]
    sent = splitters_of(records, parts, **shape)
    came = pickle.loads(pickle.dumps(sent))
    assert came.key_bytes == key
    grouped = [bytearray(len(records)), bytearray(len(records))]
    edges = [
        core.partition_records(records, out, splitters, record_bytes=size, key_offset=offset)
        for out, splitters in zip(grouped, (sent, came), strict=True)
    ]
    assert edges[0] == edges[1]
    assert grouped[0] == grouped[1]
    half = sent.serialize()[:-1]
    if half:
        with pytest.raises(ValueError, match="whole boundaries"):
            core.Splitters.parse(half, key_bytes=key)


def test_handles_are_not_pickled() -> None:
    for handle in (Progress(), core.validate_records(b""), core.validate_lines(b"")):
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(handle)


def test_what_python_holds_is_taken_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = tmp_path / "status"
    status.write_text("VmRSS:\t 900000 kB\nRssAnon:\t   20480 kB\n")
    monkeypatch.setattr(memory, "_STATUS", status)
    assert sort_memory_bytes(100 << 20) == (100 - 20 - 12) << 20
    assert sort_memory_bytes(50 << 20) == 25 << 20  # half, because 18 is less
    assert sort_memory_bytes(1) == 1  # 0 would be the usual memory
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "none")
    assert sort_memory_bytes(100) == 100


def test_this_process_holds_something() -> None:
    assert (1 << 40) // 2 < sort_memory_bytes(1 << 40) < 1 << 40


def test_the_memory_that_is_advised_is_that_of_the_whole_process(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"b" * 100 + b"a" * 100)
    with refused("memory", "200 bytes", "`memory_bytes=1MiB`", field="memory_bytes") as error:
        planner.sort(
            tmp_path / "in",
            tmp_path / "out",
            format="records",
            memory_bytes=1 << 20,
            threads=2,
            more_outputs=[tmp_path / "more"],
        )
    advised = re.search(r"give at least `memory_bytes=(\d+MB)`", str(error.value))
    assert advised
    planner.sort(
        tmp_path / "in",
        tmp_path / "out",
        format="records",
        memory_bytes=parse_size(advised[1]),
        threads=2,
        more_outputs=[tmp_path / "more"],
    )
    assert (tmp_path / "out").read_bytes() + (tmp_path / "more").read_bytes() == b"a" * 100 + b"b" * 100


def test_too_little_memory_names_its_option(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"b\na\n")
    limits = {"memory_bytes": 1, "threads": 1, "more_outputs": [tmp_path / "more"]}
    words = (
        "sorting 4 bytes in two passes with 1 thread does not fit into `memory_bytes=1B`; give at least `memory_bytes="
    )
    with pytest.raises(BadInputError, match=f"^{words}\\d+MB`$"):
        planner.sort(tmp_path / "in", tmp_path / "out", record_size=4, key_size=1, **limits)
    with pytest.raises(MemoryError, match="does not fit into 1 byte of memory; give"):
        core.sort_files(
            [str(tmp_path / "in")], [str(tmp_path / "out")], passes=2, memory_bytes=1, record_bytes=4, key_bytes=1
        )
