"""One estimate gives all parts of an answer: its limit, its what-ifs, its frontier and its choice."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import Recommendation, recommend
from planner.schemas.plan import Candidate
from tests.marks import quick_soak

CLOUD = str(Path(__file__).parents[1] / "golden" / "cloud")
MODELS = ("indy", "daytona", "cloudsort", "object-store")
ROUNDING = 1e-6
OF_SIZES = 1e-3
"""Large clusters are tried in steps of about 1% of their size, which shift with the maximum number of nodes."""
OF_SUMS = 2e-3
"""Error bound of `order_statistics.sum_of`, which adds distributions by a finite number of values."""

requests = st.fixed_dictionaries(
    {
        "data": st.floats(10, 14).map(lambda exponent: f"{10**exponent:.0f}B"),
        "model": st.sampled_from(MODELS),
        "objective": st.sampled_from(["balanced", "cost", "time"]),
        "max_nodes": st.sampled_from([20, 100, 400]),
        "deadline": st.sampled_from([None, None, "1h", "5h"]),
    }
)


def whole_s(cluster: Candidate) -> float:
    return cluster.time_s.expected + sum(cluster.overheads_s.values())


def ask(asked: dict[str, Any], **changes: Any) -> Recommendation:
    return recommend(catalogs=[CLOUD], **(asked | changes))


def least_usd(answered: Recommendation) -> float:
    """Return the least bill of the choice and the frontier; infinite where nothing is feasible."""
    return min([point.cost_usd_total for point in answered.frontier], default=float("inf"))


def assert_the_limit_helps_most(answered: Recommendation) -> None:
    best = answered.best
    assert best is not None
    saved_s = {name: whole_s(best) - whole_s(made) for name, made in answered.reliefs(2.0).items()}
    assert saved_s.keys() == best.reliefs_s.keys()
    most_s = max(saved_s.values())
    assert saved_s[best.bottleneck] >= most_s - OF_SUMS * whole_s(best), (best.bottleneck, saved_s)
    for name, seconds in saved_s.items():
        assert best.reliefs_s[name] == pytest.approx(max(0.0, seconds), abs=OF_SUMS * whole_s(best))


@settings(max_examples=5, derandomize=True)  # each asks for a plan and nine more
@given(asked=requests)
def test_the_limit_is_what_a_what_if_says_helps_most(asked: dict[str, Any]) -> None:
    answered = ask(asked)
    if answered.best is not None:
        assert_the_limit_helps_most(answered)


@settings(max_examples=5, derandomize=True)
@given(asked=requests)
def test_phases_and_interruptions_add_up_to_the_expected_time(asked: dict[str, Any]) -> None:
    for cluster in ask(asked).candidates:
        lost_s = cluster.interruptions.delay_s if cluster.interruptions else 0.0
        assert sum(phase.time_s for phase in cluster.phases) + lost_s == pytest.approx(
            cluster.time_s.expected, rel=1e-6
        )
        billed = [line for line in cluster.bill if line.name == "job"]
        assert [line.time_s for line in billed] == [cluster.time_s.expected]


@settings(max_examples=5, derandomize=True)
@given(asked=requests)
def test_how_many_are_shown_changes_no_choice(asked: dict[str, Any]) -> None:
    one, ten, many = (ask(asked, top=top).best for top in (1, 10, 40))
    places = [None if best is None else (best.instance_type, best.nodes) for best in (one, ten, many)]
    assert len(set(places)) == 1


@settings(max_examples=5, derandomize=True)
@given(asked=requests)
def test_no_point_of_the_frontier_is_dominated(asked: dict[str, Any]) -> None:
    points = sorted(ask(asked).frontier, key=lambda point: (point.time_s, point.cost_usd_total))
    assert all(faster.cost_usd_total > slower.cost_usd_total * (1 - ROUNDING) for faster, slower in pairwise(points))


@settings(max_examples=5, derandomize=True)
@given(asked=requests)
def test_more_to_choose_from_never_costs_more(asked: dict[str, Any]) -> None:
    base = least_usd(ask(asked))
    assert least_usd(ask(asked, max_nodes=2 * asked["max_nodes"])) <= base * (1 + OF_SIZES)
    if asked["deadline"]:
        assert least_usd(ask(asked, deadline="20h")) <= base * (1 + OF_SIZES)
    types = sorted({candidate.instance_type for candidate in ask(asked).candidates})
    if len(types) > 1:
        fewer = least_usd(ask(asked, exclude=types[:1]))
        assert base <= fewer * (1 + OF_SIZES)


@quick_soak
@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure", "oci"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("data", ["1TB", "10TB", "100TB", "1PB"])
def test_the_limit_of_shipped_catalogs_helps_most(cloud: str, model: str, data: str) -> None:
    assert_the_limit_helps_most(recommend(data, model=model, catalogs=[cloud]))
