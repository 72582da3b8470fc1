"""Spark's properties for a sort on the machines of a plan: executors that use all cores and memory."""

from __future__ import annotations

import math
from typing import Final

from planner.schemas.plan import Candidate, Plan
from planner.spark.model.prediction import shipped_assumptions

_MOST_CORES: Final = 8
"""Larger executors collect garbage for longer at a time."""
_OVERHEAD: Final = 0.1
_LEAST_OVERHEAD_MIB: Final = 384
_LEAST_HEAP_MIB: Final = 512
_MIB: Final = 1 << 20
_WAVES: Final = 2
_MOST_PARTITIONS: Final = 100_000
"""Beyond so many the driver's own bookkeeping takes longer than the tasks."""


def spark_properties(plan: Plan, best: Candidate) -> dict[str, str]:
    """Return the properties by which Spark uses all cores and memory of the plan's cluster; without the memory of its
    nodes, only the number of executors and their cores.
    """
    machine, assumed = best.machine, shipped_assumptions()
    vcpus = int((machine.vcpus if machine else None) or 1)
    cores = max(size for size in range(1, min(_MOST_CORES, vcpus) + 1) if vcpus % size == 0)
    executors = best.nodes * (vcpus // cores)
    partitions = math.ceil(plan.request.data_bytes * plan.request.map_ratio / assumed.partition_bytes)
    properties = {
        "spark.executor.instances": str(executors),
        "spark.executor.cores": str(cores),
        "spark.sql.shuffle.partitions": str(min(max(_WAVES * executors * cores, partitions), _MOST_PARTITIONS)),
    }
    if machine is None or machine.memory_bytes is None:
        return properties
    share_mib = machine.memory_bytes * assumed.memory_for_executors * cores / vcpus / _MIB
    heap_mib = math.floor(min(share_mib / (1 + _OVERHEAD), share_mib - _LEAST_OVERHEAD_MIB))
    return properties | {"spark.executor.memory": f"{max(heap_mib, _LEAST_HEAP_MIB)}m"}
