"""Calls to one AWS service in one region, with the repetitions that are safe and no others.

The SDK's own retries are switched off: it takes "no capacity", an HTTP 500, for a passing fault and asks again and
again, and after a broken connection it repeats a create call that may have been carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Final, Protocol

from planner.errors import BadInputError, IoFailureError, PlannerError
from planner.providers.aws import cloud_errors
from planner.providers.protocol import PermissionDeniedError
from planner.providers.retry import Pace

_NO_SDK: Final = "AWS needs its SDK: pip install 'sortplanner[aws]'"
_TIMEOUT_S: Final = 60
_SMALL_PAGES: Final = {"describe_route_tables": 100, "get_products": 100, "describe_instance_types": 100}
_UNPAGED: Final = {"describe_key_pairs", "describe_placement_groups", "describe_regions", "describe_images"}


class Service(Protocol):
    """A service of AWS in one region; answers are those of boto3."""

    region: str

    def call(self, operation: str, *, repeatable: bool = True, fresh: bool = False, **request: Any) -> dict[str, Any]:
        """Make one call; `repeatable` calls do no harm when made twice, `fresh` ones name what was just made.

        Raises what `faults.meaning_of` says.
        """

    def items(self, operation: str, key: str, **request: Any) -> Iterator[dict[str, Any]]:
        """Yield what lies under `key` in every page of a listing."""


Connect = Callable[[str, str], Service]
"""Return the Service of a name (`ec2`) in a region."""


class LiveService:
    """A Service that AWS answers."""

    def __init__(self, name: str, region: str, *, pace: Pace) -> None:
        self.region = region
        self._name, self._pace = name, pace

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
        """See Service. Throttling is waited out; so are a service that is away and a broken connection where
        repeating is safe.
        """
        error: PlannerError | None = None
        for _ in self._pace.pauses(self._pace.patience_s):
            try:
                return self._once(operation, request)
            except _PassingError as passing:
                error = passing
                if not passing.untouched and not repeatable:
                    raise cloud_errors.UncertainError(str(passing)) from passing
            except cloud_errors.NotFoundError as unknown:
                error = unknown
                if not fresh:
                    raise
        raise IoFailureError(f"gave up after {self._pace.patience_s:g} s: {error}") from error

    def items(self, operation: str, key: str, **request: Any) -> Iterator[dict[str, Any]]:
        """See Service."""
        paged: dict[str, Any] = {} if operation in _UNPAGED else {"MaxResults": _SMALL_PAGES.get(operation, 1000)}
        while True:
            page = self.call(operation, **request, **paged)
            yield from page.get(key, [])
            if not page.get("NextToken"):
                return
            paged["NextToken"] = page["NextToken"]

    def _once(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
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
            raise _PassingError(f"{operation} in {self.region}: {error}", untouched=False) from error
        except exceptions.BotoCoreError as error:
            raise IoFailureError(f"{operation} in {self.region}: {error}") from error

    def _meaning(self, error: Any, operation: str) -> PlannerError:
        code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
        if code in cloud_errors.THROTTLED or code in cloud_errors.AWAY:
            text = f"{operation} in {self.region}: {message} ({code})"
            return _PassingError(text, untouched=code in cloud_errors.THROTTLED)
        return cloud_errors.meaning_of(code, message, operation=operation, region=self.region)


def has_credentials() -> bool:
    """Say whether the SDK finds credentials, without asking AWS. Raises BadInputError when the SDK is missing."""
    try:
        import boto3
    except ImportError as error:
        raise BadInputError(_NO_SDK) from error
    return boto3.Session().get_credentials() is not None


class _PassingError(IoFailureError):
    """A fault that may pass; `untouched` when the call certainly did nothing."""

    def __init__(self, message: str, *, untouched: bool) -> None:
        super().__init__(message)
        self.untouched = untouched
