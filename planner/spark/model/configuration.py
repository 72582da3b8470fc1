"""Spark's properties for a cluster, and changes to try before any new machine."""

from __future__ import annotations

import math
from typing import Final

from planner.spark.model.bounds import Explanation
from planner.spark.model.machines import Nodes
from planner.spark.model.prediction import Work, shipped_assumptions

_MOST_CORES: Final = 8
"""Larger executors collect garbage for longer at a time; Spark's tuning guide advises several on a large node."""
_OVERHEAD: Final = 0.1
_PYTHON_OVERHEAD: Final = 0.4
"""Spark's own default on Kubernetes for jobs whose workers are not JVMs: their memory is in the overhead."""
_MIB: Final = 1 << 20
_LEAST_OVERHEAD_MIB: Final = 384
_WAVES: Final = 2
"""The tuning guide asks for 2 to 3 tasks for each core."""
_MOST_PARTITIONS: Final = 100_000
"""Beyond this number the driver's own bookkeeping takes longer than the tasks."""


def configuration(work: Work, nodes: Nodes) -> dict[str, str]:
    """Return the properties that make Spark use all of the cluster's cores and memory."""
    machine = nodes.machine
    cores = max(_cores(machine.vcpu), work.task_cpus)
    memory_bytes = machine.memory_bytes * work.assumptions.memory_for_executors * cores / machine.vcpu
    return {
        "spark.executor.instances": str(max(1, nodes.count * (machine.vcpu // cores))),
        "spark.executor.cores": str(cores),
        **_memory(memory_bytes, _PYTHON_OVERHEAD if work.python else _OVERHEAD),
        "spark.sql.shuffle.partitions": str(_partitions(work, nodes)),
        **({"spark.sql.adaptive.enabled": "true"} if work.adaptive else {}),
    }


def sort_configuration(nodes: int, *, data_bytes: float, vcpus: int, memory_bytes: float | None) -> dict[str, str]:
    """Return the properties that make a sort of `data_bytes` use all cores and memory of `nodes` nodes; those of memory
    only if it is known.
    """
    assumed, cores = shipped_assumptions(), _cores(vcpus)
    executors = nodes * (vcpus // cores)
    partitions = max(_WAVES * executors * cores, math.ceil(data_bytes / assumed.partition_bytes))
    known = (
        {} if memory_bytes is None else _memory(memory_bytes * assumed.memory_for_executors * cores / vcpus, _OVERHEAD)
    )
    return {
        "spark.executor.instances": str(executors),
        "spark.executor.cores": str(cores),
        **known,
        "spark.sql.shuffle.partitions": str(min(partitions, _MOST_PARTITIONS)),
    }


def _cores(vcpus: int) -> int:
    """Return the cores of an executor: the most that leave none of a node's cores unused."""
    return max(size for size in range(1, min(_MOST_CORES, vcpus) + 1) if vcpus % size == 0)


def _memory(executor_bytes: float, overhead: float) -> dict[str, str]:
    """Return heap and overhead of an executor of `executor_bytes` in total."""
    share_mib = executor_bytes / _MIB
    heap_mib = max(math.floor(min(share_mib / (1 + overhead), share_mib - _LEAST_OVERHEAD_MIB)), _LEAST_OVERHEAD_MIB)
    return {
        "spark.executor.memory": f"{heap_mib}m",
        "spark.executor.memoryOverhead": f"{max(math.ceil(overhead * heap_mib), _LEAST_OVERHEAD_MIB)}m",
    }


def _partitions(work: Work, nodes: Nodes) -> int:
    """Return enough partitions for two per slot, and for none to be larger than Spark's usual partition."""
    enough = math.ceil(work.steps.largest_shuffle_bytes / work.assumptions.partition_bytes)
    return max(_WAVES * work.slots_of(nodes), enough)


def local_directories(nodes: Nodes) -> str:
    """Return the place for `spark.local.dir`."""
    disks = nodes.machine.local_disks
    if not disks:
        return "The folder of spark.local.dir lies on a volume, whose own rate bounds the shuffle"
    return (
        f"Put a folder of spark.local.dir on each of the {disks} local disks"
        if disks > 1
        else ("Put spark.local.dir on the local disk")
    )


_FIRST: Final = {
    "python": "replace Python functions by SQL functions, or by pandas_udf, which takes rows in batches",
    "memory": "give each task more memory: more of the node in spark.executor.memory, fewer spark.executor.cores, or"
    " more spark.sql.shuffle.partitions",
    "network": "send less: filter and aggregate before the shuffle, broadcast the small side of a join",
    "disks": "write less to shuffle files: filter before the shuffle, spread spark.local.dir over all disks",
    "storage": "read less: columnar files of 128 MB to 1 GB, only the columns and partitions that are needed",
    "waiting": "find out what the tasks wait for, also for processors that others take: a thread dump of an executor,"
    " the load of its host",
    "scheduling": "give the driver less to do for each task: fewer, larger tasks",
    "straggler": "split the largest key or file: spark.sql.adaptive.skewJoin.enabled=true, or a salted key",
    "too few tasks": "use more partitions, where the input can be split",
    "small tasks": "use fewer, larger tasks: coalesce, larger files, spark.sql.adaptive.coalescePartitions",
    "driver": "let the driver do less between stages: collect less, list fewer files, start jobs at the same time",
}
_WORTH: Final = 0.2


def first_changes(explained: Explanation) -> tuple[str, ...]:
    """Return changes to try before any new machine, for the largest share of the time first; nothing below a fifth."""
    seconds = explained.seconds_by_bound
    return tuple(_FIRST[word] for word in seconds if seconds[word] > _WORTH * explained.duration_s and word in _FIRST)
