"""The clock: flows end when they have moved their amount, regardless of other flows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from planner.arrays import Floats
from planner.simulation.events import ITSELF, UNLIMITED, Capacities, Clock, Sharing, max_min


def clock_of(capacity: float, *, kinds: int = 1, burst: float | None = None, size: float = 0.0) -> Clock:
    """Return a clock of one resource; every kind of flow takes 1 of it for each unit."""
    capacities = Capacities.of(np.array([capacity]), burst=np.array([burst or capacity]), size=np.array([size]))
    return Clock(usage=np.ones((kinds, 1)), most=np.full(kinds, np.inf), capacities=capacities)


def test_two_flows_share_until_the_shorter_ends() -> None:
    """At 10 a second together: 20 of each by 4 s, then the longer one's other 30 by 7 s."""
    clock, ends = clock_of(10.0, kinds=2), list[tuple[str, float]]()
    clock.start(0, 20.0, lambda: ends.append(("short", clock.now_s)))
    clock.start(1, 50.0, lambda: ends.append(("long", clock.now_s)))
    assert [stretch.end_s for stretch in clock.run()] == [4.0, 7.0]
    assert ends == [("short", 4.0), ("long", 7.0)]


def test_a_flow_may_start_another() -> None:
    clock, ends = clock_of(2.0), list[float]()
    clock.start(0, 6.0, lambda: clock.start(0, 4.0, lambda: ends.append(clock.now_s)))
    list(clock.run())
    assert ends == [pytest.approx(5.0)]  # (6 + 4) / 2


def test_a_bucket_that_empties_is_an_event() -> None:
    """100 tokens allow 30 a second for 5 s: 150 of 200; the other 50 take 5 s at 10."""
    clock = clock_of(10.0, burst=30.0, size=100.0)
    clock.start(0, 200.0, lambda: None)
    assert [stretch.end_s for stretch in clock.run()] == [5.0, 10.0]


def test_it_stops_when_told_and_goes_on() -> None:
    clock, ends = clock_of(1.0), list[float]()
    clock.start(0, 8.0, lambda: ends.append(clock.now_s))
    list(clock.run(until_s=3.0))
    assert clock.now_s == 3.0 and not ends
    list(clock.run())
    assert ends == [8.0]


def test_a_resource_that_gives_nothing_is_an_error_not_an_endless_wait() -> None:
    clock = clock_of(0.0)
    clock.start(0, 1.0, lambda: None)
    with pytest.raises(ValueError, match="gives nothing"):
        list(clock.run())


@given(amounts=st.lists(st.floats(0.1, 100.0), min_size=1, max_size=30))
def test_a_busy_resource_loses_nothing(amounts: list[float]) -> None:
    """A resource that is never idle ends after the sum of the amounts, over its capacity."""
    clock, ends = clock_of(4.0, kinds=3), list[float]()
    for number, amount in enumerate(amounts):
        clock.start(number % 3, amount, lambda: ends.append(clock.now_s))
    list(clock.run())
    assert len(ends) == len(amounts)
    assert clock.now_s == pytest.approx(sum(amounts) / 4.0)


def bucket() -> Capacities:
    """A link of 10 bytes/s that bursts to 30 while its 100 tokens last, and one without a bucket."""
    return Capacities.of(np.array([10.0, 7.0]), burst=np.array([30.0, 7.0]), size=np.array([100.0, 0.0]))


def test_a_bucket_lasts_as_long_as_its_tokens() -> None:
    link = bucket()
    assert link.at_present().tolist() == [30.0, 7.0]
    load = np.array([30.0, 7.0])
    assert link.change_in_s(load) == 5.0  # 100 / (30 - 10)
    link.pass_s(5.0, load)
    assert link.at_present().tolist() == [10.0, 7.0]
    assert link.change_in_s(np.array([10.0, 7.0])) == np.inf


def test_tokens_come_back_while_less_is_sent_but_no_more_than_fit() -> None:
    link = bucket()
    link.pass_s(4.0, np.array([30.0, 0.0]))  # 100 - 4 x 20 = 20 are left
    link.pass_s(2.0, np.array([4.0, 0.0]))  # + 2 x 6
    assert link.tokens.tolist() == [32.0, 0.0]
    link.pass_s(1000.0, np.zeros(2))
    assert link.tokens.tolist() == [100.0, 0.0]


def shared(usage: list[list[float]], capacity: list[float], *, counts: list[float], most: list[float]) -> Sharing:
    return max_min(usage=np.array(usage), capacity=np.array(capacity), counts=np.array(counts), most=np.array(most))


def test_flows_on_one_link_get_equal_parts() -> None:
    sharing = shared([[1.0], [1.0]], [12.0], counts=[3, 1], most=[np.inf, np.inf])  # 12 / (3 + 1)
    assert sharing.rates.tolist() == [3.0, 3.0]
    assert sharing.held_by.tolist() == [0, 0]


def test_what_a_slow_link_leaves_goes_to_the_others() -> None:
    """The textbook's line of links: A uses links 1 (10) and 2 (4), B link 1, C link 2. A and C get 2 each, B 10 - 2."""
    sharing = shared([[1, 1], [1, 0], [0, 1]], [10.0, 4.0], counts=[1, 1, 1], most=[np.inf] * 3)
    assert sharing.rates.tolist() == [2.0, 8.0, 2.0]
    assert sharing.held_by.tolist() == [1, 0, 1]


def test_a_flow_with_a_limit_of_its_own_leaves_the_rest() -> None:
    sharing = shared([[1.0], [1.0]], [10.0], counts=[1, 1], most=[2.0, np.inf])  # 2, and 10 - 2
    assert sharing.rates.tolist() == [2.0, 8.0]
    assert sharing.held_by.tolist() == [ITSELF, 0]


def test_a_heavy_user_counts_for_what_it_takes() -> None:
    """At an equal rate x one flow takes 3 x and the other x of 8: x = 2."""
    assert shared([[3.0], [1.0]], [8.0], counts=[1, 1], most=[np.inf] * 2).rates.tolist() == [2.0, 2.0]


def test_a_flow_of_nothing_has_no_limit() -> None:
    sharing = shared([[0.0], [1.0]], [5.0], counts=[1, 1], most=[np.inf, np.inf])
    assert sharing.rates.tolist() == [np.inf, 5.0]
    assert sharing.held_by.tolist() == [UNLIMITED, 0]


KINDS, RESOURCES = 6, 4
amounts = st.floats(0.01, 100.0)
usages = arrays(float, (KINDS, RESOURCES), elements=st.one_of(st.just(0.0), amounts))


@given(
    usage=usages,
    capacity=arrays(float, RESOURCES, elements=amounts),
    counts=arrays(float, KINDS, elements=st.integers(0, 50).map(float)),
    most=arrays(float, KINDS, elements=st.one_of(st.just(np.inf), amounts)),
)
def test_no_resource_gives_more_than_it_has_and_each_flow_has_a_bottleneck(
    usage: Floats, capacity: Floats, counts: Floats, most: Floats
) -> None:
    """A max-min fair share gives each flow a full resource on which no other flow is faster, or its own limit."""
    sharing = max_min(usage=usage, capacity=capacity, counts=counts, most=most)
    moving = counts > 0
    assert (sharing.rates[~moving] == 0).all()
    limited = moving & np.isfinite(sharing.rates)
    given_out = (counts * np.where(limited, sharing.rates, 0.0)) @ usage
    assert (given_out <= capacity * (1 + 1e-9)).all()
    for row in np.flatnonzero(moving).tolist():
        rate, holder = sharing.rates[row], sharing.held_by[row]
        assert rate <= most[row] * (1 + 1e-9)
        if holder == UNLIMITED:
            assert not usage[row].any() and np.isinf(most[row])
        elif holder == ITSELF:
            assert rate == most[row]
        else:
            users = moving & (usage[:, holder] > 0)
            assert given_out[holder] == pytest.approx(capacity[holder])
            assert rate >= sharing.rates[users].max() * (1 - 1e-9)
