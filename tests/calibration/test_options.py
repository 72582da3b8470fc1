"""What further columns of runs and of a query say; most is shown by what a profile predicts (test_profile.py)."""

from __future__ import annotations

import numpy as np
from made_up_clusters import SPECS, grid, job, runs

from planner.calibration import calibrate
from planner.calibration.history import parse_jobs


def test_a_text_among_numbers_is_far_from_all_of_them() -> None:
    past = [{**run, "width": width} for run, width in zip(runs(grid() * 2), [3, 30] * 15, strict=True)]
    profile = calibrate(past, instances=SPECS, model="spark")
    usual, text = (profile.predict([{**job(), "width": width}]) for width in (3, "wide"))
    assert np.log(text["hi"] / text["lo"]).item() > 1.3 * np.log(usual["hi"] / usual["lo"]).item()


def test_columns_that_change_nothing_are_named_with_the_reason() -> None:
    past = [
        {**run, "codec": "zstd", "id": f"run-{n}", "nodes_again": run["nodes"]} for n, run in enumerate(runs(grid()))
    ]
    options = calibrate(past, instances=SPECS, model="spark").options
    query = parse_jobs([{**job(), "codec": "lz4", "id": "x", "cluster": "y", "io": "s3"}], what="query", timed=False)
    assert options.unread(query) == {"id": "a different text in every run", "cluster": "no run has it"}
