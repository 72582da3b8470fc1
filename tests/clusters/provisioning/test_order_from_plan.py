"""From a plan to an order: the machines' lifetime, affordable offers, and access to the head."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from emulated_ec2 import choice, order
from refusals import refused

import planner
from planner.api.recommend import recommend
from planner.clouds.protocol import Place, Preflight
from planner.clusters.provisioning.order_from_plan import (
    Limits,
    affordable_places,
    choices_of,
    hours_allowed,
    offers_within,
    owner,
    parse_network,
    with_todays_end,
)
from planner.errors import BadInputError, InfeasibleError
from planner.report.terminal.cluster_table import offer_text
from planner.schemas.plan import ADDRESS_LINE, ROOTS_LINE


def test_machines_live_longer_than_95_of_100_runs_and_no_longer_than_is_paid_for() -> None:
    three_hours = choice(expected_s=3 * 3600.0, late_s=4 * 3600.0, usd_per_hour=0.75, nodes=3, spares=1)
    assert hours_allowed([three_hours], Limits()) == 6.0, "4 h x 1.5"
    assert hours_allowed([choice(expected_s=60.0)], Limits()) == 1.0
    assert hours_allowed([three_hours], Limits(hours=9.0)) == 9.0
    # Four machines at the price of three times 4/3: one dollar an hour.
    assert hours_allowed([three_hours], Limits(cost_usd=2.5)) == pytest.approx(2.5)


def test_todays_price_decides_what_is_affordable() -> None:
    planned = choice(price_usd_per_hour=0.172, usd_per_hour=0.516, total_usd=0.7)
    places = tuple(Place(choice=planned, region=region, zone="") for region in ("near", "dear"))
    seen = Preflight(findings=(), places=places, price_usd_per_hour={("i4i.large", "dear", "on-demand"): 0.344})
    affordable, reasons = affordable_places(seen, Limits(cost_usd=1.0))
    assert [place.region for place in affordable] == ["near"]
    assert reasons == ["4 x i4i.large in dear: $1.40 expected, over --max-cost"]
    doubled, none = affordable_places(seen, Limits())
    assert not none
    assert doubled[1].choice == choice(price_usd_per_hour=0.344, usd_per_hour=1.032, total_usd=1.4)


def test_machines_that_cost_nothing_live_as_long_as_they_need() -> None:
    assert hours_allowed([choice(usd_per_hour=0.0, expected_s=7200.0)], Limits(cost_usd=5.0)) == pytest.approx(3.0)


def test_a_limit_below_the_expected_run_is_refused_by_number() -> None:
    """An hour expected, two at the 95%; four machines at $0.172 each are $0.688 an hour: two hours are $1.38."""
    place = Place(choice=choice(expected_s=3600.0, late_s=7200.0), region="here", zone="")
    seen = Preflight(findings=(), places=(place,), price_usd_per_hour={("i4i.large", "here", "on-demand"): 0.172})
    places, reasons = affordable_places(seen, Limits(hours=0.5))
    assert places == () and len(reasons) == 1
    assert "end after 30 min 0 s, before the 1 h 0 min" in reasons[0]
    assert "--max-hours 2.00h and --max-cost 2 suffice" in reasons[0]
    # The run is expected to cost $0.70 without its spare; that pays for the four machines for 61 minutes.
    assert affordable_places(seen, Limits(cost_usd=0.70))[0]
    dearer = replace(seen, price_usd_per_hour={("i4i.large", "here", "on-demand"): 0.2})
    assert affordable_places(dearer, Limits(cost_usd=0.70))[0] == ()


def test_a_limit_between_the_expected_run_and_its_95_percent_is_warned_of() -> None:
    asked = order("warned", choice(expected_s=3600.0, late_s=7200.0))
    place, now = Place(choice=asked.choices[0], region="here", zone=""), asked.expires_at
    short, enough = (offer_text(asked, [place], now=now - timedelta(hours=hours)) for hours in (1.5, 2.0))
    assert "warning: 95 of 100 such runs end within 2 h 0 min" in short
    assert "warning" not in enough


def test_a_dearer_day_ends_machines_earlier() -> None:
    """$2 pays for four machines for 2.9 h at $0.172 each, for 1.45 h at $0.344."""
    planned, limits, now = choice(late_s=7200.0), Limits(cost_usd=2.0), datetime(2026, 11, 22, 12, tzinfo=UTC)
    asked = replace(order("dear", planned), expires_at=now + timedelta(hours=hours_allowed([planned], limits)))
    seen = Preflight(
        findings=(),
        places=(Place(choice=planned, region="r", zone=""),),
        price_usd_per_hour={("i4i.large", "r", "on-demand"): 0.344},
    )
    ends = with_todays_end(asked, affordable_places(seen, limits)[0], limits).expires_at
    assert (asked.expires_at - now).total_seconds() == pytest.approx(2.0 / 0.688 * 3600)
    assert (ends - now).total_seconds() == pytest.approx(2.0 / 1.376 * 3600)


@pytest.mark.parametrize("model", ["indy", "daytona"])
def test_178_nodes_outlive_their_whole_run(model: str) -> None:
    """The 95% of the sort, all planned steps around it when late, the checksum of the input, and half an hour."""
    plan = recommend(data="100TB", model=model, instances=["i4i.8xlarge"], nodes=178).plan
    best, ordered = plan.candidates[0], choices_of(plan, cloud="aws", regions=())[0]
    overheads_s = sum(best.overheads_s.values()) + best.overheads_s["validate"]
    assert ordered.late_s is not None and ordered.late_s >= best.time_s.p95 + overheads_s + 1800
    assert hours_allowed([ordered], Limits()) * 3600 >= 1.5 * ordered.late_s


def test_the_spares_ordered_are_those_that_the_plan_pays_for() -> None:
    """178 nodes and the plan's four spares, one in fifty rounded up; a plan with 13 spares has 13 ordered.

    Where the machines are not screened no spares are ordered, and the total is the plan's without their line.
    """
    plan = recommend(data="100TB", model="indy", instances=["i4i.8xlarge"], nodes=178).plan
    best = plan.candidates[0]
    assert best.spares == 4
    more = replace(plan, candidates=(replace(best, spares=13),))
    assert [choices_of(asked, cloud="aws", regions=())[0].machines for asked in (plan, more)] == [182, 191]
    alone = choices_of(plan, cloud="aws", regions=(), screened=False)[0]
    assert (alone.spares, alone.machines) == (0, 178)
    beside_usd = sum(line.usd or 0.0 for line in best.bill if line.name in (ROOTS_LINE, ADDRESS_LINE))
    assert alone.launched_usd_per_hour == pytest.approx(best.usd_per_hour + beside_usd * 3600 / best.whole_run_s)
    spares_usd = next(line.usd for line in best.bill if line.name == "spares")
    assert spares_usd is not None and spares_usd > 0
    assert alone.total_usd == pytest.approx(best.cost_usd.total - spares_usd)


def test_the_next_types_follow_and_then_all_on_demand() -> None:
    """One type more than the best; the on-demand cluster costs the price of its machines, without a separate head."""
    plan = recommend(data="1TB", model="indy", pricing="spot").plan
    spot, other, again, last = choices_of(plan, cloud="aws", regions=(), or_next=1)
    assert [choice.pricing for choice in (spot, other, again, last)] == ["spot", "spot", "on-demand", "on-demand"]
    assert (spot.instance_type, other.instance_type) == (again.instance_type, last.instance_type)
    assert again.price_usd_per_hour == spot.head_usd_per_hour
    assert again.ceiling_usd_per_hour == pytest.approx(spot.ceiling_usd_per_hour)
    assert len(choices_of(plan, cloud="aws", regions=(), or_next=0)) == 2
    seen = Preflight(
        findings=(),
        places=tuple(Place(choice=choice, region="r", zone="") for choice in (spot, again)),
        price_usd_per_hour={(spot.type_with_disks, "r", "spot"): 0.5, (spot.type_with_disks, "r", "on-demand"): 2.0},
    )
    places, _ = affordable_places(seen, Limits(hours=100.0))
    assert [place.choice.price_usd_per_hour for place in places] == [0.5, 2.0]
    # Today's spot price does not determine the same machines' on-demand price: the plan's price stays.
    unknown = replace(seen, price_usd_per_hour={(spot.type_with_disks, "r", "spot"): 0.01})
    _, on_demand = affordable_places(unknown, Limits(hours=100.0))[0]
    assert on_demand.choice.price_usd_per_hour == again.price_usd_per_hour


@pytest.mark.parametrize(("text", "network"), [("203.0.113.7/32", "203.0.113.7/32"), ("10.1.2.3/8", "10.0.0.0/8")])
def test_a_network_is_written_by_its_first_address(text: str, network: str) -> None:
    assert parse_network(text) == network


@pytest.mark.parametrize("text", ["0.0.0.0/0", "128.0.0.0/1", "home", "2001:db8::7/128"])
def test_half_the_world_may_not_reach_the_head(text: str) -> None:
    """Nor may IPv6, which the machines lack: it used to be accepted, and then the cloud refused the rule."""
    with pytest.raises(BadInputError, match=text) as refused:
        parse_network(text)
    assert refused.value.field == "ssh_from"


def test_what_the_limits_do_not_allow_is_refused_at_the_plans_price() -> None:
    cheap, dear = choice(total_usd=0.7), choice(total_usd=1.4)
    over = "4 x i4i.large: $1.40 expected, over --max-cost"
    assert offers_within([dear, cheap], Limits(cost_usd=1.0)) == ([cheap], [over])
    with refused("over-limits", kind=InfeasibleError) as caught:
        offers_within([dear], Limits(cost_usd=1.0))
    assert caught.value.details == (over,)


def test_a_dearer_further_choice_does_not_end_the_first_one_early() -> None:
    """$2 pays for 2.9 h at $0.688 an hour, which 95 of 100 runs need two of; at twice the price for 1.45 h."""
    first = choice(expected_s=3600.0, late_s=7200.0)
    dear = choice(expected_s=1800.0, late_s=3600.0, instance_type="i4i.xlarge", usd_per_hour=1.032)
    limits = Limits(cost_usd=2.0)
    assert 3600 * hours_allowed([first, dear], limits) < first.needed_s
    kept, reasons = offers_within([first, dear, first.on_demand], limits)
    assert kept == [first, first.on_demand]
    assert len(reasons) == 1 and "4 x i4i.xlarge: no further choice" in reasons[0]
    places = tuple(Place(choice=offer, region="here", zone="") for offer in (first, dear))
    affordable, reasons = affordable_places(Preflight(findings=(), places=places, price_usd_per_hour={}), limits)
    assert [place.choice for place in affordable] == [first]
    assert "ends all machines after" in reasons[0]
    assert offers_within([first, dear], Limits(cost_usd=5.0)) == ([first, dear], [])
    assert offers_within([first, dear], Limits(hours=3.0)) == ([first, dear], [])


def test_who_has_no_name_is_known_by_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's user need not be in its list of users."""

    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.setattr("getpass.getuser", nameless)
    assert owner() == f"uid-{os.getuid()}"


@pytest.mark.parametrize("supposed", [{"disks": 2.0}, {"network": 2.0, "data": 2.0}])
def test_machines_that_a_what_if_supposes_are_not_rented(supposed: dict[str, float]) -> None:
    plan = planner.recommend("1TB", instance="i4i.4xlarge", what_if=supposed).plan
    with refused("what-if", "--what-if " + next(iter(supposed))):
        choices_of(plan, cloud="aws", regions=["us-east-1"])
    with refused("what-if"):
        planner.recommend("1TB", instance="i4i.4xlarge", what_if=supposed).export("emr")
