"""The order in which nodes take tasks."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.simulation.work_queue import CommonWork, WorkQueue, own_work


def all_of(queue: WorkQueue) -> list[float]:
    """Return all shares handed out."""
    shares = []
    while share := queue.next():
        shares.append(share)
    return shares


def test_nodes_do_their_own_tasks_in_order() -> None:
    assert all_of(own_work([0.2, 0.5, 0.3])) == [0.2, 0.5, 0.3]


def test_whoever_asks_gets_the_next_of_all() -> None:
    """One of two nodes asks three times as often: it does three quarters of the work, 1.5 times its own."""
    common = CommonWork(shares=(0.01,) * 100, nodes=2)
    fast, slow = common.queue(1), common.queue(1)
    done = [0.0, 0.0]
    while share := fast.next():
        done[0] += share + fast.next() + fast.next()
        done[1] += slow.next()
    assert done == pytest.approx([1.5, 0.5], abs=0.02)


def test_the_last_tasks_are_as_short_as_the_first() -> None:
    """Lengths depend on how much of all the work has started, not on the node."""
    shares = all_of(CommonWork(shares=(0.1, 0.4, 0.4, 0.1), nodes=2).queue(1))
    assert shares == pytest.approx([0.1, 0.1, 0.4, 0.4, 0.4, 0.4, 0.1, 0.1])


@given(
    lengths=st.lists(st.floats(0.01, 1.0), min_size=1, max_size=20),
    groups=st.lists(st.integers(1, 50), min_size=1, max_size=6),
    data=st.data(),
)
def test_all_work_is_done_once(lengths: Sequence[float], groups: Sequence[int], data: st.DataObject) -> None:
    common = CommonWork(shares=[length / sum(lengths) for length in lengths], nodes=sum(groups))
    queues = [common.queue(nodes) for nodes in groups]
    done = 0.0
    while True:
        group = data.draw(st.integers(0, len(groups) - 1))
        if not (share := queues[group].next()):
            break
        done += share * groups[group]
    assert done == pytest.approx(sum(groups), rel=1e-6)
