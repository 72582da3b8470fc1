"""At which cluster sizes a page has tables, and what stands in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from planner.cost_model.estimate import estimate
from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.planning.candidates.formula_tables import Tables, table_sizes
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

    def make(
        rates: dict[str, Any] | None = None, head: str = "", files: dict[str, Any] | None = None, **asked: Any
    ) -> tuple[Tables, Request]:
        context, region, request = make_job({"a": NODE}, head=head, files=files, **asked)
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
    per_vcpu = dict.fromkeys(tables.context.rates.cpu_bytes_per_s_per_vcpu, cpu_factor / 5.5e-10)
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


def test_a_row_and_its_phases_for_each_byte_by_hand(tables_of: Callable[..., tuple[Tables, Request]]) -> None:
    """Of 10 TB daytona sends a copy of all that it writes. A phase that starts in 3 s and 2 s more for each node passes
    half of its input, 5 TB, through one stream of 0.1 GB/s. Twice the network is 2 and, in bursts, 6 GB/s.
    """
    for paper in (False, True):
        tables, request = tables_of({"one_stream_bytes_per_s": 1e8}, model="daytona", paper=paper)
        context = tables.context
        network = replace(context.rates.network, factor=2.0, burst=np.array([3e9]))
        phases = tuple(
            replace(phase, startup_s=3.0, per_node_s=2.0, one_stream={"map_in": 0.5}) for phase in context.model.phases
        )
        model, rates = replace(context.model, phases=phases), replace(context.rates, network=network)
        tables.context = replace(context, model=model, rates=rates)
        page = tables.document(request)
        first, second = page["phases"]
        assert (first["exchanged"], first["copied"], second["copied"]) == (1, 0, 1)
        starts = (first["start_s"], first["per_node_s"], first["stream_s"])
        assert starts == ((0, 0, 0) if paper else (3, 2, pytest.approx(0.5 / 1e8)))
        (row,) = page["rows"]
        assert (row["rate"], row["burst"], row["tokens"]) == (2e9, 6e9, None)
        # 4 TB of disks less 2% for the file system hold two copies of the output and, if both share them, the rest
        held = sum(context.group_bytes().values()) / 1e13
        assert row["disks"] == pytest.approx(held / (4e12 * (1.0 if paper else 0.98)))
        assert row["extrapolated"] is False
        used = {use["spread"] for phase in row["phases"] for use in phase.values()}
        assert used == set(range(len(page["spreads"])))


def test_the_least_and_the_most_that_tables_hold() -> None:
    """Up to 1.2 nodes there is one size, and up to half a node still one; up to 1,001 the thousand and the last."""
    assert table_sizes(1.2, []).tolist() == [1.0]
    assert table_sizes(0.5, []).tolist() == [1.0]
    assert table_sizes(1001.0, [])[-2:].tolist() == [1000, 1001]


STORE = {
    "object_store": "store", "price_usd_per_gib_month": 0.02, "write_usd_per_request": 5e-6,
    "read_usd_per_request": 4e-7, "egress_usd_per_gib": 0.01, "bytes_per_s_per_vcpu": 5e7, "rate_evidence": "measured",
    "reads_per_s": 100,
}  # fmt: skip


def test_what_surrounds_the_job_for_each_byte_by_hand(tables_of: Callable[..., tuple[Tables, Request]]) -> None:
    """The store gives a node 8 x 50 MB/s, the link carries 1 GB/s; the disks write what comes in 2 GB/s, and read what
    is validated in 4 GB/s. Of two zones half of the shuffle and half of the copies cross, for $0.02 a GiB.
    """
    files = {"object_stores": [STORE], "transfers": [{"transfer": "zone", "price_usd_per_gib": 0.02}]}
    tables, request = tables_of(files=files, model="daytona", input="s3://b/i", zones=2)
    page = tables.document(request)
    (row,) = page["rows"]
    assert row["around"] == pytest.approx({"stage in": 1 / 4e8, "validate": 1 / 4e9})
    assert row["around_link"] == pytest.approx({"stage in": 1 / 1e9})
    read_bytes = tables.context.overheads.staging_request_bytes["read"]
    assert row["around_least"] == pytest.approx({"stage in": 1 / read_bytes / 100})
    charged = 4e-7 / read_bytes + 0.01 / 2**30 + (1 + 1) / 2 * 0.02 / 2**30
    assert row["charges"] == pytest.approx(charged)
    assert page["copies_usd"] == pytest.approx(0.02 / 2 / 2**30)


def test_how_late_a_run_may_be_is_that_of_the_probability_asked(
    tables_of: Callable[..., tuple[Tables, Request]],
) -> None:
    """A lognormal's mean is e^(sigma^2 / 2) medians; in 0.95 of all runs it is below e^(1.64485 sigma) medians. Half of
    all may take 0.5 + 0.45 / 2 of the mean of the slowest node.
    """
    for confidence, sigmas, early in ((None, 0.0, 0.725), (0.95, 1.64485, 1.0), (0.8, 0.84162, 1.0)):
        tables, request = tables_of(confidence=confidence, deadline_s=1e6)
        page = tables.document(request)
        sigma = page["shared_sigma"]
        assert page["later_as_asked"] == pytest.approx(early * np.exp(sigmas * sigma - sigma**2 / 2))
