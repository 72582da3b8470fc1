"""The framework model with a profile's constants, by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from planner.cost_model.model_reader import load_model
from planner.planning.candidates.calibrated_model import with_profile

LEARNED = {"startup": 30, "per_node": 0.25, "disk": 1.5, "network": 0.8, "cpu": 500, "serial": 2, "work": 2}


def profile(*, runs: int, stream: str = "disk") -> Any:
    explained = {
        "coefficients": {name: {"value": value} for name, value in LEARNED.items()},
        "prior": {"stream": stream},
        "scatter": 0.07,
        "runs": f"{runs} runs",
    }
    return SimpleNamespace(name="mine", runs=[object()] * runs, explain=lambda: explained)


def test_rates_by_hand() -> None:
    """Work of 2 doubles everything but the stream. A GB takes 1,000 core GHz s, half in each phase, so a 2.5 GHz core
    does 5 MB/s of either; a stream on a standard 125 MB/s disk gets half of that.
    """
    software = with_profile(load_model("framework"), profile(runs=12)).software
    assert software is not None
    assert dict(software.bytes_per_s) == pytest.approx({"partition": 5e6, "sort": 5e6, "one_stream": 6.25e7})
    assert (software.shared_sigma, software.evidence, software.source) == (0.07, "measured", "profile mine: 12 runs")


def test_without_runs_the_prior_is_what_is_stated() -> None:
    software = with_profile(load_model("framework"), profile(runs=0)).software
    assert software is not None
    assert (software.evidence, software.source) == ("assumed", "profile mine: no runs, the prior alone")


def test_phases_by_hand() -> None:
    """An ideal phase moves 2 bytes, a phase of this job 6: 1 of data leaves 5 for the 3 intermediate passes."""
    start, first, last = with_profile(load_model("framework"), profile(runs=1)).phases
    assert (start.startup_s, start.per_node_s) == (60, 0.5)
    assert first.read["data"] == {"map_in": 1}
    assert first.read["intermediate"] == pytest.approx({"map_out": 5 / 3})
    assert first.write["intermediate"] == pytest.approx({"map_out": 10 / 3})
    assert first.network == pytest.approx({"map_out": 1.6})
    assert (first.one_stream, last.one_stream) == ({}, {"reduce_out": 1.0})
    assert last.write["data"] == {"reduce_out": 1}
    assert last.write["intermediate"] == pytest.approx({"map_out": 5 / 3})
    assert last.read["intermediate"] == pytest.approx({"map_out": 10 / 3})


def test_a_model_that_describes_no_software_stays_as_it_is() -> None:
    model = load_model("indy")
    assert with_profile(model, profile(runs=1)) is model


@pytest.mark.parametrize("only", [{"startup_s": 0.0}, {"per_node_s": 0.0}], ids=str)
def test_a_phase_that_takes_time_once_or_for_each_node_starts_up(only: dict[str, float]) -> None:
    model = load_model("framework")
    start, *others = model.phases
    model = replace(model, phases=(replace(start, **only), *others))
    assert with_profile(model, profile(runs=1)).phases[0] == replace(start, startup_s=60, per_node_s=0.5)
