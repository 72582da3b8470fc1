"""Learned constants and columns count for what they predict of the runs left out."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_clusters import SPECS, grid, job, runs

from planner.calibration import calibrate
from planner.calibration.fit import trust
from planner.calibration.posterior import left_out_gaps


@pytest.mark.parametrize(
    ("ours", "assumed", "least", "most"),
    [
        ([0.2, -0.2, 0.2], [0.1, -0.1, 0.1], 0.0, 0.2),
        ([0.1, -0.1, 0.1], [0.1, -0.1, 0.1], 0.5, 0.5),
        ([0.8, -0.9, 1.0], [1.1, 1.0, 1.2], 0.99, 1.0),
        ([0.02, 0.02, 0.02] * 5, [0.2, 0.2, 0.2] * 5, 0.99, 1.0),
    ],
    ids=["worse", "as good", "assumptions refuted", "many runs"],
)
def test_constants_are_trusted_as_far_as_they_predict_better(
    ours: list[float], assumed: list[float], least: float, most: float
) -> None:
    assert least <= trust(np.array(ours), np.array(assumed)) <= most


def test_a_run_left_out_is_predicted_as_by_a_fit_without_it() -> None:
    past = runs(grid(sizes=[20]), noise=0.1)
    gaps = left_out_gaps(calibrate(past, instances=SPECS, model="hadoop").verdict.explanations)
    for n, run in enumerate(past):
        others = calibrate([*past[:n], *past[n + 1 :]], instances=SPECS, model="hadoop")
        mixture = others.readings[0].mixture(others.runs, calibrate([run], instances=SPECS).runs, others.machines)
        assert gaps[n] == pytest.approx(np.log(run["runtime_s"]) - mixture.weight @ mixture.mean[:, 0], abs=0.04)


def test_runs_as_assumed_leave_the_assumptions_almost_unchanged_and_others_replace_them() -> None:
    query = [job(nodes=10, data_gb=50.0)]
    assumed = calibrate([], instances=SPECS, model="hadoop").predict(query)["runtime_s"].item()
    jobs = [job(nodes=nodes, data_gb=20.0) for nodes in (2, 6, 12)]
    usual_s = calibrate([], instances=SPECS, model="hadoop").predict(jobs)["runtime_s"]
    for factor, least, most in ((1.0, 0.97, 1.03), (5.0, 4.0, 6.0)):
        scatter = (1.1, 0.9, 1.05)
        past = [{**j, "runtime_s": s * factor * x} for j, s, x in zip(jobs, usual_s, scatter, strict=True)]
        learned = calibrate(past, instances=SPECS, model="hadoop").predict(query)["runtime_s"].item()
        assert least <= learned / assumed <= most
