"""Disks that fail: one clear error, the input intact, nothing left behind; disks that stutter: the correct result."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from planner.errors import InterruptedRunError, IoFailureError
from planner.sorting.records.generate import generate_file
from planner.sorting.records.validate import validate_files, validate_line_files

RECORDS = 300_000
SORT = """
import sys
from planner.errors import PlannerError
from planner.native import core
from planner.sorting.records.local import sort_file
from planner.sorting.sort_job import SortJob
try:
    form, spill = sys.argv[4].split(",") if "," in sys.argv[4] else (sys.argv[4], "plain")
    job = SortJob(memory_bytes=int(sys.argv[3]), lines=form == "lines", spill=spill, force=True)
    print(sort_file(sys.argv[1], sys.argv[2], job).mode)
except PlannerError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
"""
TWO_PASSES_BYTES = 20_000_000
ONE_PASS_BYTES = 200_000_000


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture(params=["records", "lines", "lines,lz4"])
def form(request: pytest.FixtureRequest) -> str:
    """The kind of input: the same bytes are records, or text, which may be packed when it is spilled."""
    return str(request.param)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    generate_file(path, records=RECORDS, ascii=True)
    path.read_bytes()  # warm
    return path


def faults(shim: Path, *, call: str, nth: int, fault: str) -> dict[str, str]:
    disturbed = {"LD_PRELOAD": str(shim), "FAULT_CALL": call, "FAULT_NTH": str(nth), "FAULT_KIND": fault}
    return os.environ | disturbed


def sorting(source: Path, *, memory_bytes: int, form: str) -> list[str]:
    return [sys.executable, "-c", SORT, str(source), str(source.with_name("out")), str(memory_bytes), form]


def sort_under(
    shim: Path, source: Path, *, call: str, nth: int, fault: str, memory_bytes: int, form: str
) -> subprocess.CompletedProcess[str]:
    environment = faults(shim, call=call, nth=nth, fault=fault)
    command = sorting(source, memory_bytes=memory_bytes, form=form)
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)


def assert_sorted(source: Path, form: str) -> None:
    validate = validate_files if form == "records" else validate_line_files
    after = validate([source.with_name("out")])
    assert (after.records, after.unordered) == (RECORDS, 0)
    assert after.checksum == validate([source]).checksum


@pytest.mark.parametrize("memory_bytes", [ONE_PASS_BYTES, TWO_PASSES_BYTES])
@pytest.mark.parametrize("fault", ["short", "eintr"])
@pytest.mark.parametrize("call", ["pread", "pwrite"])
def test_short_and_interrupted_transfers_are_completed(
    shim: Path, source: Path, call: str, fault: str, memory_bytes: int, form: str
) -> None:
    result = sort_under(shim, source, call=call, nth=1, fault=fault, memory_bytes=memory_bytes, form=form)
    assert result.returncode == 0, result.stderr
    assert_sorted(source, form)


@pytest.mark.parametrize(
    ("call", "nth", "code", "memory_bytes"),
    [
        ("pread", 1, errno.EIO, TWO_PASSES_BYTES),
        ("pread", 40, errno.EIO, TWO_PASSES_BYTES),
        ("pwrite", 1, errno.ENOSPC, TWO_PASSES_BYTES),
        ("pwrite", 30, errno.ENOSPC, TWO_PASSES_BYTES),
        ("pwrite", 150, errno.EIO, TWO_PASSES_BYTES),
        ("pwrite", 3, errno.ENOSPC, ONE_PASS_BYTES),
        ("fallocate", 1, errno.ENOSPC, ONE_PASS_BYTES),
        ("fallocate", 1, errno.ENOSPC, TWO_PASSES_BYTES),
        ("ftruncate", 1, errno.EIO, ONE_PASS_BYTES),
        ("fsync", 1, errno.EIO, ONE_PASS_BYTES),
        ("rename", 1, errno.EACCES, TWO_PASSES_BYTES),
    ],
)
def test_a_failing_call_leaves_the_input_and_nothing_else(
    shim: Path, source: Path, call: str, nth: int, code: int, memory_bytes: int, form: str
) -> None:
    before = source.read_bytes()
    result = sort_under(shim, source, call=call, nth=nth, fault=str(code), memory_bytes=memory_bytes, form=form)
    assert result.returncode == IoFailureError.exit_code, (result.stdout, result.stderr)
    assert os.strerror(code) in result.stderr
    assert str(source.parent) in result.stderr
    assert source.read_bytes() == before
    assert names_in(source.parent) == ["in"]


def test_a_scratch_disk_too_full_to_reserve_may_still_do(shim: Path, source: Path, form: str) -> None:
    # The second reservation is the first of a scratch file: it is only a help, and the written data fits.
    full = str(errno.ENOSPC)
    result = sort_under(shim, source, call="fallocate", nth=2, fault=full, memory_bytes=TWO_PASSES_BYTES, form=form)
    assert result.returncode == 0, result.stderr
    assert_sorted(source, form)


@pytest.mark.parametrize("memory_bytes", [ONE_PASS_BYTES * 2, TWO_PASSES_BYTES])
def test_an_input_that_shrinks_is_named(shim: Path, tmp_path: Path, memory_bytes: int, form: str) -> None:
    """The process is stopped, with its input open and its first space reserved, while the input shrinks."""
    source = tmp_path / "in"
    generate_file(source, records=1_500_000, ascii=True)
    source.read_bytes()
    command = sorting(source, memory_bytes=memory_bytes, form=form)
    environment = faults(shim, call="fallocate", nth=1, fault="stop")
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        wait_until_stopped(process)
        os.truncate(source, 50_000_000)
        process.send_signal(signal.SIGCONT)
        _, talk = process.communicate(timeout=120)
    assert process.returncode == IoFailureError.exit_code, talk
    assert "in" in talk
    assert "shrank" in talk or "ends here" in talk
    assert names_in(tmp_path) == ["in"]


def open_files(process: subprocess.Popen[str], directory: Path) -> list[Path]:
    """Return the files in a directory that a process has open, or none once it has ended."""
    try:
        links = list(Path(f"/proc/{process.pid}/fd").iterdir())
        return [link for link in links if link.readlink().is_relative_to(directory)]
    except FileNotFoundError:
        return []


def wait_until_stopped(process: subprocess.Popen[str]) -> None:
    stopped = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    assert stopped is not None and stopped.si_code == os.CLD_STOPPED


def wait_until(process: subprocess.Popen[str], condition: Callable[[], bool]) -> None:
    while not condition():
        assert process.poll() is None
        time.sleep(0.001)


@pytest.mark.parametrize("memory_bytes", [ONE_PASS_BYTES * 2, TWO_PASSES_BYTES])
def test_ctrl_c_stops_and_cleans_up(shim: Path, tmp_path: Path, memory_bytes: int, form: str) -> None:
    """The signal arrives while the process is stopped in its first write, however busy the machine."""
    source = tmp_path / "in"
    generate_file(source, records=1_500_000, ascii=True)
    command = sorting(source, memory_bytes=memory_bytes, form=form)
    environment = faults(shim, call="pwrite", nth=1, fault="stop")
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        wait_until_stopped(process)
        assert len(open_files(process, tmp_path)) >= 2
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGCONT)
        process.communicate(timeout=120)
    assert process.returncode == InterruptedRunError.exit_code
    assert names_in(tmp_path) == ["in"]


def test_a_killed_sort_leaves_nothing_and_nobody_can_read_what_it_spilled(shim: Path, source: Path, form: str) -> None:
    command = sorting(source, memory_bytes=TWO_PASSES_BYTES, form=form)
    environment = faults(shim, call="pwrite", nth=1, fault="slow")
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        modes: list[int] = []

        def spills() -> bool:
            with suppress(FileNotFoundError):  # a file closed in the meantime
                modes[:] = [stat.S_IMODE(path.stat().st_mode) for path in open_files(process, source.parent)]
            return len(modes) >= 3  # the input, the output and a scratch file

        wait_until(process, spills)
        process.kill()
        process.communicate(timeout=120)
    assert 0o600 in modes
    assert names_in(source.parent) == ["in"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_to_end_are_as_ctrl_c(shim: Path, tmp_path: Path, number: signal.Signals) -> None:
    generate_file(tmp_path / "in", records=300_000)
    planner = str(Path(sys.executable).with_name("planner"))
    command = [planner, "sort", str(tmp_path / "in"), str(tmp_path / "out"), "--memory", "20MB"]
    environment = faults(shim, call="pwrite", nth=1, fault="stop")
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        wait_until_stopped(process)
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        _, talk = process.communicate(timeout=120)
    assert process.returncode == InterruptedRunError.exit_code
    assert "interrupted" in talk
    assert names_in(tmp_path) == ["in"]


def test_no_output_gets_its_name_before_all_are_on_disk(shim: Path, source: Path, form: str) -> None:
    command = sorting(source, memory_bytes=TWO_PASSES_BYTES, form=form)
    command[2] = command[2].replace("sys.argv[2],", "[sys.argv[2], sys.argv[2] + '2'],")
    environment = faults(shim, call="fsync", nth=2, fault=str(errno.EIO))
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert result.returncode == IoFailureError.exit_code, result.stderr
    assert names_in(source.parent) == ["in"]


def test_a_directory_that_cannot_be_synced_is_an_error(shim: Path, source: Path, form: str) -> None:
    # The first sync is of the file.
    fault = str(errno.EIO)
    result = sort_under(shim, source, call="fsync", nth=2, fault=fault, memory_bytes=ONE_PASS_BYTES, form=form)
    assert result.returncode == IoFailureError.exit_code
    assert "directory" in result.stderr
    assert names_in(source.parent) == ["in", "out"]
