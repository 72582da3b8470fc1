"""The cost of a run, computed by hand from a journal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from planner.clusters.provisioning.cost_to_date import bill_of
from planner.clusters.provisioning.run_directory import Event

START = datetime(2026, 11, 21, 12, tzinfo=UTC)


def event(hours: float, what: str, **details: Any) -> Event:
    return Event(at=START + timedelta(hours=hours), what=what, details=details)


def test_each_machine_costs_from_its_launch_to_its_end_at_the_price_it_was_launched_at() -> None:
    journal = [
        event(0, "place", node_usd_per_hour=2.0),
        event(0, "made", kind="instance", id="i-1"),
        event(0, "made", kind="instance", id="i-2"),
        event(0, "made", kind="vpc", id="vpc-1"),
        event(1, "ended", nodes=["i-1"]),
        event(1, "place", node_usd_per_hour=3.0),
        event(1, "made", kind="instance", id="i-3"),
    ]
    running = bill_of(journal, now=START + timedelta(hours=2))
    # i-1: 1 h at $2, i-2: 2 h at $2, i-3: 1 h at $3.
    assert (running.node_hours, running.usd, running.running) == (pytest.approx(4), pytest.approx(9), 2)
    over = bill_of([*journal, event(3, "ended", nodes=[])], now=START + timedelta(hours=9))
    # i-2: 3 h at $2, i-3: 2 h at $3, and nothing after the end of all.
    assert (over.node_hours, over.usd, over.running) == (pytest.approx(6), pytest.approx(14), 0)


def test_a_machine_that_was_seen_before_its_answer_came_costs_from_then_on_at_its_own_price() -> None:
    """This happens while a cloud launches many machines and someone asks for the status."""
    journal = [
        event(0, "place", node_usd_per_hour=2.0, head_usd_per_hour=5.0, price_source="the plan"),
        event(0, "seen", nodes=["i-1"]),
        event(1, "made", kind="instance", id="i-1", name="head"),
    ]
    (machine,) = bill_of(journal, now=START + timedelta(hours=3)).machines
    assert (machine.hours, machine.usd_per_hour, machine.price_source) == (pytest.approx(3), 5.0, "the plan")
    assert machine.is_running


def test_a_machine_that_is_seen_after_its_end_has_not_ended() -> None:
    """EC2 may not know a new machine for a minute (hashicorp/terraform-provider-aws issue 8029): a look meanwhile took
    it for gone, and the bill stopped while it ran.
    """
    journal = [
        event(0, "place", node_usd_per_hour=2.0),
        event(0, "made", kind="instance", id="i-1"),
        event(0.01, "ended", nodes=["i-1"]),
        event(1, "seen", nodes=["i-1"]),
    ]
    running = bill_of(journal, now=START + timedelta(hours=3))
    assert (running.usd, running.running) == (pytest.approx(6), 1)
    over = bill_of([*journal, event(2, "ended", nodes=[])], now=START + timedelta(hours=3))
    assert (over.usd, over.running) == (pytest.approx(4), 0)


def test_machines_that_ended_by_themselves_cost_until_they_expired_and_those_seen_later_until_then() -> None:
    """Their end was not recorded: the bill kept growing for weeks."""
    journal = [
        event(0, "order", expires_at="20261121t130000z"),
        event(0, "place", node_usd_per_hour=2.0, head_usd_per_hour=5.0),
        event(0, "made", kind="instance", id="i-1", name="head"),
        event(0, "made", kind="instance", id="i-2", name="node"),
    ]
    weeks_later = START + timedelta(days=20)
    over = bill_of(journal, now=weeks_later)
    assert (over.node_hours, over.usd, over.running) == (pytest.approx(2), pytest.approx(7), 0)
    late_end = bill_of([*journal, event(400, "ended", nodes=[])], now=weeks_later)
    assert late_end == over, "the end was noted only when somebody looked"
    overdue = bill_of([*journal, event(3, "seen", nodes=["i-2"])], now=START + timedelta(hours=4))
    # i-1: 1 h at $5, i-2: 3 h at $2.
    assert (overdue.usd, overdue.running) == (pytest.approx(11), 1)
