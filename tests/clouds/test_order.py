"""Orders: prices, times, tags, and conversion to JSON and back."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from emulated_ec2 import choice, order, volumes

from planner.api.recommend import recommend
from planner.clouds.order import ClusterOffer, Order, parse_stamp, stamp


def test_an_order_survives_its_json() -> None:
    moment = datetime(2026, 11, 21, 16, 45, tzinfo=UTC)
    asked = order("r1", choice(volumes=volumes(3)), choice(local_disks=2), expires_at=moment, staging=True)
    assert Order.from_dict(json.loads(json.dumps(asked.to_dict()))) == asked


def test_spares_are_paid_for() -> None:
    asked = choice(nodes=3, spares=1, usd_per_hour=0.516)
    assert asked.machines == 4
    assert asked.launched_usd_per_hour == pytest.approx(0.688)


def test_a_stamp_is_in_universal_time_and_reads_back() -> None:
    moment = datetime(2026, 11, 21, 18, 45, tzinfo=timezone(timedelta(hours=2)))
    assert stamp(moment) == "20261121t164500z"
    assert parse_stamp(stamp(moment)) == moment
    with pytest.raises(ValueError, match="does not match"):
        parse_stamp("tomorrow")


def test_tags_suit_all_clouds() -> None:
    tags = order("r20261121-1645-bcdfgh").tags
    assert tags.keys() == {"planner-run", "planner-owner", "planner-expires"}
    assert all(value.replace("-", "").replace("_", "").isalnum() and value.islower() for value in tags.values())


def test_disks_that_a_catalog_adds_to_a_type_are_ordered() -> None:
    plan = recommend(data="1TB", model="indy", catalogs=["gcp"], instances=["n2-standard-32+16x375GB"], nodes=4).plan
    asked = ClusterOffer.of(plan.candidates[0], regions=("europe-west4",), late_s=100.0)
    assert (asked.instance_type, asked.local_disks) == ("n2-standard-32", 16)
    assert asked.regions == (plan.candidates[0].region, "europe-west4")


def test_tags_of_the_user_go_on_everything_and_never_hide_the_runs_own() -> None:
    moment = datetime(2026, 11, 21, 16, 45, tzinfo=UTC)
    asked = order("r1", expires_at=moment, user_tags=(("cost-center", "lab-7"), ("planner-run", "other")))
    assert asked.tags["cost-center"] == "lab-7" and asked.tags["planner-run"] == "r1"
    assert Order.from_dict(json.loads(json.dumps(asked.to_dict()))) == asked


def test_spot_machines_may_rise_to_the_on_demand_price() -> None:
    spot = choice(pricing="spot", price_usd_per_hour=0.05, usd_per_hour=0.15).at_price(0.05, head=0.172)
    assert spot.launched_usd_per_hour == pytest.approx(3 * 0.05 + 0.172)
    assert spot.ceiling_usd_per_hour == pytest.approx(4 * 0.172)
    assert spot.at_price(0.05).ceiling_usd_per_hour is None, "unknown, not a guess"


def test_an_order_of_an_earlier_version_has_its_total_in_one_line() -> None:
    """Its runs may still go on: their journals hold a total and no lines."""
    now = order("r1", choice(total_usd=0.7)).to_dict()
    before = [{name: value for name, value in offer.items() if name != "bill"} for offer in now["choices"]]
    read = Order.from_dict(json.loads(json.dumps(now | {"choices": [each | {"total_usd": 0.7} for each in before]})))
    assert read.choices[0].total_usd == 0.7 and read == order("r1", choice(total_usd=0.7), expires_at=read.expires_at)
