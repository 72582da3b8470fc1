"""What a median node has: processors, and a link that may be fast until a token bucket is empty."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planner.cost_model.workload import JobContext, likely_bucket_s, stated_burst_bytes_per_s


@dataclass(frozen=True, kw_only=True)
class Machines:
    """What a median node has: processors and a link of `link_bytes_per_s`, which with a bucket of `bucket_bytes` at
    first carries `burst_bytes_per_s`. The bucket is full to `full_share` when a job begins. On emulated nodes
    `shares_processors` says that all run on those of one machine.
    """

    vcpu: float
    link_bytes_per_s: float
    burst_bytes_per_s: float = 0.0
    bucket_bytes: float = 0.0
    full_share: float = 1.0
    shares_processors: bool = False

    @property
    def first_bytes_per_s(self) -> float:
        """What a link carries when a job begins."""
        return self.burst_bytes_per_s if self.bucket_bytes * self.full_share > 0 else self.link_bytes_per_s

    def with_bucket(self, *, burst_bytes_per_s: float, bucket_bytes: float) -> Machines:
        """Return the same with a token bucket at each link; a rate that is no burst means none."""
        has_bucket = bucket_bytes > 0 and burst_bytes_per_s > self.link_bytes_per_s
        return replace(
            self,
            burst_bytes_per_s=burst_bytes_per_s if has_bucket else 0.0,
            bucket_bytes=bucket_bytes if has_bucket else 0.0,
        )


def machines_of(context: JobContext, nodes: int) -> Machines:
    """Return what a median node of the only layout of `context` has in a cluster of `nodes`.

    Emulated nodes never got all of the machine's processors, however many tasks were ready: what they got while many
    were is all that there is.
    """
    engine = context.model.engine
    processors_share = engine.busy_share("cpu", ("partition",)) if engine.shares_processors else 1.0
    rows, network = context.layouts.type_row[:1], context.rates.network
    rate = float(network.at(rows, np.array([float(nodes)]))[0, 0])
    return Machines(
        vcpu=float(context.rates.vcpu[rows[0]]) * processors_share,
        link_bytes_per_s=rate if rate > 0 else 1.0,  # of a single node it may be unknown
        shares_processors=engine.shares_processors,
    ).with_bucket(burst_bytes_per_s=float(network.burst_at(rows)[0]), bucket_bytes=float(network.bucket_bytes[rows[0]]))


def likely_bursts(context: JobContext, machines: Machines, nodes: int) -> list[Machines]:
    """Return machines with each bucket that their links may have, all equally likely; one if nothing is in doubt."""
    if (burst := stated_burst_bytes_per_s(context, nodes)) is None:
        return [machines]
    return [
        machines.with_bucket(burst_bytes_per_s=burst, bucket_bytes=held_s * machines.link_bytes_per_s)
        for held_s in likely_bucket_s(context)
    ]
