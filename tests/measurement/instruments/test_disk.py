"""DiskBench on real directories: its transfers, its report, and no leftovers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from approvals import Approve
from growing_windows import in_growing_windows

from planner.errors import BadInputError, InterruptedRunError, IoFailureError
from planner.measurement.instruments.disk import (
    LAYOUTS,
    MODES,
    DiskBench,
    FileSystem,
    Mode,
    bench_disk,
    file_system_of,
    run_disk,
    same_device_notes,
)
from planner.measurement.instruments.instrument import smallest_good_enough
from planner.native import Progress

SMALL = 20_480_000


def open_files_below(directory: Path) -> set[str]:
    """Return the files below ``directory`` this process holds open, nameless ones among them."""
    held = {str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()}
    return {name for name in held if name.startswith(f"{directory}/")}


@pytest.mark.parametrize(("mode", "roles"), [("mixed", {"read", "write"}), ("read", {"read"}), ("write", {"write"})])
@pytest.mark.parametrize("count", [1, 3])
def test_directories_take_the_roles_of_the_mode(tmp_path: Path, mode: str, roles: set[str], count: int) -> None:
    directories = [tmp_path / str(i) for i in range(count)]
    for directory in directories:
        directory.mkdir()
    assert mode in MODES
    run = in_growing_windows(
        lambda seconds: run_disk(directories, mode=mode, seconds=seconds, queue_depth=2, file_bytes=SMALL),
        is_enough=lambda run: all(volume.bytes_per_s > 0 for volume in run.volumes),
    )
    assert {volume.role for volume in run.volumes} == roles
    assert len(run.volumes) == (2 if (count, mode) == (1, "mixed") else count)
    assert all(volume.bytes_per_s > 0 for volume in run.volumes)
    assert (run.read_bytes_per_s is None) == ("read" not in roles)
    assert (run.write_bytes_per_s is None) == ("write" not in roles)
    assert not [path for directory in directories for path in directory.iterdir()]
    assert not open_files_below(tmp_path)


def benched(*directories: Path, **options: Any) -> DiskBench:
    return in_growing_windows(
        lambda seconds: bench_disk(directories, seconds=seconds, file_bytes=SMALL, **options), is_enough=lambda _: True
    )


@pytest.mark.parametrize("mode", MODES)
def test_striped_directories_all_do_the_same(tmp_path: Path, mode: Mode) -> None:
    directories = [tmp_path / str(i) for i in range(3)]
    for directory in directories:
        directory.mkdir()
    run = run_disk(directories, mode=mode, layout="raid0", seconds=0.5, queue_depth=2, file_bytes=SMALL)
    for role in {volume.role for volume in run.volumes}:
        rates = [volume.bytes_per_s for volume in run.volumes if volume.role == role]
        assert len(rates) == 3
        assert (max(rates) - min(rates)) * run.seconds <= 6 * 4_096_000  # transfers under way


def test_both_layouts_are_measured_in_turn_and_told_apart(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    bench = benched(tmp_path / "a", tmp_path / "b", modes=["read"], layouts=LAYOUTS, repeats=2, queue_depth=1)
    assert [run.layout for run in bench.runs] == ["jbod", "raid0", "jbod", "raid0"]
    assert [(rate.layout, rate.repeats) for rate in bench.rates] == [("jbod", 2), ("raid0", 2)]
    assert all(rate.within_run_sigma is not None and rate.across_runs_sigma is not None for rate in bench.rates)


def test_a_disk_that_moves_nothing_is_named(tmp_path: Path) -> None:
    with pytest.raises(IoFailureError, match="moved nothing; measure for longer") as caught:
        bench_disk([tmp_path], modes=["write"], seconds=1e-6, repeats=1, queue_depth=1, file_bytes=SMALL)
    assert caught.value.details == (f"--dir {tmp_path}: nothing was written in 1e-06 s",)


def test_an_array_of_one_disk_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="at least two"):
        bench_disk([tmp_path], layouts=["raid0"], seconds=0.2)


def test_as_much_is_written_as_is_read(tmp_path: Path) -> None:
    run = run_disk([tmp_path], mode="mixed", seconds=1.5, queue_depth=2, file_bytes=100_000_000)
    assert run.read_bytes_per_s is not None
    assert run.write_bytes_per_s is not None
    in_flight = 2 * 16 * 1_024_000 + 16 * 4_096_000  # partitions being filled, transfers under way
    assert abs(run.read_bytes_per_s - run.write_bytes_per_s) * run.seconds <= in_flight


def test_the_course_over_time_adds_up_to_the_whole(tmp_path: Path) -> None:
    (volume,) = run_disk([tmp_path], mode="write", seconds=1, queue_depth=1, file_bytes=SMALL).volumes
    assert len(volume.series_bytes_per_s) == 5
    assert sum(volume.series_bytes_per_s) / 5 == pytest.approx(volume.bytes_per_s)


def test_the_result_says_what_was_measured_how_and_where(tmp_path: Path) -> None:
    bench = benched(tmp_path, modes=MODES, repeats=2, queue_depth=1, machine_type="m.large")
    document = json.loads(json.dumps(bench.to_dict(), allow_nan=False))
    assert (document["instrument"], document["machine_type"], document["nodes"], document["repeats"]) == (
        "diskbench",
        "m.large",
        1,
        2,
    )
    assert [rate["mode"] for rate in document["rates"]] == list(MODES)
    for rate in document["rates"]:
        runs = [run for run in document["runs"] if run["mode"] == rate["mode"]]
        totals = [(run["read_bytes_per_s"] or 0) + (run["write_bytes_per_s"] or 0) for run in runs]
        assert (rate["lowest_total_bytes_per_s"], rate["highest_total_bytes_per_s"]) == (min(totals), max(totals))
    assert document["file_systems"][0]["total_bytes"] > document["file_systems"][0]["free_bytes"] > 0


def test_directories_on_one_device_are_noted(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    bench = benched(tmp_path / "a", tmp_path / "b", repeats=1, queue_depth=1)
    assert any("lie on one file system" in note for note in bench.notes)


def test_a_queue_depth_is_tried_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.measurement.instruments.disk.TRIAL_S", 0.1)
    bench = benched(tmp_path, modes=["write"], repeats=1)
    assert bench.runs[0].queue_depth in {1, 2, 4, 8, 16}


def test_the_smallest_within_five_percent_is_chosen() -> None:
    assert smallest_good_enough([(1, 94.9), (2, 95.0), (4, 100.0)]) == 2
    assert smallest_good_enough([(16, 100.0), (1, 99.0)]) == 1


@pytest.mark.parametrize(
    "arguments", [{"seconds": 0}, {"seconds": float("nan")}, {"repeats": 0}, {"queue_depth": 1, "seconds": -1}]
)
def test_impossible_arguments_are_refused(tmp_path: Path, arguments: dict[str, float]) -> None:
    with pytest.raises(BadInputError):
        bench_disk([tmp_path], **arguments)  # type: ignore[arg-type]


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="nowhere: not a directory"):
        bench_disk([tmp_path / "nowhere"], seconds=1)


def test_an_interrupt_ends_it_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    progress = Progress()
    threading.Timer(0.5, progress.cancel).start()
    with pytest.raises(InterruptedRunError):
        bench_disk([tmp_path], seconds=60, queue_depth=2, file_bytes=SMALL, progress=progress)
    assert not list(tmp_path.iterdir())
    assert not open_files_below(tmp_path)


@contextmanager
def small_disk(folder: Path, *, size: str) -> Iterator[Path]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.needs_root(why="mounts a small disk")
def test_a_full_disk_is_named(tmp_path: Path) -> None:
    with small_disk(tmp_path, size="16m") as disk, pytest.raises(IoFailureError, match="No space left") as caught:
        bench_disk([disk], seconds=1, queue_depth=1, file_bytes=SMALL)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.needs_root(why="mounts a small disk")
def test_the_usual_file_is_smaller_on_a_small_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path, size="200m") as disk:
        bench = bench_disk([disk], seconds=0.2, repeats=1, queue_depth=1)
    assert bench.file_bytes <= 50 << 20
    assert bench.file_systems[0].kind == "tmpfs"


def test_the_command_prints_one_json_object(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        "from planner.cli.app import main; main()",
        "bench",
        "disk",
        "--dir",
        str(tmp_path),
    ]
    flags = ["--repeats", "1", "--queue-depth", "1", "--size", "20.48MB", "--json"]

    def read_bytes_per_s(seconds: float) -> float:
        words = [*command, *flags, "--seconds", f"{seconds}"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise IoFailureError(done.stderr)
        return float(json.loads(done.stdout)["rates"][0]["read_bytes_per_s"])

    assert in_growing_windows(read_bytes_per_s, is_enough=bool) > 0


def system(directory: str, number: int) -> FileSystem:
    return FileSystem(directory=directory, device=None, device_number=number, kind=None, free_bytes=0, total_bytes=0)


def test_a_directorys_file_system_is_that_of_the_mount(tmp_path: Path) -> None:
    measured = file_system_of(tmp_path)
    space = os.statvfs(tmp_path)
    assert measured.device_number == tmp_path.stat().st_dev
    assert measured.total_bytes == space.f_blocks * space.f_frsize
    assert 0 < measured.free_bytes <= measured.total_bytes
    assert file_system_of(Path("/dev/shm")).kind == "tmpfs"


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    with pytest.raises(BadInputError, match="not a directory"):
        file_system_of(tmp_path / "f")


def test_directories_of_one_device_are_noted(approve: Approve) -> None:
    (note,) = same_device_notes([system("/a", 1), system("/b", 2), system("/c", 1)])
    approve(note)
