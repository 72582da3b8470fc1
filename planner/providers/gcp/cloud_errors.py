"""What an error of Compute Engine means: whether to ask again, to go elsewhere, or to give up.

Errors come in two shapes: at once, as HTTP errors with a reason (`resourceInUseByAnotherResource`), and later, in the
operation that a call has begun, with a code (`RESOURCE_IN_USE_BY_ANOTHER_RESOURCE`). Both are read as codes.
"""

from __future__ import annotations

import re
from typing import Final

from planner.errors import IoFailureError, PlannerError
from planner.providers.protocol import NoCapacityError, PermissionDeniedError, QuotaExceededError, StillInUseError

THROTTLED: Final = frozenset(
    {
        "RATE_LIMIT_EXCEEDED",
        "USER_RATE_LIMIT_EXCEEDED",
        "RESOURCE_OPERATION_RATE_EXCEEDED",
        "RESOURCE_EXHAUSTED",
        "TOO_MANY_REQUESTS",
    }
)
AWAY: Final = frozenset({"BACKEND_ERROR", "INTERNAL_ERROR", "SERVICE_UNAVAILABLE", "UNAVAILABLE"})
_NO_CAPACITY: Final = (
    "ZONE_RESOURCE_POOL_EXHAUSTED",
    "RESOURCE_POOL_EXHAUSTED",
    "STOCKOUT",
    "VM_MIN_COUNT_NOT_REACHED",
    "UNSUPPORTED_OPERATION",
    "IP_SPACE_EXHAUSTED",
    "RESOURCE_AVAILABILITY",
)
_DENIED: Final = frozenset(
    {
        "FORBIDDEN",
        "INSUFFICIENT_PERMISSIONS",
        "REQUIRED",
        "AUTH_ERROR",
        "PERMISSION_DENIED",
        "PERMISSIONS_ERROR",
        "ACCESS_NOT_CONFIGURED",
        "SERVICE_DISABLED",
        "BILLING_DISABLED",
        "CONDITION_NOT_MET",
        "UNAUTHENTICATED",
    }
)
_IN_USE: Final = frozenset({"RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", "RESOURCE_NOT_READY", "RESOURCE_IN_USE"})
_NOT_FOUND: Final = frozenset({"NOT_FOUND", "RESOURCE_NOT_FOUND"})
_DUPLICATE: Final = frozenset({"ALREADY_EXISTS", "RESOURCE_ALREADY_EXISTS", "DUPLICATE"})


class RefusedCallError(IoFailureError):
    """Compute Engine answered a call with an error that has no meaning of its own here."""


class NotFoundError(RefusedCallError):
    """What the call names does not exist, or is not known yet."""


class DuplicateError(RefusedCallError):
    """What the call would make is there already."""


class PassingError(IoFailureError):
    """A fault that may pass."""


def code_of(reason: str) -> str:
    """Return a reason as operations write it: rateLimitExceeded is RATE_LIMIT_EXCEEDED."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", reason).upper()


def meaning_of(code: str, message: str, *, what: str) -> PlannerError:
    """Return the error to raise for an error of Compute Engine; `what` was asked for where."""
    code = code_of(code)
    text = f"{what}: {message} ({code})"
    if code in THROTTLED or code in AWAY or _is_of_rate(code, message):
        return PassingError(text)
    if code.startswith(_NO_CAPACITY):
        return NoCapacityError(text)
    if code in _DENIED:
        return PermissionDeniedError(f"{text}; see the least role in docs/provisioning-gcp.md")
    if "QUOTA" in code or code == "LIMIT_EXCEEDED":
        return QuotaExceededError(f"{text}; ask for more on the console's quota page, or allow another region")
    if code in _IN_USE:
        return StillInUseError(text)
    if code in _NOT_FOUND:
        return NotFoundError(text)
    if code in _DUPLICATE:
        return DuplicateError(text)
    return RefusedCallError(text)


def worst_of(errors: list[tuple[str, str]], *, what: str) -> PlannerError:
    """Return the error to raise for an operation with several: a quota or a denial counts before no capacity."""
    meanings = [meaning_of(code, message, what=what) for code, message in errors]
    for kind in (PermissionDeniedError, QuotaExceededError, NoCapacityError):
        for meaning in meanings:
            if isinstance(meaning, kind):
                return meaning
    return meanings[0]


def _is_of_rate(code: str, message: str) -> bool:
    """Say whether a quota is one of calls per minute, which passes, and not one of resources."""
    return code == "QUOTA_EXCEEDED" and "per minute" in message
