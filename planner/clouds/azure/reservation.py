"""Capacity reservation groups of Azure that exist already: which of their reservations serves an order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from planner.clouds.azure.client import Arm
from planner.clouds.cloud_errors import NotFoundError
from planner.clouds.order import Choice
from planner.errors import BadInputError

_GROUP_ID: Final = re.compile(
    "/subscriptions/[^/]+/resourceGroups/([^/]+)/providers/Microsoft.Compute/capacityReservationGroups/([^/]+)",
    re.IGNORECASE,
)


def reservations_in(arm: Arm, group: str) -> list[dict[str, Any]]:
    """Return Azure's descriptions of a group's reservations. Raises BadInputError for what is no group's id, or for a
    group that is not there.
    """
    match = _GROUP_ID.fullmatch(group)
    if match is None:
        raise BadInputError(
            f"--reservation {group}: give the id of a group, /subscriptions/ID/resourceGroups/GROUP/providers/"
            "Microsoft.Compute/capacityReservationGroups/NAME: az capacity reservation group show --query id"
        )
    try:
        return list(arm.items("capacity-reservation", match[1], match[2]))
    except NotFoundError as error:
        raise BadInputError(f"--reservation {group}: the subscription has no such group") from error


def zones_of(reservations: Sequence[dict[str, Any]], choice: Choice, *, region: str) -> list[str]:
    """Return the zones, '' for a region without, in which a reservation has room for all machines of a choice."""
    return [
        zone
        for item in reservations
        if (item["location"], item["sku"]["name"]) == (region, choice.instance_type) and _free(item) >= choice.machines
        for zone in item.get("zones") or [""]
    ]


def reserved_text(reservations: Sequence[dict[str, Any]]) -> str:
    """Return what a group has: sizes, places, and how many machines are free."""
    texts = [
        f"{_free(item)} x {item['sku']['name']} in {'-'.join([item['location'], *(item.get('zones') or [])])}"
        for item in reservations
    ]
    return ", ".join(texts) or "nothing"


def request_of(group: str) -> dict[str, Any]:
    """Return the part of a machine's properties that names a group; nothing for ''."""
    return {"capacityReservation": {"capacityReservationGroup": {"id": group}}} if group else {}


def _free(item: dict[str, Any]) -> int:
    return int(item["sku"]["capacity"]) - len(item["properties"].get("virtualMachinesAssociated") or ())
