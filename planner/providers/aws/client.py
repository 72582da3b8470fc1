"""Calls to one AWS service in one region, with the repetitions that are safe and no others.

The SDK's own retries are switched off: it takes "no capacity", an HTTP 500, for a passing fault and asks again and
again, and after a broken connection it repeats a create call that may have been carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Final, Protocol

from planner.cloud_calls.retry import RetryPolicy, retry
from planner.errors import BadInputError, IoFailureError, PlannerError
from planner.providers.aws.cloud_errors import AWAY, THROTTLED, meaning_of
from planner.providers.cloud_errors import NotFoundError, PassingError, PermissionDeniedError, UncertainError

_NO_SDK: Final = "AWS needs its SDK: pip install 'sortplanner[aws]'"
_TIMEOUT_S: Final = 60
_SMALL_PAGES: Final = {"describe_route_tables": 100, "get_products": 100, "describe_instance_types": 100}
_UNPAGED: Final = {"describe_key_pairs", "describe_placement_groups", "describe_regions", "describe_images"}


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
        try:
            import boto3
            from botocore.config import Config
            from botocore.exceptions import BotoCoreError
        except ImportError as error:
            raise BadInputError(_NO_SDK) from error
        once = Config(retries={"total_max_attempts": 1}, connect_timeout=10, read_timeout=_TIMEOUT_S)
        try:
            return boto3.client(self._name, region_name=self.region, config=once)
        except BotoCoreError as error:
            raise BadInputError(f"{self._name} in {self.region}: {error}") from error

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
            if not page.get("NextToken"):
                return
            paged["NextToken"] = page["NextToken"]

    def _once(self, operation: str, request: dict[str, Any], *, repeatable: bool) -> dict[str, Any]:
        try:
            return self._answer(operation, request)
        except PassingError as error:
            if repeatable or error.untouched:
                raise
            raise UncertainError(str(error)) from error

    def _answer(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        from botocore import exceptions
        from botocore.parsers import ResponseParserError

        try:
            return dict(getattr(self._client, operation)(**request))
        except exceptions.ClientError as error:
            raise self._meaning(error, operation) from error
        except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError) as error:
            raise PermissionDeniedError(
                f"AWS: {error}; set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run `aws configure`"
            ) from error
        except (exceptions.HTTPClientError, exceptions.ConnectionError, ResponseParserError) as error:
            raise PassingError(f"{operation} in {self.region}: {error}") from error
        except exceptions.BotoCoreError as error:
            raise IoFailureError(f"{operation} in {self.region}: {error}") from error

    def _meaning(self, error: Any, operation: str) -> PlannerError:
        code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
        if code in THROTTLED or code in AWAY:
            return PassingError(f"{operation} in {self.region}: {message} ({code})", untouched=code in THROTTLED)
        return meaning_of(code, message, operation=operation, region=self.region)


def has_credentials() -> bool:
    """Say whether the SDK finds credentials, without asking AWS. Raises BadInputError when the SDK is missing."""
    try:
        import boto3
    except ImportError as error:
        raise BadInputError(_NO_SDK) from error
    return boto3.Session().get_credentials() is not None
