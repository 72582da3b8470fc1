"""Capacity reservations of EC2 that exist already: whether one serves an order, and in which placement group it is."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from planner.clouds.aws.client import Service
from planner.clouds.cloud_errors import NotFoundError
from planner.clouds.order import Choice
from planner.errors import BadInputError


def described_reservation(ec2: Service, reservation: str) -> dict[str, Any]:
    """Return AWS's description of a capacity reservation. Raises BadInputError when the region does not know it."""
    try:
        listed = ec2.items(
            "describe_capacity_reservations", "CapacityReservations", CapacityReservationIds=[reservation]
        )
        return next(iter(listed))
    except (NotFoundError, StopIteration) as error:
        raise BadInputError(
            f"--reservation {reservation}: {ec2.region} has no such capacity reservation; name its region with --region"
        ) from error


def obstacle(described: dict[str, Any], choice: Choice, *, expires_at: datetime) -> str:
    """Return why a reservation does not serve a choice until `expires_at`, '' when it does."""
    reserved, free = described["InstanceType"], int(described["AvailableInstanceCount"])
    platform, tenancy = described.get("InstancePlatform", "Linux/UNIX"), described.get("Tenancy", "default")
    ends_at = described.get("EndDate")
    if described["State"] != "active":
        return f"it is {described['State']}"
    if reserved != choice.instance_type:
        return f"it is for {reserved}: --instance {reserved}"
    if (platform, tenancy) != ("Linux/UNIX", "default"):
        return f"it is for {platform}, tenancy {tenancy}; machines here are Linux/UNIX, tenancy default"
    if free < choice.machines:
        return f"{free} machines are free in it; {choice.machines} needed"
    if ends_at is not None and ends_at < expires_at:
        return f"it ends {ends_at:%Y-%m-%d %H:%M} UTC, before the machines do: --max-hours"
    return ""


def group_of(described: dict[str, Any]) -> str:
    """Return the placement group in which capacity is reserved, '' for none."""
    return str(described.get("PlacementGroupArn", "")).rpartition("/")[2]


def request_of(reservation: str) -> dict[str, Any]:
    """Return the part of a launch that names a reservation; nothing for ''. Where it is full, the launch fails."""
    target = {"CapacityReservationTarget": {"CapacityReservationId": reservation}}
    return {"CapacityReservationSpecification": target} if reservation else {}
