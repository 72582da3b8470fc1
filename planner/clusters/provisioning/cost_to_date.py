"""Cost of a run so far, from its journal alone: machines from launch to end, at the launch price."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from planner.clouds.order import parse_stamp
from planner.clusters.provisioning.run_directory import Event
from planner.schemas.plan import ADDRESS_LINE, EGRESS_LINE, HEAD_LINE, MACHINES_LINE, ROOTS_LINE, BillLine

_NEVER: Final = datetime.max.replace(tzinfo=UTC)
_ROUNDING_USD: Final = 1e-9


@dataclass(frozen=True, kw_only=True)
class Bill:
    """Node-hours and US dollars, an estimate until the cloud's own bill; `running` machines still add to it. `lines`
    are those of a plan's bill, where the time of its steps is one line for all machines.
    """

    node_hours: float
    usd: float
    running: int
    machines: tuple[MachineCost, ...] = ()
    lines: tuple[BillLine, ...] = ()


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
    """Start, hourly prices by the bill's lines (None where unknown), last sighting by the cloud, and recorded end, if
    any, of a machine.
    """

    id: str
    began: datetime
    prices: Mapping[str, float | None]
    price_source: str
    seen: datetime
    ended: datetime | None = None


def bill_of(events: Sequence[Event], *, now: datetime) -> Bill:
    """Return the bill of a journal. A machine ends at its recorded end or its expiry, whichever is earlier, unless it
    was seen after expiry.
    """
    orders = [event.details for event in events if event.what == "order"]
    expires_at = parse_stamp(orders[-1]["expires_at"]) if orders else _NEVER
    lives = _lives(events)
    machines = tuple(_cost_of(life, expires_at=expires_at, now=now) for life in lives)
    amounts: dict[str, list[float | None]] = {}
    for life, machine in zip(lives, machines, strict=True):
        for name, usd_per_hour in life.prices.items():
            amounts.setdefault(name, []).append(None if usd_per_hour is None else usd_per_hour * machine.hours)
    if left := [event.details["usd"] for event in events if event.what == "egress"]:
        amounts[EGRESS_LINE] = left
    return Bill(
        node_hours=sum(machine.hours for machine in machines),
        usd=_known_usd(usd for of_line in amounts.values() for usd in of_line),
        running=sum(machine.is_running for machine in machines),
        machines=machines,
        lines=tuple(
            BillLine(name=name, time_s=None, usd=None if set(of_line) == {None} else _known_usd(of_line))
            for name, of_line in amounts.items()
        ),
    )


def _known_usd(amounts: Iterable[float | None]) -> float:
    return math.fsum(usd or 0.0 for usd in amounts)


def _cost_of(life: _Life, *, expires_at: datetime, now: datetime) -> MachineCost:
    end = min(now, life.ended or now, max(expires_at, life.seen))
    return MachineCost(
        id=life.id,
        hours=max(0.0, (end - life.began).total_seconds()) / 3600,
        usd_per_hour=_known_usd(life.prices.values()),
        price_source=life.price_source,
        is_running=life.ended is None and (now < expires_at or life.seen > expires_at),
    )


def _prices(place: Mapping[str, Any]) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """Return the hourly prices of the head and of any other machine at a journal's place, by the bill's lines."""
    beside, price = dict(place.get("beside_usd_per_hour", {})), float(place["node_usd_per_hour"])
    roots, address = (beside.get(name) or 0.0 for name in (ROOTS_LINE, ADDRESS_LINE))
    more = float(place.get("head_usd_per_hour", price)) - price - address
    node = {MACHINES_LINE: price - roots} | {name: usd for name, usd in beside.items() if name != ADDRESS_LINE}
    return {**node, **beside, **({HEAD_LINE: more} if abs(more) > _ROUNDING_USD else {})}, node


def _lives(events: Sequence[Event]) -> list[_Life]:
    """Return the life of every machine in a journal, whichever process launched it."""
    head, other, source = dict[str, float | None](), dict[str, float | None](), ""
    lives: dict[str, _Life] = {}
    for event in events:
        details = event.details
        if event.what == "place":
            (head, other), source = _prices(details), str(details.get("price_source", ""))
        elif event.what == "made" and details["kind"] == "instance":
            prices = head if details.get("name") == "head" else other
            first = lives.get(details["id"])  # a look may have seen it before the answer came
            began = first.began if first else event.at
            lives[details["id"]] = _Life(
                id=details["id"], began=began, prices=prices, price_source=source, seen=event.at
            )
        elif event.what == "seen":
            for node in details["nodes"]:
                late = _Life(id=node, began=event.at, prices=other, price_source=source, seen=event.at)
                life = lives.setdefault(node, late)
                life.seen, life.ended = event.at, None  # it was only missing from listings, or was started again
        elif event.what == "ended":
            for node in details["nodes"] or list(lives):
                if node in lives and lives[node].ended is None:
                    lives[node].ended = event.at
    return list(lives.values())
