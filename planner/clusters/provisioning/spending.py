"""Spending of all runs known to this machine in a calendar month, and its limit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from planner.clouds.order import parse_stamp
from planner.clusters.provisioning.cost_to_date import bill_of
from planner.clusters.provisioning.order_from_plan import Limits
from planner.clusters.provisioning.run_directory import Event, RunDirectory, known_runs
from planner.config.settings import load_settings
from planner.errors import InfeasibleError

OPTION = "--max-cost-per-month"


def within_month(limits: Limits, usd_per_month: float | None, *, now: datetime) -> Limits:
    """Return limits that also keep to what is left of a month's money, which the settings file may name.

    Raises InfeasibleError when nothing is left.
    """
    month_usd = usd_per_month or load_settings(today=now.date()).usd_per_month
    if month_usd is None:
        return limits
    spent_usd = committed_usd((RunDirectory.open(run).events() for run in known_runs()), now=now)
    left_usd = month_usd - spent_usd
    if left_usd <= 0:
        raise InfeasibleError(
            f"{OPTION} {month_usd:g}: this month's runs take ${spent_usd:.2f}, with what they may still spend",
            ["raise it, or end some: `planner cluster status` lists them"],
        )
    if limits.cost_usd is not None and limits.cost_usd <= left_usd:
        return limits
    return replace(limits, cost_usd=left_usd, cost_option=f"the ${left_usd:.2f} that are left of {OPTION}")


def committed_usd(journals: Iterable[tuple[Event, ...]], *, now: datetime) -> float:
    """Return what runs cost since the month began; those that go on are taken to live until they expire."""
    month = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return sum(bill_of(journal, now=_end(journal, now)).usd - bill_of(journal, now=month).usd for journal in journals)


def _end(journal: tuple[Event, ...], now: datetime) -> datetime:
    ends = [parse_stamp(event.details["expires_at"]) for event in journal if event.what == "order"]
    return max([now, *ends[-1:]])
