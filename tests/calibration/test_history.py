"""Bad tables are refused with every fault named; doubtful runs are reported and widen the range."""

from __future__ import annotations

import math

import numpy as np
import pytest
from made_up_clusters import SPECS, grid, job, runs
from refusals import refused

from planner.calibration import Profile, calibrate
from planner.calibration.history import parse_jobs
from planner.errors import BadInputError


def spark(rows: list[dict]) -> Profile:
    return calibrate(rows, instances=SPECS, model="spark")


@pytest.mark.parametrize("cell", [0, -5, math.nan, math.inf, None, "", "soon", True])
@pytest.mark.parametrize("column", ["runtime_s", "data_gb", "nodes"])
def test_a_cell_that_is_no_positive_number_is_named_by_row_and_column(column: str, cell: object) -> None:
    rows = runs([job(), job(nodes=8)])
    rows[1][column] = cell
    with pytest.raises(BadInputError) as caught:
        spark(rows)
    assert f"row 2, column {column}" in str(caught.value)


def test_all_faults_of_a_table_are_reported_together() -> None:
    rows = [
        {**job(), "runtime_s": -1},
        {**job(nodes=2.5), "runtime_s": 3},
        {**job(), "instance_type": " ", "runtime_s": 3},
    ]
    with pytest.raises(BadInputError, match="3 bad cells") as caught:
        spark(rows)
    assert len(caught.value.details) == 3


def test_hundreds_of_faults_are_cut_short() -> None:
    with pytest.raises(BadInputError, match="200 bad cells") as caught:
        spark([{**job(), "runtime_s": 0}] * 200)
    assert len(caught.value.details) == 21


@pytest.mark.parametrize("column", ["instance_type", "nodes", "data_gb", "runtime_s"])
def test_a_missing_column_is_named(column: str) -> None:
    with pytest.raises(BadInputError, match=f"missing column {column}"):
        spark([{key: value for key, value in row.items() if key != column} for row in runs([job()])])


@pytest.mark.parametrize("table", ["runs.csv", {"nodes": 3}, 7, [3]])
def test_what_is_no_table_is_refused(table: object) -> None:
    with pytest.raises(BadInputError, match="expected"):
        parse_jobs(table, what="runs", timed=True)


def test_an_unknown_type_is_named_with_what_to_do() -> None:
    with refused("no-specification", "mean small"):
        spark([{**job("smal"), "runtime_s": 5}])


def test_a_specification_without_cores_is_refused() -> None:
    with pytest.raises(BadInputError, match="positive vcpu"):
        calibrate([], instances={"x": {"mem_gib": 3}}).predict([job("x")])


def test_an_unknown_model_is_refused() -> None:
    with refused("unknown-model", "mean spark"):
        calibrate([], instances=SPECS, model="sparc")


def test_a_query_without_a_column_in_which_the_runs_differ_is_refused() -> None:
    past = [{**run, "k": 1 + n % 3} for n, run in enumerate(runs(grid()))]
    profile = spark([{**run, "runtime_s": run["runtime_s"] * run["k"]} for run in past])
    with pytest.raises(BadInputError, match="missing column k"):
        profile.predict([job()])


def test_a_column_that_explains_nothing_may_be_left_out_and_is_named() -> None:
    profile = spark([{**run, "k": 1 + n % 3} for n, run in enumerate(runs(grid()))])
    assert np.isfinite(profile.predict([job()])).all(axis=None)
    assert "k" in profile.explain()["ignored_columns"]


def test_a_constant_column_may_be_left_out() -> None:
    profile = spark([{**run, "note": "cold", "k": 5} for run in runs(grid())])
    assert np.isfinite(profile.predict([job()])).all(axis=None)


def test_a_column_with_a_different_text_in_every_run_is_left_aside_and_named() -> None:
    profile = spark([{**run, "app": f"application_{i}"} for i, run in enumerate(runs(grid()))])
    assert "app" in profile.explain()["ignored_columns"]


def test_missing_specifications_widen_the_range_and_are_named() -> None:
    specs = {**SPECS, "vague": {"vcpu": 4}}
    profile = calibrate(runs(grid()), instances=specs, model="spark")
    specified, vague = profile.predict([job()]), profile.predict([job("vague")])
    assert vague["hi"][0] / vague["lo"][0] > 2 * specified["hi"][0] / specified["lo"][0]
    told = calibrate([{**job("vague"), "runtime_s": 100}], instances=specs).explain()["warnings"]
    assert "vague: clock_ghz, memory_gb, disk_gb_per_s, network_gb_per_s unknown" in told[0]


def test_all_runs_equal_leave_everything_else_wide() -> None:
    profile = spark(runs([job()], noise=0) * 10)
    seen, unseen = profile.predict([job()]), profile.predict([job("large", 20, 300.0)])
    assert unseen["hi"][0] / unseen["lo"][0] > 2 * seen["hi"][0] / seen["lo"][0]


def test_a_query_must_say_where_its_data_lives_when_the_runs_do() -> None:
    profile = calibrate([{**run, "io": "s3"} for run in runs(grid())], instances=SPECS, model="native")
    with pytest.raises(BadInputError, match="missing column io"):
        profile.predict([job()])


def test_unknown_storage_is_refused_rather_than_taken_for_local() -> None:
    with pytest.raises(BadInputError, match="unknown storage 'tape'"):
        calibrate([], instances=SPECS, model="native").predict([job(io="tape")])


def test_a_type_specified_twice_is_refused() -> None:
    with refused("repeated"):
        calibrate([], instances=[{"type": "x", "vcpu": 4}, {"type": "x", "vcpu": 8}])
