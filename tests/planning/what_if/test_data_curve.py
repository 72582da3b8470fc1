"""One point per data size, in order, with a reason where no cluster is feasible."""

from __future__ import annotations

import planner
from planner.planning.what_if.data_curve import curve_json, data_points


def test_a_point_has_the_figures_of_its_plan_and_one_without_a_cluster_the_reason() -> None:
    small = planner.recommend("1TB", instance="i4i.4xlarge").plan
    large = planner.recommend("900TB", instance="i4i.4xlarge", nodes=2).plan
    first, second = data_points([large, small])
    assert (first.data_bytes, second.data_bytes) == (10**12, 9 * 10**14)
    assert small.best is not None and first.cluster is small.best and not first.why_not
    assert first.whole_run_s == small.best.whole_run_s > (first.sort_s or 0) > 0
    assert first.total_usd == small.best.cost_usd.total
    assert (second.cluster, second.sort_s, second.whole_run_s, second.total_usd) == (None, None, None, None)
    assert second.why_not.startswith("nothing feasible")


def test_what_ifs_on_the_data_move_a_point() -> None:
    (point,) = data_points([planner.recommend("1TB", instance="i4i.4xlarge", scale={"data": 2}).plan])
    assert point.data_bytes == 2 * 10**12


def test_a_document_of_several_plans_has_the_version_of_each() -> None:
    assert curve_json([{"version": 3, "best": None}]) == {"version": 3, "plans": [{"version": 3, "best": None}]}
    assert curve_json([{"best": None}]) == {"plans": [{"best": None}]}
