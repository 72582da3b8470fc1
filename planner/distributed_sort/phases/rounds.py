"""Rounds of both phases until all partitions are finished: each does what the one before could not."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from planner.distributed_sort.job.job import Job
from planner.distributed_sort.phases.coordination import again
from planner.distributed_sort.phases.reduce import unfinished
from planner.errors import IoFailureError

_MOST_VAIN: Final = 20
_LONGEST_PAUSE_S: Final = 5.0
"""Between rounds in which nothing was done, each pause a second longer: a process of a node may be beginning anew."""


def until_finished(
    job: Job, *, between: Callable[[Job], None] = lambda _: None, pause: Callable[[float], None] = time.sleep
) -> None:
    """Run rounds until all partitions are finished, and something `between` them.

    Raises IoFailureError when round after round does nothing although no node is lost, and what a round raises.
    """
    vain, before = 0, _done(job)
    while not again(job):
        between(job)
        vain, before = vain + 1 if _done(job) == before else 0, _done(job)
        if vain == _MOST_VAIN:
            numbers = ", ".join(map(str, unfinished(job)[:10]))
            raise IoFailureError(
                f"the sort got no further in {vain} tries although no node was lost",
                [f"partitions that are not finished: {numbers}", "see Ray's logs of the nodes; then run it again"],
            )
        if vain:
            pause(min(float(vain), _LONGEST_PAUSE_S))


def _done(job: Job) -> tuple[int, int, frozenset[str]]:
    """Return what changes when a round does anything: what is stored, copies of finished partitions, lost nodes."""
    copies = sum(len(partition.copies) for partition, _ in job.ledger.done.values())
    return job.ledger.stored_records, copies, job.nodes.lost
