"""A job's phases, one after the other on groups of nodes: each ends when the last node is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.simulation.events import Clock, Stretch
from planner.simulation.machines import Machines, NodeGroup
from planner.simulation.phase_tasks import Tasks
from planner.simulation.phase_work import PhaseWork
from planner.simulation.resources import SEND, STAGES, Layout, layout
from planner.simulation.sends import AsCopies, InParcels, ToAll
from planner.simulation.task_waves import Send, TaskWaves
from planner.simulation.timeline import Timeline, timeline_of
from planner.simulation.work_queue import CommonWork, WorkQueue, own_work

_AT_ONCE: Final = (1.0,)
_IN_PARTS: Final = (1 / 256,) * 256
"""Parts of work that is not cut into tasks, where nodes take parts as they get on."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SimulatedPhase:
    """A phase of one run: its seconds including the barrier at its end, the waits before that, and the fill of links'
    buckets at the end.
    """

    name: str
    seconds: float
    timeline: Timeline
    full_share: float = 1.0


def simulate_job(works: Sequence[PhaseWork], groups: Sequence[NodeGroup], machines: Machines) -> list[SimulatedPhase]:
    """Return the phases of one run on `groups` of nodes; each phase starts with the tokens left in links' buckets."""
    devices = sorted({name for work in works for name in (*work.read_s, *work.write_s)})
    phases, tokens = list[SimulatedPhase](), None
    for work in works:
        placed = layout(work, groups, machines, devices=devices)
        clock = placed.clock(machines, tokens)
        stretches = list(run_phase(work, placed, clock, groups))
        tokens = clock.capacities.tokens
        timeline = timeline_of(stretches, placed, groups)
        full = float(tokens.sum() / clock.capacities.size.sum()) if machines.bucket_bytes else 1.0
        phases.append(
            SimulatedPhase(name=work.name, seconds=clock.now_s + work.barrier_s, timeline=timeline, full_share=full)
        )
    return phases


def run_phase(work: PhaseWork, placed: Layout, clock: Clock, groups: Sequence[NodeGroup]) -> Iterator[Stretch]:
    """Yield the stretches of a phase until all of it is done."""
    for row in np.flatnonzero(placed.group_of < 0).tolist():
        clock.start(row, 1.0, _no_op)
    if work.tasks is not None:
        _begin_tasks(work, work.tasks, clock, groups)
    else:
        for group, queue in enumerate(_queues(work, groups, shares=_AT_ONCE if not work.is_anyones else _IN_PARTS)):
            _start_next(clock, len(STAGES) * group + SEND, queue)
    yield from clock.run()


def _start_next(clock: Clock, flow: int, queue: WorkQueue) -> None:
    """Run one part after the other until none is left."""
    if share := queue.next():
        clock.start(flow, share, lambda: _start_next(clock, flow, queue))


def _queues(work: PhaseWork, groups: Sequence[NodeGroup], *, shares: Sequence[float]) -> list[WorkQueue]:
    """Return the queue of each group: any free node takes work that all nodes reach."""
    if not work.is_anyones:
        return [own_work(shares) for _ in groups]
    common = CommonWork(shares=shares, nodes=sum(group.nodes for group in groups))
    return [common.queue(group.nodes) for group in groups]


def _begin_tasks(work: PhaseWork, tasks: Tasks, clock: Clock, groups: Sequence[NodeGroup]) -> None:
    waves = list[TaskWaves]()
    send: Send = ToAll(clock=clock)
    if work.is_sent_by_parcel and tasks.slices and tasks.parcels is not None:
        send = InParcels(clock=clock, groups=groups, parcels=tasks.parcels, longest=tasks.longest, waves=waves)
    elif work.is_sent_by_parcel:
        send = AsCopies(clock=clock, groups=groups, waves=waves)
    waves += [
        TaskWaves(clock=clock, group=number, tasks=tasks, send=send, queue=queue)
        for number, queue in enumerate(_queues(work, groups, shares=tasks.shares))
    ]
    for wave in waves:
        wave.begin()


def _no_op() -> None:
    pass
