"""The next run to make, and the cheapest cluster for a deadline."""

from __future__ import annotations

import math

import numpy as np
import pytest
from made_up_clusters import SPECS, grid, job, runs
from refusals import refused

from planner.calibration import Profile, calibrate, cheapest_within
from planner.calibration.experiment import settling_run
from planner.calibration.history import parse_jobs
from planner.errors import BadInputError, InfeasibleError


def spark(rows: list[dict]) -> Profile:
    return calibrate(rows, instances=SPECS, model="spark")


def width_of(profile: Profile, query: list[dict]) -> float:
    ranges = profile.predict(query)
    return float(np.log(ranges["hi"] / ranges["lo"]).mean())


def test_the_next_run_narrows_the_ranges_more_than_a_repeat_would() -> None:
    history = runs([job(nodes=4), job(nodes=6)])
    query = grid(nodes=(4, 8, 12), sizes=(20, 40))
    advice = spark(history).next_run(query)
    assert advice.range_ratio_after < advice.range_ratio_before
    made, repeated = (
        spark(history + runs([row], noise=0.0))
        for row in (job(advice.instance_type, advice.nodes, advice.data_gb), job(nodes=4))
    )
    assert width_of(made, query) < width_of(repeated, query)


def test_the_next_run_is_one_of_the_candidates_and_has_its_price() -> None:
    advice = spark(runs([job()])).next_run([job("large", 8, 40.0)], candidates=[job("large", 3, 10.0)])
    assert (advice.instance_type, advice.nodes, advice.data_gb) == ("large", 3, 10.0)
    assert advice.cost_usd == pytest.approx(3 * 0.8 * advice.runtime_s / 3600)


def test_an_unknown_price_stays_unknown() -> None:
    assert math.isnan(spark([]).next_run(candidates=[job("fast")]).cost_usd)


def test_without_machines_there_is_no_next_run() -> None:
    with pytest.raises(BadInputError, match="no machine type"):
        calibrate([], instances={}).next_run()


def test_the_next_run_knows_two_populations() -> None:
    rows = grid() + grid()
    mixed = [{**run, "runtime_s": run["runtime_s"] * (1.7 if i > 17 else 1)} for i, run in enumerate(runs(rows))]
    profile = spark(mixed)
    assert profile.populations is not None
    assert 1 < profile.next_run().range_ratio_after <= profile.next_run().range_ratio_before


def test_a_deadline_is_met_by_the_upper_end_of_the_range() -> None:
    profile = spark(runs(grid(types=("small", "large"))))
    where = {"data_gb": 40.0, "nodes": range(2, 16), "instance_types": ["small", "large"]}
    ranges = profile.predict(grid(types=("small", "large"), nodes=range(2, 16), sizes=(40,)))
    loose, tight = (float(ranges["hi"].min()) * slack for slack in (1.3, 1.05))
    choice, tighter = (cheapest_within(profile, deadline_s=deadline_s, **where) for deadline_s in (loose, tight))
    assert choice.runtime_s < choice.hi_s <= loose
    assert tighter.hi_s <= tight
    assert tighter.cost_usd >= choice.cost_usd


def test_no_cluster_within_the_deadline_names_the_nearest() -> None:
    with pytest.raises(InfeasibleError, match="surely finishes within 1 s") as caught:
        cheapest_within(spark(runs(grid())), deadline_s=1, data_gb=40.0, nodes=[2, 4], instance_types=["small"])
    assert "4 x small" in str(caught.value)


def test_nothing_to_choose_from_is_bad_input() -> None:
    with refused("nothing-to-choose"):
        cheapest_within(spark([]), deadline_s=1, data_gb=1.0, nodes=[])


def test_a_type_that_never_ran_names_the_run_that_settles_its_range() -> None:
    profile = spark(runs(grid(types=("small",))))
    (target,) = parse_jobs([job("large", 8, 40.0)], what="query", timed=False)
    run = settling_run(profile, target)
    assert run is not None
    assert (run.instance_type, run.nodes <= 8, run.data_gb <= 40) == ("large", True, True)
    assert run.range_ratio_after < run.range_ratio_before
    made = profile.with_runs(runs([job("large", run.nodes, run.data_gb)], noise=0.0))
    _, low, high = made.mixture([target]).range_s()[:, 0]
    assert high / low < run.range_ratio_before
    assert f"on {run.nodes} x large with" in run.settles()
    assert settling_run(made, target) is None


def test_machines_that_a_profile_does_not_know_are_settled_as_those_it_knows() -> None:
    few = {name: SPECS[name] for name in ("small",)}
    profile = calibrate(runs(grid(types=("small",))), instances=few, model="spark")
    (target,) = parse_jobs([job("large", 8, 40.0)], what="query", timed=False)
    whole = calibrate(runs(grid(types=("small",))), instances=SPECS, model="spark")
    assert settling_run(profile, target, instances=SPECS) == settling_run(whole, target)
