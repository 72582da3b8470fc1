"""Providers by the name of their cloud."""

from __future__ import annotations

import pytest
from refusals import refused

from planner.clouds.registry import CLOUDS, provider_of


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_cloud_has_a_provider_of_its_own(cloud: str) -> None:
    provider = provider_of(cloud)
    assert provider.cloud == cloud
    kinds = [resource_kind for stage in provider.stages for resource_kind in stage]
    assert len(kinds) == len(set(kinds)) and provider.tied_to_zone <= set(kinds)


def test_a_cloud_that_only_plans_is_refused() -> None:
    with refused("unknown-cloud", "'oci'", "aws, gcp, azure"):
        provider_of("oci")
