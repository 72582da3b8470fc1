"""How clients of Azure's SDK are made, and what its errors mean, whether they only read or rent."""

from __future__ import annotations

from typing import Any, Final

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
    """Return what an error of the SDK means; None for one that is not of the SDK."""
    faults = sdk("azure.core.exceptions", extra="azure")
    if isinstance(error, faults.ClientAuthenticationError):
        return CallFailure(reason="refused", text=f"{error.message}. Run: az login")
    if isinstance(error, faults.DecodeError):
        return CallFailure(reason="lost", text=f"the answer is cut off or cannot be read ({error.message})")
    if isinstance(error, faults.HttpResponseError) and error.status_code:
        wait = error.response.headers.get("Retry-After") if error.response else None
        text = (error.error.message if error.error else error.message) or ""
        code = (error.error and error.error.code) or error.reason or "no code"
        return failure_of_status(error.status_code, text, code=str(code), wait=wait)
    return CallFailure(reason="lost", text=str(error)) if isinstance(error, faults.AzureError | OSError) else None
