"""The cost of a run so far, from its journal alone: machines from launch to end, at the price of the launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from planner.clusters.provisioning.run_directory import Event


@dataclass(frozen=True, kw_only=True)
class Bill:
    """Node-hours and US dollars, an estimate that the cloud's own bill replaces; `running` machines still add to it."""

    node_hours: float
    usd: float
    running: int


def bill_of(events: Sequence[Event], *, now: datetime) -> Bill:
    """Add up a journal. A machine ends when its deletion was noted; without such a note it still runs."""
    price, hours, usd = 0.0, 0.0, 0.0
    since: dict[str, tuple[datetime, float]] = {}
    for event in events:
        if event.what == "place":
            price = float(event.details["node_usd_per_hour"])
        elif event.what == "made" and event.details["kind"] == "instance":
            since[event.details["id"]] = (event.at, price)
        elif event.what == "ended":
            for node in event.details["nodes"] or list(since):
                began, paid = since.pop(node, (event.at, 0.0))
                hours += _hours(began, event.at)
                usd += _hours(began, event.at) * paid
    for began, paid in since.values():
        hours += _hours(began, now)
        usd += _hours(began, now) * paid
    return Bill(node_hours=hours, usd=usd, running=len(since))


def _hours(began: datetime, ended: datetime) -> float:
    return (ended - began).total_seconds() / 3600
