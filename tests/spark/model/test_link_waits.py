"""Waits for a shared link, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.spark.model.link_waits import link_waits_s


def waits(transfer_s: float, other_s: float, *, tasks: int, slots: int) -> float:
    arrays = [np.array([float(x)]) for x in (transfer_s, other_s, tasks, slots)]
    return float(link_waits_s(transfer_s=arrays[0], other_s=arrays[1], tasks=arrays[2], slots_per_node=arrays[3])[0])


@pytest.mark.parametrize(
    ("transfer_s", "other_s", "slots", "seconds"),
    [
        (10, 50, 1, 10),  # one at a time: no task waits for another
        (10, 0, 4, 40),  # tasks that only fetch: each of four waits for all four
        (0, 50, 4, 0),
        # a transfer of 2 s and 3 s of computing: two slots are crowded by 2 x 2 - 3 = 1, (1 + sqrt(1 + 24)) / 2 = 3 s
        (20, 30, 2, 30),
    ],
)
def test_ten_tasks(transfer_s: float, other_s: float, slots: int, seconds: float) -> None:
    assert waits(transfer_s, other_s, tasks=10, slots=slots) == pytest.approx(seconds)


@given(st.floats(0.01, 1e4), st.floats(0, 1e4), st.integers(1, 1000), st.integers(1, 64))
def test_between_the_transfers_alone_and_all_at_once(transfer_s: float, other_s: float, tasks: int, slots: int) -> None:
    seconds = waits(transfer_s, other_s, tasks=tasks, slots=slots)
    assert transfer_s * (1 - 1e-9) <= seconds <= slots * transfer_s * (1 + 1e-9)
    # no link is busy for more than all of the time
    assert (seconds + other_s) / slots >= transfer_s * (1 - 1e-9)
