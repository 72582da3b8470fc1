"""Nodes of a simulated cluster: the median node, groups of like nodes, and slow nodes.

The slowest few nodes stay alone in their groups, because a barrier waits for them; the others are grouped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.cost_model.caveats import stated_burst_bytes_per_s
from planner.cost_model.workload import JobContext, mean_processor_speed
from planner.errors import BadInputError
from planner.sort_policy.sizing import NODES_PER_COORDINATOR
from planner.units import parse_count, parse_number, parse_share


@dataclass(frozen=True, kw_only=True)
class Machines:
    """The resources of a median node: processors and a link of `link_bytes_per_s`, which with a bucket of
    `bucket_bytes` at first carries `burst_bytes_per_s`. The bucket is full to `full_share` when a job begins. On
    emulated nodes, `shares_processors` means that all run on the processors of one machine.
    """

    vcpu: float
    link_bytes_per_s: float
    burst_bytes_per_s: float = 0.0
    bucket_bytes: float = 0.0
    full_share: float = 1.0
    shares_processors: bool = False

    @property
    def first_bytes_per_s(self) -> float:
        """Rate of a link when a job begins."""
        return self.burst_bytes_per_s if self.bucket_bytes * self.full_share > 0 else self.link_bytes_per_s

    def with_bucket(self, *, burst_bytes_per_s: float, bucket_bytes: float) -> Machines:
        """Return the same with a token bucket at each link; no bucket if the rate is no burst."""
        has_bucket = bucket_bytes > 0 and burst_bytes_per_s > self.link_bytes_per_s
        return replace(
            self,
            burst_bytes_per_s=burst_bytes_per_s if has_bucket else 0.0,
            bucket_bytes=bucket_bytes if has_bucket else 0.0,
        )


def machines_of(context: JobContext, nodes: int) -> Machines:
    """Return the resources of a median node of the only layout of `context` in a cluster of `nodes`. Burstable
    processors have the speed that the equations give them over the whole job.

    Emulated nodes never got all of the machine's processors, however many tasks were ready. They are given the
    processors that they got while many tasks were ready.
    """
    engine = context.model.engine
    processors_share = engine.busy_share("cpu", ("partition",)) if engine.shares_processors else 1.0
    row, (rate, burst) = int(context.layouts.type_row[0]), context.link_rates(nodes)
    return Machines(
        vcpu=float(context.rates.vcpu[row]) * processors_share * mean_processor_speed(context, nodes),
        link_bytes_per_s=rate if rate > 0 else 1.0,  # unknown for a single node
        shares_processors=engine.shares_processors,
    ).with_bucket(burst_bytes_per_s=burst, bucket_bytes=float(context.rates.network.bucket_bytes[row]))


def likely_bursts(context: JobContext, machines: Machines, nodes: int) -> list[Machines]:
    """Return machines with each possible bucket of their links, all equally likely; one if there is no doubt."""
    if (burst := stated_burst_bytes_per_s(context, nodes)) is None:
        return [machines]
    return [
        machines.with_bucket(burst_bytes_per_s=burst, bucket_bytes=held_s * machines.link_bytes_per_s)
        for held_s in likely_bucket_s(context)
    ]


def likely_bucket_s(context: JobContext) -> list[float]:
    """Return equally likely sizes of a full bucket in seconds of its baseline: the median of each type measured in that
    cloud, rising.
    """
    return sorted(
        float(np.median([bucket.bucket_bytes / bucket.baseline_bytes_per_s for bucket in variants]))
        for variants in context.catalog.token_buckets.values()
    )


_ALONE: Final = 4
"""Number of slowest nodes that are groups of their own; each further group is `_GROWTH` times as large. On clusters so
small that the driver orders all tasks, every node is alone: nodes of one group would send at the same time, in fewer
parcels.
"""
_GROWTH: Final = 4


@dataclass(frozen=True, kw_only=True)
class NodeGroup:
    """A number of nodes, and the factors by which their resources are slower than the median node's; 1 where none is
    stated.
    """

    nodes: int
    slowness: Mapping[str, float] = field(default_factory=dict)

    def slowness_of(self, resource: str) -> float:
        """Return the slowness factor of a resource."""
        return self.slowness.get(resource, 1.0)


def groups_of(slowness: Mapping[str, Floats], *, lateness: Floats) -> list[NodeGroup]:
    """Return the groups of n nodes with `slowness` (n,) by resource; those with the most `lateness` (n,) stay alone."""
    slowest_first = np.argsort(-lateness, kind="stable")
    groups, first, size = [], 0, 1
    alone = len(slowest_first) if len(slowest_first) <= NODES_PER_COORDINATOR else _ALONE
    while first < len(slowest_first):
        members = slowest_first[first : first + size]
        means = {resource: float(factors[members].mean()) for resource, factors in slowness.items()}
        groups.append(NodeGroup(nodes=len(members), slowness=means))
        first += len(members)
        size = 1 if len(groups) < alone else _GROWTH * size
    return groups


_RESOURCES: Final = ("network", "cpu", "disks")
_HOW: Final = "write 10%@2 for a tenth of the nodes that take twice as long, or network:1@3 for the link of one"


@dataclass(frozen=True, kw_only=True)
class Slow:
    """Slow nodes: `nodes` of them, or this `share`, take `factor` times as long for `resource`, or for everything."""

    nodes: int = 0
    share: float = 0.0
    factor: float
    resource: str = ""

    @classmethod
    def parse(cls, text: str) -> Slow:
        """Parse `10%@2`, `18@2` or `network:1@3`. Raises BadInputError for anything else."""
        before, _, what = text.rpartition(":")
        who, _, times = what.partition("@")
        try:
            factor = parse_number(times)
            nodes, share = (0, parse_share(who)) if who.endswith("%") else (parse_count(who), 0.0)
        except BadInputError as error:
            raise BadInputError(f"--slow {text}: {_HOW}", code="malformed") from error
        if before not in ("", *_RESOURCES) or (":" in text and not before):
            raise BadInputError(
                f"--slow {text}: what is slow is one of {', '.join(_RESOURCES)}; {_HOW}", code="unknown-word"
            )
        if not 1 < factor < 1000 or not (nodes or 0 < share <= 1):
            raise BadInputError(
                f"--slow {text}: at least one node, more than once and less than 1,000 times as long",
                code="out-of-range",
            )
        return cls(nodes=nodes, share=share, factor=factor, resource=before)

    def count(self, nodes: int) -> int:
        """Return the number of slow nodes in a cluster of `nodes`. Raises BadInputError where it has fewer."""
        if self.nodes > nodes:
            raise BadInputError(f"--slow {self.nodes}: there are only {nodes} nodes", code="too-few")
        return self.nodes or ceil(self.share * nodes - 1e-9)

    def of(self, groups: Sequence[NodeGroup], devices: Sequence[str]) -> list[NodeGroup]:
        """Return groups with some slow nodes, taken from the largest: which nodes are slow does not depend on their
        speed.
        """
        left, made = self.count(sum(group.nodes for group in groups)), list[NodeGroup]()
        names = {"": ("network", "cpu", *devices), "disks": tuple(devices)}.get(self.resource, (self.resource,))
        for group in sorted(groups, key=lambda group: -group.nodes):
            slow = min(left, group.nodes)
            left -= slow
            slowness = {**group.slowness} | {name: group.slowness_of(name) * self.factor for name in names}
            made += [NodeGroup(nodes=slow, slowness=slowness)] if slow else []
            made += [replace(group, nodes=group.nodes - slow)] if group.nodes > slow else []
        return made
