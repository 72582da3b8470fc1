"""Rotating disks under several streams, against the measurements of TritonSort and of EC2's users."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import planner
from planner.arrays import Floats
from planner.cost_model.rotating_disks import Visits
from planner.cost_model.run_overheads import shipped

SHIPPED = Visits(**shipped().rotating_disk)
SEVERAL: Floats = np.array([2.0])
TRITONSORT: Floats = np.array([90e6])
"""The fastest rate at which its authors could write to one of their disks (Rasmussen et al., section 4.3)."""


def test_one_stream_needs_no_positioning() -> None:
    for rate in (SHIPPED.read_rate, SHIPPED.write_rate):
        assert rate(TRITONSORT, streams=np.array([0.0])) == rate(TRITONSORT, streams=np.array([1.0])) == TRITONSORT


def test_a_visit_costs_its_transfer_and_its_position() -> None:
    visits = Visits(read_bytes=1e6, write_bytes=4e6, read_position_s=0.01, write_position_s=0.02)
    assert visits.read_rate(np.array([100e6]), streams=SEVERAL) == pytest.approx(1e6 / (0.01 + 0.01))
    assert visits.write_rate(np.array([100e6]), streams=SEVERAL) == pytest.approx(4e6 / (0.04 + 0.02))


def test_more_streams_never_go_faster() -> None:
    rates = SHIPPED.read_rate(np.full(5, 200e6), streams=np.array([1.0, 1.25, 1.75, 2.0, 9.0]))
    assert (np.diff(rates[:4]) < 0).all()
    assert rates[4] == rates[3]


def test_tritonsorts_writers_are_as_fast_as_measured() -> None:
    """Figure 9: writers of the first phase move 75 MB/s each in pieces of 14 MB; 80 MB are near the sequential rate."""
    pieces, large = replace(SHIPPED, write_bytes=14e6), replace(SHIPPED, write_bytes=80e6)
    assert pieces.write_rate(TRITONSORT, streams=SEVERAL) == pytest.approx(75e6, rel=0.12)
    assert large.write_rate(TRITONSORT, streams=SEVERAL) > 0.98 * TRITONSORT


def test_a_small_read_takes_about_10_ms_on_ec2() -> None:
    """Measurements of 4 KiB reads on every kind of machine in "A Twisty Maze of Instances, All Different"."""
    small = replace(SHIPPED, read_bytes=4096)
    assert 4096 / small.read_rate(TRITONSORT, streams=SEVERAL) == pytest.approx(0.010, rel=0.2)


def test_a_task_for_each_processor_makes_disks_seek_and_one_file_on_each_does_not() -> None:
    def disks_s(engine: str) -> list[float]:
        answer = planner.recommend(
            data="1TB", model="indy", catalogs=("aws",), instances=("d3.2xlarge",), nodes=10, engine=engine
        )
        assert answer.best is not None
        return [phase.resources["local_disks"].time_s for phase in answer.best.phases]

    stated, seeking = disks_s("ideal"), disks_s("ray")
    positions_s = SHIPPED.read_position_s / SHIPPED.read_bytes + SHIPPED.write_position_s / SHIPPED.write_bytes
    ratio = 1 + 1.18e9 / 6 * positions_s / 2
    assert [late / early for late, early in zip(seeking, stated, strict=True)] == pytest.approx([ratio] * 2, rel=0.02)
