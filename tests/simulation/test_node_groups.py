"""Like nodes as one group, the slowest alone."""

from __future__ import annotations

import numpy as np
import pytest

from planner.simulation.node_groups import groups_of


def test_the_slowest_stay_alone_and_nobody_is_lost() -> None:
    """Thirty nodes: the four slowest alone, then 4 and 16, then the other 6."""
    slowness = np.linspace(1.0, 3.9, 30)
    groups = groups_of({"disk": slowness}, lateness=slowness)
    assert [group.nodes for group in groups] == [1, 1, 1, 1, 4, 16, 6]
    assert [round(group.slow("disk"), 6) for group in groups[:2]] == [3.9, 3.8]
    assert sum(group.nodes * group.slow("disk") for group in groups) == pytest.approx(slowness.sum())


def test_a_resource_of_which_nothing_is_stated_is_as_fast_as_the_medians() -> None:
    assert groups_of({}, lateness=np.zeros(1))[0].slow("network") == 1.0
