"""sysbench's report of its test of files becomes a row for each direction."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

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
            text = text.replace({"reads": "3021.45", "writes": "2014.30", "flushes": "6448.13"}[old], new)
        path.write_text(text)
        return path

    return report


def test_both_directions_of_a_mix(report: Callable[..., Path], read: Callable[..., Any]) -> None:
    """47.21 and 31.47 MiB/s; 3021.45 of 5035.75 operations read; 3021.45 x 16 KiB are those 47.21 MiB/s."""
    rows = read(report(), as_of=DAY)
    assert [(row.quantity, row.side, row.operations_per_s) for row in rows] == [
        ("simultaneous", "read", 3021.45),
        ("simultaneous", "write", 2014.30),
    ]
    assert [row.bytes_per_s for row in rows] == [pytest.approx(47.21 * 2**20), pytest.approx(31.47 * 2**20)]
    assert rows[0].bytes_per_s == pytest.approx(3021.45 * 16384, rel=1e-4)
    assert {(row.block_bytes, row.pattern, row.threads, row.buffered, row.seconds) for row in rows} == {
        (16384, "random", 4, "no", 60.0214)
    }
    assert rows[0].read_share == pytest.approx(0.6, abs=1e-4)
    assert (rows[0].flush_every, rows[1].flush_every) == (None, 100)
    assert rows[0].latency_mean_s is None, "flushes are in it"


def test_reads_alone_have_their_latency(report: Callable[..., Path], read: Callable[..., Any]) -> None:
    (row,) = read(report(writes="0.00", flushes="0.00"), as_of=DAY)
    assert (row.quantity, row.latency_mean_s) == ("read_only", pytest.approx(0.00035))


def test_a_report_of_nothing_is_refused(report: Callable[..., Path], refusal: Callable[..., str]) -> None:
    assert "nothing was read or written" in refusal(report(reads="0.00", writes="0.00"), as_of=DAY)
    whole = report()
    whole.write_text(whole.read_text().replace("    read, MiB/s:", "    read: "))
    assert "was sysbench interrupted" in refusal(whole, as_of=DAY)
