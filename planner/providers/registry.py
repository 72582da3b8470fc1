"""The clouds that machines can be rented from, by name."""

from __future__ import annotations

from typing import Final

from planner.errors import BadInputError, nearest
from planner.providers.protocol import Provider
from planner.providers.retry import Pace

CLOUDS: Final = ("aws", "gcp", "azure")


def provider_of(cloud: str, *, pace: Pace | None = None) -> Provider:
    """Return the provider of a cloud. Raises BadInputError for a cloud that only plans are made for."""
    if cloud == "aws":
        from planner.providers.aws.provider import AwsProvider

        return AwsProvider(pace=pace or Pace())
    if cloud == "gcp":
        from planner.providers.gcp.provider import GcpProvider

        return GcpProvider(pace=pace or Pace())
    if cloud == "azure":
        from planner.providers.azure.provider import AzureProvider

        return AzureProvider(pace=pace or Pace())
    known = ", ".join(CLOUDS)
    raise BadInputError(f"cannot rent machines from {cloud!r}; these work: {known}.{nearest(cloud, CLOUDS)}")
