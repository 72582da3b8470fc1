"""Calls to one AWS service in one region, with the repetitions that are safe and no others.

The SDK's own retries are switched off: it takes "no capacity", an HTTP 500, for a passing fault and asks again and
again, and after a broken connection it repeats a create call that may have been carried out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cached_property
from typing import Any, Final, Protocol

from planner.clouds import cloud_errors as errors
from planner.clouds.calls.aws import DENIED, client, failure_of, is_throttled
from planner.clouds.calls.reading import sdk
from planner.clouds.calls.retry import RetryPolicy, retry
from planner.clouds.cloud_errors import NotFoundError, PassingError, UncertainError, call_translating_errors
from planner.errors import BadInputError, PlannerError

_SMALL_PAGES: Final = {
    "describe_route_tables": 100,
    "get_products": 100,
    "describe_instance_types": 100,
    "list_schedules": 100,
}
_UNPAGED: Final = {"describe_key_pairs", "describe_placement_groups", "describe_regions", "describe_images"}


_STATIC: Final = {"env", "shared-credentials-file", "config-file"}
"""Where the SDK finds credentials as somebody wrote them down; it renews all others."""


class Service(Protocol):
    """A service of AWS in one region; answers are those of boto3."""

    region: str

    def call(self, operation: str, *, repeatable: bool = True, fresh: bool = False, **request: Any) -> dict[str, Any]:
        """Make one call; `repeatable` calls do no harm when made twice, `fresh` ones name what was just made.

        Raises what `cloud_errors.meaning_of` returns.
        """

    def items(self, operation: str, key: str, **request: Any) -> Iterator[dict[str, Any]]:
        """Yield what lies under `key` in every page of a listing."""


Connect = Callable[[str, str], Service]
"""Return the Service of a name (`ec2`) in a region."""


class LiveService:
    """A Service that AWS answers."""

    def __init__(self, name: str, region: str, *, policy: RetryPolicy) -> None:
        self.region = region
        self._name, self._policy = name, policy

    @cached_property
    def _client(self) -> Any:
        return client(self._name, self.region)

    def call(self, operation: str, *, repeatable: bool = True, fresh: bool = False, **request: Any) -> dict[str, Any]:
        """See Service. A throttled call is repeated. After a broken connection, and while the service is away, only a
        `repeatable` call is.
        """

        def may_pass(error: BaseException) -> bool:
            return isinstance(error, PassingError) or (fresh and isinstance(error, NotFoundError))

        return retry(
            lambda: self._once(operation, request, repeatable=repeatable), policy=self._policy, may_pass=may_pass
        )

    def items(self, operation: str, key: str, **request: Any) -> Iterator[dict[str, Any]]:
        """See Service."""
        paged: dict[str, Any] = {} if operation in _UNPAGED else {"MaxResults": _SMALL_PAGES.get(operation, 1000)}
        while True:
            page = self.call(operation, **request, **paged)
            yield from page.get(key, [])
            if not paged or not page.get("NextToken"):
                return
            paged["NextToken"] = page["NextToken"]

    def _once(self, operation: str, request: dict[str, Any], *, repeatable: bool) -> dict[str, Any]:
        what = f"{operation} in {self.region}"
        try:
            return call_translating_errors(
                lambda: dict(getattr(self._client, operation)(**request)),
                what=what,
                failure_of=failure_of,
                meaning_of=lambda failure: meaning_of(failure.code, failure.text, what=what),
            )
        except PassingError as error:
            if repeatable or error.untouched:
                raise
            raise UncertainError(str(error)) from error


def temporary_credentials_end() -> tuple[bool, datetime | None]:
    """Return whether the SDK's credentials are temporary ones that it cannot renew, and when they end, where stated.

    Those of the environment are, with a session token, and state it in AWS_CREDENTIAL_EXPIRATION; the SDK raises when
    it is asked for such credentials after their end. Raises BadInputError for an end that cannot be read.
    """
    end, credentials = _stated_end(), require_credentials()
    if credentials.method == "env" and end:
        return True, end
    return credentials.method in _STATIC and credentials.token is not None, None


def require_credentials() -> Any:
    """Return the credentials that the SDK finds, without asking AWS. Raises PermissionDeniedError without any, and
    BadInputError without the SDK.
    """
    boto3, faults = sdk("boto3", extra="aws"), sdk("botocore.exceptions", extra="aws")
    _stated_end()

    def found() -> Any:
        credentials = boto3.Session().get_credentials()
        if credentials is None:
            raise faults.NoCredentialsError
        credentials.get_frozen_credentials()
        return credentials

    return call_translating_errors(
        found,
        what="AWS",
        failure_of=failure_of,
        meaning_of=lambda failure: meaning_of(failure.code, failure.text, what="AWS"),
    )


def _stated_end() -> datetime | None:
    """Return when the environment's credentials end; the SDK fails on what is no moment with its zone."""
    text = os.environ.get("AWS_CREDENTIAL_EXPIRATION")
    if not (text and os.environ.get("AWS_ACCESS_KEY_ID")):
        return None  # the SDK does not look at it either
    try:
        end = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        end = None
    if end is None or end.tzinfo is None:
        raise BadInputError(
            f"AWS_CREDENTIAL_EXPIRATION is {text!r}, not a moment such as 2026-11-24T01:00:00Z",
            ["set it again: aws configure export-credentials --format env"],
        )
    return end


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
        hint = "see the least policy in docs/provisioning.md"
        return errors.PermissionDeniedError(f"{text}; {hint}", reason=message)
    if code.endswith(("LimitExceeded", "QuotaExceeded", "InstanceCountExceeded")):
        return errors.QuotaExceededError(f"{text}; ask for more in the Service Quotas console, or allow another region")
    if code in _IN_USE or code.endswith(".InUse") or (code == _WRONG_VALUE and "currently in use" in message):
        return errors.StillInUseError(text)
    if code.endswith((".NotFound", ".Unknown", ".NotAttached", "ResourceNotFoundException")):
        return errors.NotFoundError(text, code=code)
    if code.endswith((".Duplicate", ".AlreadyAssociated", "AlreadyExists", "ConflictException")):
        return errors.DuplicateError(text, code=code)
    return errors.RefusedCallError(text, code=code)
