"""How clients of AWS's SDK are made, and what its errors mean, whether they only read or rent."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from planner.clouds.calls.reading import CallFailure, sdk

_THROTTLED: Final = {"RequestLimitExceeded", "TooManyRequestsException", "SlowDown"}
DENIED: Final = frozenset({
    "UnauthorizedOperation", "AuthFailure", "Blocked", "ExpiredToken", "ExpiredTokenException", "IncompleteSignature",
    "InvalidAccessKeyId", "InvalidClientTokenId", "InvalidSignatureException", "MissingAuthenticationToken",
    "OptInRequired", "PendingVerification", "RequestExpired", "SignatureDoesNotMatch", "UnrecognizedClientException",
    "AccessDenied", "AccessDeniedException",
})  # fmt: skip


def client(
    service: str, region: str, *, profile: str = "", credentials: Mapping[str, str] | None = None, url: str = ""
) -> Any:
    """Return a client that tries once. The SDK's own credentials and addresses hold where none are given.

    Its session is new: the SDK's default one keeps the credentials of its first call for the life of the process.
    """
    boto3, config = sdk("boto3", extra="aws"), sdk("botocore.config", extra="aws")
    base = sdk("botocore.session", extra="aws").get_session()
    base.register_component("data_loader", _models())
    session = boto3.Session(botocore_session=base, profile_name=profile or None, **(credentials or {}))
    once = config.Config(retries={"total_max_attempts": 1}, connect_timeout=10, read_timeout=60)
    return session.client(service, region_name=region, endpoint_url=url or None, config=once)


@cache
def _models() -> Any:
    """Return the reader of AWS's models, which keeps them: each session's own would read them anew, in 0.2 s."""
    return sdk("botocore.loaders", extra="aws").create_loader()


def failure_of(error: Exception) -> CallFailure | None:
    """Return what an error of the SDK means; None for one that is not of the SDK."""
    faults, parsers = sdk("botocore.exceptions", extra="aws"), sdk("botocore.parsers", extra="aws")
    if isinstance(error, faults.ClientError):
        return _failure_of_answer(error.response)
    if isinstance(error, faults.NoCredentialsError | faults.PartialCredentialsError | faults.ProfileNotFound):
        hint = "Set the credentials that the aws command uses, or AWS_PROFILE"
        return CallFailure(reason="refused", text=f"{error}. {hint}")
    if isinstance(error, faults.HTTPClientError | faults.ConnectionError | parsers.ResponseParserError):
        return CallFailure(reason="lost", text=str(error))
    return CallFailure(reason="broken", text=str(error)) if isinstance(error, faults.BotoCoreError) else None


def is_throttled(code: str) -> bool:
    """Say whether an error code means that calls come too fast."""
    return "Throttl" in code or code in _THROTTLED


def _failure_of_answer(response: Mapping[str, Any]) -> CallFailure:
    code, text = str(response["Error"].get("Code", "")), str(response["Error"].get("Message", ""))
    if is_throttled(code):
        return CallFailure(reason="throttled", text=text, code=code)
    if code in DENIED or "AccessDenied" in code:
        return CallFailure(reason="refused", text=text, code=code)
    is_away = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= 500
    return CallFailure(reason="lost" if is_away else "broken", text=text, code=code)
