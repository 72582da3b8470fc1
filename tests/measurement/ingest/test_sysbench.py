"""sysbench's report of its file test becomes a row for each direction."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

REPORT = """sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 4

Extra file open flags: directio
Block size 16KiB
Read/Write ratio for combined random IO test: 1.50
Periodic FSYNC enabled, calling fsync() each 100 requests.
Doing random r/w test

File operations:
    reads/s:                      3021.45
    writes/s:                     2014.30
    fsyncs/s:                     6448.13

Throughput:
    read, MiB/s:                  47.21
    written, MiB/s:               31.47

General statistics:
    total time:                          60.0214s

Latency (ms):
         avg:                                    0.35
"""
DAY = date(2026, 11, 1)


@pytest.fixture
def report(tmp_path: Path) -> Callable[..., Path]:
    def report(**changes: str) -> Path:
        path, text = tmp_path / "report.txt", REPORT
        for old, new in changes.items():
            for figure in {"reads": ("3021.45", "47.21"), "writes": ("2014.30", "31.47"), "flushes": ("6448.13",)}[old]:
                text = text.replace(figure, new)
        path.write_text(text)
        return path

    return report


def test_both_directions_of_a_mix(report: Callable[..., Path], read: Callable[..., Any]) -> None:
    """47.21 and 31.47 MiB/s; 3021.45 of 5035.75 operations read; 3021.45 x 16 KiB are the 47.21 MiB/s."""
    rows = read(report(), as_of=DAY)
    assert [(row.quantity, row.side, row.operations_per_s) for row in rows] == [
        ("simultaneous", "read", 3021.45),
        ("simultaneous", "write", 2014.30),
    ]
    assert [row.bytes_per_s for row in rows] == [3021.45 * 16384, 2014.30 * 16384]
    assert {(row.block_bytes, row.pattern, row.threads, row.buffered, row.seconds) for row in rows} == {
        (16384, "random", 4, "no", 60.0214)
    }
    assert rows[0].read_share == pytest.approx(0.6, abs=1e-4)
    assert (rows[0].flush_every, rows[1].flush_every) == (None, 100)
    assert rows[0].latency_mean_s is None, "flushes are in it"


def test_reads_alone_have_their_latency(report: Callable[..., Path], read: Callable[..., Any]) -> None:
    (row,) = read(report(writes="0.00", flushes="0.00"), as_of=DAY)
    assert (row.quantity, row.latency_mean_s) == ("read_only", pytest.approx(0.00035))


def test_a_report_of_nothing_is_refused(
    report: Callable[..., Path], refusal: Callable[..., str], read: Callable[..., Any]
) -> None:
    with refused("nothing-moved"):
        read(report(reads="0.00", writes="0.00"), as_of=DAY)
    whole = report()
    whole.write_text(whole.read_text().replace("    read, MiB/s:", "    read: "))
    assert "was sysbench interrupted" in refusal(whole, as_of=DAY)


HEAD = """WARNING: the --test option is deprecated.
sysbench 1.0.9 (using system LuaJIT 2.0.4)

Running the test with following options:
Number of threads: 1

Extra file open flags: 0
Block size 16KiB
Periodic FSYNC enabled, calling fsync() each 100 requests.
Doing {doing} test

Threads started!

{start}File operations:
    reads/s:                      {reads}
    writes/s:                     {writes}
    fsyncs/s:                     4351.23

Throughput:
    read, MiB/s:                  {read}
    written, MiB/s:               {written}

General statistics:
    total time:                          10.0190s

Latency (ms):
         avg:                                  0.13
"""
MIX = {"doing": "random r/w", "reads": "2042.32", "writes": "1361.55", "read": "31.91", "written": "21.27", "start": ""}
SLOW = {"doing": "random r/w", "reads": "5.98", "writes": "3.99", "read": "0.09", "written": "0.06", "start": "\n"}
REWRITE = {"doing": "sequential rewrite", "reads": "0.00", "writes": "68869.01", "read": "0.00", "written": "1076.08"}
SESSION = "$ sysbench fileio --file-total-size=1G prepare\nsysbench 1.0.18 (using system LuaJIT 2.1.0-beta3)\n\n\
Creating file test_file.0\n1073741824 bytes written in 9.92 seconds (103.24 MiB/sec).\n\n$ sysbench fileio run\n"


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [
        (HEAD.format(**MIX), [2042.32 * 16384, 1361.55 * 16384]),
        (SESSION + HEAD.format(**MIX) + "$ sysbench cleanup\nsysbench 1.0.18 (LuaJIT)\n", [33461370.88, 22307635.2]),
        (SESSION + HEAD.format(**REWRITE, start="File operations:"), [68869.01 * 16384]),
        # 0.09 MiB/s is rounded by 4%
        (HEAD.format(**SLOW), [5.98 * 16384, 3.99 * 16384]),
        (HEAD.format(**MIX) + HEAD.format(**REWRITE, start=""), [33461370.88, 22307635.2, 68869.01 * 16384]),
    ],
)
def test_reports_as_terminals_show_them(
    text: str, bytes_per_s: list[float], read: Callable[..., Any], tmp_path: Path
) -> None:
    """Figures of reports that people posted, with prompts, warnings and other runs around them."""
    path = tmp_path / "posted.txt"
    path.write_text(text)
    assert [row.bytes_per_s for row in read(path, as_of=DAY)] == pytest.approx(bytes_per_s)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (HEAD.format(**{**MIX, "read": "32.22 (1027.76 in order)"}), "no 'read, MiB/s' in it"),
        (HEAD.format(**{**MIX, "read": "16.42"}), "2042.32 reads a second are not 16.42 MiB/s of 16384 bytes each"),
        (
            "sysbench 0.4.12:  multi-threaded system evaluation benchmark\n\n"
            "Operations performed:  6000 Read, 4000 Write, 12800 Other = 22800 Total\n"
            "Read 93.75Mb  Written 62.5Mb  Total transferred 156.25Mb  (5.2037Mb/sec)\n",
            "sysbench 0.4.12:  multi-threaded system",
        ),
    ],
)
def test_reports_that_do_not_say_enough(text: str, reason: str, refusal: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "posted.txt"
    path.write_text(text)
    assert reason in refusal(path, as_of=DAY)


def test_version_1_1_writes_each_direction_on_a_line(tmp_path: Path, read: Callable[..., Any]) -> None:
    newer = REPORT.partition("File operations:")[0].replace("1.0.20", "1.1.0-2ca9e3f") + (
        "Throughput:\n         read:  IOPS=3021.45 47.21 MiB/s (49.50 MB/s)\n"
        "         write: IOPS=2014.30 31.47 MiB/s (33.00 MB/s)\n         fsync: IOPS=6448.13\n\n"
        "Latency (ms):\n         avg:                                    0.35\n"
    )
    path = tmp_path / "newer.txt"
    path.write_text(newer)
    assert [(row.side, row.operations_per_s) for row in read(path, as_of=DAY)] == [("read", 3021.45), ("write", 2014.3)]


def changed_report(tmp_path: Path, old: str, new: str) -> Path:
    path = tmp_path / "changed.txt"
    assert old in REPORT
    path.write_text(REPORT.replace(old, new))
    return path


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "Number of threads: 4\n",
            "Number of threads: 4\nTarget transaction rate: 500/sec\n",
            "held back by --rate 500",
        ),
        ("File operations:", "FATAL: Failed to read file! file: 24 errno = 0\n\nFile operations:", "sysbench failed"),
        ("Doing random r/w test", "Doing random write test", "reads in a test of random write"),
        ("Doing random r/w test", "Doing sequential read test", "writes in a test of sequential read"),
    ],
)
def test_a_run_that_measured_something_else_is_refused(
    old: str, new: str, says: str, refusal: Callable[..., str], tmp_path: Path
) -> None:
    """Asynchronous writes are counted as reads by some versions (sysbench issue 169)."""
    assert says in refusal(changed_report(tmp_path, old, new), as_of=DAY)


@pytest.mark.parametrize(
    ("old", "new", "field", "value"),
    [
        ("Doing", "Using asynchronous I/O mode\nDoing", "depth", None),
        ("Doing", "Using synchronous I/O mode\nDoing", "depth", 1),
        ("Doing", "Using fast mmaped I/O mode\nDoing", "buffered", "yes"),
        ("flags: directio", "flags: sync directio", "buffered", "no"),
        ("flags: directio", "flags: (none)", "buffered", "yes"),
        ("flags: directio", "flags: 3", "buffered", None),
        ("flags: directio", "flags: 0", "buffered", "yes"),
        (
            "Periodic FSYNC enabled, calling fsync() each 100 requests.",
            "Calling fsync() after each write operation.",
            "flush_every",
            1,
        ),
        ("60.0214s", "0.7268s", "note", "ran 0.7268 s, so caches and its start are in the figure"),
    ],
)
def test_the_mode_of_a_run_is_told_or_unknown(
    old: str, new: str, field: str, value: object, read: Callable[..., Any], tmp_path: Path
) -> None:
    row = read(changed_report(tmp_path, old, new), as_of=DAY)[-1]
    assert getattr(row, field) == value
