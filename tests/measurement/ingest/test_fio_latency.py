"""Latencies of several jobs, pooled by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planner.measurement.ingest.fio_latency import PERCENTILES, latencies

PATH = Path("a.json")


def job(*, mean_ns: float, operations: int, p50_ns: int, bins: dict[str, int] | None = None) -> dict[str, Any]:
    percentiles = {f"{rank:f}": p50_ns * (1 + rank / 100) for rank in PERCENTILES.values()}
    table: dict[str, Any] = {"mean": mean_ns, "N": operations, "percentile": percentiles}
    return {"lat_ns": {"mean": mean_ns, "N": operations}, "clat_ns": {**table, **({"bins": bins} if bins else {})}}


def test_the_mean_is_over_operations_not_over_jobs() -> None:
    jobs = [job(mean_ns=100, operations=900, p50_ns=90), job(mean_ns=1100, operations=100, p50_ns=9)]
    assert latencies(PATH, jobs)[0]["latency_mean_s"] == pytest.approx(200e-9)  # (900 x 100 + 100 x 1100) / 1000


def test_without_bins_the_slowest_job_bounds_the_percentile() -> None:
    figures, note = latencies(
        PATH, [job(mean_ns=1, operations=1, p50_ns=100), job(mean_ns=1, operations=1, p50_ns=300)]
    )
    assert figures["latency_p50_s"] == pytest.approx(450e-9) and "slowest job" in note


def test_bins_are_pooled() -> None:
    fast, slow = {"100": 90, "200": 9}, {"200": 0, "5000": 1}
    jobs = [job(mean_ns=1, operations=1, p50_ns=7, bins=fast), job(mean_ns=1, operations=1, p50_ns=7, bins=slow)]
    figures, note = latencies(PATH, jobs)
    by_hand = [100e-9, 100e-9, 200e-9, 5000e-9]  # 50, 90, 99 and 99.9 of 100 operations
    assert [figures[name] for name in PERCENTILES] == pytest.approx(by_hand) and note == ""


def test_what_fio_did_not_count_is_unknown() -> None:
    figures, _ = latencies(PATH, [{"lat_ns": {"mean": 5.0, "N": 2}, "clat_ns": {"mean": 5.0, "N": 2}}])
    assert figures == {"latency_mean_s": pytest.approx(5e-9), **dict.fromkeys(PERCENTILES)}
