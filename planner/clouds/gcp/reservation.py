"""Reservations of Compute Engine that exist already: whether one serves an order, and its placement policy."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from planner.clouds.gcp.client import Compute
from planner.clouds.gcp.resources import zone_of
from planner.clouds.order import Choice
from planner.errors import BadInputError

_KEY: Final = "compute.googleapis.com/reservation-name"


def described_reservation(compute: Compute, name: str, *, region: str) -> dict[str, Any]:
    """Return Google's description of a reservation. Raises BadInputError when the region has none such."""
    for item in compute.items("reservations.aggregatedList", filter=f"name={name}"):
        if not zone_of(item) or zone_of(item).rpartition("-")[0] == region:
            return item
    raise BadInputError(f"--reservation {name}: {region} has no such reservation; name its region with --region")


def obstacle(described: dict[str, Any], choice: Choice, *, expires_at: datetime) -> str:
    """Return why a reservation does not serve a choice until `expires_at`, '' when it does."""
    specific = described.get("specificReservation", {})
    properties = specific.get("instanceProperties", {})
    reserved, disks = properties.get("machineType", "no one type"), len(properties.get("localSsds", ()))
    free = int(specific.get("count", 0)) - int(specific.get("inUseCount", 0))
    ends = described.get("deleteAtTime", "")
    if described.get("status") != "READY":
        return f"it is {described.get('status')}"
    if not described.get("specificReservationRequired"):
        return "machines cannot name it: it was made for any, without --require-specific-reservation"
    if reserved != choice.instance_type:
        return f"it is for {reserved}: --instance {reserved}"
    if choice.local_disks and disks != choice.local_disks:
        return f"it is for machines with {disks} local disks; {choice.local_disks} needed"
    if free < choice.machines:
        return f"{free} machines are free in it; {choice.machines} needed"
    if ends and datetime.fromisoformat(ends) < expires_at:
        return f"it is deleted {ends}, before the machines end: --max-hours"
    return ""


def policies_of(described: dict[str, Any]) -> list[str]:
    """Return the names of the placement policies with which capacity is reserved: machines must have the same."""
    return [str(url).rpartition("/")[2] for url in described.get("resourcePolicies", {}).values()]


def request_of(name: str) -> dict[str, Any]:
    """Return the part of a machine's properties that names a reservation; nothing for ''."""
    affinity = {"consumeReservationType": "SPECIFIC_RESERVATION", "key": _KEY, "values": [name]}
    return {"reservationAffinity": affinity} if name else {}
