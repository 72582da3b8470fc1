"""The task time of a stage, split into parts that add up to the whole.

The split is that of blocked-time analysis (Ousterhout et al., NSDI 2015): a task either computes or waits. A log does
not show what a task waits for while it reads input, writes output or spills, only that it waits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Final

from planner.spark.application.stage import TaskSums

RESOURCES: Final = {
    "processors": ("cpu",),
    "python": ("python",),
    "memory": ("gc", "spill"),
    "network": ("fetch",),
    "disks": ("shuffle_write",),
    "storage": ("storage",),
    "waiting": ("waiting",),
    "scheduling": ("scheduling",),
    "unknown": ("unknown",),
}
"""Parts of a task's time that each resource accounts for."""


@dataclass(frozen=True, kw_only=True)
class TaskTime:
    """Seconds over all tasks of a stage; they add up to the time that the tasks took.

    `cpu` computes; `gc` collects garbage; `fetch` waits for shuffle blocks from other nodes; `shuffle_write` waits for
    the disk of the shuffle files. The rest of a task's run is `python` in stages whose plan has a Python worker,
    `spill` in stages that move most bytes by spilling, and `storage` in stages that read input or write output, for as
    long as these bytes can take. `waiting` is unexplained: locks, other services. `scheduling` is a task's time before
    and after it runs. `unknown` is time for which the log lacks fields.
    """

    cpu: float = 0.0
    gc: float = 0.0
    spill: float = 0.0
    fetch: float = 0.0
    shuffle_write: float = 0.0
    storage: float = 0.0
    python: float = 0.0
    waiting: float = 0.0
    scheduling: float = 0.0
    unknown: float = 0.0

    @property
    def total(self) -> float:
        """Seconds of all parts together."""
        return float(sum(getattr(self, f.name) for f in fields(self)))

    def share(self, resource: str) -> float:
        """Return the share of the whole that a resource accounts for, 0 of no time."""
        part = sum(getattr(self, name) for name in RESOURCES[resource])
        return part / self.total if self.total > 0 else 0.0

    def __add__(self, other: TaskTime) -> TaskTime:
        return TaskTime(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(TaskTime)})


_SLOWEST_BYTES_PER_S: Final = 1e6
"""Assumed least rate of a task that waits for storage: a tenth of one stream from an object store."""
_SLOWEST_OPEN_S: Final = 0.2
"""Assumed longest time of a task's first request."""
_MOST_BESIDE: Final = 1.5
"""Most seconds that compiler and collector compute for each second of the tasks, as measured in trials with cold
executors.
"""


def task_time(
    sums: TaskSums,
    *,
    tasks: int = 1,
    python: bool = False,
    native: bool = False,
    cpu_share: float | None = None,
    overhead: float = 0.0,
) -> TaskTime:
    """Return the time of `tasks` tasks, split into parts; `python` is whether they had a Python worker. Of `native`
    tasks, whose engine computes outside the JVM, run time without CPU may be computing: it is unknown. Time that the
    log counts twice, as a collection while a task computes, goes to the first part in the order of the log's fields:
    processors, garbage, network, disk. Collections longer than the run began before it.

    With a container's limit that leaves each core a `cpu_share` of a CPU, a second of CPU time takes 1 / `cpu_share`.
    The compiler and the garbage collector use up the same limit, so waits without another explanation count as
    computing, up to 1.5 s for each second of the tasks' own. Of waits for input and output, `overhead` seconds for each
    second of the tasks' own computing count so.
    """
    limited = cpu_share is not None
    elapsed = max(0.0, sums.elapsed_s - sums.unmeasured_s)
    run = min(elapsed if math.isnan(sums.run_s) else sums.run_s, elapsed)
    cpu = min(_known(sums.cpu_s) / (cpu_share or 1.0), run)
    gc = min(_known(sums.gc_s), run - cpu)
    fetch = min(_known(sums.fetch_wait_s), run - cpu - gc)
    shuffle_write = min(_known(sums.shuffle_write_s), run - cpu - gc - fetch)
    rest = run - cpu - gc - fetch - shuffle_write
    outside = elapsed - run
    cpu_before = outside if limited else min(_known(sums.deserialisation_cpu_s), outside)
    gc_before = min(max(0.0, _known(sums.gc_s) - run), outside - cpu_before)
    name, longest = ("unknown", math.inf) if native else _wait(sums, tasks=tasks, python=python)
    if limited and name != "unknown":
        beside = min(rest, _MOST_BESIDE * cpu if name == "waiting" else overhead * cpu)
        cpu, rest = cpu + beside, rest - beside
    waits = {"waiting": max(0.0, rest - longest), name: min(rest, longest)}
    waits["unknown"] = waits.get("unknown", 0.0) + sums.elapsed_s - elapsed
    return TaskTime(
        cpu=cpu + cpu_before,
        gc=gc + gc_before,
        fetch=fetch,
        shuffle_write=shuffle_write,
        scheduling=outside - cpu_before - gc_before,
        **waits,
    )


def _wait(sums: TaskSums, *, tasks: int, python: bool) -> tuple[str, float]:
    """Return the part that the rest of the run belongs to, and its longest time: unknown if the log lacks a field, else
    by the plan, else by the bytes moved.
    """
    if any(math.isnan(amount) for amount in (sums.run_s, sums.cpu_s, sums.gc_s, sums.fetch_wait_s, sums.input_bytes)):
        return "unknown", math.inf
    if python:
        return "python", math.inf
    moves_s = slowest_move_s(sums)
    if sums.spill_disk_bytes > moves_s * _SLOWEST_BYTES_PER_S:
        return "spill", math.inf
    return ("storage", moves_s + _SLOWEST_OPEN_S * tasks) if moves_s else ("waiting", math.inf)


def slowest_move_s(sums: TaskSums) -> float:
    """Return the longest time that tasks may wait for the bytes of their input and output; beyond it they wait for
    files to open, which each task does anew. NaN if the input is unknown.
    """
    return (sums.input_bytes + _known(sums.output_bytes)) / _SLOWEST_BYTES_PER_S


def _known(amount: float) -> float:
    return 0.0 if math.isnan(amount) else amount


def overhead(stages: Iterable[TaskSums], *, cpu_share: float | None) -> float:
    """Return the seconds that executors under a limit compute besides their tasks, per second of these. It comes from
    stages that neither read input, write output nor spill; 0 if there are none.
    """
    plain = [sums for sums in stages if _wait(sums, tasks=0, python=False)[0] == "waiting"]
    own_s = sum(min(sums.cpu_s / (cpu_share or 1.0), sums.run_s) for sums in plain)
    within = sum(task_time(s, cpu_share=cpu_share).cpu - (s.elapsed_s - min(s.run_s, s.elapsed_s)) for s in plain)
    return max(0.0, within / own_s - 1) if own_s > 0 and cpu_share is not None else 0.0
