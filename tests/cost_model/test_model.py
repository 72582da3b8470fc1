"""Cost models as data."""

from __future__ import annotations

from planner.config.model_files import model_names
from planner.cost_model.model import JobVolumes
from planner.cost_model.model_reader import load_model


def test_the_papers_three_models_are_shipped() -> None:
    assert {"cloudsort", "daytona", "indy"} <= set(model_names())


def test_daytona_writes_its_output_twice_and_sends_it_once() -> None:
    reduce = load_model("daytona").phases[1]
    assert reduce.write["data"] == {"reduce_out": 2}
    assert reduce.network == {"reduce_out": 1}


def test_volumes_total_by_their_coefficients() -> None:
    job = JobVolumes(map_in=10, map_out=5, reduce_out=1)
    assert job.total({"map_in": 2, "reduce_out": 3}) == 23
    assert job.total({}) == 0
