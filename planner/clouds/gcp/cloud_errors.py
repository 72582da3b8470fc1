"""What an error of Compute Engine means: whether to ask again, to go elsewhere, or to give up.

Errors come in two shapes: at once, as HTTP errors with a reason (`resourceInUseByAnotherResource`), and later, in the
operation that a call has begun, with a code (`RESOURCE_IN_USE_BY_ANOTHER_RESOURCE`). Both are read as codes.
"""

from __future__ import annotations

import re
from typing import Final

from planner.clouds import cloud_errors as errors
from planner.errors import PlannerError

THROTTLED: Final = frozenset({
    "RATE_LIMIT_EXCEEDED", "USER_RATE_LIMIT_EXCEEDED", "RESOURCE_OPERATION_RATE_EXCEEDED", "RESOURCE_EXHAUSTED",
    "TOO_MANY_REQUESTS",
})  # fmt: skip
AWAY: Final = frozenset({"BACKEND_ERROR", "INTERNAL_ERROR", "SERVICE_UNAVAILABLE", "UNAVAILABLE"})
_NO_CAPACITY: Final = (
    "ZONE_RESOURCE_POOL_EXHAUSTED", "RESOURCE_POOL_EXHAUSTED", "STOCKOUT", "VM_MIN_COUNT_NOT_REACHED",
    "UNSUPPORTED_OPERATION", "IP_SPACE_EXHAUSTED", "RESOURCE_AVAILABILITY",
)  # fmt: skip
_DENIED: Final = frozenset({
    "FORBIDDEN", "INSUFFICIENT_PERMISSIONS", "REQUIRED", "AUTH_ERROR", "PERMISSION_DENIED", "PERMISSIONS_ERROR",
    "ACCESS_NOT_CONFIGURED", "SERVICE_DISABLED", "BILLING_DISABLED", "CONDITION_NOT_MET", "UNAUTHENTICATED",
})  # fmt: skip
_IN_USE: Final = frozenset({"RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", "RESOURCE_NOT_READY", "RESOURCE_IN_USE"})
_NOT_FOUND: Final = frozenset({"NOT_FOUND", "RESOURCE_NOT_FOUND"})
_DUPLICATE: Final = frozenset({"ALREADY_EXISTS", "RESOURCE_ALREADY_EXISTS", "DUPLICATE"})


def code_of(reason: str) -> str:
    """Return a reason as operations write it: rateLimitExceeded is RATE_LIMIT_EXCEEDED."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", reason).upper()


def meaning_of(code: str, message: str, *, what: str) -> PlannerError:
    """Return the error to raise for an error of Compute Engine; `what` was asked for where."""
    code = code_of(code)
    text = f"{what}: {message} ({code})"
    if code in THROTTLED or code in AWAY or _is_of_rate(code, message):
        return errors.PassingError(text)
    if code.startswith(_NO_CAPACITY):
        return errors.NoCapacityError(text)
    if code in _DENIED:
        return errors.PermissionDeniedError(f"{text}; see the least role in docs/provisioning-gcp.md")
    if "QUOTA" in code or code == "LIMIT_EXCEEDED":
        return errors.QuotaExceededError(f"{text}; ask for more on the console's quota page, or allow another region")
    if code in _IN_USE:
        return errors.StillInUseError(text)
    if code in _NOT_FOUND:
        return errors.NotFoundError(text, code=code)
    if code in _DUPLICATE:
        return errors.DuplicateError(text, code=code)
    return errors.RefusedCallError(text, code=code)


def _is_of_rate(code: str, message: str) -> bool:
    """Say whether a quota is one of calls per minute, which passes, and not one of resources."""
    return code == "QUOTA_EXCEEDED" and "per minute" in message
