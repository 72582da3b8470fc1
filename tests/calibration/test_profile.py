"""Predictions of a profile from no runs, few and many, and its description of itself."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_clusters import SPECS, grid, job, runs, true_seconds

from planner.calibration import MODELS, Profile, calibrate
from planner.calibration.posterior import weights
from planner.calibration.priors import ONE_STREAM, families
from planner.errors import BadInputError


def spark(rows: list[dict], **more: object) -> Profile:
    return calibrate(rows, instances=SPECS, model="spark", **more)


def error_of(profile: Profile, query: list[dict]) -> float:
    return float(np.mean(np.abs(profile.predict(query)["runtime_s"] / true_seconds(query) - 1)))


def width_of(profile: Profile, query: list[dict]) -> float:
    ranges = profile.predict(query)
    return float(np.log(ranges["hi"] / ranges["lo"]).mean())


def test_without_runs_the_prior_answers_with_a_wide_range_around_the_truth() -> None:
    ranges = spark([]).predict(grid())
    truth = true_seconds(grid())
    assert ((ranges["lo"] < truth) & (truth < ranges["hi"])).all()
    assert (ranges["hi"] / ranges["lo"] > 2).all()


def test_without_runs_the_median_is_near_the_priors_centre() -> None:
    centre = true_seconds(grid(), families("hadoop")[0].mean)
    unrun = calibrate([], instances=SPECS, model="hadoop")
    np.testing.assert_allclose(unrun.predict(grid())["runtime_s"], centre, rtol=0.03)


def test_without_runs_the_median_lies_between_the_explanations() -> None:
    centres = [true_seconds(grid(), family.mean, stream=family.stream) for family in families("spark")]
    median = spark([]).predict(grid())["runtime_s"]
    assert ((np.min(centres, axis=0) * 0.98 < median) & (median < np.max(centres, axis=0) * 1.02)).all()


@pytest.mark.parametrize("model", ["spark", "framework", "hadoop"])
@pytest.mark.parametrize("work", [0.1, 10.0])
def test_without_runs_the_range_holds_jobs_that_are_no_sorts(model: str, work: float) -> None:
    """PageRank on Spark takes eleven times as long as sorting its data."""
    ranges = calibrate([], instances=SPECS, model=model).predict(grid())
    truth = work * true_seconds(grid(), families(model)[0].mean, stream=families(model)[0].stream)
    assert ((ranges["lo"] < truth) & (truth < ranges["hi"])).all()


def test_native_sorters_are_sorters() -> None:
    """The explanations of bytes at device speed leave no work open: even 8 times the time is outside the range."""
    native = calibrate([], instances=SPECS, model="native").predict(grid())
    assert (native["hi"] / native["runtime_s"] < 8).all()
    assert {family.work.spread for family in families("native")} == {1e-5}


def test_spark_jobs_that_are_no_sorts_lean_less_on_disks_and_those_of_hadoop_do_not() -> None:
    centres = {
        model: {(family.work.spread > 1, family.disk.centre) for family in families(model)}
        for model in ("spark", "hadoop")
    }
    assert centres == {"spark": {(False, 2), (True, 0.5)}, "hadoop": {(False, 2), (True, 2)}}


def test_before_any_run_half_of_the_belief_leaves_the_work_open() -> None:
    explanations = spark([]).verdict.explanations
    open_work = [explanation.family.work.spread > 1 for explanation in explanations]
    assert float(weights(explanations)[open_work].sum()) == pytest.approx(0.5, abs=0.01)


def test_five_runs_of_a_job_of_ten_times_the_work_foresee_the_others() -> None:
    history = [{**row, "runtime_s": 10 * row["runtime_s"]} for row in runs(grid(nodes=(2, 4, 12), sizes=(10, 40)))[:5]]
    error = np.abs(spark(history).predict(grid())["runtime_s"] / (10 * true_seconds(grid())) - 1)
    assert error.mean() < 0.1


def test_more_runs_bring_the_prediction_nearer_and_narrow_the_range() -> None:
    history = runs([*grid(nodes=(2, 4, 12), sizes=(10, 40)), *grid(), *grid(nodes=(3, 5, 10))])
    profiles = [spark(history[:count]) for count in (0, 1, 3, 30)]
    errors, widths = ([measure(p, grid()) for p in profiles] for measure in (error_of, width_of))
    assert errors[0] > errors[2] > errors[3]
    assert errors[3] < 0.02
    assert widths == sorted(widths, reverse=True)


def test_one_run_sets_the_level_of_its_own_type_and_leaves_other_scales_wide() -> None:
    profile = spark(runs([job(nodes=4)], noise=0))
    assert error_of(profile, [job(nodes=4)]) < 0.05
    assert width_of(profile, [job(nodes=40)]) > 1.5 * width_of(profile, [job(nodes=4)])


def test_a_type_a_scale_and_a_size_never_run_are_predicted_and_truth_lies_in_the_range() -> None:
    profile = spark(runs(grid()))
    query = [job("large", 6, 30.0), job("fast", 8, 20.0), job("small", 30, 20.0), job("small", 8, 200.0)]
    ranges, truth = profile.predict(query), true_seconds(query)
    assert ((ranges["lo"] < truth) & (truth < ranges["hi"])).all()
    assert width_of(profile, query[:1]) > width_of(profile, [job(nodes=8)])


def test_the_name_of_a_type_means_nothing() -> None:
    renamed = calibrate(
        [{**row, "instance_type": "x9"} for row in runs(grid())],
        instances={"x9": SPECS["small"], "y": SPECS["fast"]},
        model="spark",
    )
    ours, theirs = spark(runs(grid())).predict([job("fast")]), renamed.predict([job("y")])
    np.testing.assert_array_equal(ours.to_numpy(), theirs.to_numpy())


def test_ranges_hold_ninety_percent_of_runs_of_frameworks_drawn_from_the_prior() -> None:
    """These follow the physics exactly; ranges allow for deviations from it, so they may hold more than 90%."""
    rng, held = np.random.default_rng(3), []
    for seed in range(40):
        family = ONE_STREAM[rng.integers(len(ONE_STREAM))]
        coefficients, stream = family.mean + family.sd * rng.standard_normal(len(family.sd)), family.stream
        rows = grid(types=("small", "large"), nodes=(2, 4, 8, 16))
        chosen = rng.choice(len(rows), 5, replace=False)
        profile = spark(runs([rows[i] for i in chosen], seed=seed, coefficients=coefficients, stream=stream))
        fresh = runs(rows, seed=seed + 1000, coefficients=coefficients, stream=stream)
        ranges, times = profile.predict(rows), [run["runtime_s"] for run in fresh]
        held += ((ranges["lo"] < times) & (times < ranges["hi"])).tolist()
    assert np.mean(held) > 0.87


def test_scattered_repeats_widen_the_range() -> None:
    quiet, loud = (spark(runs(grid() * 2, noise=noise)) for noise in (0.01, 0.2))
    assert width_of(loud, grid()) > 3 * width_of(quiet, grid())


def test_the_undecided_framework_ends_near_whichever_family_the_runs_show() -> None:
    undecided = calibrate(runs(grid()), instances=SPECS, model="framework")
    assert undecided.explain()["prior"]["name"].startswith("one output stream")
    assert "distributed output" in calibrate([], instances=SPECS).explain()["rivals"]["weights"]


def test_an_option_that_matters_is_learned_and_one_never_seen_widens_the_range() -> None:
    history = [
        {**run, "iterations": n, "runtime_s": run["runtime_s"] * n**0.5}
        for n in (1, 4, 16)
        for run in runs(grid(nodes=(2, 4, 8)))
    ]
    profile = spark(history)
    seen, unseen = [job(iterations=8)], [job(iterations=500)]
    assert profile.predict(seen)["runtime_s"][0] == pytest.approx(true_seconds([job()])[0] * 8**0.5, rel=0.1)
    assert width_of(profile, unseen) > 2 * width_of(profile, seen)


def test_a_record_count_that_only_repeats_the_size_teaches_nothing() -> None:
    plain = spark(runs(grid()))
    counted = spark([{**run, "lines": run["data_gb"] * 1e7} for run in runs(grid())])
    query = job(data_gb=80.0)
    np.testing.assert_allclose(counted.predict([{**query, "lines": 8e8}]), plain.predict([query]), rtol=1e-6)


def test_named_options_shift_and_an_unknown_name_widens() -> None:
    history = [
        {**r, "variant": v, "runtime_s": r["runtime_s"] * f} for v, f in (("a", 1.0), ("b", 1.6)) for r in runs(grid())
    ]
    profile = spark(history)
    a, b, c = (profile.predict([job(variant=v)]) for v in "abc")
    assert b["runtime_s"][0] / a["runtime_s"][0] == pytest.approx(1.6, rel=0.05)
    assert c["hi"][0] / c["lo"][0] > 2 * a["hi"][0] / a["lo"][0]


def test_object_storage_crosses_the_network_instead_of_the_disks() -> None:
    native = calibrate([], instances=SPECS, model="native")
    slow_network = {"x": {**SPECS["fast"], "net_base_gbps": 1}}
    there = native.predict(
        [job("x", io="s3", spill="nvme"), job("x", io="local", spill="nvme")], instances=slow_network
    )
    assert there["runtime_s"][0] > 1.5 * there["runtime_s"][1]


@pytest.mark.parametrize("model", MODELS)
def test_every_model_answers_for_every_machine_with_ordered_positive_ranges(model: str) -> None:
    ranges = calibrate([], instances=SPECS, model=model).predict(grid(types=SPECS))
    assert (ranges["lo"] > 0).all()
    assert (ranges["lo"] < ranges["runtime_s"]).all()
    assert (ranges["runtime_s"] < ranges["hi"]).all()


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(SPECS)), st.integers(1, 2000), st.floats(1e-3, 1e6), st.floats(1e-2, 1e7)),
        max_size=6,
    )
)
def test_any_positive_runs_give_finite_ordered_ranges(history: list[tuple]) -> None:
    rows = [{**job(machine_type, nodes, gb), "runtime_s": seconds} for machine_type, nodes, gb, seconds in history]
    ranges = spark(rows).predict(grid(types=SPECS)).to_numpy()
    assert np.isfinite(ranges).all()
    assert (ranges[:, 1] < ranges[:, 0]).all()
    assert (ranges[:, 0] < ranges[:, 2]).all()


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(8)))
def test_the_order_of_runs_does_not_matter(order: list[int]) -> None:
    history = runs(grid(nodes=(2, 4, 6, 8), sizes=(10, 20)))
    shuffled = spark([history[i] for i in order]).predict(grid())
    np.testing.assert_allclose(shuffled, spark(history).predict(grid()), rtol=1e-3)


def test_a_profile_survives_json() -> None:
    profile = spark([{**run, "lines": 1e7} for run in runs(grid(nodes=(2, 4)))], name="mine")
    again = Profile.from_dict(json.loads(json.dumps(profile.to_dict())))
    assert repr(again) == repr(profile)
    np.testing.assert_array_equal(again.predict([job(lines=1e7)]), profile.predict([job(lines=1e7)]))


@pytest.mark.parametrize("values", [None, [], {}, {"format": 99}, {"format": 1, "name": "x"}])
def test_anything_else_is_no_profile(values: object) -> None:
    with pytest.raises(BadInputError, match="profile"):
        Profile.from_dict(values)  # type: ignore[arg-type]


def test_explain_names_every_coefficient_with_its_range_and_the_shares_add_up() -> None:
    learned = spark(runs(grid())).explain()
    coefficients = learned["coefficients"].values()
    assert all(coefficient["lo"] <= coefficient["value"] <= coefficient["hi"] for coefficient in coefficients)
    assert sum(coefficient["share_of_time"] or 0 for coefficient in coefficients) == pytest.approx(1, abs=0.01)
    assert json.dumps(learned)


def test_runs_can_be_added() -> None:
    history = runs(grid())
    added = spark(history[:3]).with_runs(history[3:])
    np.testing.assert_array_equal(added.predict(grid()), spark(history).predict(grid()))


def test_a_data_frame_goes_in_and_keeps_its_index() -> None:
    pandas = pytest.importorskip("pandas")
    query = pandas.DataFrame(grid()).set_index(pandas.Index(range(100, 100 + len(grid()))))
    profile = calibrate(
        pandas.DataFrame(runs(grid())),
        instances=pandas.DataFrame([{"type": k, **v} for k, v in SPECS.items()]),
        model="spark",
    )
    assert profile.predict(query).index.tolist() == query.index.tolist()
