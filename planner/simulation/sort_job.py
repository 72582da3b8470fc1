"""A job's phases, one after the other on groups of nodes: each ends when the last node is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from planner.simulation.events import Clock, Stretch
from planner.simulation.node_groups import NodeGroup
from planner.simulation.phase_tasks import Tasks
from planner.simulation.phase_work import PhaseWork
from planner.simulation.resources import SEND, STAGES, Layout, Machines, layout
from planner.simulation.sends import AsCopies, InParcels, ToAll
from planner.simulation.task_waves import Send, TaskWaves
from planner.simulation.timeline import Timeline, timeline_of


@dataclass(frozen=True, kw_only=True, eq=False)
class SimulatedPhase:
    """A phase of one run: its seconds, and who waited for what meanwhile."""

    name: str
    seconds: float
    timeline: Timeline


def simulate_job(works: Sequence[PhaseWork], groups: Sequence[NodeGroup], machines: Machines) -> list[SimulatedPhase]:
    """Return the phases of one run on `groups` of nodes; links begin with full buckets and keep what is left."""
    devices = sorted({name for work in works for name in (*work.read_s, *work.write_s)})
    phases, tokens = list[SimulatedPhase](), None
    for work in works:
        placed = layout(work, groups, machines, devices=devices)
        clock = placed.clock(machines, tokens)
        stretches = list(run_phase(work, placed, clock, groups))
        tokens = clock.capacities.tokens
        timeline = timeline_of(stretches, placed, groups)
        phases.append(SimulatedPhase(name=work.name, seconds=clock.now_s, timeline=timeline))
    return phases


def run_phase(work: PhaseWork, placed: Layout, clock: Clock, groups: Sequence[NodeGroup]) -> Iterator[Stretch]:
    """Yield the stretches of a phase until all of it is done."""
    for row in np.flatnonzero(placed.group_of < 0).tolist():
        clock.start(row, 1.0, _nothing)
    for group in range(len(groups)):
        if work.tasks is None:
            clock.start(len(STAGES) * group + SEND, 1.0, _nothing)
    if work.tasks is not None:
        _begin_tasks(work, work.tasks, clock, groups)
    yield from clock.run()


def _begin_tasks(work: PhaseWork, tasks: Tasks, clock: Clock, groups: Sequence[NodeGroup]) -> None:
    waves = list[TaskWaves]()
    send: Send = ToAll(clock=clock)
    if work.is_sent_apart and tasks.slices and tasks.parcels is not None:
        send = InParcels(clock=clock, groups=groups, parcels=tasks.parcels, longest=tasks.longest, waves=waves)
    elif work.is_sent_apart:
        send = AsCopies(clock=clock, groups=groups, waves=waves)
    waves += [TaskWaves(clock=clock, group=number, tasks=tasks, send=send) for number in range(len(groups))]
    for wave in waves:
        wave.begin()


def _nothing() -> None:
    pass
