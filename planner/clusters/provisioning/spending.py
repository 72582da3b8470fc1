"""Spending of all runs known to this machine in a calendar month, and its limit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from planner.clouds.order import Order, parse_stamp
from planner.clouds.protocol import Place
from planner.clusters.provisioning.cost_to_date import bill_of
from planner.clusters.provisioning.order_from_plan import Limits, most_usd_per_hour
from planner.clusters.provisioning.run_directory import Event, RunDirectory, known_runs, runs_directory
from planner.config.atomic_file import change_store
from planner.config.settings import load_settings
from planner.errors import InfeasibleError

OPTION: Final = "--max-cost-per-month"
_COMMITMENT: Final = "commitment"
_ROUNDING_USD: Final = 0.005


def within_month(limits: Limits, usd_per_month: float | None, *, now: datetime) -> Limits:
    """Return limits that also keep to the remainder of the month's budget, which the settings file may set.

    Raises InfeasibleError when nothing is left.
    """
    month_usd = usd_per_month or load_settings(today=now.date()).usd_per_month
    if month_usd is None:
        return limits
    limits = replace(limits, month_usd=month_usd)
    left_usd = _left_usd(month_usd, now=now)
    if limits.cost_usd is not None and limits.cost_usd <= left_usd:
        return limits
    return replace(limits, cost_usd=left_usd, cost_option=f"the ${left_usd:.2f} that are left of {OPTION}")


def committed_this_month_usd(*, now: datetime) -> float:
    """Return this month's cost of all runs known here, including what runs that go on may still spend."""
    return committed_usd((RunDirectory.open(run).events() for run in known_runs()), now=now)


def _left_usd(limit_usd: float, *, now: datetime) -> float:
    committed = committed_this_month_usd(now=now)
    if committed >= limit_usd:
        raise InfeasibleError(
            f"{OPTION} {limit_usd:g}: this month's runs take ${committed:.2f}, with what they may still spend",
            ["raise it, or end some: `planner cluster status` lists them"],
            code="over-budget",
        )
    return limit_usd - committed


def commit(order: Order, places: Sequence[Place], *, month_usd: float | None) -> RunDirectory:
    """Return the new directory of a run, with the run's highest possible cost recorded.

    Raises InfeasibleError, with nothing made, when runs started in the meantime left too little of the month's budget.
    """
    now = datetime.now(UTC)
    hours = max(0.0, (order.expires_at - now).total_seconds()) / 3600
    usd = hours * max((most_usd_per_hour(place.choice) for place in places), default=0.0)
    with change_store(runs_directory() / order.run, what="the run"):  # no other run can begin now
        left_usd = math.inf if month_usd is None else _left_usd(month_usd, now=now)
        if usd > left_usd + _ROUNDING_USD:
            raise InfeasibleError(
                f"{OPTION} {month_usd:g}: other runs began meanwhile, and leave ${left_usd:.2f}",
                [f"this run may cost ${usd:.2f}; nothing was created. Order again: it then keeps to what is left"],
                code="over-budget",
            )
        directory = RunDirectory.create(order)
        directory.note(_COMMITMENT, usd=usd)
    return directory


def committed_usd(journals: Iterable[tuple[Event, ...]], *, now: datetime) -> float:
    """Return the cost of runs since the month began; runs that go on are assumed to live until they expire, and to cost
    the most that they may.
    """
    month = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return sum(_committed_usd(journal, now=now) - bill_of(journal, now=month).usd for journal in journals)


def _committed_usd(journal: tuple[Event, ...], *, now: datetime) -> float:
    ends = [parse_stamp(event.details["expires_at"]) for event in journal if event.what == "order"]
    end = max([now, *ends[-1:]])
    goes_on = end > now and not any(event.what == "down" for event in journal)
    most_usd = max((event.details["usd"] for event in journal if event.what == _COMMITMENT and goes_on), default=0.0)
    return max(most_usd, bill_of(journal, now=end).usd)
