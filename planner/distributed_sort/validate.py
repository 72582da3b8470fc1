"""Reading a dataset back where it lies, copy by copy."""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.distributed_sort import node_tasks
from planner.distributed_sort.dataset import Dataset
from planner.distributed_sort.nodes import Crew
from planner.distributed_sort.sort import joined
from planner.native import core


@dataclass(frozen=True, kw_only=True)
class Found:
    """What validation found in one copy of the output. `lost` partitions have no such copy any more."""

    records: int
    checksum: str
    sorted: bool
    duplicates: int
    lost: int


def validated(crew: Crew, dataset: Dataset, *, copy: int = 0) -> Found:
    """Read one copy of every partition where it lies; partitions without it are counted. Raises IoFailureError."""
    at = [(each, each.copies[copy]) for each in dataset.partitions if copy < len(each.copies)]
    names = crew.names
    began = []
    for turn, (each, where) in enumerate(at):
        node = where.node or names[turn % len(names)]
        one = replace(each, copies=(where,))
        began.append(crew.run(node, node_tasks.validate, one, dataset.layout, crew.threads(node)))
    summaries = crew.outcomes(began, doing="output was validated")
    whole = joined(iter(summaries)) if summaries else core.validate_records(b"", **dataset.layout.core())
    return Found(
        records=whole.records,
        checksum=f"{whole.checksum:x}",
        sorted=whole.unordered == 0,
        duplicates=whole.duplicates,
        lost=len(dataset.partitions) - len(at),
    )
