"""Spark's properties that go with a cluster: executors, their cores and memory, and shuffle partitions."""

from __future__ import annotations

import math
from typing import Final

from planner.spark.model.machines import Nodes
from planner.spark.model.prediction import Work

_MOST_CORES: Final = 8
"""Larger executors collect garbage for longer at a time; Spark's tuning guide advises several on a large node."""
_OVERHEAD: Final = 0.1
_MIB: Final = 1 << 20
_LEAST_OVERHEAD_MIB: Final = 384
_WAVES: Final = 2
"""The tuning guide asks for 2 to 3 tasks for each core."""


def configuration(work: Work, nodes: Nodes) -> dict[str, str]:
    """Return the properties by which all of the cluster's cores and memory are used."""
    machine, assumed = nodes.machine, work.assumptions
    cores = max(size for size in range(1, min(_MOST_CORES, machine.vcpu) + 1) if machine.vcpu % size == 0)
    cores = max(cores, work.task_cpus)
    executors = max(1, nodes.count * (machine.vcpu // cores))
    share_mib = machine.memory_bytes * assumed.memory_for_executors * cores / machine.vcpu / _MIB
    heap_mib = math.floor(min(share_mib / (1 + _OVERHEAD), share_mib - _LEAST_OVERHEAD_MIB))
    return {
        "spark.executor.instances": str(executors),
        "spark.executor.cores": str(cores),
        "spark.executor.memory": f"{max(heap_mib, _LEAST_OVERHEAD_MIB)}m",
        "spark.sql.shuffle.partitions": str(_partitions(work, nodes)),
    }


def _partitions(work: Work, nodes: Nodes) -> int:
    """Return enough for every slot twice, and so many that none is larger than Spark's usual partition."""
    largest = max((stage.sums.shuffle_read_bytes for step in work.timeline.steps for stage in step.stages), default=0.0)
    return max(_WAVES * work.slots_of(nodes), math.ceil(largest / work.assumptions.partition_bytes))
