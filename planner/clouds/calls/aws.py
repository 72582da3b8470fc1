"""Clients of AWS's SDK and the meaning of its errors, for reading and renting."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, Final

from planner.clouds.calls.account import account_failure, clock_failure
from planner.clouds.calls.codes import REFUSED, rule_of
from planner.clouds.calls.reading import CallFailure, sdk
from planner.units import format_duration


def client(
    service: str, region: str, *, profile: str = "", credentials: Mapping[str, str] | None = None, url: str = ""
) -> Any:
    """Return a client that tries once. It uses the SDK's own credentials and addresses where none are given.

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
    """Return a shared, caching reader of AWS's models: each session's own would read them again, in 0.2 s."""
    return sdk("botocore.loaders", extra="aws").create_loader()


def failure_of(error: Exception) -> CallFailure | None:
    """Return what an error of the SDK means; None for other errors."""
    faults, parsers = sdk("botocore.exceptions", extra="aws"), sdk("botocore.parsers", extra="aws")
    if isinstance(error, faults.ClientError):
        return _failure_of_answer(error.response)
    if account := _failure_of_account(error, faults):
        return account
    if isinstance(error, faults.HTTPClientError | faults.ConnectionError | parsers.ResponseParserError):
        return CallFailure(reason="lost", text=str(error))
    return CallFailure(reason="broken", text=str(error)) if isinstance(error, faults.BotoCoreError) else None


def _failure_of_account(error: Exception, faults: Any) -> CallFailure | None:
    """Return what is wrong with this machine's credentials; None for an error with another cause."""
    name = os.environ.get("AWS_PROFILE") or "default"
    if isinstance(error, faults.NoCredentialsError):
        return account_failure("AWS: no credentials found", hint=_GET)
    if isinstance(error, faults.PartialCredentialsError):
        missing = error.kwargs.get("cred_var", "a part")
        return account_failure(f"AWS: incomplete credentials, {missing} is missing"[:100], hint=_GET, error=error)
    if isinstance(error, faults.ProfileNotFound):
        text = f"AWS: there is no profile {error.kwargs.get('profile', name)!r}"
        return account_failure(text[:100], hint="set AWS_PROFILE to one that `aws configure list-profiles` names")
    signing_on = ("SSOError", "TokenRetrievalError", "LoginError")  # the SDK adds more of them from version to version
    if any(kind.__name__ in signing_on for kind in type(error).__mro__):
        hint = f"run: aws sso login --profile {name}"
        return account_failure("AWS: the single sign-on has expired, or was never done", hint=hint, error=error)
    if isinstance(error, RuntimeError) and "expired" in str(error):  # botocore, for those of the environment
        return account_failure("AWS: the credentials have expired", hint=_SIGN_IN, error=error)
    if isinstance(error, faults.CredentialRetrievalError | faults.MetadataRetrievalError):
        return account_failure("AWS: the credentials cannot be fetched", hint=_SIGN_IN, error=error)
    if isinstance(error, faults.ConfigParseError | faults.ConfigNotFound | faults.InvalidConfigError):
        return account_failure("AWS: the settings in ~/.aws cannot be used", hint="correct ~/.aws/config", error=error)
    return None


_GET: Final = "run `aws configure`, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_SIGN_IN: Final = "sign in again (`aws sso login`), or set new keys and AWS_SESSION_TOKEN"
_CHECK: Final = (
    "`aws sts get-caller-identity` tests them; a region that the account has not opted into refuses all: "
    "`aws account enable-region --region-name REGION`, or another --region"
)
_MOST_CLOCK_S: Final = 240
"""Difference to AWS's clock from which a refused call is blamed on this machine's; AWS takes five minutes."""


def _clock_text(response: Mapping[str, Any]) -> str:
    """Return how far this machine's clock is from the answer's, '' if little or unknown."""
    try:
        date = parsedate_to_datetime(response["ResponseMetadata"]["HTTPHeaders"]["date"])
    except (KeyError, ValueError):
        return ""
    ahead_s = (datetime.now(UTC) - date.astimezone(UTC)).total_seconds()
    far = abs(ahead_s) > _MOST_CLOCK_S
    return f"{format_duration(abs(ahead_s))} {'ahead' if ahead_s > 0 else 'behind'}" if far else ""


def _failure_of_answer(response: Mapping[str, Any]) -> CallFailure:
    code, text = str(response["Error"].get("Code", "")), str(response["Error"].get("Message", ""))
    meaning, error = rule_of("aws", code, text).meaning, f"{text} ({code})"
    if meaning in ("ended credentials", "wrong credentials") and (off := _clock_text(response)):
        return clock_failure("AWS", error, off=off)
    if meaning == "ended credentials":
        return account_failure("AWS: the credentials have expired", hint=_SIGN_IN, error=error)
    if meaning == "wrong credentials":
        return account_failure("AWS: the credentials are not valid here", hint=_CHECK, error=error)
    if meaning == "throttled":
        return CallFailure(reason="throttled", text=text, code=code)
    if meaning in REFUSED:
        return CallFailure(reason="refused", text=text, code=code)
    is_away = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= 500
    return CallFailure(reason="lost" if is_away else "broken", text=text, code=code)
