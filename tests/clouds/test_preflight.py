"""Results of a preflight: findings, places and today's prices."""

from __future__ import annotations

import threading
from functools import partial

import pytest
from emulated_ec2 import choice

from planner.clouds.cloud_errors import PassingError
from planner.clouds.preflight import AnswerCache, PreflightLog
from planner.clouds.protocol import Place
from planner.clusters.provisioning.order_from_plan import at_todays_price


@pytest.mark.parametrize(
    ("usd_per_hour", "text"),
    [
        (0.172, "$0.1720 per hour, as planned"),
        (0.215, "$0.2150 per hour, +25.0% against the plan"),
        (None, "not known; planned with $0.1720 per hour"),
    ],
)
def test_todays_price_stands_beside_the_planned_one(usd_per_hour: float | None, text: str) -> None:
    log = PreflightLog()
    log.note_price(choice(), "us-east-1", usd_per_hour)
    [finding] = log.findings
    assert (finding.subject, finding.text) == ("price of i4i.large in us-east-1", text)
    prices = {} if usd_per_hour is None else {("i4i.large", "us-east-1", "on-demand"): usd_per_hour}
    assert log.result().price_usd_per_hour == prices


def test_the_same_type_with_other_disks_has_a_price_of_its_own() -> None:
    """Google's machines are of one type with 16 disks or 24; the price looked up last used to apply to all."""
    log, choices = PreflightLog(), [choice(local_disks=disks) for disks in (24, 16, 0)]
    for each_choice, usd in zip(choices, (3.0, 2.0, 1.0), strict=True):
        log.note_price(each_choice, "r", usd)
    seen = log.result()
    places = [Place(choice=asked, region="r", zone="") for asked in choices]
    assert [at_todays_price(place, seen).price_usd_per_hour for place in places] == [3.0, 2.0, 1.0]


def test_machines_that_were_planned_as_costing_nothing_have_todays_price() -> None:
    """Three nodes at $0.20 for an hour are $0.60."""
    log = PreflightLog()
    log.note_price(choice(price_usd_per_hour=0.0), "r", 0.2)
    [finding] = log.findings
    assert finding.text == "$0.2000 per hour, planned with $0.0000"
    free = choice(price_usd_per_hour=0.0, usd_per_hour=0.0, total_usd=0.0)
    now = at_todays_price(Place(choice=free, region="r", zone=""), log.result())
    assert (now.usd_per_hour, now.total_usd) == pytest.approx((0.6, 0.6))


def test_only_a_reason_against_keeps_a_place_from_being_tried() -> None:
    log = PreflightLog()
    assert [log.note("quota", ok, "") for ok in (True, None, False)] == [True, True, False]
    log.add_places(choice(), "us-east-1", ["us-east-1a", "us-east-1b"])
    result = log.result()
    assert [place.zone for place in result.places] == ["us-east-1a", "us-east-1b"]
    assert [finding.ok for finding in result.findings] == [True, None, False]


def test_checks_run_at_once_and_are_reported_in_their_order() -> None:
    """Each of three checks waits until all have started; the second is refused a place."""
    log, all_began = PreflightLog(), threading.Barrier(3)

    def check(name: str, own: PreflightLog) -> bool:
        all_began.wait(60)
        return own.note(name, name != "b", "")

    assert log.run_at_once([partial(check, name) for name in "abc"]) == [True, False, True]
    assert [finding.subject for finding in log.result().findings] == ["a", "b", "c"]


def test_what_several_checks_need_is_asked_for_once() -> None:
    once, asked = AnswerCache(), []

    def ask() -> str:
        asked.append(1)
        raise PassingError("away")

    for _ in range(2):
        with pytest.raises(PassingError, match="away"):
            once("sizes", ask)
    assert once("prices", lambda: "answer") == once("prices", ask) == "answer"
    assert asked == [1]
