"""At which cluster sizes a page has tables, and what stands in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from planner.cost_model.estimate import estimate
from planner.planning.candidate_grid import CandidateGrid
from planner.planning.formula_tables import Tables, table_sizes
from planner.schemas.plan import NodeLimit, Request
from planner.statistics.order_statistics import Spread, lognormal
from planner.statistics.scaling_curve import ScalingCurve

NODE = {"read": 4e9, "write": 2e9, "vcpu": 8}


def test_every_size_to_a_thousand_and_then_a_hundredth_more_each() -> None:
    """From 1,000 to 2,000 there are ceil(ln 2 / ln 1.01) = 70 steps, each by 2^(1/70)."""
    sizes = table_sizes(2000.0, [])
    assert sizes[:1000].tolist() == list(range(1, 1001))
    assert (sizes[1000], sizes[-1], len(sizes)) == (pytest.approx(1000 * 2 ** (1 / 70)), 2000, 1070)


def test_many_curves_have_few_sizes_each_and_those_at_which_they_bend() -> None:
    """30,000 numbers for 100 curves of 15 tables are 20 sizes: at least 40 have every one."""
    curve = ScalingCurve.through([2, 97.5], [1e9, 9e8])
    sizes = table_sizes(200.0, [[curve]] * 100)
    assert sizes[:40].tolist() == list(range(1, 41))
    assert 41 not in sizes and 97.5 in sizes


@pytest.mark.parametrize(("grids", "curves", "dense"), [(1, 3, 731), (10, 1, 189)])
def test_fewer_sizes_for_more_tables(grids: int, curves: int, dense: int) -> None:
    """8 tables for all; a grid has 6, and 1 + 8 for each curve: 30,000 / (8 + 6 + 27) and 30,000 / (8 + 10 x 15)."""
    curve = ScalingCurve.through([2.0], [1e9])
    sizes = table_sizes(900.0, [[curve] * curves] * grids)
    assert sizes[:dense].tolist() == list(range(1, dense + 1))
    assert sizes[dense] == pytest.approx(dense * (900 / dense) ** (1 / np.ceil(np.log(900 / dense) / np.log(1.01))))


@pytest.fixture
def tables_of(make_job: Callable[..., Any]) -> Callable[..., tuple[Tables, Request]]:
    """Return the tables of a made-up type at one and two nodes, `rates` of the job replaced."""

    def make(rates: dict[str, Any] | None = None, head: str = "", **asked: Any) -> tuple[Tables, Request]:
        context, region, request = make_job({"a": NODE}, head=head, **asked)
        context = replace(context, rates=replace(context.rates, **(rates or {})))
        prices = region.offer.price_usd_per_hour
        estimates = estimate(context, price_usd_per_hour=prices, nodes=np.array([1.0, 2.0]), budgeted=False)
        grid = CandidateGrid.of(context, region.offer, estimates, request)
        return Tables(grid, np.array([0]), np.array([1.0, 2.0])), request

    return make


def test_the_papers_know_no_billing_and_keep_no_share(tables_of: Callable[..., tuple[Tables, Request]]) -> None:
    head = '[billing]\nstep_s = 1\nminimum_s = 60\nevidence = "spec"\nsource = "made"'
    for paper, minimum_s in ((False, 60), (True, None)):
        tables, request = tables_of(head=head, paper=paper)
        page = tables.document(request)
        assert (page["billing"] or {}).get("minimum_s") == minimum_s
        assert page["keeps_own_share"] is not paper


@pytest.mark.parametrize("cpu_factor", [1.0, 2.0])
def test_faster_processors_leave_the_share_of_sending(
    make_job: Callable[..., Any], tables_of: Callable[..., tuple[Tables, Request]], cpu_factor: float
) -> None:
    """models/engines/ray.toml: 0.55 ns a byte for the partitions, 1.4 ns to send it: 1.4 / 1.95 of the phase."""
    tables, request = tables_of({"cpu_factor": cpu_factor})
    engine = replace(tables.context.model.engine, send_s_per_byte=1.4e-9)
    model = replace(tables.context.model, engine=engine)
    per_vcpu = {name: cpu_factor / 0.55e-9 for name in tables.context.rates.cpu_bytes_per_s_per_vcpu}
    rates = replace(tables.context.rates, cpu_bytes_per_s_per_vcpu=per_vcpu)
    tables.context = replace(tables.context, model=model, rates=rates)
    first, second = tables.document(request)["phases"]
    assert (first["sent_share"], second["sent_share"]) == (pytest.approx(1.4 / 1.95), 0)


@pytest.mark.parametrize(
    ("asked", "most"),
    [
        ({}, None),
        ({"max_vcpus": 24}, 3.0),  # of 8 each
        ({"node_limits": (NodeLimit(instance="a", nodes=5),)}, 5.0),
        ({"node_limits": (NodeLimit(instance="a", nodes=5),), "max_vcpus": 24}, 3.0),
        ({"node_limits": (NodeLimit(instance="a", nodes=5),), "max_vcpus": 80}, 5.0),
        ({"evidence": "measured"}, None),  # its network is measured
    ],
    ids=str,
)
def test_how_many_nodes_may_be_launched(
    tables_of: Callable[..., tuple[Tables, Request]], asked: dict[str, Any], most: float | None
) -> None:
    tables, request = tables_of(**asked)
    assert tables.document(request)["rows"][0]["most"] == most


def test_a_spread_is_a_sigma_or_its_points(tables_of: Callable[..., tuple[Tables, Request]]) -> None:
    """The slower of two lognormals of sigma 0.3 is 1.22176 on average (see test_order_statistics); where a tenth of
    the nodes takes e times as long, e x 0.19 + 0.81 (and 1e-9 below, of which nothing is).
    """
    tables, _ = tables_of()
    normal = tables._spread(lognormal(0.3))
    assert normal == {"sigma": pytest.approx(0.3), "mean": pytest.approx([1.04603, 1.22176], rel=2e-4)}
    log_cdf = np.array([-np.inf, np.log(0.9), np.log(0.9), 0.0])
    steps = tables._spread(Spread(log_slowness=np.array([-1e-9, 0.0, 1.0, 1.0 + 1e-9]), log_cdf=log_cdf))
    assert steps["log_cdf"] == [None, np.log(0.9), np.log(0.9), 0.0]
    assert steps["mean"] == pytest.approx([0.9 + 0.1 * np.e, 0.81 + 0.19 * np.e])
