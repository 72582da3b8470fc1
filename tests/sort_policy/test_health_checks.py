"""A lost node is noticed in seconds on few nodes, and in half a minute on many, whose head has more to do."""

from __future__ import annotations

import pytest

from planner.clusters.ray.nodes import failure_settings
from planner.sort_policy.health_checks import noticed_after_s


def test_few_nodes_are_watched_closely_and_many_with_patience() -> None:
    assert noticed_after_s(4) == noticed_after_s(16) == pytest.approx(3.75)
    assert noticed_after_s(32) == pytest.approx(7.5)
    assert noticed_after_s(1000) == pytest.approx(37.5)


@pytest.mark.parametrize("nodes", [1, 16, 24, 178, 1000])
def test_ray_is_told_to_wait_as_long(nodes: int) -> None:
    settings = failure_settings(nodes)
    period_ms, timeout_ms = (float(settings[f"RAY_health_check_{name}_ms"]) for name in ("period", "timeout"))
    failures = int(settings["RAY_health_check_failure_threshold"])
    assert failures * (period_ms + timeout_ms) / 1000 == pytest.approx(noticed_after_s(nodes), rel=0.01)
