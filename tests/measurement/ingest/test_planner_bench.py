"""Files of this project's own instruments give their rates, and damaged ones give the reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from planner.measurement.ingest.ingest import read_measurements
from planner.measurement.instruments.small_io import KIB4, Operation, bench_small_io
from planner.measurement.instruments.sort_rate import bench_sort

ORIGIN = {
    "method": "made up",
    "machine_type": "i4i.4xlarge",
    "planner_version": "1",
    "measured_at": "2026-11-01T10:00:00+00:00",
}


def test_our_own_diskbench(changed: Callable[..., Any]) -> None:
    rate = {"repeats": 5, "lowest_total_bytes_per_s": 1.0, "highest_total_bytes_per_s": 9.0}
    document = {
        **ORIGIN, "instrument": "diskbench", "nodes": 1, "repeats": 5, "notes": ["ext4"],
        "file_systems": [{"device": "/dev/a"}, {"device": "/dev/b"}, {"device": "/dev/a"}],
        "rates": [
            {**rate, "mode": "mixed", "read_bytes_per_s": 3e8, "write_bytes_per_s": 2e8},
            {**rate, "mode": "read", "read_bytes_per_s": 9e8, "write_bytes_per_s": None},
        ],
        "runs": [{"mode": "mixed", "seconds": 10}, {"mode": "read", "seconds": 10}],
    }  # fmt: skip
    path = changed(document, lambda d: None)
    result = read_measurements([path], user_values={"zone": "here"}, mapping={})
    assert [(m.quantity, m.side, m.bytes_per_s, m.repeats) for m in result] == [
        ("simultaneous", "read", 3e8, 5), ("simultaneous", "write", 2e8, 5), ("read_only", None, 9e8, 5),
    ]  # fmt: skip
    assert result[0].instance_type == "i4i.4xlarge" and result[0].as_of == date(2026, 11, 1)
    assert result[0].disks == 2
    assert {m.aggregate for m in result} == {"median"}


def test_an_array_is_told_from_single_disks(changed: Callable[..., Any]) -> None:
    rate = {"mode": "read", "repeats": 3, "write_bytes_per_s": None, "within_run_sigma": 0.1, "across_runs_sigma": 0.2}
    jbod = {**rate, "layout": "jbod", "read_bytes_per_s": 2e8}
    striped = {**rate, "layout": "raid0", "read_bytes_per_s": 3e8}
    document = {
        **ORIGIN, "instrument": "diskbench", "nodes": 1, "repeats": 3, "notes": [],
        "file_systems": [{"device": "/dev/a"}], "rates": [jbod, striped], "runs": [{"mode": "read", "seconds": 10}],
    }  # fmt: skip
    result = read_measurements([changed(document, lambda d: None)], user_values={"zone": "here"}, mapping={})
    assert [(m.layout, m.bytes_per_s, m.within_run_sigma, m.across_time_sigma) for m in result] == [
        ("jbod", 2e8, 0.1, None), ("raid0", 3e8, 0.1, None),
    ]  # fmt: skip


def test_small_operations_and_sorting_measured_here_can_be_ingested(tmp_path: Path) -> None:
    operation = Operation(name="read4K", io_bytes=KIB4, writes=False, flush_probability=0, threads=(1, 2))
    suite = bench_small_io(tmp_path, seconds=0.2, file_bytes=8_192_000, operations=[operation], machine_type="m.large")
    sorting = bench_sort(data_bytes=1_000_000, threads=1, repeats=3, machine_type="m.large")
    for result in (suite, sorting):
        (tmp_path / f"{result.origin.instrument}.json").write_text(json.dumps(result.to_dict()))
    paths = [tmp_path / "smallio.json", tmp_path / "sortbench.json"]
    read4k, sort = read_measurements(paths, user_values={"zone": "here"}, mapping={})
    chosen = next(run for run in suite.runs if run.threads == suite.recommended_threads["read4K"])
    assert (read4k.quantity, read4k.threads, read4k.bytes_per_s) == ("read4K", chosen.threads, chosen.bytes_per_s)
    assert read4k.within_run_sigma is not None
    assert (sort.quantity, sort.aggregate, sort.bytes_per_s) == ("sort", "median", sorting.bytes_per_s_per_vcpu)


def test_our_own_netbench_gives_a_point_for_each_size(read: Callable[..., Any], changed: Callable[..., Any]) -> None:
    runs = [
        {"nodes": n, "seconds": 10, "connections": 2, "slowest_bytes_per_s": r}
        for n, r in ((2, 1.0e9), (2, 1.2e9), (4, 9e8))
    ]
    document = {**ORIGIN, "instrument": "netbench", "runs": runs, "curve": []}
    result = read(changed(document, lambda d: None), placement_group="yes")
    assert [(m.nodes, m.bytes_per_s, m.repeats, m.aggregate) for m in result] == [
        (2, 1.1e9, 2, "slowest_of_n"), (4, 9e8, 1, "slowest_of_n"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"instrument": "clock"}, "no instrument known here"),
        ({"instrument": "diskbench", **ORIGIN}, "not as diskbench writes it"),
        ({"instrument": "netbench", **ORIGIN, "runs": [{"nodes": "two"}]}, "not as netbench writes it"),
    ],
)
def test_bad_files_of_ours_say_why(
    document: dict[str, Any], says: str, changed: Callable[..., Any], refusal: Callable[..., Any]
) -> None:
    assert says in refusal(changed(document, lambda d: None))


def test_repeated_small_operations_count_by_their_median(changed: Callable[..., Any]) -> None:
    run = {"operation": "read4K", "threads": 8, "seconds": 5, "series_bytes_per_s": [4e6, 4e6], "mean_latency_s": 1e-3}
    runs = [{**run, "bytes_per_s": rate, "operations_per_s": rate / 4096} for rate in (4e6, 9e6, 5e6)]
    other = {**run, "threads": 1, "bytes_per_s": 1e6, "operations_per_s": 244}
    document = {
        **ORIGIN, "instrument": "smallio", "runs": [*runs, other], "recommended_threads": {"read4K": 8}, "repeats": 3,
    }  # fmt: skip
    (row,) = read_measurements([changed(document, lambda d: None)], user_values={"zone": "here"}, mapping={})
    assert (row.bytes_per_s, row.repeats, row.aggregate, row.latency_mean_s) == (5e6, 3, "median", 1e-3)
    assert row.operations_per_s == pytest.approx(5e6 / 4096) and row.latency_p99_s is None
