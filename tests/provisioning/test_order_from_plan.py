"""From a plan to an order: how long machines may live, what is affordable, and who may reach the head."""

from __future__ import annotations

from dataclasses import replace

import pytest
from emulated_ec2 import choice

from planner.errors import BadInputError
from planner.providers.protocol import Place, Preflight
from planner.provisioning.order_from_plan import Limits, affordable, checked_network, hours_allowed


def test_machines_live_twice_as_long_as_expected_and_no_longer_than_is_paid_for() -> None:
    three_hours = choice(expected_s=3 * 3600.0, usd_per_hour=0.75, nodes=3, spares=1)
    assert hours_allowed([three_hours], Limits()) == 6.0
    assert hours_allowed([choice(expected_s=60.0)], Limits()) == 1.0
    assert hours_allowed([three_hours], Limits(hours=9.0)) == 9.0
    # Four machines for the price of three times 4/3: one dollar an hour.
    assert hours_allowed([three_hours], Limits(cost_usd=2.5)) == pytest.approx(2.5)


def test_todays_price_decides_what_is_affordable() -> None:
    planned = choice(price_usd_per_hour=0.172, usd_per_hour=0.516, total_usd=0.7)
    places = tuple(Place(choice=planned, region=region, zone="") for region in ("near", "dear"))
    seen = Preflight(findings=(), places=places, price_usd_per_hour={("i4i.large", "dear"): 0.344})
    affordable_places, reasons = affordable(seen, Limits(cost_usd=1.0))
    assert [place.region for place in affordable_places] == ["near"]
    assert reasons == ["4 x i4i.large in dear: $1.40 expected, over --max-cost"]
    doubled, none = affordable(seen, Limits())
    assert not none
    assert doubled[1].choice == replace(planned, price_usd_per_hour=0.344, usd_per_hour=1.032, total_usd=1.4)


@pytest.mark.parametrize(("text", "network"), [("203.0.113.7/32", "203.0.113.7/32"), ("10.1.2.3/8", "10.0.0.0/8")])
def test_a_network_is_written_by_its_first_address(text: str, network: str) -> None:
    assert checked_network(text) == network


@pytest.mark.parametrize("text", ["0.0.0.0/0", "128.0.0.0/1", "home"])
def test_half_the_world_may_not_reach_the_head(text: str) -> None:
    with pytest.raises(BadInputError, match=f"--ssh-from {text}"):
        checked_network(text)
