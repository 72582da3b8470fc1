"""Work redone after a loss, by hand, on nodes that read 10 s, send 30 s and then sort 20 s."""

from __future__ import annotations

from dataclasses import replace

import pytest
from refusals import refused

from planner.errors import BadInputError
from planner.simulation.losses import (
    COORDINATORS_BEGIN_S,
    Loss,
    check_loss,
    remaining_work,
    remove_nodes,
    seconds_with_loss,
)
from planner.simulation.machines import Machines, NodeGroup
from planner.simulation.phase_tasks import Tasks
from planner.simulation.sort_job import SimulatedPhase
from planner.simulation.timeline import Timeline
from planner.sort_policy.concurrency import Concurrency
from planner.sort_policy.health_checks import noticed_after_s
from tests.simulation.idle_phase import IDLE

MANY = Tasks(lengths=(0.001,) * 1000, longest=0.001, concurrency=Concurrency(tasks=5), threads=2, slices=8)
SHUFFLE = replace(
    IDLE,
    name="map and shuffle",
    read_s={"disks": 10.0},
    exchanged_bytes=900.0,
    spread=1.0,
    driver_s=6.0,
    order_s=2.0,
    tasks=MANY,
)
REDUCE = replace(SHUFFLE, name="sort and reduce", read_s={"disks": 20.0}, exchanged_bytes=0.0, spread=0.0)
MACHINES = Machines(vcpu=2.0, link_bytes_per_s=30.0)


def lasting(*seconds: float, full_share: float = 1.0) -> list[SimulatedPhase]:
    """Return undisturbed phases of the given seconds."""
    timeline = Timeline(waits={}, groups=())
    return [SimulatedPhase(name="", seconds=took_s, timeline=timeline, full_share=full_share) for took_s in seconds]


def test_what_is_lost_is_read_as_people_write_it() -> None:
    assert Loss.parse("node@30%") == Loss(nodes=1, share=0.3)
    assert Loss.parse("5@90%") == Loss(nodes=5, share=0.9)


@pytest.mark.parametrize("text", ["node", "node@", "0@30%", "node@100%", "all@30%"])
def test_other_words_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadInputError, match=r"write node@30%|at least one node"):
        Loss.parse(text)


def test_half_way_through_the_shuffle_all_is_read_again_but_little_sent() -> None:
    """One of ten nodes is lost. The others read 10 / 9 of their own: half is new, half is redone. They send the new
    half and a tenth of the rest: 10/9 x (0.5 + 0.05). The driver orders the redone half without parcels:
    0.5 x 6 + 0.5 x 2 s.
    """
    again, reduce = remaining_work([SHUFFLE, REDUCE], number=0, done=0.5, lost_share=0.1)
    assert again.read_s["disks"] == pytest.approx(100 / 9)
    assert again.exchanged_bytes == pytest.approx(900 * 10 / 9 * 0.55)
    assert again.driver_s == pytest.approx(4.0)
    assert reduce.read_s["disks"] == pytest.approx(200 / 9)


def test_in_the_second_phase_a_copy_saves_what_is_finished() -> None:
    """One of ten nodes is lost at three quarters. With one copy all of its tenth is gone; with two copies a quarter of
    it, and a fifth of the finished work has one copy left. Nine tenths of a quarter are still open.
    """
    single, open_, restored, gone = remaining_work([SHUFFLE, REDUCE], number=1, done=0.75, lost_share=0.1)
    assert single.exchanged_bytes == pytest.approx(900 * 10 / 9 * 0.1)
    shares = [work.read_s["disks"] / (20 * 10 / 9) for work in (open_, restored, gone)]
    assert shares == pytest.approx([0.25 * 0.9, 0.0, 0.1])
    copied, *rest = remaining_work([SHUFFLE, replace(REDUCE, spread=0.5)], number=1, done=0.75, lost_share=0.1)
    assert copied.exchanged_bytes == pytest.approx(900 * 10 / 9 * 0.025)
    shares = [work.read_s["disks"] / (20 * 10 / 9) for work in rest]
    assert shares == pytest.approx([0.25 * 0.9, 0.75 * 0.2, 0.025])


def test_a_late_loss_costs_another_reading_of_everything() -> None:
    """A loss after 45 of 50 s is noticed 3.75 s later: 10 / 9 x 10 s to read, 10 / 9 x 20 x 1/10 to reduce. The others
    do their open 10 / 9 x 20 x 1/4 x 9/10 in the meantime.
    """
    took_s = seconds_with_loss(
        [SHUFFLE, REDUCE], [NodeGroup(nodes=10)], MACHINES, loss=Loss(nodes=1, share=0.9), phases=lasting(30.0, 20.0)
    )
    assert took_s == pytest.approx(45 + 3.75 + 100 / 9 + 200 / 9 * 0.1, rel=0.02)


def test_emulated_nodes_that_are_left_have_the_whole_machine() -> None:
    """A loss after 45 of 50 s, noticed 3.75 s later: the shared disk reads 10 s again, and 20 x 1/10 to reduce."""
    shared = replace(MACHINES, shares_processors=True)
    took_s = seconds_with_loss(
        [SHUFFLE, REDUCE], [NodeGroup(nodes=10)], shared, loss=Loss(nodes=1, share=0.9), phases=lasting(30.0, 20.0)
    )
    assert took_s == pytest.approx(45 + 3.75 + 10 + 20 * 0.1, rel=0.02)


def test_a_sort_does_not_end_before_its_loss_is_noticed() -> None:
    quick = [
        replace(work, read_s={"disks": 0.01}, exchanged_bytes=0.0, driver_s=0.0, order_s=0.0)
        for work in (SHUFFLE, REDUCE)
    ]
    loss = Loss(nodes=1, share=0.5)
    took_s = seconds_with_loss(quick, [NodeGroup(nodes=10)], MACHINES, loss=loss, phases=lasting(0.01, 0.01))
    assert took_s == pytest.approx(0.01 + noticed_after_s(10), rel=0.01)


def test_restored_copies_wait_for_the_notice_and_for_nothing_else() -> None:
    """A loss after 49 of 50 s, with links: open work is copied in the 3.75 s until the loss is noticed. Then a tenth of
    19/20 is copied, twice, while slices are read again, and then the tenth of the open work. All copies together take
    30 s on the links.
    """
    copies = replace(REDUCE, read_s={"disks": 1.0}, exchanged_bytes=900.0, spread=0.5)
    quick = replace(SHUFFLE, read_s={"disks": 1.0})
    took_s = seconds_with_loss(
        [quick, copies], [NodeGroup(nodes=10)], MACHINES, loss=Loss(nodes=1, share=0.98), phases=lasting(30.0, 20.0)
    )
    assert took_s == pytest.approx(49 + 3.75 + 30 * 10 / 9 * (0.19 + 0.005), rel=0.01)


def test_lost_nodes_leave_the_largest_groups() -> None:
    left = remove_nodes([NodeGroup(nodes=1), NodeGroup(nodes=4), NodeGroup(nodes=16)], 18)
    assert sorted(group.nodes for group in left) == [1, 2]


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(BadInputError, match="--engine ray"):
        check_loss(Loss(nodes=1, share=0.5), [replace(SHUFFLE, tasks=None)], nodes=4)
    with refused("no-node-left", field="--lose"):
        check_loss(Loss(nodes=4, share=0.5), [SHUFFLE], nodes=4)


def test_where_coordinators_order_all_of_them_give_up_what_is_under_way() -> None:
    """Twenty nodes have 8 of 40 slices under way, half done each: at half of 30 s a tenth of the work is redone. Each
    of the other 19 sends 20/19 x (0.6 + 0.4/20) of 900 bytes, and reduces for 20 s as before.
    """
    tasks = replace(MANY, lengths=(1 / 40,) * 40, longest=1 / 40)
    works = [replace(SHUFFLE, driver_s=0.0, order_s=0.0, tasks=tasks), replace(REDUCE, driver_s=0.0, order_s=0.0)]
    took_s = seconds_with_loss(
        works, [NodeGroup(nodes=20)], MACHINES, loss=Loss(nodes=1, share=0.3), phases=lasting(30.0, 20.0)
    )
    sent_s = 30 * 20 / 19 * (0.6 + 0.4 / 20)
    assert took_s == pytest.approx(15 + sent_s + 20 * 20 / 19 + COORDINATORS_BEGIN_S, rel=0.03)


def test_what_was_sent_before_a_loss_is_gone_from_the_buckets() -> None:
    """After 95% of the shuffle all is read and sent again: 900 x 10/9 x (0.05 + 0.095) bytes, which take 4.8 s at 30 a
    second and 1.6 s at 90. In either case the disks read 11 s, and the next phase adds 2 x 20 s.
    """
    works = [replace(SHUFFLE, driver_s=0.0, order_s=0.0, read_s={}), replace(REDUCE, driver_s=0.0, order_s=0.0)]
    bursting = replace(MACHINES, burst_bytes_per_s=90.0, bucket_bytes=9000.0)
    loss = Loss(nodes=1, share=0.57)

    def took_s(full_share: float) -> float:
        phases = lasting(30.0, 20.0, full_share=full_share)
        return seconds_with_loss(works, [NodeGroup(nodes=10)], bursting, loss=loss, phases=phases)

    assert took_s(0.0) - took_s(1.0) == pytest.approx(900 * 10 / 9 * 0.145 * (1 / 30 - 1 / 90), rel=0.1)
