"""Units are never mixed: in other units of bytes, seconds or money the plan is the same, in those units."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner import recommend as recommend_by
from planner.schemas.plan import Candidate
from tests.marks import quick_soak

recommend = partial(recommend_by, engine="ideal")
"""The sums here use the equations alone."""

Make = Callable[..., str]
MODELS = ("indy", "daytona", "minutesort", "framework")
BYTES = {"memory_bytes": 2**36, "local_disk_bytes": 2**40}
RATES = {"read": 2**31, "write": 2**30, "network_baseline_bytes_per_s": 2**30, "volume_bytes_per_s": 2**29}
SLOW = {"sort": 2**27, "partition": 2**28}

a_few = settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
doublings = st.integers(-8, 8)
models = st.sampled_from(MODELS)


def plan_in(
    make_catalog: Make, *, per_byte: float = 1.0, per_second: float = 1.0, per_dollar: float = 1.0, **asked: Any
) -> Candidate:
    """Plan the same job on the same machines, written in other units."""
    shape = {name: int(size * per_byte) for name, size in BYTES.items()}
    rates = {name: int(rate * per_byte / per_second) for name, rate in RATES.items()}
    assume = {name: rate * per_byte / per_second for name, rate in SLOW.items()}
    catalog = make_catalog({"a": shape | rates | {"price": per_dollar}})
    data = int(2**42 * per_byte)
    best = recommend(data=data, catalogs=(catalog,), assume=assume, **asked).best
    assert best is not None
    return best


@a_few
@given(doublings=doublings, model=models)
def test_the_unit_of_bytes_does_not_matter(make_catalog: Make, doublings: int, model: str) -> None:
    plain = plan_in(make_catalog, model=model, nodes=300)
    other = plan_in(make_catalog, per_byte=2.0**doublings, model=model, nodes=300)
    assert other.time_s.p95 == pytest.approx(plain.time_s.p95, rel=1e-9)
    assert other.cost_usd.total == pytest.approx(plain.cost_usd.total, rel=1e-9)


@quick_soak
@a_few
@given(doublings=doublings, model=models)
def test_the_unit_of_money_does_not_matter(make_catalog: Make, doublings: int, model: str) -> None:
    """The default objective weighs hours against dollars; the least cost does not."""
    asked = {"model": model, "max_nodes": 300, "objective": "cost"}
    plain = plan_in(make_catalog, **asked)
    other = plan_in(make_catalog, per_dollar=2.0**doublings, **asked)
    assert (other.nodes, other.time_s) == (plain.nodes, plain.time_s)
    assert other.cost_usd.total == pytest.approx(plain.cost_usd.total * 2.0**doublings, rel=1e-9)


@a_few
@given(doublings=doublings, model=st.sampled_from(("indy", "daytona", "minutesort")))
def test_the_unit_of_time_does_not_matter_to_the_equations(make_catalog: Make, doublings: int, model: str) -> None:
    """The planner's own sort adds fixed seconds around the job, the papers' equations none."""
    plain = plan_in(make_catalog, model=model, nodes=300, paper=True)
    other = plan_in(make_catalog, per_second=2.0**doublings, model=model, nodes=300, paper=True)
    assert other.time_s.equation == pytest.approx(plain.time_s.equation * 2.0**doublings, rel=1e-9)
    assert other.cost_usd.equation == pytest.approx(plain.cost_usd.equation * 2.0**doublings, rel=1e-9)
