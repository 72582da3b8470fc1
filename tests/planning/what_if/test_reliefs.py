"""What-ifs of several factors at once: each layout of a batch is as it would be alone at its factor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import planner
from planner.api.type_questions import _grid
from planner.cost_model.clusters import Clusters
from planner.cost_model.estimate import estimate
from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.schemas.plan import Candidate

ASKED = (
    {"model": "daytona"},
    {"model": "framework", "what_if": {"driver": 0.5, "startup": 3.0, "barriers": 2.0}},
    {"model": "object-store"},
    {"model": "cloudsort", "input": "s3://bucket/in", "output": "s3://bucket/out", "what_if": {"network": 0.7}},
    {"model": "indy", "instances": ["i3en.24xlarge"], "objective": "cost"},
)


def planned(asked: dict[str, Any]) -> tuple[Candidate, CandidateGrid]:
    changes = asked.get("what_if", {})
    answer = planner.recommend("20TB", cloud="aws", **{name: of for name, of in asked.items() if name != "what_if"})
    answer = answer.what_if(**changes) if changes else answer
    assert answer.best is not None
    return answer.best, _grid(answer.plan.request, answer.best)


@pytest.mark.parametrize("asked", ASKED)
def test_reliefs_are_those_of_one_resource_at_a_time(asked: dict[str, Any]) -> None:
    best, grid = planned(asked)
    rows = next(rows for rows in grid.rows_of_types() if grid.type_name(int(rows[0])) == best.instance_type)
    nodes, whole_s = np.full(len(rows), float(best.nodes)), best.time_s.expected + sum(best.overheads_s.values())
    assert {"startup", "barriers"} < best.reliefs_s.keys()
    for name, saved_s in best.reliefs_s.items():
        relieved = Clusters(context=grid.context.only_rows(rows).times({name: 2.0}), offer=grid.offer, nodes=nodes)
        least_s = float(np.min(relieved.expected_s + relieved.around_s))
        assert saved_s == pytest.approx(max(0.0, whole_s - least_s), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("rate", ["local", "volumes", "objects", "network"])
def test_estimates_of_layouts_at_their_own_factors_are_those_of_each_alone(asked: dict[str, Any], rate: str) -> None:
    _, grid = planned(asked)
    factors, rows = [0.1, 1.0, 3.0], np.arange(min(4, len(grid.context.layouts.type_row)))
    nodes = grid.nodes[::50]
    batch = grid.context.only_rows(np.tile(rows, 3)).times({rate: np.repeat(factors, len(rows))})
    together = estimate(batch, grid.offer, nodes=nodes, budgeted=True)
    for at, factor in enumerate(factors):
        context = grid.context.only_rows(rows).times({rate: factor})
        alone = estimate(context, grid.offer, nodes=nodes, budgeted=True)
        of_factor = slice(at * len(rows), (at + 1) * len(rows))
        np.testing.assert_allclose(together.expected_s[of_factor], alone.expected_s, rtol=1e-9)
        np.testing.assert_allclose(together.total_usd[of_factor], alone.total_usd, rtol=1e-9)


def test_a_layout_that_does_not_hold_the_data_relieves_nothing() -> None:
    """Four nodes hold 1 TB on their disks; in their memory, which would be faster, 29 would be needed."""
    answer = planner.recommend("1TB", cloud="aws", engine="ideal")
    assert answer.best is not None
    whole_s = answer.best.time_s.expected + sum(answer.best.overheads_s.values())
    for name, made in answer.reliefs(2.0).items():
        saved_s = max(0.0, whole_s - made.time_s.expected - sum(made.overheads_s.values()))
        assert answer.best.reliefs_s[name] == pytest.approx(saved_s, abs=1e-6 * whole_s)
