"""Cost of a run so far, from its journal alone: machines from launch to end, at the launch price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from planner.clouds.order import parse_stamp
from planner.clusters.provisioning.run_directory import Event

_NEVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Bill:
    """Node-hours and US dollars, an estimate until the cloud's own bill; `running` machines still add to it."""

    node_hours: float
    usd: float
    running: int
    machines: tuple[MachineCost, ...] = ()


@dataclass(frozen=True, kw_only=True)
class MachineCost:
    """Cost of one machine so far, its price and the price's source."""

    id: str
    hours: float
    usd_per_hour: float
    price_source: str
    is_running: bool


@dataclass(kw_only=True)
class _Life:
    """Start, price, last sighting by the cloud, and recorded end, if any, of a machine."""

    id: str
    began: datetime
    usd_per_hour: float
    price_source: str
    seen: datetime
    ended: datetime | None = None


def bill_of(events: Sequence[Event], *, now: datetime) -> Bill:
    """Return the bill of a journal. A machine ends at its recorded end or its expiry, whichever is earlier, unless it
    was seen after expiry.
    """
    orders = [event.details for event in events if event.what == "order"]
    expires_at = parse_stamp(orders[-1]["expires_at"]) if orders else _NEVER
    machines = tuple(_cost_of(life, expires_at=expires_at, now=now) for life in _lives(events))
    return Bill(
        node_hours=sum(machine.hours for machine in machines),
        usd=sum(machine.hours * machine.usd_per_hour for machine in machines),
        running=sum(machine.is_running for machine in machines),
        machines=machines,
    )


def _cost_of(life: _Life, *, expires_at: datetime, now: datetime) -> MachineCost:
    end = min(now, life.ended or now, max(expires_at, life.seen))
    return MachineCost(
        id=life.id,
        hours=max(0.0, (end - life.began).total_seconds()) / 3600,
        usd_per_hour=life.usd_per_hour,
        price_source=life.price_source,
        is_running=life.ended is None and (now < expires_at or life.seen > expires_at),
    )


def _lives(events: Sequence[Event]) -> list[_Life]:
    """Return the life of every machine in a journal, whichever process launched it."""
    price, head_price, source = 0.0, 0.0, ""
    lives: dict[str, _Life] = {}
    for event in events:
        details = event.details
        if event.what == "place":
            price = float(details["node_usd_per_hour"])
            head_price = float(details.get("head_usd_per_hour", price))
            source = str(details.get("price_source", ""))
        elif event.what == "made" and details["kind"] == "instance":
            usd_per_hour = head_price if details.get("name") == "head" else price
            first = lives.get(details["id"])  # a look may have seen it before the answer came
            began = first.began if first else event.at
            lives[details["id"]] = _Life(
                id=details["id"], began=began, usd_per_hour=usd_per_hour, price_source=source, seen=event.at
            )
        elif event.what == "seen":
            for node in details["nodes"]:
                late = _Life(id=node, began=event.at, usd_per_hour=price, price_source=source, seen=event.at)
                life = lives.setdefault(node, late)
                life.seen, life.ended = event.at, None  # it was only missing from listings, or was started again
        elif event.what == "ended":
            for node in details["nodes"] or list(lives):
                if node in lives and lives[node].ended is None:
                    lives[node].ended = event.at
    return list(lives.values())
