"""The predicted time of a logged application on other nodes: each stage's task time is scaled resource by resource.

The log gives the work of a task; on another machine its parts take longer or shorter by the machine's rates, and the
tasks are put on that cluster's slots. No stage is faster than its bytes over the cluster's network and disks (the ideal
resource times of Monotasks, SOSP 2017, section 6). Time outside the stages stays as it was.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.config.paths import catalogs_directory
from planner.spark.model.logged_steps import PARTS, LoggedSteps
from planner.spark.model.machines import Nodes
from planner.spark.model.timeline import Timeline


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """Figures of `spark_model.toml`, each with its evidence there. The sigmas are standard deviations of ln(time)."""

    sibling_share: float
    speed_exponent: float
    memory_for_executors: float
    memory_fraction: float
    same_cluster_sigma: float
    same_processors_sigma: float
    other_cluster_sigma: float
    doubling_sigma: float
    architecture_sigma: float
    unexplained_sigma: float
    limit_sigma: float
    cold_sigma: float
    missing_sigma: float
    partition_bytes: int


@lru_cache(maxsize=1)
def shipped_assumptions() -> Assumptions:
    """Return the shipped figures."""
    figures = tomllib.loads((catalogs_directory() / "spark_model.toml").read_text(encoding="utf-8"))
    figures.pop("notes")
    return Assumptions(**figures)


_Z90: Final = 1.645
_GC_LIMITS: Final = (0.5, 2.0)
"""Limits on the change of garbage collection time: less memory means more, but a log of one cluster does not show how
much.
"""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """Seconds on one cluster: expected, and the range that holds 90%. `sigma` is the standard deviation of ln(time).

    `ends_spill` is whether a stage that spilled would no longer spill.
    """

    duration_s: float
    low_s: float
    high_s: float
    sigma: float
    ends_spill: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Work:
    """A logged application, ready to be predicted on other clusters. `logged` is where it ran; a task takes
    `task_cpus`. The log lacks a `missing_share` of the tasks. `executor_memory_bytes` is an executor's heap, off-heap
    and overhead, None if unknown; `python` is whether tasks had Python workers, `adaptive` whether its Spark adapts
    plans; `platform` is the one that the log names, '' for none.
    """

    timeline: Timeline
    logged: Nodes
    task_cpus: int
    cores_per_executor: int
    executor_memory_bytes: float | None
    python: bool
    adaptive: bool
    assumptions: Assumptions
    missing_share: float = 0.0
    platform: str = ""

    @cached_property
    def slots(self) -> int:
        """Most tasks that ran at once, as far as the log shows."""
        return max((step.slots for step in self.timeline.steps), default=1)

    @cached_property
    def steps(self) -> LoggedSteps:
        """The logged steps, as arrays."""
        return LoggedSteps(timeline=self.timeline)

    def _halvings(self, nodes: Nodes) -> float:
        """Return how many times the share of a processor that a slot has is halved or doubled; one if a limit is added
        or removed.
        """
        old, new = self.logged.machine.cpu_share, nodes.machine.cpu_share
        return abs(math.log2((old or 1.0) / (new or 1.0))) + ((old is None) != (new is None))

    def slots_of(self, nodes: Nodes) -> int:
        """Return how many tasks run at once on nodes whose virtual CPUs all go to executors."""
        if nodes.same_as(self.logged):
            return self.slots
        return max(1, nodes.count * (nodes.machine.vcpu // self.task_cpus))

    def predict(self, nodes: Nodes) -> Prediction:
        """Return the predicted time of the application on these nodes."""
        if nodes.same_as(self.logged) or not self.timeline.steps:
            return prediction_with_range(
                self.timeline.duration_s, sigma=self.assumptions.same_cluster_sigma, ends_spill=False
            )
        slots = self.slots_of(nodes)
        factors = self._factors(nodes, slots=slots)
        scaled = np.sum([self.steps.shares[part] * factors[part] for part in PARTS], axis=0)
        scaled += self._added_fetch_time(nodes, slots=slots, fetch=factors["fetch"], scaled=scaled)
        waves, logged, extra = self.steps.waves_s(slots), self.steps.seconds, self.steps.extra_s
        fit = np.where(extra < 0, logged / np.maximum(logged - extra, 1e-9), 1.0)
        own = self._processors(self.logged) / self._processors(nodes)
        beside = self.steps.overhead_share if nodes.machine.cpu_share is not None else 0.0
        scaled = scaled - beside * factors["cpu"]
        own_s = self.steps.warm_up_s(slots) + beside * self.steps.waves_s(self.slots)
        tasks_s = waves * scaled + own_s * factors["own"] * own
        fitted_s = np.maximum(tasks_s * fit, self.steps.longest_s * scaled)
        stages = self.steps.together  # none of the stages of a step is faster than alone
        own_scaled = np.sum([stages[part] * factors[part][stages["step"]] for part in PARTS], axis=0)
        np.maximum.at(fitted_s, stages["step"], np.maximum(stages["longest_s"], stages["all_s"] / slots) * own_scaled)
        seconds = np.maximum(fitted_s + np.maximum(extra, 0.0), self._least_s(nodes))
        ends = bool(((self.steps.shares["spill"] > 0) & (factors["spill"] == 0)).any())
        stages_s, sigma = float(seconds.sum()), self._sigma(nodes, slots)
        duration_s = stages_s + self.timeline.driver_s + self.timeline.executors_s * (own - 1)
        if self.timeline.on_trigger:  # longer batches leave less time before the next
            duration_s -= min(self.timeline.stream_s, stages_s - float(logged.sum()))
            sigma = math.hypot(self.assumptions.same_cluster_sigma, sigma * stages_s / duration_s)
        return prediction_with_range(duration_s, sigma=sigma, ends_spill=ends)

    def _factors(self, nodes: Nodes, *, slots: int) -> dict[str, Floats]:
        """Return the factor for each part of each step's task time."""
        old, new, count = self.logged.machine, nodes.machine, len(self.timeline.steps)
        share = self.assumptions.sibling_share
        busy = np.minimum(self.steps.busy * self.steps.slots / slots, 1.0)
        faster = new.speed(busy, sibling_share=share) / old.speed(self.steps.busy, sibling_share=share)
        compute = faster**-self.assumptions.speed_exponent
        cpu = compute * ((old.cpu_share or 1.0) / (new.cpu_share or 1.0))
        ones = np.ones(count)
        network = _slowdown(old.network_bytes_per_s * self.logged.count, new.network_bytes_per_s * nodes.count)
        disk = _slowdown(old.disk_bytes_per_s * self.logged.count, new.disk_bytes_per_s * nodes.count)
        active = np.minimum(slots, self.steps.busy * self.steps.slots) / np.maximum(
            self.steps.busy * self.steps.slots, 1e-9
        )
        memory = (old.memory_bytes / old.vcpu) / (new.memory_bytes / new.vcpu)
        room = self.execution_bytes(nodes) >= self.steps.needed_bytes
        return {
            "own": compute,
            "cpu": cpu,
            "gc": cpu * min(max(memory, _GC_LIMITS[0]), _GC_LIMITS[1]),
            "spill": np.where(room & (memory < 1), 0.0, disk * active),
            "fetch": network * active * _remote(nodes.count) / (_remote(self.logged.count) or 1.0),
            "shuffle_write": disk * active,
            "storage": ones,
            "python": cpu,
            "unknown": ones,
            "waiting": ones,
            "scheduling": ones,
        }

    def _added_fetch_time(self, nodes: Nodes, *, slots: int, fetch: Floats, scaled: Floats) -> Floats:
        """Return the added waits for blocks where links carry more than they did, as shares of each step's task time:
        waits grow by the time of the transfers, part of which a faster link hid.
        """
        waited, totals = self.steps.shares["fetch"], self.steps.totals
        before, after = self._moved_bytes(nodes)["network_bytes_per_s"]
        old_s = self._link_waits_s(self.logged, before, other_s=totals * (1 - waited), slots=self.steps.slots)
        new_s = self._link_waits_s(
            nodes, after, other_s=totals * (scaled - waited * fetch), slots=np.array(float(slots))
        )
        grown = waited + (new_s - old_s) / totals
        return np.where(new_s > old_s, np.maximum(grown - waited * fetch, 0.0), 0.0)

    def _link_waits_s(self, nodes: Nodes, moved: Floats, *, other_s: Floats, slots: Floats) -> Floats:
        rate, logged = nodes.machine.network_bytes_per_s, self.logged
        least_s = self.steps.bytes["remote"] / (logged.machine.network_bytes_per_s * logged.count)
        granted = np.minimum(1.0, self.steps.seconds / np.maximum(least_s, 1e-9))
        return link_waits_s(
            transfer_s=moved / rate * granted,
            other_s=other_s,
            tasks=self.steps.tasks,
            slots_per_node=np.minimum(slots, self.steps.tasks) / nodes.count,
        )

    def _processors(self, nodes: Nodes) -> float:
        """Return how many processors an executor has for its own work, its start and the compiling of code: one, or
        less if a limit covers the whole executor.
        """
        share = nodes.machine.cpu_share
        cores = self.cores_per_executor if nodes.same_as(self.logged) else nodes.machine.vcpu
        return 1.0 if share is None else min(1.0, share * cores)

    def execution_bytes(self, nodes: Nodes) -> float:
        """Return the memory that a task may use for its own data when all slots are busy."""
        machine, assumed = nodes.machine, self.assumptions
        whole = machine.memory_bytes * assumed.memory_for_executors * assumed.memory_fraction
        return whole / max(machine.vcpu // self.task_cpus, 1)

    def _least_s(self, nodes: Nodes) -> Floats:
        """Return the least seconds of each step: its bytes over all networks, and over all disks. If the logged cluster
        was faster than that, by its memory, all clusters are allowed the same.
        """
        logged_s = self.steps.seconds
        least = np.zeros(len(logged_s))
        for rate, (before, after) in self._moved_bytes(nodes).items():
            logged_rate, new_rate = (getattr(n.machine, rate) * n.count for n in (self.logged, nodes))
            if logged_rate > 0 and new_rate > 0:
                granted = np.minimum(1.0, logged_s / np.maximum(before / logged_rate, 1e-9))
                least = np.maximum(least, after / new_rate * granted)
        granted = np.minimum(1.0, logged_s / np.maximum(self._block_reads_s(self.logged), 1e-9))
        return np.maximum(least, self._block_reads_s(nodes) * granted)

    def _block_reads_s(self, nodes: Nodes) -> Floats:
        """Return the least seconds in which the volumes of all nodes serve the blocks of each step, one operation each;
        0 if their operations are unknown. Blocks that fit in the memory outside the executors are not read from them.
        """
        machine, moved = nodes.machine, self.steps.bytes
        if not machine.disk_ops_per_s > 0:
            return np.zeros(len(moved["blocks"]))
        cached_bytes = machine.memory_bytes * (1 - self.assumptions.memory_for_executors) * nodes.count
        read = np.maximum(0.0, 1 - cached_bytes / np.maximum(moved["fetched"], 1.0))
        return np.asarray(moved["blocks"] * read / (machine.disk_ops_per_s * nodes.count))

    def _moved_bytes(self, nodes: Nodes) -> dict[str, tuple[Floats, Floats]]:
        """Return the bytes of each step over all networks and disks, as logged and on these nodes."""
        moved = self.steps.bytes
        return {
            "network_bytes_per_s": (moved["remote"], moved["fetched"] * _remote(nodes.count)),
            "disk_bytes_per_s": (moved["written"], moved["written"]),
        }

    def _sigma(self, nodes: Nodes, slots: int) -> float:
        assumed = self.assumptions
        processors = [(m.machine.clock_ghz, m.machine.arch, m.machine.siblings) for m in (nodes, self.logged)]
        alike = processors[0] == processors[1]
        parts = (
            assumed.same_processors_sigma if alike else assumed.other_cluster_sigma,
            assumed.doubling_sigma * math.log2(slots / self.slots),
            assumed.architecture_sigma * (nodes.machine.arch != self.logged.machine.arch),
            assumed.unexplained_sigma * self.steps.unexplained_share,
            assumed.limit_sigma * self._halvings(nodes),
            assumed.cold_sigma * self.steps.cold_share * (slots != self.slots),
            assumed.missing_sigma * self.missing_share,
        )
        return math.hypot(*parts)


def prediction_with_range(duration_s: float, *, sigma: float, ends_spill: bool) -> Prediction:
    """Return a prediction with the range that holds 90% where ln(time) is normal with `sigma`."""
    spread = math.exp(_Z90 * sigma)
    return Prediction(
        duration_s=duration_s, low_s=duration_s / spread, high_s=duration_s * spread, sigma=sigma, ends_spill=ends_spill
    )


def _slowdown(before: float, after: float) -> float:
    """Return how much longer the same bytes take; 1 if a rate is unknown."""
    return before / after if before > 0 and after > 0 else 1.0


def _remote(nodes: int) -> float:
    """Return the share of shuffled data that another node holds."""
    return 1 - 1 / nodes


def link_waits_s(*, transfer_s: Floats, other_s: Floats, tasks: Floats, slots_per_node: Floats) -> Floats:
    """Return the seconds that all tasks of each step wait for their links, transfers included; NaN is unknown.

    `transfer_s` is the time of all transfers, one after another; `other_s` is the total of the tasks' other time. Tasks
    that share a link form a closed queue with think time; its mean value analysis is closed by Schweitzer's
    approximation, that an arriving task finds the others in their average state (Schweitzer 1979).
    """
    service, think = transfer_s / tasks, other_s / tasks
    crowded = slots_per_node * service - think
    return np.asarray(tasks * (crowded + np.sqrt(crowded**2 + 4 * service * think)) / 2)
