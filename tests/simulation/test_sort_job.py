"""Phases on groups of nodes, with sums done by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.simulation.machines import Machines, NodeGroup
from planner.simulation.phase_tasks import Tasks
from planner.simulation.phase_work import PhaseWork
from planner.simulation.sort_job import simulate_job
from planner.sort_policy.concurrency import Concurrency
from tests.simulation.idle_phase import IDLE

SHUFFLE = replace(
    IDLE,
    name="shuffle",
    read_s={"disks": 10.0},
    write_s={"disks": 10.0},
    compute_s=8.0,
    exchanged_bytes=900.0,
    spread=1.0,
)
"""20 s of the disks, 4 s of two processors, and 900 bytes to the others: 30 s at 30 bytes/s."""
MACHINES = Machines(vcpu=2.0, link_bytes_per_s=30.0)


def seconds(work: PhaseWork, *groups: NodeGroup, machines: Machines = MACHINES) -> float:
    (phase,) = simulate_job([work], groups, machines)
    return phase.seconds


def test_a_phase_takes_as_long_as_its_busiest_resource() -> None:
    assert seconds(SHUFFLE, NodeGroup(nodes=4)) == pytest.approx(30.0)
    assert seconds(replace(SHUFFLE, exchanged_bytes=0.0), NodeGroup(nodes=4)) == pytest.approx(20.0)
    both = replace(SHUFFLE, exchanged_bytes=0.0, both_ways=frozenset({"disks"}))
    assert seconds(both, NodeGroup(nodes=4)) == pytest.approx(10.0)


def test_all_wait_for_the_slowest_link() -> None:
    groups = NodeGroup(nodes=1, slowness={"network": 2.0}), NodeGroup(nodes=3)
    (phase,) = simulate_job([SHUFFLE], groups, MACHINES)
    assert phase.seconds == pytest.approx(60.0)
    assert phase.timeline.bottleneck == "network"


def test_the_driver_serves_all_nodes_in_turn() -> None:
    tasks = Tasks(lengths=(0.01,) * 100, longest=0.01, concurrency=Concurrency(tasks=4), threads=2, slices=8)
    driven = replace(SHUFFLE, driver_s=70.0, order_s=70.0, tasks=tasks)
    assert seconds(driven, NodeGroup(nodes=4)) == pytest.approx(70.0, rel=0.02)


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_tasks_that_began_together_do_not_all_wait_for_the_disks_and_then_all_compute(nodes: int) -> None:
    """10 s of the processors and 10 s of the disks, a tenth of it reading: together hardly more than 10 s."""
    partitions = Tasks(lengths=(1 / 16,) * 16, longest=1 / 16, concurrency=Concurrency(tasks=6), threads=1)
    sort = replace(
        SHUFFLE, read_s={"disks": 1.0}, write_s={"disks": 9.0}, compute_s=20.0, exchanged_bytes=0.0, spread=0.0
    )
    groups = [NodeGroup(nodes=1) for _ in range(nodes)]
    assert 10.0 <= seconds(replace(sort, tasks=partitions), *groups) <= 14.0  # in step: 18.3


def test_a_bucket_lasts_over_phases() -> None:
    """Each phase sends 900 bytes. Bursting at 90, with 30 refilled, 900 tokens last 15 s. The first phase takes
    max(900 / 90, 20) = 20 s on the disks, sends 45 bytes a second, 15 of them from tokens, and leaves 600. The third
    phase uses the last of them.
    """
    burst = replace(MACHINES, burst_bytes_per_s=90.0, bucket_bytes=900.0)
    phases = simulate_job([SHUFFLE] * 4, [NodeGroup(nodes=4)], burst)
    assert [round(phase.seconds, 6) for phase in phases] == [20.0, 20.0, 20.0, 30.0]


def test_what_takes_a_fixed_time_goes_on_meanwhile() -> None:
    (phase,) = simulate_job([replace(SHUFFLE, fixed_s={"start_up": 50.0})], [NodeGroup(nodes=4)], MACHINES)
    assert phase.seconds == pytest.approx(50.0)
    assert phase.timeline.waits["network"] == pytest.approx(0.6)  # 30 of 50 s
    assert phase.timeline.waits["start_up"] == pytest.approx(0.4)
