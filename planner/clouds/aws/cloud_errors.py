"""What an error code of AWS means: whether to ask again, to go elsewhere, or to give up."""

from __future__ import annotations

from typing import Final

from planner.clouds import cloud_errors as errors
from planner.clouds.calls.aws import DENIED, is_throttled
from planner.errors import PlannerError

_AWAY: Final = frozenset({"InternalError", "InternalFailure", "ServiceUnavailable", "Unavailable"})
_NO_CAPACITY: Final = frozenset({
    "InsufficientInstanceCapacity", "InsufficientHostCapacity", "InsufficientCapacity",
    "InsufficientAddressCapacity", "InsufficientFreeAddressesInSubnet", "InsufficientVolumeCapacity", "Unsupported",
    "ReservationCapacityExceeded", "UnfulfillableCapacity", "SpotMaxPriceTooLow",
})  # fmt: skip
_IN_USE: Final = frozenset({"DependencyViolation", "VolumeInUse", "IncorrectState", "OperationNotPermitted"})

_CLOSED_ZONE: Final = "for parameter availabilityZone is invalid"
"""Said of a zone that the account may not use: one that is closed to new subnets, or a Local Zone not opted into."""
_WRONG_VALUE: Final = "InvalidParameterValue"
"""Also said of a network interface that cannot be deleted yet, as its message alone tells."""


def meaning_of(code: str, message: str, *, what: str) -> PlannerError:
    """Return the error to raise for an answer of AWS; `what` was asked for where."""
    text = f"{what}: {message} ({code})"
    if is_throttled(code) or code in _AWAY:
        return errors.PassingError(text, untouched=is_throttled(code))
    if code in _NO_CAPACITY or (code == _WRONG_VALUE and _CLOSED_ZONE in message):
        return errors.NoCapacityError(text)
    if code in DENIED:
        return errors.PermissionDeniedError(f"{text}; see the least policy in docs/provisioning.md")
    if code.endswith(("LimitExceeded", "QuotaExceeded", "InstanceCountExceeded")):
        return errors.QuotaExceededError(f"{text}; ask for more in the Service Quotas console, or allow another region")
    if code in _IN_USE or code.endswith(".InUse") or (code == _WRONG_VALUE and "currently in use" in message):
        return errors.StillInUseError(text)
    if code.endswith((".NotFound", ".Unknown", ".NotAttached")):
        return errors.NotFoundError(text, code=code)
    if code.endswith((".Duplicate", ".AlreadyAssociated", "AlreadyExists")):
        return errors.DuplicateError(text, code=code)
    return errors.RefusedCallError(text, code=code)
