"""Further columns of runs and of a query; test_profile.py tests most of them by their effect on predictions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from approvals import Approve
from made_up_clusters import SPECS, grid, job, runs

from planner.calibration import calibrate
from planner.calibration.history import parse_jobs


def test_a_text_among_numbers_is_far_from_all_of_them() -> None:
    past = [{**run, "width": width} for run, width in zip(runs(grid() * 2), [3, 30] * 15, strict=True)]
    for run in past:
        run["runtime_s"] *= run["width"] ** 0.3
    profile = calibrate(past, instances=SPECS, model="spark")
    usual, text = (profile.predict([{**job(), "width": width}]) for width in (3, "wide"))
    assert np.log(text["hi"] / text["lo"]).item() > 1.3 * np.log(usual["hi"] / usual["lo"]).item()


def test_zero_is_nearer_to_one_than_to_fifty() -> None:
    """Where the runs' column is above 0, its logarithm counts, and 0 has none."""
    past = [{**run, "level": 1 + n % 3 * 50} for n, run in enumerate(runs(grid() * 2))]
    for run in past:
        run["runtime_s"] *= 1 + run["level"] / 50
    profile = calibrate(past, instances=SPECS, model="spark")
    zero, least, middle = (profile.predict([{**job(), "level": level}])["runtime_s"].item() for level in (0, 1, 51))
    assert abs(np.log(zero / least)) < abs(np.log(zero / middle)) / 3


def test_numbers_among_texts_are_told_apart() -> None:
    past = [{**run, "level": (1, 51, "all")[n % 3]} for n, run in enumerate(runs(grid() * 2))]
    for run in past:
        run["runtime_s"] *= {1: 1, 51: 2, "all": 3}[run["level"]]
    first, second, third = calibrate(past, instances=SPECS, model="spark").predict(
        [{**job(), "level": level} for level in (1, 51, "all")]
    )["runtime_s"]
    assert [second / first, third / first] == pytest.approx([2, 3], rel=0.15)


def test_columns_that_change_nothing_are_named_with_the_reason(approve: Approve) -> None:
    past = [
        {**run, "codec": "zstd", "id": f"run-{n}", "nodes_again": run["nodes"]} for n, run in enumerate(runs(grid()))
    ]
    options = calibrate(past, instances=SPECS, model="spark").options
    query = parse_jobs([{**job(), "codec": "lz4", "id": "x", "cluster": "y", "io": "s3"}], what="query", timed=False)
    approve(options.unread(query))


@pytest.mark.parametrize(("middle", "few", "many"), [(20, 2, 200), (0.003, 0.0003, 0.03)])
def test_few_iterations_change_less_than_many(middle: float, few: float, many: float) -> None:
    """The time is a constant plus a cost per iteration; two counts predict a third, in any unit."""

    def seconds(run: dict[str, float], level: float) -> float:
        return run["runtime_s"] * (1 + level / middle)

    past = [{**run, "level": (middle, 3 * middle)[n % 2]} for n, run in enumerate(runs(grid() * 2))]
    for run in past:
        run["runtime_s"] = seconds(run, run["level"])
    profile = calibrate(past, instances=SPECS, model="spark")
    least, usual, most = profile.predict([{**job(), "level": level} for level in (few, middle, many)])["runtime_s"]
    assert abs(np.log(least / usual)) < 0.8 * np.log(most / usual)
    assert least / usual == pytest.approx(0.55, rel=0.35)


def counted(records: int, data_gb: float, nodes: int = 4, **options: float) -> dict[str, float]:
    return {**job(nodes=nodes, data_gb=data_gb), "records": records, **options}


@pytest.mark.parametrize("unit", [1, 1000])
def test_four_times_the_records_in_as_many_bytes_are_expected_to_take_twice_as_long(unit: int) -> None:
    past = [{**run, "records": int(20 * 1e7) * unit} for run in runs(grid(sizes=[20]))]
    profile = calibrate(past, instances=SPECS, model="spark")
    usual, many = profile.predict([counted(n * 10**8 * unit, 20.0) for n in (2, 8)])["runtime_s"]
    assert many / usual == pytest.approx(2, rel=0.05)


THREE = ((8, 38.0), (12, 35.0), (2, 31.0))
"""Nodes and GB of three runs."""


def three_runs(**columns: Callable[[float], float]) -> list[dict[str, float]]:
    past = runs([job(nodes=nodes, data_gb=data_gb) for nodes, data_gb in THREE])
    return [{**run, **{name: of(run["data_gb"]) for name, of in columns.items()}} for run in past]


@pytest.mark.parametrize("model", ["spark", "framework", "hadoop", "native"])
@pytest.mark.parametrize("records_per_gb", [1e6, 1e8])
@pytest.mark.parametrize("exponent", [1.0, 0.9])
def test_a_count_that_rises_with_the_data_leaves_the_data_its_effect(
    model: str, records_per_gb: float, exponent: float
) -> None:
    """Runs of 1e7 records a GB; the query has ten times as many in as many bytes, or a tenth."""
    without = calibrate(three_runs(), instances=SPECS, model=model).predict([job(nodes=10)])["runtime_s"].item()
    counted_runs = three_runs(records=lambda data_gb: 1e7 * data_gb**exponent)
    answer = calibrate(counted_runs, instances=SPECS, model=model).predict(
        [job(nodes=10, records=20.0**exponent * records_per_gb)]
    )
    assert answer["lo"].item() < without < answer["hi"].item()
    assert 0.6 < answer["runtime_s"].item() / without < 1.7


@pytest.mark.parametrize(
    "more",
    [
        {"again": lambda data_gb: 1e7 * data_gb},
        {"megabytes": lambda data_gb: 1000 * data_gb - 5000},
        {"width": lambda data_gb: 100.0},
        {"files": lambda data_gb: 3 * data_gb},
    ],
    ids=["twice", "unit", "constant", "files"],
)
def test_columns_that_repeat_others_change_little(more: dict[str, Callable[[float], float]]) -> None:
    """Nor does the order of the columns change anything."""
    columns = {"records": lambda data_gb: 1e7 * data_gb, **more}
    same = {name: of(20.0) for name, of in columns.items()} | {"records": 20e6}
    forward, backward = (
        calibrate(three_runs(**dict(order)), instances=SPECS, model="spark").predict([job(nodes=10, **same)])
        for order in (columns.items(), reversed(columns.items()))
    )
    without = calibrate(three_runs(), instances=SPECS, model="spark").predict([job(nodes=10)])["runtime_s"].item()
    assert forward["runtime_s"].item() == pytest.approx(backward["runtime_s"].item(), rel=1e-6)
    assert forward["runtime_s"].item() == pytest.approx(without, rel=0.15)


@pytest.mark.parametrize("least", [1, 1_700_000_000], ids=["number", "date"])
@pytest.mark.parametrize("seed", range(2))
def test_a_number_without_meaning_beside_a_count_changes_almost_nothing(seed: int, least: int) -> None:
    """The queries have ten times the records, which would triple the time of a job that works by records."""
    rng = np.random.default_rng(seed)
    past = three_runs(records=lambda data_gb: 1e7 * data_gb)
    query = [counted(2 * 10**9, 20.0, nodes=10), counted(10**10, 100.0, nodes=4)]
    usual = calibrate(past, instances=SPECS, model="spark").predict(query)["runtime_s"]
    numbers = (least + rng.choice(1000, 5, replace=False)).tolist()
    rows = [{**row, "run_id": number} for row, number in zip((*past, *query), numbers, strict=True)]
    numbered = calibrate(rows[:3], instances=SPECS, model="spark").predict(rows[3:])["runtime_s"]
    assert np.abs(np.log(numbered / usual)).max() < 0.1


def test_a_job_whose_runs_differ_in_iterations_works_by_records() -> None:
    past = [{**run, "iterations": 1 + 4 * (n % 3)} for n, run in enumerate(runs(grid()))]
    for run in past:
        run["runtime_s"] *= 1 + run["iterations"]
        run["records"] = run["data_gb"] * 1e7
    profile = calibrate(past, instances=SPECS, model="spark")
    usual, many = profile.predict([counted(n * 10**8, 20.0, iterations=5) for n in (2, 8)])["runtime_s"]
    assert many / usual == pytest.approx(2, rel=0.05)


def test_of_two_counts_the_one_that_goes_with_the_bytes_is_of_records() -> None:
    """A graph with three times the pages and the same number of links per GB is no more work."""
    past = [{**run, "records": int(run["data_gb"] * 7e7), "pages": 2_000_000} for run in runs(grid(sizes=[20]))]
    profile = calibrate(past, instances=SPECS, model="spark")
    few, many = profile.predict([counted(1_400_000_000, 20.0, pages=n) for n in (2_000_000, 6_000_000)])["runtime_s"]
    assert many / few == pytest.approx(1, rel=0.02)


def test_runs_in_which_records_change_nothing_are_believed() -> None:
    past = [{**run, "records": 10**8 * (1 + n % 3 * 4)} for n, run in enumerate(runs(grid() * 2))]
    profile = calibrate(past, instances=SPECS, model="spark")
    few, many = profile.predict([counted(n * 10**8, 20.0) for n in (1, 9)])["runtime_s"]
    assert many / few == pytest.approx(1, rel=0.15)


def test_a_tolerance_nobody_varied_takes_the_iterations_of_linear_convergence() -> None:
    past = [{**run, "precision": 0.001} for run in runs(grid())]
    profile = calibrate(past, instances=SPECS, model="spark")
    wide, usual, narrow = profile.predict([{**job(), "precision": value} for value in (0.01, 0.001, 0.0001)])[
        "runtime_s"
    ]
    assert [wide / usual, narrow / usual] == pytest.approx([2 / 3, 4 / 3], rel=0.02)


def test_a_tolerance_that_the_runs_contradict_is_learned() -> None:
    past = [{**run, "level": (0.001, 0.01)[n % 2]} for n, run in enumerate(runs(grid() * 2))]
    for run in past:
        run["runtime_s"] *= 1 + 100 * run["level"]
    profile = calibrate(past, instances=SPECS, model="spark")
    small, large = profile.predict([{**job(), "level": level} for level in (0.001, 0.01)])["runtime_s"]
    assert large / small == pytest.approx(2 / 1.1, rel=0.1)
