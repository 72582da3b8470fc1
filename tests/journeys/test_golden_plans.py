"""The main figures of each model's plans on a small made-up cloud equal those last reviewed.

`pytest tests/journeys/test_golden_plans.py --write-goldens` writes today's instead; review the differences before
committing it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner import recommend
from planner.config.paths import model_names
from planner.schemas.plan import Candidate, Plan

FOLDER = Path(__file__).resolve().parents[1] / "golden"
GOLDEN = FOLDER / "plans.json"
SAME = 1e-8
"""Largest relative difference between equal numbers: the last digits of exp and log differ between processors."""
ASKED: dict[str, dict[str, Any]] = {
    **{model: {"model": model} for model in model_names()},
    "daytona-paper": {"model": "daytona", "paper": True, "engine": "ideal"},
    "all-2-zones": {"model": "all", "deadline": "90m", "confidence": 0.95, "zones": 2},
    "indy-general-job": {"model": "indy", "map_ratio": 0.5, "reduce_ratio": 0.1, "objective": "cost"},
    "indy-energy": {"model": "indy", "objective": "energy", "network_distribution": "A"},
    "cloudsort-infeasible": {"model": "cloudsort", "deadline": "10m", "budget_usd": 4},
}
"""Each model, and options shared by several models and settings."""


def main_figures(candidate: Candidate) -> dict[str, Any]:
    """Return a dozen fields of a candidate as JSON values."""
    time_s, cost_usd = candidate.time_s, candidate.cost_usd
    return {
        "cluster": f"{candidate.model}: {candidate.nodes} x {candidate.instance_type}, {candidate.storage}",
        "nodes_min": candidate.nodes_min,
        "spares": candidate.spares,
        "evidence": candidate.evidence,
        "bottlenecks": [phase.bottleneck for phase in candidate.phases],
        "time_s": [time_s.equation, time_s.expected, time_s.p95],
        "cost_usd": [cost_usd.equation, cost_usd.expected, cost_usd.total, cost_usd.total_p95],
        "energy_j": candidate.energy_j,
    }


def golden_lines(plan: Plan) -> list[Any]:
    """Return a plan's first candidates and the others' reasons, a line of the file for each."""
    rejected = {rejection.instance_type: rejection.reason for rejection in plan.rejected}
    return [*map(main_figures, plan.candidates[:3]), {"frontier": len(plan.frontier), "rejected": rejected}]


@pytest.fixture(scope="module")
def goldens(request: pytest.FixtureRequest) -> dict[str, list[Any]]:
    if request.config.getoption("--write-goldens"):
        plans = {name: golden_lines(plan_of(name)) for name in ASKED}
        lines = {name: ",\n  ".join(json.dumps(rounded(line)) for line in plan) for name, plan in plans.items()}
        GOLDEN.write_text("{" + ",".join(f'\n "{name}": [\n  {text}]' for name, text in lines.items()) + "\n}\n")
    return dict(json.loads(GOLDEN.read_text("utf-8")))


def plan_of(name: str) -> Plan:
    asked = {"data": "5TB", "catalogs": (str(FOLDER / "cloud"),), "max_nodes": 48, "top": 3} | ASKED[name]
    return recommend(**asked).plan


def rounded(value: Any) -> Any:
    """Return a JSON value with ten digits of its numbers."""
    return json.loads(json.dumps(value), parse_float=lambda digits: float(f"{float(digits):.10g}"))


def approximately(value: Any) -> Any:
    """Return a JSON value that equals one whose numbers differ in the last digits only."""
    if isinstance(value, dict):
        return {name: approximately(item) for name, item in value.items()}
    if isinstance(value, list):
        return [approximately(item) for item in value]
    return pytest.approx(value, rel=SAME, abs=0) if isinstance(value, float) else value


@pytest.mark.parametrize("name", ASKED)
def test_plan_is_what_it_was(name: str, goldens: dict[str, list[Any]]) -> None:
    assert golden_lines(plan_of(name)) == approximately(goldens[name])


def test_every_model_has_a_plan(goldens: dict[str, list[Any]]) -> None:
    assert goldens.keys() == ASKED.keys()
    assert all(goldens[model][0]["cluster"].startswith(f"{model}: ") for model in model_names())
