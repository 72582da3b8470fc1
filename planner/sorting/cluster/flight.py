"""Tasks under way, and what is to be done when each has ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from planner.sorting.cluster.crew import Crew

_LONGEST_WAIT_S: Final = 0.5
"""So that progress is told and lost nodes are noticed when nothing ends."""

Landing = Callable[[Any], None]
"""Told what a task returned, or LOST."""


class Flight:
    """References of running tasks and their landings."""

    def __init__(self, ray: Any, crew: Crew) -> None:
        self._ray = ray
        self._crew = crew
        self._landings: dict[Any, Landing] = {}

    def __len__(self) -> int:
        return len(self._landings)

    def add(self, reference: Any, landing: Landing) -> None:
        """Watch a task."""
        self._landings[reference] = landing

    def land(self) -> None:
        """Wait until something has ended, or for half a second, and tell all that has. Raises what tasks raised."""
        under_way = list(self._landings)
        ended, _ = self._ray.wait(under_way, num_returns=1, timeout=_LONGEST_WAIT_S, fetch_local=False)
        if ended:
            ended, _ = self._ray.wait(under_way, num_returns=len(under_way), timeout=0, fetch_local=False)
        for reference in ended:
            landing = self._landings.pop(reference)
            landing(self._crew.outcome(reference))

    def abandon(self) -> None:
        """Cancel everything, best effort."""
        for reference in self._landings:
            self._ray.cancel(reference, force=True)
        self._landings.clear()
