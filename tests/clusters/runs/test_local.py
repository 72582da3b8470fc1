"""Whole runs on this machine, small and real."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from planner.clusters.runs.local import LocalRun, run_local
from planner.cost_model.model_reader import load_model
from planner.errors import BadInputError, InfeasibleError, InterruptedRunError, IoFailureError
from planner.native import Progress
from planner.schemas.run_report import RunReport


@contextmanager
def unwatched(name: str) -> Iterator[Progress]:
    yield Progress()


def run(
    directory: Path, *, data_bytes: int = 3_000_000, model: str = "daytona", memory_bytes: int | None = None
) -> RunReport:
    wanted = LocalRun(data_bytes=data_bytes, model=model, directory=directory, memory_bytes=memory_bytes)
    return run_local(wanted, say=lambda text: None, watch=unwatched)


def test_a_daytona_run_sorts_and_checks_both_copies(tmp_path: Path) -> None:
    report = run(tmp_path)
    assert report.passed
    assert [check.path for check in report.checks] == ["output", "replica"]
    assert {check.records for check in report.checks} == {30_000}
    assert [phase.name for phase in report.phases] == ["map and shuffle", "sort and reduce"]
    assert all(phase.predicted_s > 0 and phase.measured_s > 0 for phase in report.phases)
    assert report.sort["output_bytes_written"] == 6_000_000
    assert list(tmp_path.iterdir()) == []


def test_an_indy_run_keeps_one_copy(tmp_path: Path) -> None:
    report = run(tmp_path, model="indy")
    assert [check.path for check in report.checks] == ["output"]


def test_the_report_is_json_with_predicted_and_measured_apart(tmp_path: Path) -> None:
    document = json.loads(run(tmp_path, model="indy").to_json())
    phase = document["phases"][0]
    assert set(phase) == {
        *("name", "predicted_s", "measured_s", "error"),
        *("bottleneck", "measured_bottleneck", "utilisation"),
    }
    assert (phase["measured_bottleneck"], phase["utilisation"]) == (None, {}), "nobody looked"
    assert document["passed"] is True
    assert document["plan"]["best"]["instance_type"] == "this-machine"


def test_data_beyond_memory_is_planned_with_its_intermediate_files(tmp_path: Path) -> None:
    report = run(tmp_path, data_bytes=60_000_000, model="indy", memory_bytes=50_000_000)
    assert report.passed
    assert report.plan.best is not None
    moved = report.plan.best.phases[0].resources["local_disks"].bytes_per_node
    assert moved == 120_000_000


def test_half_a_record_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="whole number of 100-byte records"):
        run(tmp_path, data_bytes=150)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_too_small_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(IoFailureError, match=r"free, .* needed"):
        run(tmp_path, data_bytes=10**18)
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_needs_volumes_is_infeasible_here(tmp_path: Path) -> None:
    with pytest.raises(InfeasibleError, match="nothing feasible"):
        run(tmp_path, model="cloudsort")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    @contextmanager
    def cancelled(name: str) -> Iterator[Progress]:
        progress = Progress()
        progress.cancel()
        yield progress

    wanted = LocalRun(data_bytes=3_000_000, model="indy", directory=tmp_path)
    with pytest.raises(InterruptedRunError):
        run_local(wanted, say=lambda text: None, watch=cancelled)
    assert list(tmp_path.iterdir()) == []


def test_copies_are_what_the_last_phase_writes() -> None:
    assert [load_model(name).output_copies for name in ("indy", "daytona")] == [1, 2]
