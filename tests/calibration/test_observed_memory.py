"""Memory use shown in logs replaces the prior: on the made-up job of test_memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from approvals import Approve
from test_memory import SPECS, fits, spark, table

from planner.calibration import calibrate
from planner.calibration.fit import with_observed_memory
from planner.calibration.history import parse_jobs
from planner.calibration.priors import families
from planner.errors import BadInputError

KEPT = 0.6
"""GB that the job keeps per GB of data."""


def fitting(*, kept: float | None, **more: float) -> list[dict[str, Any]]:
    """Return three runs that fit, with the memory use shown in their logs."""
    seen = {} if kept is None else {"cached_gb": kept * 100.0}
    return [{**row, **seen, **more} for row in table(100.0) if fits(row)][:3]


def test_kept_data_that_was_seen_tells_which_clusters_do_not_hold_more(approve: Approve) -> None:
    profile, asked = spark(fitting(kept=KEPT)), table(150.0)
    weights = {way.family.working_set.gb_per_gb for way in profile.verdict.explanations if way.family.in_memory}
    assert weights <= {0.0, KEPT}  # explanations without cores hold nothing
    approve(profile.explain()["memory"]["sentence"])
    told = profile.predict(asked)["runtime_s"]
    held = np.array([fits(row) for row in asked])
    true = np.array([row["runtime_s"] for row in asked])
    assert np.median(np.abs(np.log(told[held] / true[held]))) < 0.2
    assert np.median((told / spark(fitting(kept=0.0)).predict(asked)["runtime_s"])[~held]) > 2


def test_a_job_that_was_seen_to_keep_nothing_needs_no_charge_for_memory(approve: Approve) -> None:
    profile = spark(fitting(kept=0.0, task_memory_gb=0.1))
    assert {way.family.working_set.gb_per_gb for way in profile.verdict.explanations} == {0.0}
    approve(profile.explain()["memory"]["sentence"])
    ratio = {kept: self_range(fitting(kept=kept)) for kept in (0.0, None)}
    assert ratio[0.0] < ratio[None]


def self_range(runs: list[dict[str, Any]]) -> float:
    told = spark(runs).predict([{**row, "data_gb": 200.0} for row in runs])
    return float(np.median(told["hi"] / told["lo"]))


def test_kept_data_that_filled_the_memory_may_be_more() -> None:
    runs = [{**row, "cached_gb": 10.0, "usable_gb": 10.0} for row in fitting(kept=None)]
    held = {way.family.working_set.gb_per_gb for way in spark(runs).verdict.explanations}
    assert min(held - {0.0}) >= 0.1
    assert len(held - {0.0}) > 1


def test_memory_of_tasks_stands_in_place_of_the_believed() -> None:
    held = {
        way.family.working_set.gb_per_core for way in spark(fitting(kept=KEPT, task_memory_gb=3.0)).verdict.explanations
    }
    assert held <= {0.0, 3.0}
    assert 3.0 in held


def test_the_odds_of_other_explanations_stay() -> None:
    believed = families("framework")
    profile = spark(fitting(kept=KEPT))
    seen = with_observed_memory(believed, parse_jobs(fitting(kept=KEPT), what="runs", timed=True), profile.machines)
    assert sum(family.odds for family in seen) == pytest.approx(sum(family.odds for family in believed))


def test_a_profile_keeps_what_was_seen() -> None:
    profile = spark(fitting(kept=KEPT, task_memory_gb=0.5))
    again = type(profile).from_dict(profile.to_dict())
    assert [run.memory for run in again.runs] == [run.memory for run in profile.runs]
    assert again.runs[0].memory.cached_gb == 60.0


def test_no_memory_is_negative(approve: Approve) -> None:
    with pytest.raises(BadInputError, match="bad cell") as caught:
        calibrate([{**fitting(kept=None)[0], "cached_gb": -1}], instances=SPECS)
    approve(caught.value.details)
