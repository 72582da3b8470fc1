"""The extra time of a slot's first tasks, by hand."""

from __future__ import annotations

import pytest

from planner.spark.application.stage import WarmUp


@pytest.mark.parametrize(
    ("tasks", "seconds"),
    [
        (0.0, 0.0),
        (0.5, 2.0),  # every second slot runs one task
        (1.0, 4.0),
        (2.0, 4.0 + 1.0),  # the second and third take a second longer each
        (3.0, 4.0 + 2.0),
        (50.0, 4.0 + 2.0),  # later ones take no longer
    ],
)
def test_the_excess_of_tasks_one_after_another(tasks: float, seconds: float) -> None:
    assert WarmUp(excess_s=(4.0, 1.0), settled_s_at=()).seconds(tasks) == seconds
