"""Client for one AWS service in one region that retries only calls that are safe to repeat.

The SDK's own retries are switched off: it treats "no capacity", an HTTP 500, as a passing fault and keeps asking, and
after a broken connection it repeats a create call that may have been carried out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cached_property
from typing import Any, Final, Protocol

from planner.clouds import cloud_errors as errors
from planner.clouds.calls.aws import client, failure_of
from planner.clouds.calls.reading import pages, sdk
from planner.clouds.calls.retry import RetryPolicy, retry
from planner.clouds.cloud_errors import NotFoundError, PassingError, UncertainError, call_translating_errors
from planner.errors import BadInputError, PlannerError

_SMALL_PAGES: Final = {"describe_route_tables": 100, "get_products": 100, "describe_instance_types": 100}
_UNPAGED: Final = {"describe_key_pairs", "describe_placement_groups", "describe_regions", "describe_images"}


_STATIC: Final = {"env", "shared-credentials-file", "config-file"}
"""Sources of credentials that the SDK reads as written and cannot renew; it renews all others."""


class Service(Protocol):
    """A service of AWS in one region, with boto3's answers."""

    region: str

    def call(self, operation: str, *, repeatable: bool = True, fresh: bool = False, **request: Any) -> dict[str, Any]:
        """Make one call; `repeatable` calls are safe to make twice, `fresh` ones name something just made.

        Raises what `cloud_errors.meaning_of` returns.
        """

    def items(self, operation: str, key: str, **request: Any) -> Iterator[dict[str, Any]]:
        """Yield the items under `key` in every page of a listing."""


Connect = Callable[[str, str], Service]
"""Function that returns the Service of a name (`ec2`) in a region."""


class LiveService:
    """A Service backed by AWS."""

    def __init__(self, name: str, region: str, *, policy: RetryPolicy) -> None:
        self.region = region
        self._name, self._policy = name, policy

    @cached_property
    def _client(self) -> Any:
        return client(self._name, self.region)

    def call(self, operation: str, *, repeatable: bool = True, fresh: bool = False, **request: Any) -> dict[str, Any]:
        """See Service. Throttled calls are repeated. After a broken connection, and while the service is unavailable,
        only `repeatable` calls are.
        """

        def may_pass(error: BaseException) -> bool:
            return isinstance(error, PassingError) or (fresh and is_of_a_run(error))

        return retry(
            lambda: self._once(operation, request, repeatable=repeatable), policy=self._policy, may_pass=may_pass
        )

    def items(self, operation: str, key: str, **request: Any) -> Iterator[dict[str, Any]]:
        """See Service."""
        paged: dict[str, Any] = {} if operation in _UNPAGED else {"MaxResults": _SMALL_PAGES.get(operation, 1000)}

        def fetch(token: str) -> tuple[list[dict[str, Any]], str]:
            following: dict[str, Any] = {"NextToken": token} if token else {}
            page = self.call(operation, **request, **paged, **following)
            return page.get(key, []), page.get("NextToken") or "" if paged else ""

        for items in pages(fetch, what=f"{operation} in {self.region}"):
            yield from items

    def _once(self, operation: str, request: dict[str, Any], *, repeatable: bool) -> dict[str, Any]:
        what = f"{operation} in {self.region}"
        try:
            return call_translating_errors(
                lambda: dict(getattr(self._client, operation)(**request)),
                what=what,
                failure_of=failure_of,
                meaning_of=meaning_of,
            )
        except PassingError as error:
            if repeatable or error.untouched:
                raise
            raise UncertainError(str(error)) from error


def temporary_credentials_end() -> tuple[bool, datetime | None]:
    """Return whether the SDK's credentials are temporary ones that it cannot renew, and when they end, where stated.

    Credentials from the environment with a session token are temporary; AWS_CREDENTIAL_EXPIRATION states their end,
    after which the SDK raises when asked for them. Raises BadInputError for an end that cannot be read.
    """
    end, credentials = _stated_end(), require_credentials()
    if credentials.method == "env" and end:
        return True, end
    return credentials.method in _STATIC and credentials.token is not None, None


def require_credentials() -> Any:
    """Return the SDK's credentials, without asking AWS. Raises PermissionDeniedError where there are none, and
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

    return call_translating_errors(found, what="AWS", failure_of=failure_of, meaning_of=meaning_of)


def _stated_end() -> datetime | None:
    """Return when the environment's credentials end; the SDK fails on a time without a zone, or on invalid text."""
    text = os.environ.get("AWS_CREDENTIAL_EXPIRATION")
    if not (text and os.environ.get("AWS_ACCESS_KEY_ID")):
        return None  # the SDK ignores it as well
    try:
        end = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        end = None
    if end is None or end.tzinfo is None:
        raise BadInputError(
            f"AWS_CREDENTIAL_EXPIRATION is {text!r}, not a moment such as 2026-11-24T01:00:00Z",
            ["set it again: aws configure export-credentials --format env"],
            code="not-a-moment",
        )
    return end


_OF_A_RUN: Final = (
    "InvalidVpc", "InvalidSubnet", "InvalidGroup", "InvalidSecurityGroup", "InvalidInternetGateway", "InvalidRoute",
    "InvalidKeyPair", "InvalidPlacementGroup", "InvalidInstance", "InvalidPermission", "Gateway",
)  # fmt: skip
"""First words of codes for resources that a run makes."""


def is_of_a_run(error: BaseException) -> bool:
    """Return whether AWS does not know a resource of a kind that a run makes; a new one may only be late."""
    return isinstance(error, NotFoundError) and error.cloud_code.startswith(_OF_A_RUN)


def meaning_of(code: str, message: str, *, status: int = 0, what: str) -> PlannerError:
    """Return the error to raise for an AWS error code; `what` names the request and its target."""
    plain = code.removeprefix("Server.").removeprefix("Client.")  # prefixes of codes in EC2's reference
    return errors.meaning_of("aws", plain, message, status=status, what=what, shown=code)
