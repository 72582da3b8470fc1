"""Suspicious runs: outliers, two populations, and repeats that contradict each other."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_clusters import SPECS, grid, job, runs, true_seconds

from planner.calibration import Profile, calibrate


def spark(rows: list[dict]) -> Profile:
    return calibrate(rows, instances=SPECS, model="spark")


def slowed(rows: list[dict], factors: dict[int, float]) -> list[dict]:
    return [{**row, "runtime_s": row["runtime_s"] * factors.get(i, 1.0)} for i, row in enumerate(rows)]


@pytest.mark.parametrize("seed", range(5))
def test_clean_runs_raise_no_suspicion(seed: int) -> None:
    profile = spark(runs(grid(), seed=seed))
    assert profile.outliers == ()
    assert profile.populations is None
    assert profile.explain()["warnings"] == []


@pytest.mark.parametrize("factor", [0.4, 1.8, 5.0])
@pytest.mark.parametrize("row", [0, 7, 14])
def test_a_single_outlier_is_named_and_does_not_pull_the_prediction(factor: float, row: int) -> None:
    profile = spark(slowed(runs(grid()), {row: factor}))
    assert profile.outliers == (row,)
    assert any(f"run {row + 1} " in warning for warning in profile.explain()["warnings"])
    np.testing.assert_allclose(profile.predict(grid())["runtime_s"], true_seconds(grid()), rtol=0.15)


def test_a_changed_version_is_reported_as_two_populations_and_the_range_spans_both() -> None:
    rows = grid() + grid()
    changed = range(18, len(rows))
    profile = spark(slowed(runs(rows), dict.fromkeys(changed, 1.7)))
    assert profile.populations is not None
    assert set(profile.populations[1]) == set(changed)
    ranges, truth = profile.predict(grid()), true_seconds(grid())
    assert (ranges["lo"] < truth * 1.02).all()
    assert (ranges["hi"] > truth * 1.6).all()
    assert "two populations" in profile.explain()["warnings"][0]


def test_two_repeats_that_contradict_each_other_leave_a_range_as_wide_as_their_difference() -> None:
    profile = spark([{**job(), "runtime_s": 100}, {**job(), "runtime_s": 1000}])
    ranges = profile.predict([job()])
    assert ranges["hi"][0] / ranges["lo"][0] > 10
    assert "contradict" in profile.explain()["warnings"][0]
    assert profile.outliers == ()
