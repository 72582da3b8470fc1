"""On a cloud of several types, under every model: more of anything is never slower, a higher price never cheaper."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from planner import Recommendation
from planner import recommend as recommend_by
from planner.config.paths import model_names
from planner.schemas.plan import Candidate, Objective

recommend = partial(recommend_by, engine="ideal")
"""The sums here use the equations alone."""

CLOUD = str(Path(__file__).parents[1] / "golden" / "cloud")
RESOURCES = ("network", "local", "volumes", "objects", "cpu")
OF_SUMS = 2e-3
"""Error bound of `order_statistics.in_turn`, which adds distributions by a finite number of values."""

models = st.sampled_from(model_names())
factors = st.floats(1, 10)


@cache
def planned(model: str, objective: Objective) -> Recommendation:
    return recommend(data="5TB", model=model, catalogs=(CLOUD,), nodes=40, objective=objective)


def best_of(answered: Recommendation) -> Candidate:
    assert answered.best is not None
    return answered.best


@settings(max_examples=15, deadline=None)
@given(model=models, resource=st.sampled_from(RESOURCES), factor=factors)
def test_more_is_never_slower(model: str, resource: str, factor: float) -> None:
    base = planned(model, "time")
    more = best_of(base.what_if(**{resource: factor}))
    assert more.time_s.expected <= best_of(base).time_s.expected * (1 + OF_SUMS)


@settings(max_examples=15, deadline=None)
@given(model=models, resource=st.sampled_from(RESOURCES), factor=factors)
def test_more_never_costs_more(model: str, resource: str, factor: float) -> None:
    base = planned(model, "cost")
    more = best_of(base.what_if(**{resource: factor}))
    assert more.cost_usd.total <= best_of(base).cost_usd.total * (1 + OF_SUMS)


@settings(max_examples=15, deadline=None)
@given(model=models, factor=factors)
def test_a_higher_price_is_never_cheaper(model: str, factor: float) -> None:
    base = planned(model, "cost")
    dearer = best_of(base.what_if(price=factor))
    assert dearer.cost_usd.total >= best_of(base).cost_usd.total * (1 - 1e-9)
