"""Cloud Truth: Scalyr's six criteria, applied to a figure, and the worst figure behind a plan."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from planner.api.recommend import recommend as recommend_by
from planner.catalog import load_catalog
from planner.catalog.measurement_quality import CRITERIA, score_of, scores_behind

recommend = partial(recommend_by, engine="ideal")
"""These sums use the equations alone."""

PERFECT = {
    "evidence": "measured", "mode": "read_only", "instances": 45.0, "period_days": 7.0, "method": "fio rw=read bs=1M",
    "disks": 2.0, "aggregate": "mean",
}  # fmt: skip


def test_all_six_can_be_met() -> None:
    truth = score_of("disks", PERFECT)
    assert truth.met == CRITERIA and truth.score == 6
    assert truth.text == "cloud truth 6 of 6: disks"


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        ({"mode": "whole_job"}, "a basic property"),
        ({"instances": 1.0}, "many instances"),
        ({"instances": float("nan")}, "many instances"),
        ({"period_days": 0.01}, "a substantial period"),
        ({"evidence": "derived"}, "a reproducible method"),
        ({"disks": float("nan")}, "what was measured"),
        ({"aggregate": "documented"}, "how it was aggregated"),
    ],
)
def test_each_criterion_is_lost_alone(change: dict[str, Any], lost: str) -> None:
    truth = score_of("disks", PERFECT | change)
    assert set(CRITERIA) - set(truth.met) == {lost}
    assert lost in truth.text


@pytest.mark.parametrize("evidence", ["spec", "recalled", "assumed", "extrapolated"])
def test_what_nobody_measured_meets_none(evidence: str) -> None:
    truth = score_of("disks", PERFECT | {"evidence": evidence})
    assert truth.score == 0 and "not measured" in truth.text


def test_the_papers_figures_as_the_catalog_has_them() -> None:
    """The slowest of 178 nodes is a measurement; the 2-node baseline need not state many instances."""
    truths = scores_behind(load_catalog("aws-2014"), "i2.8xlarge", ["data_disks", "intermediate_disks", "network"])
    assert [truth.score for truth in truths] == sorted(truth.score for truth in truths)
    assert {truth.what for truth in truths} >= {"network at 2 nodes", "network at 178 nodes"}


def test_the_mode_scored_is_the_mode_planned_with(make_catalog: Callable[..., str]) -> None:
    both = load_catalog(make_catalog({"a": {"read": 1e9, "write": 1e9, "both": 5e8}}))
    alone = load_catalog(make_catalog({"a": {"read": 1e9, "write": 1e9}}))
    assert [t.what for t in scores_behind(both, "a", ["local_disks"])] == ["local disks (simultaneous)"]
    assert len(scores_behind(alone, "a", ["local_disks", "data_disks", "cpu"])) == 2


def test_a_plan_shows_the_worst_figure_behind_its_best(make_catalog: Callable[..., str]) -> None:
    point = {"instance_type": "a", "nodes": 2, "placement_group": "yes", "bytes_per_s": 1e9, "aggregate": "mean"}
    networks = [{**point, "method": "netbench", "instances": 20, "period_days": 0.1}]
    catalog = make_catalog({"a": {"both": 5e8}}, networks=networks)
    best = recommend(data="1TB", model="daytona", catalogs=[catalog]).best
    assert best is not None
    assert [w for w in best.warnings if w.startswith("cloud truth")] == [
        "cloud truth 3 of 6: local disks (simultaneous), lacks many instances, a substantial period, what was measured"
    ]


def test_what_the_user_assumed_is_not_scored(make_catalog: Callable[..., str]) -> None:
    catalog = make_catalog({"a": {"both": 5e8}})
    assumed = {"local_read": 1e9, "local_write": 1e9, "network": 1e9}
    best = recommend(data="1TB", model="daytona", catalogs=[catalog], assume=assumed).best
    assert best is not None
    assert not [w for w in best.warnings if w.startswith("cloud truth")]


def test_an_extrapolated_network_says_what_it_rests_on_and_how_wide_it_is(make_catalog: Callable[..., str]) -> None:
    point = {"instance_type": "a", "placement_group": "yes", "aggregate": "mean", "method": "netbench"}
    networks = [{**point, "nodes": n, "bytes_per_s": r} for n, r in ((2, 1e9), (4, 9e8))]
    catalog = make_catalog({"a": {"both": 5e8}}, networks=networks)

    def warnings_at(nodes: int) -> list[str]:
        best = recommend(data="1TB", model="daytona", catalogs=[catalog], nodes=nodes).best
        return [warning for warning in best.warnings if "nine times in ten" in warning] if best else ["infeasible"]

    assert warnings_at(4) == []
    assert len(warnings_at(100)) == 1
    assert "family prior: only 2 cluster sizes of 4 measured; at 100 nodes" in warnings_at(100)[0]
