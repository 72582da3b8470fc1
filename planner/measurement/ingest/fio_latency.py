"""Latencies of fio jobs that ran together: their mean, and percentiles over all operations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from planner.measurement.ingest.json_documents import number

PERCENTILES: Final = {"latency_p50_s": 50.0, "latency_p90_s": 90.0, "latency_p99_s": 99.0, "latency_p999_s": 99.9}
_NS: Final = 1e-9


def latencies(path: Path, results: Sequence[dict[str, Any]]) -> tuple[dict[str, float | None], str]:
    """Return mean and percentiles (s; None where fio gave none) of one direction of jobs, and a note on them.

    JSON+ has the whole distribution, which several jobs are pooled from. Plain JSON has each job's percentiles; the
    highest is then an upper bound of that of all.
    """
    stated = [table for result in results if (table := _stated(result, "lat_ns", "clat_ns"))]
    means = [(number(path, table, "mean"), number(path, table, "N")) for table in stated]
    count = sum(weight for _, weight in means)
    mean_s = sum(mean * weight for mean, weight in means) / count * _NS if count else None
    tables = [_stated(result, "clat_ns", "lat_ns", holding="percentile") for result in results]
    percentiles, note = _percentiles(tables) if all(tables) else (dict.fromkeys(PERCENTILES), "")
    return {"latency_mean_s": mean_s, **percentiles}, note


def _stated(result: dict[str, Any], *names: str, holding: str = "mean") -> dict[str, Any]:
    """Return the first of the statistics that is there and has what is asked for."""
    tables = (result.get(name) for name in names)
    return next((table for table in tables if isinstance(table, dict) and holding in table), {})


def _percentiles(tables: Sequence[dict[str, Any]]) -> tuple[dict[str, float | None], str]:
    if len(tables) > 1 and all(table.get("bins") for table in tables):
        return _pooled(tables), ""
    by_job = [{float(rank): value for rank, value in table["percentile"].items()} for table in tables]
    highest = {
        name: max(table[rank] for table in by_job) * _NS if all(rank in table for table in by_job) else None
        for name, rank in PERCENTILES.items()
    }
    return highest, "percentiles of latency are the slowest job's" if len(tables) > 1 else ""


def _pooled(tables: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """Return the latencies below which so many of all operations were; a bin is named by its upper end in ns."""
    counts: dict[int, int] = {}
    for table in tables:
        for bin_ns, operations in table["bins"].items():
            counts[int(bin_ns)] = counts.get(int(bin_ns), 0) + int(operations)
    total, below = sum(counts.values()), 0
    pooled: dict[str, float | None] = {}
    waiting = list(PERCENTILES.items())
    for bin_ns in sorted(counts):
        below += counts[bin_ns]
        while waiting and below >= waiting[0][1] / 100 * total:
            pooled[waiting.pop(0)[0]] = bin_ns * _NS
    return pooled
