"""Tasks under way, and what is to be done when each has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from planner.distributed_sort.nodes import LOST, Crew

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
        self._nodes: dict[Any, tuple[str, frozenset[str]]] = {}

    def __len__(self) -> int:
        return len(self._landings)

    def add(self, reference: Any, landing: Landing, *, node: str, sources: Iterable[str] = ()) -> None:
        """Watch a task that runs on `node`, with what comes from `sources`, if anything does."""
        self._landings[reference] = landing
        self._nodes[reference] = node, frozenset((node, *sources))

    def land(self) -> None:
        """Give up what runs on lost nodes or waits for them, wait until something else has ended, or for half a second,
        and tell all that has. Raises what tasks raised.
        """
        self._give_up(self._crew.lost)
        under_way = list(self._landings)
        if not under_way:
            return
        ended, _ = self._ray.wait(under_way, num_returns=1, timeout=_LONGEST_WAIT_S, fetch_local=False)
        if ended:
            ended, _ = self._ray.wait(under_way, num_returns=len(under_way), timeout=0, fetch_local=False)
        for reference in ended:
            self._pop(reference)(self._crew.outcome(reference))

    def _give_up(self, lost: frozenset[str]) -> None:
        """Cancel what runs on lost nodes or waits for them, best effort; take it for lost. After a link was cut Ray
        says that the node has gone ten seconds before it says so of the tasks there, and then makes anew what others
        wait for, as this job does by itself.
        """
        if not lost:
            return
        for reference in [each for each, (_, needed) in self._nodes.items() if lost & needed]:
            node, _ = self._nodes[reference]
            self._ray.cancel(reference, force=node in lost)  # without force a task's process goes on
            self._pop(reference)(LOST)

    def abandon(self) -> None:
        """Cancel everything, best effort."""
        for reference in self._landings:
            self._ray.cancel(reference, force=True)
        self._landings.clear()
        self._nodes.clear()

    def _pop(self, reference: Any) -> Landing:
        del self._nodes[reference]
        return self._landings.pop(reference)
