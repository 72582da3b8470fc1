"""What an error code of AWS means: whether to ask again, to go elsewhere, or to give up."""

from __future__ import annotations

from typing import Final

from planner.errors import PlannerError
from planner.providers.cloud_errors import (
    DuplicateError,
    NoCapacityError,
    NotFoundError,
    PermissionDeniedError,
    QuotaExceededError,
    RefusedCallError,
    StillInUseError,
)

THROTTLED: Final = frozenset(
    {"RequestLimitExceeded", "Throttling", "ThrottlingException", "TooManyRequestsException", "EC2ThrottledException"}
)
AWAY: Final = frozenset({"InternalError", "InternalFailure", "ServiceUnavailable", "Unavailable"})
_NO_CAPACITY: Final = frozenset({
    "InsufficientInstanceCapacity", "InsufficientHostCapacity", "InsufficientCapacity",
    "InsufficientAddressCapacity", "InsufficientFreeAddressesInSubnet", "InsufficientVolumeCapacity", "Unsupported",
})  # fmt: skip
_DENIED: Final = frozenset({
    "UnauthorizedOperation", "AccessDenied", "AccessDeniedException", "AuthFailure", "Blocked", "ExpiredToken",
    "ExpiredTokenException", "IncompleteSignature", "InvalidAccessKeyId", "InvalidClientTokenId",
    "MissingAuthenticationToken", "OptInRequired", "PendingVerification", "RequestExpired", "SignatureDoesNotMatch",
    "UnrecognizedClientException",
})  # fmt: skip
_IN_USE: Final = frozenset({"DependencyViolation", "VolumeInUse", "IncorrectState", "OperationNotPermitted"})


def meaning_of(code: str, message: str, *, operation: str, region: str) -> PlannerError:
    """Return the error to raise for an answer of AWS."""
    text = f"{operation} in {region}: {message} ({code})"
    if code in _NO_CAPACITY:
        return NoCapacityError(text)
    if code in _DENIED:
        return PermissionDeniedError(f"{text}; see the least policy in docs/provisioning.md")
    if code.endswith(("LimitExceeded", "QuotaExceeded")):
        return QuotaExceededError(f"{text}; ask for more in the Service Quotas console, or allow another region")
    if code in _IN_USE or code.endswith(".InUse"):
        return StillInUseError(text)
    if code.endswith((".NotFound", ".Unknown", ".NotAttached")):
        return NotFoundError(text, code=code)
    if code.endswith((".Duplicate", ".AlreadyAssociated", "AlreadyExists")):
        return DuplicateError(text, code=code)
    return RefusedCallError(text, code=code)
