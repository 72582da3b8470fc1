"""Outputs: under whatever name, complete or not at all, with the permissions they had, and nothing left by the killed."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from test_local_faults import SORT, TWO_PASSES_BYTES, faults, names_in, shim

from planner.errors import BadInputError, InterruptedRunError, IoFailureError
from planner.native import Progress
from planner.sorting.generate import generate_file
from planner.sorting.local import sort_file
from planner.sorting.validate import validate_files

__all__ = ["shim"]

RECORDS = 3000


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    generate_file(path, records=RECORDS)
    return path


def assert_sorted(output: Path, source: Path) -> None:
    after = validate_files([output])
    assert (after.records, after.unordered) == (RECORDS, 0)
    assert after.checksum == validate_files([source]).checksum


@pytest.mark.parametrize("spelled", ["./out", "sub/../out", "other/out", "out", "linked"])
def test_an_output_given_twice_is_refused_however_it_is_spelled(
    source: Path, spelled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(source.parent)
    Path("sub").mkdir()
    Path("other").symlink_to(".")
    Path("linked").symlink_to("out")
    with pytest.raises(BadInputError, match="given twice"):
        sort_file(source, ["out", spelled])
    with pytest.raises(BadInputError, match="given twice"):
        sort_file(source, "out", replica=spelled)
    assert not Path("out").exists()


@pytest.mark.parametrize("exists", [True, False])
def test_a_symbolic_link_is_followed(source: Path, exists: bool) -> None:
    (source.parent / "far").mkdir()
    target, link = source.parent / "far" / "target", source.parent / "out"
    if exists:
        target.write_bytes(b"before")
    link.symlink_to("far/target")
    sort_file(source, link)
    assert link.is_symlink()
    assert_sorted(target, source)
    assert names_in(target.parent) == ["target"]


def test_links_in_a_circle_are_named(source: Path) -> None:
    (source.parent / "out").symlink_to("loop")
    (source.parent / "loop").symlink_to("out")
    with pytest.raises(IoFailureError, match=r"out.*symbolic links"):
        sort_file(source, source.parent / "out")


def test_names_as_long_as_the_system_allows(source: Path) -> None:
    longest = source.parent / ("n" * 255)
    sort_file(source, longest)
    assert_sorted(longest, source)
    with pytest.raises(IoFailureError, match="too long"):
        sort_file(source, source.parent / ("n" * 256))


def test_names_that_are_no_utf_8(source: Path) -> None:
    strange = source.parent / os.fsdecode(b"caf\xe9")
    sort_file(source, strange)
    assert strange.stat().st_size == source.stat().st_size
    with pytest.raises(BadInputError, match="is the input") as refused:
        sort_file(strange, strange)
    assert str(strange) in str(refused.value)
    with pytest.raises(IoFailureError, match="nowhere"):
        sort_file(source.parent / os.fsdecode(b"nowhere\xe9"), source.parent / "out")


def test_permissions_are_those_of_what_is_replaced(source: Path) -> None:
    output = source.parent / "out"
    mask = os.umask(0o022)
    try:
        sort_file(source, output)
        assert stat.S_IMODE(output.stat().st_mode) == 0o644
        output.chmod(0o640)
        sort_file(source, output)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(output.stat().st_mode) == 0o640


def open_files(process: subprocess.Popen[str], directory: Path) -> list[Path]:
    """Files in a directory that a process has open; nothing once it has ended."""
    try:
        links = list(Path(f"/proc/{process.pid}/fd").iterdir())
        return [link for link in links if os.readlink(link).startswith(f"{directory}/")]
    except FileNotFoundError:
        return []


def slow_sort(shim: Path, directory: Path) -> subprocess.Popen[str]:
    """Begin a sort whose writes take so long that any signal comes before its end."""
    generate_file(directory / "in", records=300_000)
    command = [sys.executable, "-c", SORT, str(directory / "in"), str(directory / "out"), str(TWO_PASSES_BYTES), "no"]
    environment = faults(shim, call="pwrite", nth=1, fault="slow")
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def wait_until(process: subprocess.Popen[str], condition: Callable[[], bool]) -> None:
    while not condition():
        assert process.poll() is None
        time.sleep(0.001)


def test_a_killed_sort_leaves_nothing_and_nobody_can_read_what_it_spilled(shim: Path, tmp_path: Path) -> None:
    with slow_sort(shim, tmp_path) as process:
        # The input, the output and a scratch file.
        wait_until(process, lambda: len(open_files(process, tmp_path)) >= 3)
        scratch_modes = {stat.S_IMODE(path.stat().st_mode) for path in open_files(process, tmp_path)}
        process.kill()
        process.communicate(timeout=120)
    assert 0o600 in scratch_modes
    assert names_in(tmp_path) == ["in"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_to_end_are_as_ctrl_c(shim: Path, tmp_path: Path, number: signal.Signals) -> None:
    generate_file(tmp_path / "in", records=300_000)
    planner = str(Path(sys.executable).with_name("planner"))
    command = [planner, "sort", str(tmp_path / "in"), str(tmp_path / "out"), "--memory", "20MB"]
    environment = faults(shim, call="pwrite", nth=1, fault="slow")
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        wait_until(process, lambda: len(open_files(process, tmp_path)) >= 2)
        process.send_signal(number)
        _, talk = process.communicate(timeout=120)
    assert process.returncode == InterruptedRunError.exit_code
    assert "interrupted" in talk
    assert names_in(tmp_path) == ["in"]


def test_no_output_gets_its_name_before_all_are_on_disk(shim: Path, source: Path) -> None:
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from planner.sorting.local import sort_file
sort_file({str(source)!r}, [{str(source.parent / "a")!r}, {str(source.parent / "b")!r}])
"""
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=faults(shim, call="fsync", nth=2, fault="5"),
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert "cannot sync" in result.stderr
    assert names_in(source.parent) == ["in"]


def test_a_directory_that_cannot_be_synced_is_an_error(shim: Path, source: Path) -> None:
    command = [sys.executable, "-c", SORT, str(source), str(source.with_name("out")), "200000000", "no"]
    environment = faults(shim, call="fsync", nth=2, fault="5")
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert result.returncode == IoFailureError.exit_code
    assert "directory" in result.stderr


MANY = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
from planner.sorting.local import sort_file
print(sort_file(sorted(Path(sys.argv[1]).iterdir()), sys.argv[2]).records)
"""


def test_more_inputs_than_files_may_be_open(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for i in range(100):
        generate_file(tmp_path / "in" / f"{i}", records=10)
    command = [sys.executable, "-c", MANY, str(tmp_path / "in"), str(tmp_path / "out")]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert result.stdout == "1000\n", result.stderr


@pytest.mark.parametrize("memory_bytes", [None, 24_000_000])
def test_progress_ends_at_the_total(tmp_path: Path, memory_bytes: int | None) -> None:
    sources = [tmp_path / "a", tmp_path / "b"][: 1 if memory_bytes is None else 2]
    for path in sources:
        path.write_bytes(b"b\na")
    progress = Progress()
    sort_file(sources, tmp_path / "out", lines=True, memory_bytes=memory_bytes, progress=progress)
    assert (tmp_path / "out").read_bytes() == b"a\n" * len(sources) + b"b\n" * len(sources)
    assert progress.bytes_done == progress.bytes_total
