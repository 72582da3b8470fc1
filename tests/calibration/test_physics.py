"""The equations: answers known by hand, and derivatives against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_clusters import SPECS, grid

from planner.calibration.history import parse_jobs
from planner.calibration.machines import machine
from planner.calibration.physics import (
    COEFFICIENTS,
    FITS,
    STREAMS,
    TASK_SPILL,
    Shape,
    Stream,
    WorkingSet,
    Workload,
    log_seconds,
    unit_seconds,
)
from planner.calibration.workloads import workload

ONE = np.ones(1)


def one_node(**changes: float) -> Workload:
    fields = {
        "nodes": 2, "data_gb": 20, "cores": 4, "clock_ghz": 2, "memory_gb": 16,
        "disk_gb_per_s": 0.5, "network_gb_per_s": 1, "disk_passes_1": 2, "disk_passes_2": 2,
        "network_passes_1": 0.5, "network_passes_2": 0, "unknown_specs": 0, "output_share": 1, "records": 1,
        "usable_gb": 6,
    }  # fmt: skip
    return Workload(**{name: ONE * value for name, value in {**fields, **changes}.items()})


def seconds(work: Workload, stream: Stream = "core", /, working_set: WorkingSet = FITS, **coefficients: float) -> float:
    chosen = [coefficients.get(name, 1.0 if name == "work" else 1e-9) for name in COEFFICIENTS][:-1]
    log_s, _ = log_seconds(
        np.append(np.log(chosen), coefficients.get("memory", 0.0)),
        unit_seconds(work, Shape(stream, working_set=working_set)),
    )
    return float(np.exp(log_s[0]))


def test_each_term_alone() -> None:
    assert seconds(one_node(), startup=30) == pytest.approx(30)
    assert seconds(one_node(nodes=7), per_node=3) == pytest.approx(21)
    assert seconds(one_node(), disk=1) == pytest.approx(2 * 10 / 0.5 * 2)
    assert seconds(one_node(), network=1) == pytest.approx(10 / 1 * 0.5)
    assert seconds(one_node(), cpu=100) == pytest.approx(100 * 10 / (4 * 2))
    assert seconds(one_node(), serial=3) == pytest.approx(3 * 20 / 2)


def test_the_one_stream_is_limited_by_what_the_explanation_says() -> None:
    """20 GB: 3 GHz s/GB on a 2 GHz core or on all four, 3 times through 0.5 GB/s of disk or 1 GB/s of network, or 3
    s/GB on any machine.
    """
    expected = {
        "core": 3 * 20 / 2,
        "node": 3 * 20 / (4 * 2),
        "disk": 3 * 20 / 0.5,
        "network": 3 * 20 / 1,
        "nothing": 3 * 20,
    }
    assert {stream: seconds(one_node(), stream, serial=3) for stream in STREAMS} == pytest.approx(expected)


def test_a_phase_lasts_about_as_long_as_its_slowest_resource() -> None:
    disk, cpu = seconds(one_node(), disk=1), seconds(one_node(), cpu=10)
    both = seconds(one_node(), disk=1, cpu=10)
    assert max(disk, cpu) <= both < 1.05 * max(disk, cpu)
    assert seconds(one_node(), disk=1, cpu=64) == pytest.approx(2**0.2 * disk, rel=1e-6)


def test_memory_per_core_shortens_the_job_by_its_exponent() -> None:
    little, much = (seconds(one_node(memory_gb=gb), startup=10, memory=0.1) for gb in (16, 32))
    assert much / little == pytest.approx(2**-0.1)


def test_what_memory_cannot_hold_crosses_a_disk() -> None:
    """2 nodes x 6 GB hold the 10 GB of 20 GB x 0.5; for the 48 GB of 20 GB x 2.4, the square root of 36 x 48 GB counts.

    Cores that need 2 GB each and have 1.5 GB spill a quarter of the data.
    """

    def spilled(**needs: float) -> float:
        return seconds(one_node(), working_set=WorkingSet(**needs), spill=1)

    assert spilled(gb_per_gb=0.5) == pytest.approx(0, abs=1e-6)
    assert spilled(gb_per_gb=2.4) == pytest.approx((36 * 48) ** 0.5 / 2 / 0.5)
    assert spilled(gb_per_core=2) == pytest.approx(TASK_SPILL * 20 / 4 / 2 / 0.5)


def test_cores_go_on_while_what_spills_crosses_the_disks_with_the_rest() -> None:
    def both(**coefficients: float) -> float:
        return seconds(one_node(), working_set=WorkingSet(gb_per_gb=2.4), **coefficients)

    spill = both(spill=1)
    assert spill < both(spill=1, cpu=10) < 1.05 * spill
    assert both(spill=1, disk=1) == pytest.approx(spill + seconds(one_node(), disk=1))


@settings(max_examples=30, deadline=None)
@given(st.floats(0, 5), st.floats(0.01, 5), st.floats(0.1, 50), st.floats(1, 4))
def test_more_memory_never_spills_more(by_data: float, by_core: float, usable_gb: float, times: float) -> None:
    less, more = (
        float(WorkingSet(by_data, by_core).spilled_gb(one_node(usable_gb=gb))[0])
        for gb in (usable_gb, usable_gb * times)
    )
    assert 0 <= more <= less


def test_work_lengthens_everything_but_the_stream() -> None:
    """30 s of start-up and 80 s of disk five times; 20 GB through one 2 GHz core at 3 GHz s/GB still take 30 s."""
    assert seconds(one_node(), startup=30, disk=1, work=5) == pytest.approx(5 * (30 + 80))
    assert seconds(one_node(), serial=3, work=5) == pytest.approx(30)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-3, 3), min_size=9, max_size=9))
def test_derivatives_match_differences(point: list[float]) -> None:
    at = np.array(point)
    machines = {name: machine(name, spec) for name, spec in SPECS.items()}
    units = unit_seconds(
        workload(parse_jobs(grid(types=SPECS), what="query", timed=False), machines),
        Shape("disk", working_set=WorkingSet(4.0, 2.0)),
    )
    _, jacobian = log_seconds(at, units)
    for column in range(9):
        step = np.zeros(9)
        step[column] = 1e-5
        difference = (log_seconds(at + step, units)[0] - log_seconds(at - step, units)[0]) / 2e-5
        np.testing.assert_allclose(jacobian[column], difference, atol=1e-6)


def test_where_data_lives_decides_what_it_crosses() -> None:
    rows = [
        {"type": "fast", "n": 4, "data_gb": 10, **more}
        for more in ({}, {"io": "S3"}, {"io": "s3", "spill": "s3"}, {"replicas": 3})
    ]
    work = workload(parse_jobs(rows, what="query", timed=False), {"fast": machine("fast", SPECS["fast"])})
    np.testing.assert_allclose(work.disk_passes_1, [2, 1, 0, 2])
    np.testing.assert_allclose(work.disk_passes_2, [2, 1, 0, 4])
    np.testing.assert_allclose(work.network_passes_1, [0.75, 1.75, 1.75, 0.75])
    np.testing.assert_allclose(work.network_passes_2, [0, 1, 1, 1.5])


def test_only_the_share_let_out_of_a_selective_job_passes_its_stream() -> None:
    """A quarter of 20 GB through one disk of 0.5 GB/s takes 10 s, all of it 40 s."""
    work = one_node(output_share=0.25)
    coefficients = np.append(np.log([1e-9] * 5 + [1.0, 1e-9, 1.0]), 0.0)
    quarter, whole = (
        float(np.exp(log_seconds(coefficients, unit_seconds(work, Shape("disk", selective)))[0][0]))
        for selective in (True, False)
    )
    assert (quarter, whole) == pytest.approx((10, 40), rel=1e-6)
