"""Requests for machines of Compute Engine."""

from __future__ import annotations

import pytest

from planner.clouds.gcp.instances import _volume
from planner.clouds.order import VolumeOrder


@pytest.mark.parametrize(
    ("size_gib", "mibps", "provisioned"),
    [(13021, 1145, "1144"), (13022, 1144, "1144"), (30 * 1024, 100, "300"), (2048, 1, "20"), (2048, 100, "100")],
)
def test_throughput_is_provisioned_within_what_the_size_allows(size_gib: int, mibps: int, provisioned: str) -> None:
    """Hyperdisk Throughput takes 10 to 90 MiB/s for each TiB; the plan's rate, rounded up, can be above that."""
    order = VolumeOrder(volume_type="hyperdisk-throughput", count=1, size_gib=size_gib, mibps_each=mibps)
    assert _volume(order)["provisionedThroughput"] == provisioned
