"""Which runs a sweep takes: by all that is tagged with them, not by one resource."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from planner.clouds.protocol import Resource
from planner.clusters.provisioning.cluster_lifecycle import expired

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("hours", "is_expired"),
    [
        ((-1.0, -2.0), True),
        ((-1.0, 1.0), False),
        ((None, 1.0), False),
        ((None, -1.0), True),
        ((None, None), True),
        ((), True),
    ],
)
def test_a_run_has_expired_when_nothing_of_it_may_live_on(hours: tuple[float | None, ...], is_expired: bool) -> None:
    """A resource that lost its tag of the end, or whose tag is unreadable, ended the live run that it is of."""
    resources = [
        Resource(kind="vpc", id="v", region="r", run="r1", expires_at=None if h is None else NOW + timedelta(hours=h))
        for h in hours
    ]
    assert expired(resources, now=NOW) is is_expired
