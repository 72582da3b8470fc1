"""Data so small that the reader's own machine sorts it while rented ones would still start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from planner.cost_model.model import CostModel
from planner.planning.request.job_context import is_in_store
from planner.schemas.plan import Candidate, Request
from planner.units import format_bytes, format_duration

SMALL_DATA: Final = "small data: "
"""Start of the note that no machine need be rented."""

_DISK_BYTES_PER_S: Final = 500e6
"""A SATA SSD, which machines at hand have at least."""
_PASSES: Final = 4
"""A sort of more than fits in memory reads and writes everything twice."""


def done_here(request: Request, best: Candidate, model: CostModel) -> Iterator[str]:
    """Yield a note if this machine, with such a disk, sorts the data sooner than the recommended run ends."""
    here_s = _PASSES * request.bytes_to_sort / _DISK_BYTES_PER_S
    if model.software is None and not request.paper and not is_in_store(request.input) and here_s < best.whole_run_s:
        room = format_bytes(2 * request.bytes_to_sort)
        yield (
            f"{SMALL_DATA}this machine does it with `planner sort`, in about {format_duration(here_s)} "
            f"where {room} are free on an SSD"
        )
