"""Data sent between nodes arrives in full, in parcels as the scheduler releases them, or as copies."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.simulation.machines import Machines, NodeGroup
from planner.simulation.phase_tasks import Parcels, Tasks
from planner.simulation.phase_work import PhaseWork
from planner.simulation.sort_job import simulate_job
from planner.sort_policy.concurrency import Concurrency
from tests.simulation.idle_phase import IDLE

MACHINES = Machines(vcpu=2.0, link_bytes_per_s=30.0)
FOUR = [NodeGroup(nodes=1)] * 4


def slices(count: int, *, store: float = 10.0) -> Tasks:
    """Return slices of one of four nodes; half a slice is a full parcel."""
    parcels = Parcels(full=0.5 / count, least=0.0, store=store)
    return Tasks(
        lengths=(1 / count,) * count,
        longest=1 / count,
        concurrency=Concurrency(tasks=4),
        threads=2,
        slices=8,
        is_sent_by_parcel=True,
        sent_share=0.75,
        parcels=parcels,
    )


SHUFFLE = replace(
    IDLE,
    name="shuffle",
    read_s={"disks": 1.0},
    write_s={"disks": 1.0},
    exchanged_bytes=900.0,
    spread=1.0,
    tasks=slices(40),
)
"""Each of four nodes sends 900 bytes at 30 bytes/s: 30 s."""


def seconds(work: PhaseWork, groups: list[NodeGroup] = FOUR, machines: Machines = MACHINES) -> float:
    (phase,) = simulate_job([work], groups, machines)
    return phase.seconds


def test_links_stay_busy_but_for_the_first_slice_and_the_last_parcel() -> None:
    """A slice is read in 1/40 s, and the last parcel is written in less than that."""
    assert 30.0 <= seconds(SHUFFLE) <= 30.0 + 1.0


def test_little_room_for_what_is_in_flight_still_lets_all_arrive() -> None:
    assert seconds(replace(SHUFFLE, tasks=slices(40, store=0.001))) < 2 * 30.0


def test_all_wait_for_who_has_the_slowest_link() -> None:
    groups = [NodeGroup(nodes=1, slowness={"network": 2.0}), *FOUR[1:]]
    assert seconds(SHUFFLE, groups) == pytest.approx(60.0, rel=0.05)


def test_a_node_by_itself_sends_nothing() -> None:
    alone = replace(SHUFFLE, exchanged_bytes=0.0, tasks=replace(slices(40), sent_share=0.0))
    assert seconds(alone, [NodeGroup(nodes=1)]) == pytest.approx(2.0, rel=0.05)  # it reads 1 s and writes 1 s


def copies(count: int) -> Tasks:
    return Tasks(
        lengths=(1 / count,) * count,
        longest=1 / count,
        concurrency=Concurrency(tasks=4),
        threads=2,
        copied=True,
        is_sent_by_parcel=True,
    )


def test_copies_go_to_others_evenly() -> None:
    """Each node sends its 900 bytes to others and receives as many; some links idle for part of the last wave."""
    reduce = replace(SHUFFLE, name="reduce", spread=0.5, tasks=copies(40))
    assert 30.0 <= seconds(reduce) <= 30.0 * 1.15


@settings(max_examples=30)
@given(count=st.integers(1, 60), nodes=st.integers(2, 6), copied=st.booleans())
def test_no_phase_is_shorter_than_its_links_need(count: int, nodes: int, copied: bool) -> None:
    sent = (nodes - 1) / nodes
    tasks = copies(count) if copied else replace(slices(count), sent_share=sent)
    work = replace(SHUFFLE, spread=0.5 if copied else 1.0, tasks=tasks)
    assert seconds(work, [NodeGroup(nodes=1)] * nodes) >= 30.0 * (1 - 1e-6)
