"""Which of several clusters comes first, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.cost_model.estimate import Estimates
from planner.planning.selection import Cell, best_cell, frontier, least_and_limit
from planner.schemas.plan import Objective

ESTIMATES = Estimates(
    nodes=np.array([1.0, 2.0, 3.0]),
    fewest=np.ones(2),
    expected_s=np.array([[100.0, 60.0, 50.0], [90.0, 55.0, 40.0]]),
    total_usd=np.array([[10.0, 10.2, 12.0], [11.0, 13.0, 20.0]]),
    total_p95_usd=None,
    charges_usd=np.zeros(2),
    power_w=np.array([100.0, 1000.0]),
)
GOOD = np.ones((2, 3), bool)


@pytest.mark.parametrize(
    ("objective", "row", "column"), [("balanced", 0, 1), ("cost", 0, 0), ("time", 1, 2), ("energy", 0, 0)]
)
def test_each_objective_has_its_best_cluster(objective: Objective, row: int, column: int) -> None:
    """Balanced takes the fastest within 5% of $10; 3 nodes of 100 W and a switch of 1300 W take 80 kJ in 50 s."""
    best = best_cell(np.arange(2), ESTIMATES, GOOD, objective=objective, limit_usd=10.5)
    assert best == Cell(row=row, column=column)


def test_a_type_above_the_least_shows_its_own_fastest_within_the_slack() -> None:
    best = best_cell(np.array([1]), ESTIMATES, GOOD, objective="balanced", limit_usd=1.05)
    assert best == Cell(row=1, column=0)


def test_what_is_not_admissible_is_never_chosen() -> None:
    nothing = np.zeros((2, 3), bool)
    assert best_cell(np.arange(2), ESTIMATES, nothing, objective="time", limit_usd=10.5) is None
    assert frontier(ESTIMATES, nothing) == []


def test_the_frontier_is_what_nothing_beats_in_time_and_cost() -> None:
    on_frontier = [(ESTIMATES.expected_s[cell.row, cell.column], cell) for cell in frontier(ESTIMATES, GOOD)]
    assert [time for time, _ in on_frontier] == [40, 50, 60, 100]


def test_charges_do_not_widen_the_slack() -> None:
    """Of $10, $8 are traffic: 5% of the other $2 are $0.10, so that $10.20 for the faster cluster is too much."""
    charged = replace(ESTIMATES, charges_usd=np.array([8.0, 8.0]))
    least, limit = least_and_limit(charged, GOOD)
    assert (least, limit) == (10.0, pytest.approx(10.1))
    assert best_cell(np.arange(2), charged, GOOD, objective="balanced", limit_usd=limit) == Cell(row=0, column=0)
    assert best_cell(np.array([1]), charged, GOOD, objective="balanced", limit_usd=limit) == Cell(row=1, column=0)
    assert least_and_limit(charged, np.zeros((2, 3), bool)) == (np.inf, np.inf)
