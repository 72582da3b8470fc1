"""Scalyr's operations on a real file: their counts, and the sum of their latencies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from growing_windows import in_growing_windows

from planner.errors import BadInputError
from planner.measurement.instruments.small_io import OPERATIONS, Operation, SmallIo, bench_small_io, plan_runs

FILE_BYTES = 40_960_000


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> SmallIo:
    """Each operation on one thread and on two."""
    few = [
        Operation(
            name=operation.name,
            io_bytes=operation.io_bytes,
            writes=operation.writes,
            flush_probability=operation.flush_probability,
            threads=(1, 2),
        )
        for operation in OPERATIONS
    ]
    folder = tmp_path_factory.mktemp("disk")
    bench = in_growing_windows(
        lambda seconds: bench_small_io(folder, seconds=seconds, file_bytes=FILE_BYTES, operations=few),
        is_enough=lambda bench: all(run.latency_histogram for run in bench.runs),
    )
    assert not list(folder.iterdir())
    return bench


def test_the_suite_is_the_studys_42_runs_in_a_random_order() -> None:
    runs = plan_runs(OPERATIONS, seed=1)
    names = {(operation.name, threads) for operation, threads in runs}
    assert len(runs) == len(names) == 42
    assert runs != plan_runs(OPERATIONS, seed=2)
    assert names == {(operation.name, threads) for operation, threads in plan_runs(OPERATIONS, seed=2)}


def test_what_is_counted_adds_up(suite: SmallIo) -> None:
    size = {operation.name: operation.io_bytes for operation in OPERATIONS}
    for run in suite.runs:
        operations = run.operations_per_s * run.seconds
        assert sum(count for _, count in run.latency_histogram) == pytest.approx(operations)
        # An operation that ends at the very end may be counted on one side only.
        assert run.bytes_per_s * run.seconds == pytest.approx(operations * size[run.operation], abs=2 * (4 << 20))
        assert sum(run.series_bytes_per_s) * run.interval_s == pytest.approx(run.bytes_per_s * run.seconds)


def test_latencies_are_in_order_and_explain_the_throughput(suite: SmallIo) -> None:
    for run in suite.runs:
        latencies = (run.latency_p50_s, run.latency_p90_s, run.latency_p99_s, run.latency_p999_s)
        assert run.mean_latency_s is not None
        assert list(latencies) == sorted(latencies)  # type: ignore[type-var]
        # Little's law: operations at once are at most the threads.
        assert run.mean_latency_s * run.operations_per_s <= run.threads * 1.001


def test_only_writes_that_are_flushed_now_and_then_use_the_page_cache(suite: SmallIo) -> None:
    direct = {run.operation: run.is_direct for run in suite.runs}
    assert not direct["write4K/64"]
    assert len({direct[name] for name in ("read4K", "read4M", "write4K", "write4M")}) == 1


def test_the_result_is_json_and_recommends_a_thread_count_that_was_tried(suite: SmallIo) -> None:
    document = json.loads(json.dumps(suite.to_dict(), allow_nan=False))
    assert document["instrument"] == "smallio"
    assert set(document["recommended_threads"]) == {operation.name for operation in OPERATIONS}
    assert set(document["recommended_threads"].values()) <= {1, 2}


@pytest.mark.parametrize("arguments", [{"seconds": 0.0, "file_bytes": FILE_BYTES}, {"seconds": 1.0, "file_bytes": 10}])
def test_impossible_arguments_are_refused(tmp_path: Path, arguments: dict[str, float]) -> None:
    with pytest.raises(BadInputError):
        bench_small_io(tmp_path, **arguments)  # type: ignore[arg-type]


def test_repeats_are_runs_in_random_order_and_the_median_counts(tmp_path: Path) -> None:
    operation = Operation(name="read4K", io_bytes=4096, writes=False, flush_probability=0, threads=(1, 2))
    bench = bench_small_io(tmp_path, seconds=0.05, file_bytes=8_192_000, operations=[operation], repeats=3)
    assert bench.origin.repeats == 3 and sorted(run.threads for run in bench.runs) == [1, 1, 1, 2, 2, 2]
    rates = {threads: sorted(run.bytes_per_s for run in bench.runs if run.threads == threads) for threads in (1, 2)}
    best = max(middle for _, middle, _ in rates.values())
    assert bench.recommended_threads["read4K"] == min(t for t, (_, middle, _) in rates.items() if middle >= 0.95 * best)
