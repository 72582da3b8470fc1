"""Reading a dataset back where it lies, copy by copy."""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.distributed_sort import node_tasks
from planner.distributed_sort.dataset import Dataset
from planner.distributed_sort.nodes import Nodes
from planner.distributed_sort.sort import joined
from planner.native import core


@dataclass(frozen=True, kw_only=True)
class Validation:
    """What one copy of the output holds. `lost` counts the partitions that no longer have such a copy."""

    records: int
    checksum: str
    sorted: bool
    duplicates: int
    lost: int


def validated(nodes: Nodes, dataset: Dataset, *, copy: int = 0) -> Validation:
    """Read one copy of every partition where it lies; partitions without it are counted. Raises IoFailureError."""
    names = nodes.names
    began = []
    for turn, partition in enumerate(part for part in dataset.partitions if copy < len(part.copies)):
        read = partition.copies[copy]
        node = read.node or names[turn % len(names)]
        alone = replace(partition, copies=(read,))
        began.append(nodes.run(node, node_tasks.validate, alone, dataset.layout, nodes.threads(node)))
    summaries = nodes.outcomes(began, doing="output was validated")
    whole = joined(iter(summaries)) if summaries else core.validate_records(b"", **dataset.layout.core())
    return Validation(
        records=whole.records,
        checksum=f"{whole.checksum:x}",
        sorted=whole.unordered == 0,
        duplicates=whole.duplicates,
        lost=len(dataset.partitions) - len(began),
    )
