"""Sorts that consume their inputs take little disk, and after any end a resumed sort yields all rows."""

from __future__ import annotations

import contextlib
import csv
import gzip
import os
import random
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from approvals import Approve
from refusals import refused

import planner
from planner.errors import BadInputError, InputChangedError, PlannerError
from planner.sorting.consuming.work_folder import State, WorkFolder

MEMORY_BYTES = 400 << 20


def lines(folder: Path) -> tuple[list[Path], dict[str, Any]]:
    numbers = random.Random(1)
    path = folder / "in.txt"
    path.write_text("".join(f"{numbers.getrandbits(50):x} {'x' * numbers.randrange(90)}\n" for _ in range(120_000)))
    return [path], {"lines": True}


def first_of_equals(folder: Path) -> tuple[list[Path], dict[str, Any]]:
    numbers = random.Random(2)
    path = folder / "in.txt"
    rows = (f"{numbers.randrange(9_000)} {i} {'x' * 40}\n" for i in range(100_000))
    path.write_text("".join(rows).removesuffix("\n"))
    return [path], {"key": ["1,1n"], "unique": True}


def records(folder: Path) -> tuple[list[Path], dict[str, Any]]:
    paths = [folder / "one.dat", folder / "two.dat"]
    for number, path in enumerate(paths):
        planner.generate(path, records=30_000, start=number * 10**6)
    return paths, {}


def rows(folder: Path) -> tuple[list[Path], dict[str, Any]]:
    numbers = random.Random(3)
    path = folder / "in.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "text"])
        for i in range(50_000):
            writer.writerow([numbers.randrange(10**4), 'a "b"\nc' if i % 5 == 0 else "z" * numbers.randrange(90)])
    return [path], {"key": ["name:num:desc"]}


def compressed_rows(folder: Path) -> tuple[list[Path], dict[str, Any]]:
    (path,), options = rows(folder)
    content = path.read_bytes()
    parts = [path.with_name(f"{number}.csv.gz") for number in range(3)]
    for part in parts:
        part.write_bytes(gzip.compress(content, compresslevel=1))
    path.unlink()
    return parts, options


def table(folder: Path, *, unique: bool = False) -> tuple[list[Path], dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers = random.Random(4)
    path = folder / "in.parquet"
    keys = [numbers.randrange(9_000) for _ in range(100_000)]
    values = pa.table({"key": keys, "text": [f"{key} {i}" for i, key in enumerate(keys)]})
    pq.write_table(values, path, row_group_size=2_000)
    return [path], {"key": ["key", "text:natural:desc"] if not unique else ["key"], "unique": unique}


def first_rows_of_equals(folder: Path) -> tuple[list[Path], dict[str, Any]]:
    return table(folder, unique=True)


MAKERS = [lines, first_of_equals, records, rows, compressed_rows, table, first_rows_of_equals]
Maker = Callable[[Path], tuple[list[Path], dict[str, Any]]]


class KilledError(BaseException):
    """An error that ends a sort as SIGKILL does: nothing is done after it."""


@pytest.fixture(params=MAKERS, ids=lambda make: make.__name__)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Maker, bytes]]:
    """A maker of inputs, and the result of sorting them without consuming them."""
    folder = tmp_path / "plain"
    folder.mkdir()
    inputs, options = request.param(folder)
    planner.sort(inputs, folder / "out", memory_bytes=MEMORY_BYTES, **options)
    yield request.param, content(folder / "out")


def content(path: Path) -> Any:
    """Return a file's bytes, or its rows for Parquet."""
    found = path.read_bytes()
    if not found.startswith(b"PAR1"):
        return found
    import pyarrow.parquet as pq

    return pq.read_table(path)


def taken_bytes(folder: Path) -> dict[int, int]:
    """Return the disk space of the files by inode, including this process's unnamed ones."""
    found: dict[int, int] = {}
    for path in [*folder.rglob("*"), *Path("/proc/self/fd").iterdir()]:
        with contextlib.suppress(OSError):  # it has been removed
            status = path.stat()
            is_counted = folder in path.parents or (status.st_nlink == 0 and status.st_dev == folder.stat().st_dev)
            if stat.S_ISREG(status.st_mode) and is_counted:
                found[status.st_ino] = status.st_blocks * 512
    return found


def disk_bytes(folder: Path) -> int:
    return sum(taken_bytes(folder).values())


@contextlib.contextmanager
def most_disk_bytes(folder: Path) -> Iterator[list[int]]:
    """Measure the disk space around each step and between; the list receives each measurement.

    A thread's look counts if a second one finds the same. Bytes that moved from file to file would count twice.
    """
    found, ended, real = [disk_bytes(folder)], threading.Event(), WorkFolder.save

    def look() -> None:
        while not ended.wait(0.002):
            if (taken := taken_bytes(folder)) == taken_bytes(folder):
                found.append(sum(taken.values()))

    def save(self: WorkFolder, state: State) -> None:
        found.append(disk_bytes(folder))
        real(self, state)
        found.append(disk_bytes(folder))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(WorkFolder, "save", save)
            yield found
    finally:
        ended.set()
        thread.join()


def ending_at(save: int) -> Any:
    """Return a `save` that ends the process at the given call instead of saving."""
    real, calls = WorkFolder.save, 0

    def saving(self: WorkFolder, state: State) -> None:
        nonlocal calls
        calls += 1
        if calls == save:
            raise KilledError
        real(self, state)

    return saving


def test_the_output_is_that_of_a_sort_that_keeps_its_input(case: tuple[Maker, Any], tmp_path: Path) -> None:
    make, expected = case
    inputs, options = make(tmp_path)
    planner.sort(inputs, tmp_path / "out", consume_input=True, memory_bytes=MEMORY_BYTES, **options)
    assert content(tmp_path / "out") == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "plain"]


def test_a_sort_killed_at_any_step_is_resumed(
    case: tuple[Maker, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, expected = case
    inputs, options = make(tmp_path)
    output = tmp_path / "out"
    begin = {"consume_input": True, **options}
    for save in (1, 2, 3, 7, 20, 2, 1, 2, 30):
        with monkeypatch.context() as patch:
            patch.setattr(WorkFolder, "save", ending_at(save))
            try:
                planner.sort(inputs, output, memory_bytes=MEMORY_BYTES, **begin)
            except KilledError:
                is_begun = (tmp_path / ".out.sorting" / "journal.json").exists()
                begin = {"resume" if is_begun else "consume_input": True, **options}
            else:
                break
    else:
        planner.sort([], output, resume=True)
    assert content(output) == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "plain"]


@pytest.mark.parametrize(
    ("call", "nth"),
    [
        ("fallocate", 40),
        *(
            pytest.param(call, nth, marks=pytest.mark.soak)
            for call in ("fallocate", "fsync", "pwrite")
            for nth in (3, 9, 17, 30, 90)
        ),
    ],
)
def test_a_process_killed_within_a_step_is_resumed(call: str, nth: int, shim: Path, tmp_path: Path) -> None:
    (path,), _ = lines(tmp_path)
    expected = sorted(path.read_bytes().splitlines(keepends=True))
    command = [sys.executable, "-m", "planner", "sort", "--lines", "--consume-input", str(path), str(tmp_path / "out")]
    fault = {"FAULT_CALL": call, "FAULT_NTH": str(nth), "FAULT_KIND": "kill", "LD_PRELOAD": str(shim)}
    killed = subprocess.run(command, env=os.environ | fault, capture_output=True, check=False, timeout=120)
    assert killed.returncode in (-signal.SIGKILL, 0)
    if killed.returncode:
        planner.sort([], tmp_path / "out", resume=True)
    assert (tmp_path / "out").read_bytes() == b"".join(expected)
    assert [found.name for found in tmp_path.iterdir()] == ["out"]


def test_a_state_that_was_written_in_part_is_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for save in (3, 6):
        (path,), options = lines(tmp_path)
        expected = sorted(path.read_bytes().splitlines(keepends=True))
        with monkeypatch.context() as patch:
            patch.setattr(WorkFolder, "save", ending_at(save))
            with pytest.raises(KilledError):
                planner.sort(path, tmp_path / "out", consume_input=True, **options)
        slot = tmp_path / ".out.sorting" / f"state-{save % 2}"  # the last save began to write it
        slot.write_bytes(save.to_bytes(8, "little") + slot.read_bytes()[8:])
        planner.sort([], tmp_path / "out", resume=True)
        assert (tmp_path / "out").read_bytes() == b"".join(expected)
        (tmp_path / "out").unlink()


def test_a_sort_of_which_no_state_is_left_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, options = lines(tmp_path)
    monkeypatch.setattr(WorkFolder, "save", ending_at(5))
    with pytest.raises(KilledError):
        planner.sort(inputs, tmp_path / "out", consume_input=True, **options)
    for slot in (tmp_path / ".out.sorting").glob("state-*"):
        slot.write_bytes(b"x" * 100)
    with refused("damaged-state", "state-0", "state-1"):
        planner.sort([], tmp_path / "out", resume=True)
    assert inputs[0].exists()


def test_little_more_disk_is_taken_than_the_input_has(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    numbers = random.Random(5)
    path.write_text("".join(f"{numbers.getrandbits(64):016x}{'x' * 48}\n" for _ in range(800_000)))
    size = disk_bytes(tmp_path)
    with most_disk_bytes(tmp_path) as found:
        planner.sort(path, tmp_path / "out", lines=True, consume_input=True, memory_bytes=64 << 20)
    assert size < max(found) <= 1.1 * size


def test_memory_for_hardly_a_row_ends_too(tmp_path: Path) -> None:
    """A stretch of no bytes would be sorted for ever."""
    (path,), options = lines(tmp_path)
    expected = b"".join(sorted(path.read_bytes().splitlines(keepends=True)))
    planner.sort(path, tmp_path / "out", consume_input=True, memory_bytes=1, **options)
    assert (tmp_path / "out").read_bytes() == expected


def test_an_output_may_be_its_input(tmp_path: Path) -> None:
    path = records(tmp_path)[0][0]
    before = path.read_bytes()
    planner.sort(path, path, record_size=100, consume_input=True, force=True)
    assert path.read_bytes() == b"".join(sorted(before[i : i + 100] for i in range(0, len(before), 100)))


def test_a_wrong_row_is_named_and_no_row_is_lost(tmp_path: Path, approve: Approve) -> None:
    path = tmp_path / "in.csv"
    good = "".join(f"{i},{'x' * 60}\n" for i in range(40_000, 0, -1))
    path.write_text("n,text\n" + good + "1,2,3\n")
    with pytest.raises(BadInputError, match=r"in\.csv: row \d+: .*") as error:
        planner.sort(path, tmp_path / "out", key="n:num", consume_input=True)
    approve(error.value.details)
    assert not (tmp_path / "out").exists()
    with path.open("r+b") as file:  # repaired in place
        file.seek(-len("1,2,3\n"), 2)
        file.write(b"1,2_3\n")
    planner.sort([], tmp_path / "out", resume=True)
    assert len((tmp_path / "out").read_text().splitlines()) == 40_002


def test_a_sort_is_resumed_with_its_own_inputs_and_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, options = lines(tmp_path)
    output = tmp_path / "out"
    monkeypatch.setattr(WorkFolder, "save", ending_at(4))
    with pytest.raises(KilledError):
        planner.sort(inputs, output, consume_input=True, **options)
    monkeypatch.undo()
    with pytest.raises(BadInputError, match="`resume"):
        planner.sort(inputs, output, consume_input=True, **options)
    with pytest.raises(BadInputError, match="other options"):
        planner.sort(inputs, output, resume=True, key="2,2n")
    with pytest.raises(BadInputError, match="other inputs"):
        planner.sort([tmp_path / "other"], output, resume=True)
    with inputs[0].open("a") as file:
        file.write("one more\n")
    with refused("input-changed"):
        planner.sort([], output, resume=True)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1000)


def lengthened(path: Path) -> None:
    os.truncate(path, path.stat().st_size + 1000)


def rewritten(path: Path) -> None:
    """Write other rows of as many bytes, and set the time of modification back."""
    status = path.stat()
    with path.open("r+b") as file:
        file.seek(-1000, os.SEEK_END)
        file.write(b"x" * 999 + b"\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("is_merging", [False, True])
@pytest.mark.parametrize("change", [cut, lengthened, rewritten])
@pytest.mark.parametrize("make", [lines, records, compressed_rows, table])
def test_an_input_that_others_change_is_an_error_and_no_row_is_lost(
    make: Maker, change: Callable[[Path], None], is_merging: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is read, or while its runs are merged: once it is as it was, the sort goes on."""
    inputs, options = make(tmp_path)
    planner.sort(inputs, tmp_path / "expected", memory_bytes=MEMORY_BYTES, **options)
    path, before = inputs[-1], inputs[-1].read_bytes()
    real, changed = WorkFolder.save, []

    def saving(self: WorkFolder, state: State) -> None:
        is_time = state.merge is not None and state.merge.rows if is_merging else state.made == 2
        if is_time and not changed:
            changed.append(change(path))
        real(self, state)

    monkeypatch.setattr(WorkFolder, "save", saving)
    with pytest.raises(InputChangedError, match=path.name):
        planner.sort(inputs, tmp_path / "out", consume_input=True, **options)
    assert not (tmp_path / "out").exists()
    with path.open("r+b") as file:  # as it was
        file.truncate(len(before) - 1000)
        file.seek(0, 2)
        file.write(before[-1000:])
    planner.sort([], tmp_path / "out", resume=True)
    assert content(tmp_path / "out") == content(tmp_path / "expected")
    assert not any(source.exists() for source in inputs)


@pytest.mark.parametrize("more", [{}, {"consume_input": True}, {"unique": True}, {"force": True}])
def test_resume_begins_no_sort_and_keeps_the_inputs(more: dict[str, Any], tmp_path: Path) -> None:
    """It would delete inputs, though nobody gave them up."""
    path, output = tmp_path / "in.txt", tmp_path / "out"
    path.write_text("2\n2\n1\n")
    for sources in ([path], [tmp_path / "none"], []):
        with pytest.raises(BadInputError, match="nothing to resume"):
            planner.sort(sources, output, resume=True, **more)
    with pytest.raises(BadInputError, match="nothing to resume"):
        planner.sort(path, path, resume=True, **more)
    assert path.read_text() == "2\n2\n1\n"
    assert [found.name for found in tmp_path.iterdir()] == ["in.txt"]


def test_a_finished_sort_is_not_resumed(tmp_path: Path) -> None:
    path, output = tmp_path / "in.txt", tmp_path / "out"
    path.write_text("2\n1\n")
    planner.sort(path, output, consume_input=True)
    path.write_text("4\n3\n")
    with pytest.raises(BadInputError, match="nothing to resume"):
        planner.sort(path, output, resume=True)
    assert path.read_text() == "4\n3\n" and output.read_text() == "1\n2\n"


@pytest.mark.parametrize(
    "options",
    [{"limit": 3}, {"merge": True}, {"compress": "gz"}, {"temp_dirs": ["/tmp"]}, {"spill": "lz4"}, {"ray": "auto"}],
    ids=lambda options: next(iter(options)),
)
def test_options_that_would_lose_rows_or_space_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    inputs, lines_options = lines(tmp_path)
    before = inputs[0].read_bytes()
    with pytest.raises(PlannerError, match="`consume_input"):
        planner.sort(inputs, tmp_path / "out", consume_input=True, **lines_options, **options)
    assert inputs[0].read_bytes() == before


def test_files_that_others_would_miss_are_refused(tmp_path: Path) -> None:
    inputs, options = lines(tmp_path)
    (tmp_path / "other name").hardlink_to(inputs[0])
    with pytest.raises(BadInputError, match="2 names"):
        planner.sort(inputs, tmp_path / "out", consume_input=True, **options)
    with pytest.raises(BadInputError, match="this is none"):
        planner.sort("-", tmp_path / "out", consume_input=True, **options)
    with pytest.raises(BadInputError, match="no compressed text"):
        planner.sort(inputs, tmp_path / "out.gz", consume_input=True, **options)


@pytest.mark.parametrize("output", ["-", "/dev/stdout", "/dev/null"])
def test_what_cannot_be_resumed_into_is_refused(output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (source := tmp_path / "in").write_text("b\na\n")
    with pytest.raises(BadInputError, match="`consume_input=True` writes a file"):
        planner.sort(source, output, lines=True, consume_input=True)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    with pytest.raises(BadInputError, match="none: no such file"):
        planner.sort(tmp_path / "none", tmp_path / "out", lines=True, consume_input=True)
