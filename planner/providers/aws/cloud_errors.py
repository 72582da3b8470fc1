"""What an error code of AWS means: whether to ask again, to go elsewhere, or to give up."""

from __future__ import annotations

from typing import Final

from planner.cloud_calls.aws import DENIED, is_throttled
from planner.errors import PlannerError
from planner.providers.cloud_errors import (
    DuplicateError,
    NoCapacityError,
    NotFoundError,
    PassingError,
    PermissionDeniedError,
    QuotaExceededError,
    RefusedCallError,
    StillInUseError,
)

_AWAY: Final = frozenset({"InternalError", "InternalFailure", "ServiceUnavailable", "Unavailable"})
_NO_CAPACITY: Final = frozenset({
    "InsufficientInstanceCapacity", "InsufficientHostCapacity", "InsufficientCapacity",
    "InsufficientAddressCapacity", "InsufficientFreeAddressesInSubnet", "InsufficientVolumeCapacity", "Unsupported",
})  # fmt: skip
_IN_USE: Final = frozenset({"DependencyViolation", "VolumeInUse", "IncorrectState", "OperationNotPermitted"})

_WRONG_VALUE: Final = "InvalidParameterValue"
"""Also said of a network interface that cannot be deleted yet, as its message alone tells."""


def meaning_of(code: str, message: str, *, what: str) -> PlannerError:
    """Return the error to raise for an answer of AWS; `what` was asked for where."""
    text = f"{what}: {message} ({code})"
    if is_throttled(code) or code in _AWAY:
        return PassingError(text, untouched=is_throttled(code))
    if code in _NO_CAPACITY:
        return NoCapacityError(text)
    if code in DENIED:
        return PermissionDeniedError(f"{text}; see the least policy in docs/provisioning.md")
    if code.endswith(("LimitExceeded", "QuotaExceeded")):
        return QuotaExceededError(f"{text}; ask for more in the Service Quotas console, or allow another region")
    if code in _IN_USE or code.endswith(".InUse") or (code == _WRONG_VALUE and "currently in use" in message):
        return StillInUseError(text)
    if code.endswith((".NotFound", ".Unknown", ".NotAttached")):
        return NotFoundError(text, code=code)
    if code.endswith((".Duplicate", ".AlreadyAssociated", "AlreadyExists")):
        return DuplicateError(text, code=code)
    return RefusedCallError(text, code=code)
