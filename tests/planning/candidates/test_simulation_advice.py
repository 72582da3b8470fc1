"""Plans say when a simulation is likely to say other times."""

from __future__ import annotations

import planner


def warnings(instance: str, **options: object) -> list[str]:
    """Return what a plan of 12 nodes with 5 GB each warns of."""
    answer = planner.recommend("60GB", model="indy", instance=instance, nodes=12, **options)  # type: ignore[arg-type]
    assert answer.best is not None
    return [warning for warning in answer.best.warnings if "--simulate" in warning]


def test_links_that_burst_are_worth_a_simulation() -> None:
    (advice,) = warnings("i4i.4xlarge")
    assert "took 0.6" in advice and "3.12 GB/s at first" in advice


def test_where_the_equations_agree_nothing_is_said() -> None:
    assert not warnings("i4i.8xlarge")


def test_a_network_that_is_known_does_not_burst() -> None:
    assert not warnings("i4i.4xlarge", assume={"network": "25Gbit/s"})


def test_without_tasks_a_simulation_says_the_same() -> None:
    assert not warnings("i4i.4xlarge", engine="ideal")
