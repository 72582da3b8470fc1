"""Clouds that machines can be rented from, by name."""

from __future__ import annotations

from typing import Final

from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.protocol import Provider
from planner.errors import BadInputError, nearest

CLOUDS: Final = ("aws", "gcp", "azure")


def provider_of(cloud: str, *, policy: RetryPolicy | None = None) -> Provider:
    """Return the provider of a cloud. Raises BadInputError for a cloud that can only be planned for."""
    if cloud == "aws":
        from planner.clouds.aws.provider import AwsProvider

        return AwsProvider(policy=policy or RetryPolicy())
    if cloud == "gcp":
        from planner.clouds.gcp.provider import GcpProvider

        return GcpProvider(policy=policy or RetryPolicy())
    if cloud == "azure":
        from planner.clouds.azure.provider import AzureProvider

        return AzureProvider(policy=policy or RetryPolicy())
    clouds = ", ".join(CLOUDS)
    raise BadInputError(
        f"cannot rent machines from {cloud!r}; these work: {clouds}.{nearest(cloud, CLOUDS)}", code="unknown-cloud"
    )
