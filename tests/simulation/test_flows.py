"""Max-min fair sharing: known answers by hand, and what must hold of any sharing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from planner.arrays import Floats
from planner.simulation.flows import ITSELF, UNLIMITED, Sharing, max_min


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
    """At the same rate x one takes 3 x and the other x of 8: x = 2."""
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
    """Max-min fair is what leaves each flow a full resource on which no other flow is faster, or its own limit."""
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
