"""Clusters for a logged application: every type at several sizes, their time and cost, and the choice."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from planner.errors import BadInputError
from planner.schemas.plan import Rejection
from planner.spark.application.application import Application
from planner.spark.application.completeness import Completeness, completeness
from planner.spark.application.stage import TaskSums
from planner.spark.model.configuration import configuration
from planner.spark.model.machines import Nodes, NodeType
from planner.spark.model.platforms import platform_called
from planner.spark.model.prediction import Prediction, Work, shipped_assumptions
from planner.spark.model.several_logs import Runs
from planner.spark.model.timeline import timeline
from planner.units import format_bytes, format_duration

_SLOTS_TRIED: Final = (1 / 16, 1 / 8, 1 / 6, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 3 / 4, 1, 5 / 4, 3 / 2, 2, 3, 4, 6, 8)
"""Sizes to try, as multiples of the logged cluster's slots; a log gives no evidence beyond them."""
_SURE: Final = 0.8
"""Least probability of each of a move's promises: that it costs less, and that it ends in time."""
MOST_UNEXPLAINED: Final = 0.5
"""Largest share of the stages' time of unknown cause at which other clusters' times are taken for known."""
_MEMORY_SLACK: Final = 0.95
"""Memory within this share counts as enough: types sold with 2, 4 or 8 GiB a core have a little less."""
_LEAST_SHARE: Final = 0.5
"""Least share of its tasks that a log must hold; below, it shows its losses more than the work."""
_LEAST_JUMP: Final = 0.05
"""A clock jump above this share of the run makes its times unusable."""
_MOST_OTHER: Final = 0.05
"""Largest share of the task time in which tasks may take other numbers of cores than in the rest."""
_LATE: Final = 1.0 + 1e-9
"""Tolerance on the deadline, as sums of times differ in their last digit."""
_GPU_PLUGIN: Final = "com.nvidia.spark."
_BURSTABLE: Final = re.compile(r"t\d\w*\.|Standard_B")
"""Types sold with a share of a processor: EC2's T and Azure's B."""
_BEYOND_EDGE: Final = "more shuffle blocks for each executor than the log supports"
_SMALLEST_EXECUTOR: Final = 4
"""Least cores of an executor: below, broadcast tables and the like take too much of its memory."""


@dataclass(frozen=True, kw_only=True)
class SparkCluster:
    """One cluster: the application's time and cost there. Also the probability that it costs less than the logged
    cluster (NaN if a price is unknown), and that it meets the deadline.
    """

    nodes: Nodes
    prediction: Prediction
    cost_usd: float
    chance_cheaper: float
    chance_in_time: float

    @property
    def name(self) -> str:
        """Return `4 x m5.4xlarge`."""
        return self.nodes.name


@dataclass(frozen=True, kw_only=True)
class SparkPlan:
    """The choice of a cluster. `logged` is the cluster as it was; `best` is the cheapest that meets the deadline, or
    `logged` if that is best; `cheapest` and `fastest` ignore the deadline and the price. `choices` has the best size of
    each type, cheapest first. `deadline_s` is the logged time unless another was asked for; the chances are of ending
    `within_s`: by the deadline, or if none was asked for by the upper end of the logged cluster's range. `runs` is the
    number of runs of the job that count; `unused` names the others, with the reason; `shuffle_edge` states where a
    shuffle would fail, '' for nowhere near. `curve` has the clusters than which none is both faster and cheaper,
    fastest first.
    """

    logged: SparkCluster
    best: SparkCluster | None
    cheapest: SparkCluster
    fastest: SparkCluster
    choices: tuple[SparkCluster, ...]
    curve: tuple[SparkCluster, ...]
    rejected: tuple[Rejection, ...]
    deadline_s: float
    within_s: float
    work: Work
    shuffle_edge: str = ""
    runs: int = 1
    unused: tuple[str, ...] = ()

    @property
    def keep(self) -> bool:
        """True if the logged cluster is the best."""
        return self.best is not None and self.best.nodes.same_as(self.logged.nodes)

    @property
    def slower(self) -> SparkCluster | None:
        """The cluster that ends after the deadline and saves the largest share of the cost for its share of time, if it
        saves more than it takes; None if there is none, or if the cause of most of the time is unknown.
        """
        if self.work.steps.unexplained_share > MOST_UNEXPLAINED:
            return None
        best = self.best or self.fastest
        late = [
            each for each in self.curve if each.prediction.duration_s > self.within_s and each.chance_cheaper > _SURE
        ]
        found = min(late, key=_cost_and_time, default=best)
        return None if _cost_and_time(found) >= _cost_and_time(best) else found


def work_of(application: Application, logged: Nodes) -> Work:
    """Return the application, ready to be predicted on other clusters. Raises BadInputError if its log holds no work,
    or its processor was never measured.
    """
    found = completeness(application)
    _refuse_incomplete(found, application)
    line = timeline(application, share=logged.machine.cpu_share)
    if not line.steps:
        raise BadInputError("the log holds no stage with its times: there is nothing to plan with", code="no-stage")
    if _GPU_PLUGIN in application.properties.get("spark.plugins", "") and (
        application.properties.get("spark.rapids.sql.enabled", "true") == "true"
    ):
        raise BadInputError(
            "the log is of a run on GPUs: its times say nothing of machines without; log a run on CPUs", code="gpu-log"
        )
    if math.isnan(logged.machine.clock_ghz):
        raise BadInputError(
            f"nobody measured the processors of {logged.machine.instance_type}: its log cannot be scaled to others",
            code="processors-unknown",
        )
    return Work(
        timeline=line,
        logged=logged,
        task_cpus=_task_cpus(application),
        cores_per_executor=application.cluster.cores_per_executor or 1,
        executor_memory_bytes=(
            application.cluster.memory_per_executor_bytes if application.cluster.cores_per_executor else None
        ),
        python=any(stage.python_steps for stage in application.stages),
        adaptive=not application.spark_version.startswith(("1.", "2.")),
        assumptions=shipped_assumptions(),
        missing_share=1 - found.share,
        platform=application.cluster.platform,
    )


def _task_cpus(application: Application) -> int:
    """Return the cores that a task takes, in all stages that matter. Raises BadInputError if they differ."""
    seconds: dict[int, float] = {}
    for stage in application.stages:
        seconds[stage.task_cpus] = seconds.get(stage.task_cpus, 0.0) + stage.sums.elapsed_s
    usual = max(seconds, key=seconds.__getitem__)
    if seconds[usual] < (1 - _MOST_OTHER) * sum(seconds.values()):
        taken = " and ".join(map(str, sorted(seconds)))
        raise BadInputError(
            f"tasks take {taken} cores in different stages: no cluster is predicted for that",
            ["`planner explain-log` reads this log; give the log of a run whose stages ask for equal tasks"],
            code="mixed-cores",
        )
    return usual


def _refuse_incomplete(found: Completeness, application: Application) -> None:
    """Raise BadInputError for a log that lacks half of its tasks, or whose clock jump makes its times unusable."""
    if found.share < _LEAST_SHARE:
        raise BadInputError(
            f"the log holds too little to plan with: {found.tasks_seen:,} of {found.tasks_planned:,} tasks",
            [*found.gaps, "give all of its files, or the log of another run; `planner explain-log` reads it"],
            code="incomplete-log",
        )
    jump_s, lasted_s = application.clock_jump_s, application.duration_s or 0.0
    if abs(jump_s) > _LEAST_JUMP * lasted_s:
        way = "back" if jump_s < 0 else "forward"
        raise BadInputError(
            f"the driver's clock jumped {way} by {format_duration(abs(jump_s))}, so the log's times are void",
            [
                f"by its own times the run took {format_duration(lasted_s)}; up to {_LEAST_JUMP:.0%} of it is taken",
                "give the log of another run; `planner explain-log` reads this one",
            ],
            code="clock-wrong",
        )


def select_cluster(
    work: Work,
    offered: Sequence[NodeType],
    *,
    others: Sequence[Work] = (),
    deadline_s: float | None = None,
    confidence: float | None = None,
    nodes: int | None = None,
    max_nodes: int = 1000,
    max_vcpus: int | None = None,
) -> SparkPlan:
    """Return the clusters of `offered` types. `deadline_s` is the application's. It is met in expectation, or with the
    probability `confidence`. If it is None, the upper end of the logged cluster's range is met with one of 80%.
    `others` are earlier runs of the same job.
    """
    runs = Runs(works=(work, *others))
    again = work.predict(work.logged)
    limit_s = again.high_s if deadline_s is None else deadline_s
    logged = _choice(work, work.logged, again, limit_s=limit_s)
    edge = shuffle_edge(work)
    rejected: list[Rejection] = []
    tried: list[list[SparkCluster]] = []
    for machine in offered:
        reason = _exclusion_reason(work, machine)
        if reason:
            rejected.append(Rejection(instance_type=machine.instance_type, reason=reason))
            continue
        sizes = [nodes] if nodes else [n for n in _sizes(work, machine) if n <= max_nodes]
        fitting = [n for n in sizes if max_vcpus is None or n * machine.vcpu <= max_vcpus]
        everything = [Nodes(machine=machine, count=n) for n in fitting]
        clusters = [nodes for nodes in everything if edge.allows(work, nodes)]
        if everything and not clusters:
            rejected.append(Rejection(instance_type=machine.instance_type, reason=_BEYOND_EDGE))
        tried.append([_choice(work, nodes, runs.predict(nodes), limit_s=limit_s) for nodes in clusters])
    plan = _plan(
        logged,
        tried,
        deadline_s=work.timeline.duration_s if deadline_s is None else deadline_s,
        limit_s=limit_s,
        confidence=confidence or (_SURE if deadline_s is None else 0.5),
        rejected=rejected,
        work=work,
    )
    return replace(plan, shuffle_edge=edge.sentence)


def _plan(
    logged: SparkCluster,
    tried: Sequence[Sequence[SparkCluster]],
    *,
    deadline_s: float,
    limit_s: float,
    confidence: float,
    rejected: Sequence[Rejection],
    work: Work,
) -> SparkPlan:
    everything = [choice for choices in tried for choice in choices]
    in_time = [[choice for choice in choices if choice.chance_in_time >= confidence] for choices in tried]
    best_of_types = sorted((min(choices, key=_by_cost) for choices in in_time if choices), key=_by_cost)
    best = best_of_types[0] if best_of_types else None
    if logged.chance_in_time >= confidence:
        best = min(filter(_is_sure, chain(*in_time)), key=_by_cost, default=logged)
        if work.steps.unexplained_share > MOST_UNEXPLAINED or not _by_cost(best) < _by_cost(logged):
            best = logged
    return SparkPlan(
        logged=logged,
        best=best,
        cheapest=min([logged, *everything], key=_by_cost),
        fastest=min([logged, *everything], key=lambda c: (round(c.prediction.duration_s, 3), c.cost_usd)),
        choices=tuple(best_of_types),
        curve=tuple(_curve([logged, *everything])),
        rejected=tuple(rejected),
        deadline_s=deadline_s,
        within_s=limit_s,
        work=work,
    )


def _is_sure(choice: SparkCluster) -> bool:
    """Return whether a cluster surely costs less than the logged one, or the cost of that is unknown."""
    return not choice.chance_cheaper <= _SURE


def _curve(choices: Sequence[SparkCluster]) -> Iterator[SparkCluster]:
    """Yield the clusters than which none is both as fast and as cheap, fastest first."""
    cheapest_usd = math.inf
    for choice in sorted(choices, key=lambda each: (round(each.prediction.duration_s, 3), each.cost_usd)):
        if choice.cost_usd < cheapest_usd:
            cheapest_usd = choice.cost_usd
            yield choice


def _cost_and_time(choice: SparkCluster) -> float:
    return choice.cost_usd * choice.prediction.duration_s


def _by_cost(choice: SparkCluster) -> tuple[float, float]:
    cost = choice.cost_usd
    return (math.inf if math.isnan(cost) else cost, choice.prediction.duration_s)


def _exclusion_reason(work: Work, machine: NodeType) -> str:
    """Return why a type is left out, '' if it is not."""
    if math.isnan(machine.price_usd_per_hour):
        return "its price is unknown"
    if math.isnan(machine.clock_ghz):
        return "nobody measured its processors"
    if _BURSTABLE.match(machine.instance_type):
        return "runs at its full speed on credit alone"
    least = max(work.task_cpus, min(work.cores_per_executor, _SMALLEST_EXECUTOR))
    if machine.vcpu < least:
        return f"smaller than an executor of {least} cores"
    if not machine.memory_bytes / machine.vcpu >= _MEMORY_SLACK * _memory_per_core(work):
        return "less memory for each core than it had; the log does not tell whether less would do"
    return ""


def _memory_per_core(work: Work) -> float:
    """Return the bytes of memory of a node per core: as its executors had them if the log shows it, else as the node
    had them. Cores that no executor used leave more for the others.
    """
    logged = work.logged.machine
    if work.executor_memory_bytes is None:
        return logged.memory_bytes / logged.vcpu
    held = work.executor_memory_bytes / work.cores_per_executor
    used = min(1.0, held * logged.vcpu / logged.memory_bytes)
    return held / max(used, work.assumptions.memory_for_executors)


def _sizes(work: Work, machine: NodeType) -> list[int]:
    per_node, least = machine.vcpu // work.task_cpus, platform_called(work.platform).nodes_min
    return sorted({max(least, math.ceil(work.slots * share / per_node)) for share in _SLOTS_TRIED})


def _choice(work: Work, nodes: Nodes, prediction: Prediction, *, limit_s: float) -> SparkCluster:
    duration_s, platform = prediction.duration_s, platform_called(work.platform)
    cost = platform.cost_usd(nodes, seconds=duration_s)
    logged_cost = platform.cost_usd(work.logged, seconds=work.timeline.duration_s)
    return SparkCluster(
        nodes=nodes,
        prediction=prediction,
        cost_usd=cost,
        chance_cheaper=_chance(below=logged_cost, expected=cost, sigma=prediction.sigma),
        chance_in_time=_chance(below=limit_s * _LATE, expected=duration_s, sigma=prediction.sigma),
    )


def _chance(*, below: float, expected: float, sigma: float) -> float:
    """Return the probability that a lognormal amount is below a limit; NaN if either is unknown or 0."""
    if not (below > 0 and expected > 0):
        return math.nan
    return 0.5 * (1 + math.erf(math.log(below / expected) / sigma / math.sqrt(2)))


_WAITS: Final = 0.2
_MOST_GROWTH_WAITING: Final = 4.0
"""Most growth of the blocks per executor for a log that waits for blocks as long as that one: the middle of 1, which
ran, and 17, which failed.
"""
_MOST_GROWTH: Final = 16.0
"""Most growth for any log; no run beyond it is known."""
_HARMLESS_BLOCKS: Final = 100_000
"""Blocks that an executor serves within minutes even one by one."""


@dataclass(frozen=True, kw_only=True)
class ShuffleEdge:
    """Shuffle load of the log's `executors`: the blocks each served in stages of at most `partitions` partitions, and
    the factor by which this may grow; NaN is unknown. `retried` is whether a stage failed for lack of blocks.
    """

    blocks_per_executor: float
    bytes_per_block: float
    wait_share: float
    retried: bool
    executors: float
    partitions: int

    @property
    def most_growth(self) -> float:
        """Factor by which the blocks served by an executor may grow."""
        if self.retried:
            return 1.0
        return _MOST_GROWTH_WAITING if self.wait_share >= _WAITS else _MOST_GROWTH

    def growth(self, work: Work, nodes: Nodes) -> float:
        """Return the factor by which the blocks served by each executor would grow on a cluster."""
        properties = configuration(work, nodes)
        more = int(properties["spark.sql.shuffle.partitions"]) / self.partitions
        return max(1.0, more) * self.executors / int(properties["spark.executor.instances"])

    @property
    def sentence(self) -> str:
        """Sentence on the log's evidence and the clusters left out for it; '' if no shuffle is large enough."""
        if not self.blocks_per_executor * self.most_growth > _HARMLESS_BLOCKS:
            return ""
        served = f"{self.blocks_per_executor:,.0f} blocks of {format_bytes(self.bytes_per_block)}"
        waits = f"{self.wait_share:.0%} of the task time waited for them" + (", and stages failed" * self.retried)
        times = f"{self.most_growth:.0f} times as many" if self.most_growth > 1 else "more"
        return f"Each executor served {served}; {waits}. Clusters with {times} for each are left out."

    def allows(self, work: Work, nodes: Nodes) -> bool:
        """Return whether a cluster is within the edge, as far as the log shows."""
        growth = self.growth(work, nodes)
        return not (growth > self.most_growth and growth * self.blocks_per_executor > _HARMLESS_BLOCKS)


def shuffle_edge(work: Work) -> ShuffleEdge:
    """Return the edge that a log supports. Below it too few executors fail: fetches of many blocks congest, and stages
    are retried.

    One job of 15 TB of shuffle ran in 25 min on 300 executors with 1,150 partitions, which spent 45% of their time
    waiting for blocks. On 82 executors with 5,250 partitions, 17 times the blocks for each executor, it was given up
    after 5 hours and 18 failed stages (aws-samples/aws-emr-utilities#164). A log does not show where between these the
    edge lies.
    """
    steps = [step for step in work.timeline.steps if any(stage.sums.shuffle_read_bytes > 0 for stage in step.stages)]
    stages = [stage for step in steps for stage in step.stages]
    sums = sum((stage.complete_sums for stage in stages), TaskSums())
    blocks = sums.shuffle_read_local_blocks + sums.shuffle_read_remote_blocks
    total = sum(step.time.total for step in steps)
    executors = max(1.0, work.slots * work.task_cpus / work.cores_per_executor)
    return ShuffleEdge(
        blocks_per_executor=blocks / executors,
        bytes_per_block=sums.shuffle_read_bytes / blocks if blocks else math.nan,
        wait_share=sum(step.time.fetch for step in steps) / total if total else 0.0,
        retried=any("FetchFailed" in s.failure for step in work.timeline.steps for s in step.stages),
        executors=executors,
        partitions=max((stage.all_tasks for stage in stages if stage.sums.shuffle_read_bytes > 0), default=1),
    )
