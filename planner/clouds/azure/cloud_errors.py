"""What an error of Azure means: whether to ask again, to go elsewhere, or to give up."""

from __future__ import annotations

from typing import Final

from planner.clouds import cloud_errors as errors
from planner.errors import PlannerError

_PASSING: Final = frozenset(
    {"TooManyRequests", "SubscriptionRequestsThrottled", "OperationNotAllowedDueToThrottling", "RetryableError"}
    | {"RetryableErrorDueToAnotherOperation", "InternalServerError", "InternalExecutionError", "ServerTimeout"}
    | {"ServiceUnavailable", "GatewayTimeout", "AnotherOperationInProgress"}
)
_NO_CAPACITY: Final = frozenset(
    {"AllocationFailed", "ZonalAllocationFailed", "OverconstrainedAllocationRequest", "SkuNotAvailable"}
    | {"OverconstrainedZonalAllocationRequest", "AllocationTimeout", "NotAvailableForSubscription"}
)
_DENIED: Final = frozenset(
    {"AuthorizationFailed", "LinkedAuthorizationFailed", "InvalidAuthenticationToken", "ExpiredAuthenticationToken"}
    | {"SubscriptionNotFound", "InvalidSubscriptionId", "ReadOnlyDisabledSubscription", "RequestDisallowedByPolicy"}
)
_IN_USE: Final = frozenset(
    {"ResourceGroupBeingDeleted", "InUse", "InUseSubnetCannotBeDeleted", "ScopeLocked", "Conflict", "NicInUse"}
    | {"ReferencedResourceNotProvisioned", "ResourceGroupDeletionBlocked"}
)
_NOT_FOUND: Final = frozenset(
    {"NotFound", "ResourceNotFound", "ResourceGroupNotFound", "ParentResourceNotFound", "InvalidResourceReference"}
)


def meaning_of(code: str, message: str, *, status: int, what: str) -> PlannerError:
    """Return the error to raise for an error of Azure; `status` is that of HTTP, 0 for what came later."""
    text = f"{what}: {message} ({code})"
    if code in _NO_CAPACITY:
        return errors.NoCapacityError(text)
    if code == "QuotaExceeded" or "quota" in message.lower():
        return errors.QuotaExceededError(f"{text}; ask for more on the portal's quota page, or allow another region")
    if code in _PASSING or status == 429 or status >= 500:
        return errors.PassingError(text)
    if code in _DENIED or status in (401, 403):
        return errors.PermissionDeniedError(f"{text}; see the least role in docs/provisioning-azure.md")
    if code in _NOT_FOUND or status == 404:
        return errors.NotFoundError(text, code=code)
    if code in _IN_USE or status == 409:
        return errors.StillInUseError(text)
    return errors.RefusedCallError(text, code=code)
