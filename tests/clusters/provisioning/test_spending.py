"""What all runs of a month cost, and what that leaves for the next one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from emulated_ec2 import choice, order

from planner.clusters.provisioning.order_from_plan import Limits
from planner.clusters.provisioning.run_directory import Event, RunDirectory
from planner.clusters.provisioning.spending import committed_usd, within_month
from planner.errors import InfeasibleError

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def journal(began: datetime, *, hours: float, ended_after: float | None = None) -> tuple[Event, ...]:
    """Return one machine at $2 per hour that expires after some hours."""

    def event(at: datetime, what: str, **details: Any) -> Event:
        return Event(at=at, what=what, details=details)

    expires_at = f"{began + timedelta(hours=hours):%Y%m%dt%H%M%Sz}"
    events = [
        event(began, "order", expires_at=expires_at),
        event(began, "place", node_usd_per_hour=2.0),
        event(began, "made", kind="instance", id="i-1"),
    ]
    ends = [] if ended_after is None else [event(began + timedelta(hours=ended_after), "ended", nodes=[])]
    return (*events, *ends)


def test_a_run_that_goes_on_counts_until_it_expires_and_one_across_months_in_part() -> None:
    over = journal(NOW - timedelta(hours=9), hours=8, ended_after=3)
    goes_on = journal(NOW - timedelta(hours=1), hours=4)
    across = journal(datetime(2026, 10, 31, 22, tzinfo=UTC), hours=5)
    before = journal(datetime(2026, 10, 3, tzinfo=UTC), hours=5)
    assert committed_usd([over], now=NOW) == pytest.approx(6)
    assert committed_usd([goes_on], now=NOW) == pytest.approx(8)
    assert committed_usd([across], now=NOW) == pytest.approx(6), "of five hours three were in November"
    assert committed_usd([before], now=NOW) == pytest.approx(0)


def test_the_month_leaves_what_other_runs_do_not_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings file names the limit where no option does."""
    monkeypatch.setenv("PLANNER_RUNS", str(tmp_path / "runs"))
    settings = tmp_path / "settings.toml"
    monkeypatch.setenv("PLANNER_SETTINGS", str(settings))
    now = datetime.now(UTC)
    limits = Limits(cost_usd=50.0)
    assert within_month(limits, None, now=now) == limits, "no limit was named"
    expires_at = now + timedelta(hours=2)
    directory = RunDirectory.create(order("r1", choice(), expires_at=expires_at))
    directory.note("place", node_usd_per_hour=10.0)
    directory.note("made", kind="instance", id="i-1", region="us-east-1")
    settings.write_text("[limits]\nmax_cost_per_month = 60\n")
    assert within_month(limits, None, now=now).cost_usd == pytest.approx(40, abs=0.1)
    assert within_month(limits, 100, now=now) == limits, "80 are left"
    with pytest.raises(InfeasibleError, match=r"--max-cost-per-month 15: this month's runs take \$20\.00"):
        within_month(limits, 15, now=now)
