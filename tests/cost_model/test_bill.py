"""The whole bill by hand, line by line: staging, traffic, requests and spares."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from approvals import Approve
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.api.recommend import recommend as recommend_by
from planner.cost_model.bill import Bills, Hourly
from planner.cost_model.prices import Offer, Reservations
from planner.cost_model.workload import JobContext
from planner.errors import BadInputError
from planner.schemas.plan import Candidate, Cost, Range

recommend = partial(recommend_by, engine="ideal")
"""The sums here use the equations alone."""

STORE = {
    "object_store": "store", "price_usd_per_gib_month": 0.02, "write_usd_per_request": 5e-6,
    "read_usd_per_request": 4e-7, "egress_usd_per_gib": 0, "bytes_per_s_per_vcpu": 25e6, "rate_evidence": "measured",
}  # fmt: skip
TRANSFERS = [{"transfer": "zone", "price_usd_per_gib": 0.02}, {"transfer": "internet", "price_usd_per_gib": 0.09}]
FAST = {"price": 3.6, "read": 4e9, "write": 2e9}
"""A type that costs a tenth of a cent a second; its NIC carries 1 GB/s, the store 16 x 25 MB/s."""


@pytest.fixture
def cloud(make_catalog: Callable[..., str]) -> str:
    return make_catalog({"fast": FAST}, object_stores=[STORE], transfers=TRANSFERS)


def best_of(catalog: str, **options: Any) -> Candidate:
    asked: dict[str, Any] = {"data": "10TB", "model": "indy", "nodes": 10, **options}
    best = recommend(catalogs=[catalog], **asked).best
    assert best is not None
    return best


def lines(best: Candidate) -> dict[str, float | None]:
    return {line.name: line.usd for line in best.bill}


def test_staging_lasts_as_long_as_its_slowest_part(cloud: str) -> None:
    staged = best_of(cloud, input="s3://b/in", output="s3://b/out").overheads_s
    assert staged["stage in"] == pytest.approx(1e12 / (16 * 25e6))
    assert staged["stage out"] == pytest.approx(1e12 / (16 * 25e6))
    assert "generate" not in staged
    assert best_of(cloud).overheads_s["generate"] == pytest.approx(1e12 / 2e9)
    quick = best_of(cloud, input="s3://b/in", assume={"object_read": 5e9, "object_write": 5e9}).overheads_s
    assert quick["stage in"] == pytest.approx(1e12 / 1e9)  # the NIC
    slow = best_of(cloud, input="s3://b/in", assume={"local_read": 1e8, "local_write": 1e8}).overheads_s
    assert slow["stage in"] == pytest.approx(1e12 / 1e8)  # the disks


def test_requests_of_staging(cloud: str) -> None:
    bill = lines(best_of(cloud, input="s3://b/in", output="s3://b/out"))
    assert bill["stage in: requests"] == pytest.approx(math.ceil(1e13 / 2**24) * 4e-7)
    assert bill["stage out: requests"] == pytest.approx(1e13 / 1e8 * 5e-6)
    assert bill["stage in: traffic"] == 0


@pytest.mark.parametrize(("zones", "share"), [(1, 0.0), (2, 1 / 2), (3, 2 / 3)])
def test_traffic_between_zones(cloud: str, zones: int, share: float) -> None:
    best = best_of(cloud, zones=zones)
    exchanged_gib = 1e13 / 2**30  # an indy sort sends all of its data once
    assert lines(best).get("traffic between zones", 0.0) == pytest.approx(share * exchanged_gib * 0.02)
    assert best.placement_group == (zones == 1)
    crossing = [line.note for line in best.bill if line.name == "traffic between zones"]
    assert crossing == [f"{share:.0%} of what the nodes exchange crosses zones"][: zones - 1]


@pytest.mark.parametrize(("nodes", "zones", "share"), [(12, 2, 6 / 11), (12, 3, 8 / 11), (12, 6, 10 / 11), (12, 1, 0)])
def test_a_copy_never_stays_on_its_own_node(cloud: str, nodes: int, zones: int, share: float) -> None:
    """With 12 nodes in 2 zones, 6 of the 11 others are in the other zone; a shuffle sends a twelfth to its own node."""
    best = best_of(cloud, model="daytona", nodes=nodes, zones=zones)
    crossing_gib = 1e13 * ((zones - 1) / zones + share) / 2**30
    assert lines(best).get("traffic between zones", 0.0) == pytest.approx(crossing_gib * 0.02)
    assert best.cost_usd.charges == pytest.approx(2e13 * (zones - 1) / zones / 2**30 * 0.02)  # whatever the size


def test_two_nodes_in_two_zones_send_every_copy_across(cloud: str, approve: Approve) -> None:
    """100 GB at $0.02 a GiB: half of the shuffled data and all of the copies."""
    best = best_of(cloud, data="100GB", model="daytona", nodes=2, zones=2)
    assert lines(best)["traffic between zones"] == pytest.approx((0.5e11 + 1e11) / 2**30 * 0.02)
    approve([line.note for line in best.bill if "zones" in line.name])


def test_data_that_leaves_the_cloud_is_priced(cloud: str, approve: Approve) -> None:
    best = best_of(cloud, output="gs://b/out")
    assert lines(best)["stage out: egress"] == pytest.approx(1e13 / 2**30 * 0.09 + 1e5 * 5e-6)
    approve(best.warnings)


def test_data_that_comes_from_another_cloud_has_the_price_of_that_cloud(cloud: str) -> None:
    """10 TB in Google's bands, the first GiB free, and 596,047 requests at $0.4 a million."""
    best = best_of(cloud, input="gs://b/in")
    in_bands = 1023 * 0.12 + (1e13 / 2**30 - 1024) * 0.11
    assert lines(best)["stage in: egress"] == pytest.approx(in_bands + 596_047 * 4e-7)
    assert not best.cost_usd.at_least


@pytest.mark.parametrize(("name", "scheme"), [("aws", "s3"), ("azure", "az"), ("gcp", "gs")])
def test_staging_within_a_region_leaves_no_price_open(name: str, scheme: str) -> None:
    best = best_of(name, input=f"{scheme}://b/in", output=f"{scheme}://b/out", nodes=20)
    assert lines(best)["stage in: traffic"] == 0
    assert not best.cost_usd.unknown
    assert not best.cost_usd.at_least


def test_data_that_comes_from_a_cloud_without_such_a_price_is_charged_as_by_the_others(cloud: str) -> None:
    best = best_of(cloud, input="oci://b/in")
    usd = lines(best)["stage in: egress"]
    assert usd is not None and usd > 0
    assert not best.cost_usd.unknown
    assert any("stage in: egress: price unknown: assumed" in warning for warning in best.warnings)


def test_prices_a_catalog_lacks_are_unknown_and_not_zero(make_catalog: Callable[..., str]) -> None:
    bare = make_catalog({"fast": FAST}, object_stores=[{**STORE, "egress_usd_per_gib": None}])
    asked: dict[str, Any] = {"input": "s3://b/in", "output": "gs://b/out", "zones": 2}
    lacking = {"stage in: traffic", "stage out: egress", "traffic between zones"}
    best = best_of(bare, **asked)
    assumed = {line.name: line.usd for line in best.bill if "price unknown: assumed" in line.note}
    assert assumed.keys() == lacking and None not in assumed.values()
    certain = best_of(make_catalog({"fast": FAST}, object_stores=[STORE]), input="s3://b/in")
    assert best.cost_usd.total_p95 - best.cost_usd.total > certain.cost_usd.total_p95 - certain.cost_usd.total + 1
    strict = recommend(data="10TB", model="indy", catalogs=[bare], nodes=10, unknown="exclude", **asked).plan
    assert strict.best is None
    (rejection,) = strict.rejected
    assert rejection.reason == "stage in: traffic: price unknown"
    assert all(name in rejection.reason + rejection.detail for name in lacking)


def test_a_model_that_works_in_the_store_stages_nothing(cloud: str) -> None:
    best = best_of(cloud, model="object-store", input="s3://b/in", output="s3://b/out")
    assert "stage in" not in best.overheads_s
    assert "stage in: requests" not in lines(best)
    assert best.cost_usd.requests > 0


def test_without_a_rate_of_the_store_a_type_is_left_out_with_that_reason(
    make_catalog: Callable[..., str], approve: Approve
) -> None:
    bare = make_catalog({"fast": FAST})
    plan = recommend(data="10TB", model="indy", catalogs=[bare], input="s3://b/in").plan
    assert plan.best is None
    approve([(r.reason, "stage" in r.detail) for r in plan.rejected])


@settings(max_examples=25)
@given(
    nodes=st.integers(30, 300),
    zones=st.integers(1, 4),
    places=st.sampled_from([(None, None), ("s3://b/i", None), ("s3://b/i", "s3://b/o"), ("gs://b/i", "gs://b/o")]),
    model=st.sampled_from(["indy", "daytona", "object-store"]),
)
def test_the_known_lines_add_up_to_the_total(
    nodes: int, zones: int, places: tuple[str | None, str | None], model: str
) -> None:
    best = recommend(
        data="20TB", model=model, instances=["i4i.4xlarge"], nodes=nodes, zones=zones, input=places[0], output=places[1]
    ).best
    assert best is not None
    assert math.fsum(line.usd or 0.0 for line in best.bill) == pytest.approx(best.cost_usd.total)
    assert best.bill[0].usd == pytest.approx(best.cost_usd.expected - best.cost_usd.requests)


def test_budgets_see_the_whole_bill(cloud: str) -> None:
    staged = best_of(cloud, zones=2)
    budget = staged.cost_usd.total_p95
    assert recommend(data="10TB", model="indy", catalogs=[cloud], nodes=10, zones=2, budget_usd=budget).best
    plan = recommend(data="10TB", model="indy", catalogs=[cloud], nodes=10, zones=2, budget_usd=budget * 0.99).plan
    assert plan.best is None
    assert "exceeds the budget" in plan.rejected[0].reason


def test_the_papers_know_of_no_staging(cloud: str) -> None:
    plain, staged = (best_of(cloud, paper=True, **more) for more in ({}, {"input": "gs://b/i", "zones": 3}))
    assert plain.cost_usd == staged.cost_usd


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"input": "/data/in"}, r"`input='/data/in'`: not the address of an object store"),
        ({"output": "s3://"}, "`output='s3://'`"),
        ({"input": "ftp://x/y"}, "ftp://x/y"),
        ({"zones": 0}, "`zones=0`"),
    ],
)
def test_places_that_are_none(cloud: str, options: dict[str, Any], text: str) -> None:
    with pytest.raises(BadInputError, match=text):
        best_of(cloud, **options)


MakeContext = Callable[..., JobContext]
NODE = {"a": {"read": 4e9, "write": 2e9}}
TIMES = Range(equation=1000, expected=1100, p50=1050, p95=1500)


def by_the_hour(context: JobContext, *, spares: float = 2.0, reservations: Reservations | None = None) -> Hourly:
    """Return ten nodes at $3.60 an hour, a tenth of a cent a second, and two spares for 200 s."""
    offer = Offer(
        region="here",
        pricing="on-demand",
        price_usd_per_hour=np.array([3.6]),
        evidence=("spec",),
        reservations=reservations,
    )
    hourly = Hourly.of(context, offer, nodes=np.array([[10.0]]), spares=np.array([[spares]]))
    return replace(hourly, spare_s=np.array([[200.0]]))


def bills(context: JobContext, hourly: Hourly | None = None, *, around_s: float = 300, late_s: float = 0) -> Bills:
    return Bills(
        context=context,
        nodes=np.array([[10.0]]),
        hourly=hourly or by_the_hour(context),
        dearest=hourly or by_the_hour(context),
        around_s=np.array([[float(around_s)]]),
        late_s=np.array([[float(late_s)]]),
    )


def cost(of: Bills) -> Cost:
    """Return the cost of a job that takes `TIMES`."""
    totals = of.total_usd(np.array([[TIMES.expected]])), of.total_p95_usd(np.array([[TIMES.p95]]))
    return of.cost(0, TIMES, total=float(totals[0][0, 0]), total_p95=float(totals[1][0, 0]))


def test_spares_are_paid_until_they_go_or_the_run_ends(make_context: MakeContext) -> None:
    hourly = by_the_hour(make_context(NODE).only(np.array([0])))
    assert (hourly.job, hourly.all_paid) == (pytest.approx(36), pytest.approx(43.2))
    assert hourly.usd(np.array([1000.0])) == pytest.approx(10 + 0.4)
    assert hourly.usd(np.array([100.0])) == pytest.approx(1 + 0.2)
    assert hourly.spares_usd(np.array([1000.0])) == pytest.approx(0.4)


def test_requests_are_in_every_figure_of_a_cost(make_context: MakeContext) -> None:
    """A cent a second plus the cost of the requests, whatever the time."""
    context = make_context(NODE, model="object-store", files={"object_stores": [STORE]}).only(np.array([0]))
    usual = cost(bills(context, replace(by_the_hour(context), job=np.array([[36.0]]))))
    assert usual.requests > 0
    figures = np.array([usual.equation, usual.expected, usual.p50, usual.p95]) - usual.requests
    assert figures == pytest.approx([10, 11, 10.5, 15])


def test_a_reservation_is_used_by_the_nodes_at_work_first(make_context: MakeContext) -> None:
    """Nine reserved: the tenth and both spares cost $1 an hour more."""
    reserved = Reservations(nodes=np.array([9.0]), above_usd_per_hour=np.array([1.0]))
    hourly = by_the_hour(make_context(NODE).only(np.array([0])), reservations=reserved)
    assert (hourly.job, hourly.all_paid) == (pytest.approx(36 + 1), pytest.approx(43.2 + 3))


def test_a_bill_by_hand(make_context: MakeContext) -> None:
    """1,100 s of work and 300 around it, at a cent a second. A boot 100 s late keeps the spares longer, too."""
    of = bills(make_context(NODE).only(np.array([0])), late_s=100)
    usual = cost(of)
    assert (usual.equation, usual.expected, usual.p50, usual.p95) == pytest.approx((10, 11, 10.5, 15))
    assert usual.total == pytest.approx(14 + 0.4)
    assert usual.total_p95 == pytest.approx((1500 + 300 + 100) / 100 + 0.6)
    assert (usual.charges, usual.requests, usual.unknown) == (0, 0, ())
    steps = {"job": 1100.0, "boot": 200.0, "teardown": 100.0}
    assert [(line.name, line.time_s, line.usd) for line in of.lines(0, steps, notes={})] == [
        ("job", 1100, pytest.approx(11)),
        ("boot", 200, pytest.approx(2)),
        ("teardown", 100, pytest.approx(1)),
        ("spares", None, pytest.approx(0.4)),
    ]


def test_what_the_cloud_rounds_up_is_a_line_of_its_own(make_context: MakeContext) -> None:
    """1,400 s are billed as an hour: 2,200 s more, at a cent a second."""
    terms = '[billing]\nstep_s = 3600\nminimum_s = 60\nevidence = "spec"\nsource = "made"'
    of = bills(make_context(NODE, head=terms).only(np.array([0])))
    lines = {line.name: line.usd for line in of.lines(0, {"job": 1100.0, "boot": 300.0}, notes={})}
    assert lines["rounding"] == pytest.approx(22)
    assert cost(of).total == pytest.approx(36.4)


@pytest.mark.parametrize(
    ("source", "note"),
    [
        (None, None),
        ("s3://bucket/in", "stage in: the object store is taken to be in the cluster's region"),
        (
            "gs://bucket/in",
            "stage in: one machine reached 762.5 MB/s between such places in 2022, "
            "497.5 MB/s to 887.5 MB/s nine times in ten",
        ),
    ],
)
def test_what_is_staged_says_where_from(source: str | None, note: str | None) -> None:
    best = recommend(data="1TB", model="indy", instances=["i4i.8xlarge"], nodes=4, input=source).best
    assert best is not None
    of_places = [text for text in best.warnings if text.startswith("stage") and "price" not in text]
    assert of_places == ([note] if note else [])


@pytest.mark.parametrize(("evidence", "warned"), [("recalled", True), ("spec", False)])
def test_a_price_that_is_recalled_is_said_to_be(
    make_catalog: Callable[..., str], evidence: str, *, warned: bool
) -> None:
    """Reading costs $4e-7 a request; free items, such as traffic within the region, need no source."""
    catalog = make_catalog({"fast": FAST}, object_stores=[STORE | {"evidence": evidence}], transfers=TRANSFERS)
    warnings = best_of(catalog, input="s3://b/in").warnings
    recalled = [text for text in warnings if text.endswith("the price is recalled, not verified against a source")]
    assert recalled == ["stage in: requests: the price is recalled, not verified against a source"] * warned


def test_a_line_of_nothing_is_left_out(make_context: MakeContext) -> None:
    context = make_context(NODE).only(np.array([0]))
    of = bills(context, by_the_hour(context, spares=0.0))
    assert [line.name for line in of.lines(0, {"job": 100.0}, notes={})] == ["job"]
