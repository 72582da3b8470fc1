"""Spark's properties for a cluster, and changes to try before any new machine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from planner.spark.model.bounds import Explanation
from planner.spark.model.machines import Nodes
from planner.spark.model.platforms import SparkPlatform, platform_called
from planner.spark.model.prediction import Work, shipped_assumptions

_MOST_CORES: Final = 8
"""Larger executors collect garbage for longer at a time; Spark's tuning guide advises several on a large node."""
_PYTHON_OVERHEAD: Final = 0.4
"""Spark's own default on Kubernetes for jobs whose workers are not JVMs: their memory is in the overhead."""
_STEP_MIB: Final = 1024
"""Executors take whole multiples: YARN rounds what is asked for up to as much, by default."""
_LEAST_OVERHEAD_MIB: Final = 384
_WAVES: Final = 2
"""The tuning guide asks for 2 to 3 tasks for each core."""
_MOST_PARTITIONS: Final = 100_000
"""Beyond this number the driver's own bookkeeping takes longer than the tasks."""


@dataclass(frozen=True, kw_only=True)
class Executors:
    """Executors of a node: how many, and the cores and MiB of each. The MiB are NaN if the node's memory is unknown."""

    per_node: int
    cores: int
    heap_mib: float
    overhead_mib: float

    def properties(self, nodes: int) -> dict[str, str]:
        """Return Spark's properties for so many nodes; those of memory only if it is known."""
        memory = {"memory": self.heap_mib, "memoryOverhead": self.overhead_mib}
        return {
            "spark.executor.instances": str(max(1, nodes * self.per_node)),
            "spark.executor.cores": str(self.cores),
            **{f"spark.executor.{name}": f"{mib:.0f}m" for name, mib in memory.items() if not math.isnan(mib)},
        }


def executors_of(
    platform: SparkPlatform, *, vcpus: int, memory_bytes: float, cores: int = 0, python: bool = False
) -> Executors:
    """Return the executors that a platform can place on a node with an application master: at least of `cores` cores,
    and of whole GiB, in which schedulers count memory. `per_node` is 0 if there is no room for one.
    """
    cores = max(_cores(vcpus), cores)
    free_mib = platform.free_mib(memory_bytes)
    if math.isnan(free_mib):
        return Executors(per_node=vcpus // cores, cores=cores, heap_mib=math.nan, overhead_mib=math.nan)
    per_node = max(0, min(vcpus // cores, math.floor(free_mib / _STEP_MIB)))
    total_mib = max(free_mib / max(1, per_node) // _STEP_MIB, 1) * _STEP_MIB
    overhead = max(platform.overhead, _PYTHON_OVERHEAD if python else 0.0)
    overhead_mib = max(math.ceil(total_mib * overhead / (1 + overhead)), _LEAST_OVERHEAD_MIB)
    return Executors(per_node=per_node, cores=cores, heap_mib=total_mib - overhead_mib, overhead_mib=overhead_mib)


def configuration(work: Work, nodes: Nodes, platform: SparkPlatform | None = None) -> dict[str, str]:
    """Return the properties that make Spark use all of the cluster's cores and memory, on the log's platform if no
    other is given.
    """
    machine = nodes.machine
    executors = executors_of(
        platform or platform_called(work.platform),
        vcpus=machine.vcpu,
        memory_bytes=machine.memory_bytes,
        cores=work.task_cpus,
        python=work.python,
    )
    return {
        **executors.properties(nodes.count),
        "spark.sql.shuffle.partitions": str(_partitions(work, nodes)),
        **({"spark.sql.adaptive.enabled": "true"} if work.adaptive else {}),
    }


def sort_configuration(
    nodes: int, *, data_bytes: float, vcpus: int, memory_bytes: float | None, platform: SparkPlatform
) -> dict[str, str]:
    """Return the properties that make a sort of `data_bytes` use all cores and memory of `nodes` nodes; those of memory
    only if it is known.
    """
    executors = executors_of(platform, vcpus=vcpus, memory_bytes=math.nan if memory_bytes is None else memory_bytes)
    slots = nodes * executors.per_node * executors.cores
    partitions = max(_WAVES * slots, math.ceil(data_bytes / shipped_assumptions().partition_bytes))
    return {**executors.properties(nodes), "spark.sql.shuffle.partitions": str(min(partitions, _MOST_PARTITIONS))}


def _cores(vcpus: int) -> int:
    """Return the cores of an executor: the most that leave none of a node's cores unused."""
    return max(size for size in range(1, min(_MOST_CORES, vcpus) + 1) if vcpus % size == 0)


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
    "storage": "move less: columnar files of 128 MB to 1 GB, read only the columns and partitions that are needed",
    "waiting": "find out what the tasks wait for, also for processors that others take: a thread dump of an executor,"
    " the load of its host",
    "scheduling": "give the driver less to do for each task: fewer, larger tasks",
    "straggler": "split the largest key or file: spark.sql.adaptive.skewJoin.enabled=true, or a salted key; if no task"
    " moves more than others, look at the node of the longest",
    "too few tasks": "use more partitions, where the input can be split",
    "small tasks": "use fewer, larger tasks: coalesce, larger files, spark.sql.adaptive.coalescePartitions",
    "failures": "find out why tasks fail, and end it: memory for each task, spot nodes that are taken back, bad nodes,"
    " copies that spark.speculation kills; spark.decommission.enabled=true keeps the blocks of nodes that go",
    "results": "send less to the driver: collect fewer rows, let executors write the result",
    "cold executors": "let executors stay between jobs, and give tasks less code to load: fewer and smaller jars and"
    " broadcasts",
    "ending": "end the application when its last job ends: spark.stop(), a committer that does not move files",
    "start": "begin the first stage sooner: executors that are there, fewer jars to send, fewer files to list",
    "stream": "give it larger batches, or fewer nodes: a longer trigger, Trigger.AvailableNow on a schedule",
    "driver": "let the driver do less between stages: collect less, list fewer files, start jobs at the same time; let"
    " executors go while a session waits for people: spark.dynamicAllocation.enabled=true",
}
_WORTH: Final = 0.2


def first_changes(explained: Explanation) -> tuple[str, ...]:
    """Return changes to try before any new machine, for the largest share of the time first; nothing below a fifth."""
    saved = {change.resource: explained.duration_s - change.duration_s for change in explained.changes}
    seconds = dict(sorted((saved | explained.seconds_by_bound).items(), key=lambda item: -item[1]))
    return tuple(_FIRST[word] for word in seconds if seconds[word] > _WORTH * explained.duration_s and word in _FIRST)
