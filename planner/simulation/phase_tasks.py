"""The tasks of a phase, cut and limited by the code of the cluster sort's own scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from planner.cost_model.engine import TaskSizes
from planner.cost_model.model import Phase
from planner.cost_model.workload import JobContext
from planner.sort_policy.concurrency import Concurrency
from planner.sort_policy.sizing import NODES_PER_COORDINATOR, Sizes, choose_sizes, slice_lengths

_RECORD_BYTES: Final = 100
_GROWTH: Final = 1.5
"""Ratio of a joined task's length to that of the one before it, up to the longest."""
_LONGEST_SHARE: Final = 1 / 48
"""Longest joined task, as a share of a node's work."""

_MOST_BLOCKS: Final = 4_000
"""Most blocks that are simulated one by one: a draw then takes about a second."""


@dataclass(frozen=True, kw_only=True)
class Parcels:
    """The blocks that leave for a node, in shares of the data on a node: `full` ones, none smaller than `least` while
    more is to come, and no more in flight than fit in `store`.
    """

    full: float
    least: float
    store: float


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """A phase's tasks. `lengths` are those of one node in turn, in shares of its work, the longest `longest`.

    The number of slices under way is `slices`; 0 means that these tasks are partitions, which may be `copied`.
    `threads` is the processors that a task uses. Where `is_sent_by_parcel`, each transfer between nodes is simulated,
    blocks in `parcels`; `sent_share` of a node's records go to others in the shuffle.
    """

    lengths: tuple[float, ...]
    longest: float
    concurrency: Concurrency
    threads: float
    slices: int = 0
    copied: bool = False
    is_sent_by_parcel: bool = False
    sent_share: float = 0.0
    parcels: Parcels | None = None

    @property
    def in_progress_share(self) -> float:
        """Share of a node's work that is begun and not done at any moment, each task being half done."""
        count = self.slices or self.concurrency.partitions(copied=self.copied)
        return min(1.0, count * self.longest) / 2

    @property
    def shares(self) -> list[float]:
        """Shares of a node's work that its tasks do in turn, long ones joined."""
        return join_tasks(self.lengths)

    def times(self, factor: float) -> Tasks:
        """Return the tasks of `factor` times the work: only the last ones for less work, and equally many for slightly
        more.
        """
        count = min(len(self.lengths), max(1, round(len(self.lengths) * factor)))
        last = self.lengths[-count:]
        whole = sum(last)
        lengths = tuple(length / whole for length in last)
        return replace(self, lengths=lengths, longest=max(lengths))


def join_tasks(lengths: Sequence[float]) -> list[float]:
    """Return the shares of consecutive tasks, with more and more of them joined towards the middle.

    Single tasks at the beginning and at the end determine how soon links have data to carry, and when the last node is
    done.
    """
    first, last, begin, end = list[float](), list[float](), 0, len(lengths)
    part = 0.0  # the first and the last tasks stay single
    while begin < end:
        longest = max(lengths[begin], lengths[end - 1], _LONGEST_SHARE)
        share = 0.0
        while begin < end and (not share or share + lengths[begin] <= part * (1 + 1e-9)):
            share, begin = share + lengths[begin], begin + 1
        first.append(share)
        share = 0.0
        while begin < end and (not share or share + lengths[end - 1] <= part * (1 + 1e-9)):
            share, end = share + lengths[end - 1], end - 1
        if share:
            last.append(share)
        part = min(longest, _GROWTH * max(part, *first[-1:], *last[-1:]))
    return first + last[::-1]


def phase_tasks(context: JobContext, phase: Phase, nodes: int, *, link_bytes_per_s: float) -> Tasks | None:
    """Return the tasks of a phase on `nodes` nodes of the only layout of `context`, whose links carry
    `link_bytes_per_s` when the sort begins; None for a phase without tasks.
    """
    sizing = context.model.engine.sizes
    if sizing is None or not phase.cpu:
        return None
    vcpu = float(context.catalog.instances.vcpu[context.layouts.type_row[0]])
    concurrency = Concurrency.of([vcpu])
    copied = any(bool(other.replicate) for other in context.model.phases)
    is_probed = nodes > 1 and sizing.slice_link_s > 0
    probed = link_bytes_per_s if is_probed else None
    sizes = _sizes(context, sizing, nodes, concurrency=concurrency, copied=copied, link_bytes_per_s=probed)
    node_bytes = context.job.map_in / nodes
    threads = float(concurrency.threads(vcpu))
    if "partition" not in phase.cpu:
        count = sizes.partitions / nodes
        lengths = _even_shares(count)
        return Tasks(
            lengths=lengths,
            longest=lengths[0],
            concurrency=concurrency,
            threads=threads,
            copied=bool(phase.replicate),
            is_sent_by_parcel=_is_sent_by_parcel(lengths, nodes),
        )
    records = max(1, round(node_bytes / _RECORD_BYTES))
    cut = slice_lengths(records, longest=sizes.slice_records, record_size=_RECORD_BYTES)
    store_bytes = _memory_bytes(context) * sizing.store_share
    lengths = tuple(length / records for length in cut)
    return Tasks(
        lengths=lengths,
        longest=min(1.0, sizes.slice_records / records),
        concurrency=concurrency,
        threads=threads,
        slices=sizes.slices,
        is_sent_by_parcel=_is_sent_by_parcel(lengths, nodes),
        sent_share=(nodes - 1) / nodes,
        parcels=Parcels(
            full=sizes.parcel_bytes / node_bytes,
            least=sizes.least_parcel_bytes / node_bytes,
            store=store_bytes / node_bytes,
        ),
    )


def _is_sent_by_parcel(lengths: Sequence[float], nodes: int) -> bool:
    return nodes <= NODES_PER_COORDINATOR and nodes * nodes * len(join_tasks(lengths)) <= _MOST_BLOCKS


def _even_shares(count: float) -> tuple[float, ...]:
    """Return the shares of partitions of equal size; where nodes have different numbers, the last is a part of one."""
    whole = int(count)
    lengths = [1 / count] * whole
    if count - whole > 1e-9:
        lengths.append((count - whole) / count)
    return tuple(lengths)


def _memory_bytes(context: JobContext) -> float:
    return float(context.catalog.instances.memory_bytes[context.layouts.type_row[0]])


def _sizes(
    context: JobContext,
    sizing: TaskSizes,
    nodes: int,
    *,
    concurrency: Concurrency,
    copied: bool,
    link_bytes_per_s: float | None,
) -> Sizes:
    memory_bytes = _memory_bytes(context)
    return choose_sizes(
        data_bytes=round(context.job.map_in),
        record_size=_RECORD_BYTES,
        node_count=nodes,
        memory_bytes=round(memory_bytes * sizing.sort_share),
        store_bytes=round(memory_bytes * sizing.store_share),
        replicated=copied,
        concurrency=concurrency,
        link_bytes_per_s=link_bytes_per_s,
    )
