"""How Azure is reached: whose credentials, which subscription, and the address of its Resource Manager."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from planner.clouds.calls.azure import SUBSCRIPTION_VARIABLE, client_arguments
from planner.clouds.calls.sdk import sdk
from planner.config.settings import load_settings
from planner.errors import BadInputError


@dataclass(frozen=True, kw_only=True)
class Access:
    """`arguments` are those of every client of the SDK besides credentials and subscription."""

    subscription: str
    credentials: Any = field(repr=False)
    arguments: dict[str, Any]
    prices_url: str = ""


def subscription_named() -> str:
    """Return the subscription that the environment or the settings name, or ''."""
    return os.environ.get(SUBSCRIPTION_VARIABLE) or load_settings(today=datetime.now(UTC).date()).of("azure").account


def default_access() -> Access:
    """Return what the SDK finds in its environment, and the settings file.

    Raises BadInputError without the SDK or a subscription.
    """
    identity = sdk("azure.identity", extra="azure")
    subscription, settings = subscription_named(), load_settings(today=datetime.now(UTC).date()).of("azure")
    if not subscription:
        raise BadInputError(
            f"Azure: no subscription; set {SUBSCRIPTION_VARIABLE}, or account under [azure] in settings"
        )
    return Access(
        subscription=subscription,
        credentials=identity.DefaultAzureCredential(),
        arguments=client_arguments(settings.specs_url),
        prices_url=settings.prices_url,
    )
