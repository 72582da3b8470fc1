"""The edge below which too few executors fail: fetches of many blocks congest, and stages are retried.

One job of 15 TB of shuffle ran in 25 min on 300 executors with 1,150 partitions, which spent 45% of their time waiting
for blocks. On 82 executors with 5,250 partitions, 17 times the blocks for each executor, it was given up after 5 hours
and 18 failed stages (aws-samples/aws-emr-utilities#164). A log does not show where between these the edge lies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from planner.spark.application.stage import TaskSums
from planner.spark.model.configuration import configuration
from planner.spark.model.machines import Nodes
from planner.spark.model.prediction import Work
from planner.units import format_bytes

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
    """Return the edge that a log supports."""
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
