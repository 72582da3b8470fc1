"""How clients of Azure's SDK are made, whether they only read or rent."""

from __future__ import annotations

from typing import Any, Final

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
