"""Names of resources and fields as people write them."""

from __future__ import annotations

from typing import Final

from planner.schemas.plan import Candidate

RESOURCE_WORDS: Final = {
    "network": "network",
    "local": "local disks",
    "volumes": "volumes",
    "objects": "object store",
    "cpu": "processors",
    "driver": "driver, which hands out tasks",
    "requests": "requests to the object store",
    "startup": "boot, start-up and teardown",
    "barriers": "waiting for the slowest node",
}
"""What a run can wait for, by the names of what-ifs."""


def words(name: str) -> str:
    """Return a field's name as people write it."""
    return name.replace("_", " ")


_OF_PHASES: Final = {"driver": "handing out tasks", "cpu": "processors", "object_requests": RESOURCE_WORDS["requests"]}


def phase_word(name: str) -> str:
    """Return what a phase waits for as people call it."""
    return _OF_PHASES.get(name, words(name))


def bottleneck_word(cluster: Candidate) -> str:
    """Return the resource that limits a whole run; of clusters that were not recommended, what its longest phase waits
    for.
    """
    if cluster.bottleneck:
        return RESOURCE_WORDS[cluster.bottleneck].partition(", which")[0]
    longest = max(cluster.phases, key=lambda phase: phase.time_s)
    return phase_word(longest.bottleneck)
