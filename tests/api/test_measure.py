"""`planner.measure` returns the measurements, prints nothing and reports progress by callback."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import planner
from planner.api.progress import TimedStep
from planner.errors import BadInputError
from planner.measurement.instruments.agent import Agent


def test_disks_are_measured_in_every_mode(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    steps: list[TimedStep] = []
    found = planner.measure(
        "disk",
        directories=[tmp_path],
        mode="all",
        seconds=0.3,
        repeats=1,
        queue_depth=1,
        file_bytes=20_000_000,
        on_progress=steps.append,
    )
    assert [rate.mode for rate in found.rates] == ["mixed", "read", "write"]
    assert all(step.total_s == pytest.approx(0.9) and step.done_s >= 0 for step in steps)
    assert {step.phase for step in steps} <= {"preparing files", "measuring"} and steps
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())


def test_small_transfers_in_one_direction(tmp_path: Path) -> None:
    found = planner.measure("small-io", directory=tmp_path, mode="read", seconds=0.02, file_bytes=9_000_000)
    assert {run.operation for run in found.runs} == {"read4K", "read4M"}


def test_the_network_between_agents() -> None:
    agents = [Agent(host="127.0.0.1", port=0, token="known to both") for _ in range(2)]
    for agent in agents:
        threading.Thread(target=agent.serve, daemon=True).start()
    asked: list[int] = []
    found = planner.measure(
        "net",
        agents=[f"127.0.0.1:{agent.port}" for agent in agents],
        token="known to both",
        seconds=0.2,
        warm_up_s=0,
        on_run=asked.append,
    )
    assert asked == [2] and len(found.runs) == 1
    for agent in agents:
        agent.close()


def test_the_sort_uses_the_threads_that_are_given() -> None:
    found = planner.measure("sort", data_bytes=1_000_000, threads=1, repeats=2)
    assert found.threads == 1 and len(found.rates_bytes_per_s) == 2


def test_other_instruments_are_refused() -> None:
    with pytest.raises(BadInputError, match="one of disk, small-io, net, sort"):
        planner.measure("memory")  # type: ignore[call-overload]
