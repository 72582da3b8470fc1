"""What a preflight collects: findings, places and today's prices."""

from __future__ import annotations

import pytest
from emulated_ec2 import choice

from planner.providers.preflight import PreflightLog


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
    prices = {} if usd_per_hour is None else {("i4i.large", "us-east-1"): usd_per_hour}
    assert log.result().price_usd_per_hour == prices


def test_only_a_reason_against_keeps_a_place_from_being_tried() -> None:
    log = PreflightLog()
    assert [log.note("quota", ok, "") for ok in (True, None, False)] == [True, True, False]
    log.add_places(choice(), "us-east-1", ["us-east-1a", "us-east-1b"])
    result = log.result()
    assert [place.zone for place in result.places] == ["us-east-1a", "us-east-1b"]
    assert [finding.ok for finding in result.findings] == [True, None, False]
