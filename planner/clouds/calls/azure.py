"""Clients of Azure's SDK and the meaning of its errors, for reading and renting."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

from planner.clouds.calls.account import account_failure, clock_failure, quieten
from planner.clouds.calls.http import failure_of_status
from planner.clouds.calls.reading import CallFailure, sdk

SUBSCRIPTION_VARIABLE: Final = "AZURE_SUBSCRIPTION_ID"


def client_arguments(url: str) -> dict[str, Any]:
    """Return the arguments of an SDK's client that tries once, at the address `url` ('': the public one)."""
    from azure.core.pipeline.policies import RetryPolicy, SansIOHTTPPolicy

    arguments: dict[str, Any] = {"retry_policy": RetryPolicy.no_retries()}
    if url:
        arguments |= {"base_url": url, "credential_scopes": [url.rstrip("/") + "/.default"]}
    if url.startswith("http://"):  # a proxy on this machine; the SDK sends no token without encryption
        arguments["authentication_policy"] = SansIOHTTPPolicy()
    return arguments


def failure_of(error: Exception) -> CallFailure | None:
    """Return what an error of the SDK means; None for other errors."""
    faults = sdk("azure.core.exceptions", extra="azure")
    if isinstance(error, faults.ClientAuthenticationError):
        return _failure_of_account(error)
    if isinstance(error, faults.DecodeError):
        return CallFailure(reason="lost", text=f"the answer is cut off or cannot be read ({error.message})")
    if isinstance(error, faults.HttpResponseError) and error.status_code:
        wait = error.response.headers.get("Retry-After") if error.response else None
        text = (error.error.message if error.error else error.message) or ""
        code = (error.error and error.error.code) or error.reason or "no code"
        if code in _NO_SUBSCRIPTION:
            return account_failure(
                "Azure: the subscription is not there, or not yours", hint=SUBSCRIPTION_HINT, error=f"{text} ({code})"
            )
        return failure_of_status(error.status_code, text, code=str(code), wait=wait)
    return CallFailure(reason="lost", text=str(error)) if isinstance(error, faults.AzureError | OSError) else None


_GET: Final = "run `az login`, or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET"
SUBSCRIPTION_HINT: Final = (
    f"set {SUBSCRIPTION_VARIABLE} to one that `az account list --output table` names, or account under [azure] in the "
    "settings"
)
_NO_SUBSCRIPTION: Final = frozenset(
    {"SubscriptionNotFound", "InvalidSubscriptionId", "InvalidAuthenticationTokenTenant", "SubscriptionNotRegistered"}
)
_ENDED: Final = ("expired", "AADSTS700082", "AADSTS50173", "AADSTS70043", "AADSTS50078")
"""Entra ID's codes and words for an expired token (its list of error codes)."""


def _failure_of_account(error: Any) -> CallFailure:
    """Return what is wrong with the sign-in: the SDK raises the same error for none and for an expired one."""
    text = str(error.message)
    if "valid time range" in text:
        return clock_failure("Azure", text)
    if any(word in text for word in _ENDED):
        return account_failure("Azure: the sign-in has expired", hint=_GET, error=text)
    if error.response is None:
        return account_failure("Azure: no credentials found", hint=_GET)
    return account_failure("Azure: the credentials are not valid", hint=_GET, error=text)


def identity_in(subscription: str) -> str:
    """Return the caller: the application in the environment, or the user signed in with `az`; '' if unknown."""
    if application := os.environ.get("AZURE_CLIENT_ID"):
        return f"app-{application}"
    profile = Path(os.environ.get("AZURE_CONFIG_DIR") or f"{os.environ.get('HOME', '')}/.azure") / "azureProfile.json"
    try:
        known = json.loads(profile.read_text("utf-8-sig"))["subscriptions"]  # `az` writes a byte order mark
        return next((str(item["user"]["name"]) for item in known if item["id"] == subscription), "")
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def found_credentials() -> Any:
    """Return the credentials that the SDK looks up when a call is made."""
    quieten("azure")
    return sdk("azure.identity", extra="azure").DefaultAzureCredential(process_timeout=_LONGEST_PROGRAM_S)


_LONGEST_PROGRAM_S: Final = 10
"""Timeout for `az` and similar programs that print the token."""
