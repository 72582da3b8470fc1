"""A job's phases, one after the other on groups of nodes: each ends when the last node is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planner.simulation.events import Clock, Stretch
from planner.simulation.node_groups import NodeGroup
from planner.simulation.phase_work import PhaseWork
from planner.simulation.resources import SEND, STAGES, Layout, Machines, layout
from planner.simulation.task_waves import TaskWaves
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
        stretches = list(run_phase(work, placed, clock, groups=len(groups)))
        tokens = clock.capacities.tokens
        timeline = timeline_of(stretches, placed, groups)
        phases.append(SimulatedPhase(name=work.name, seconds=clock.now_s, timeline=timeline))
    return phases


def run_phase(work: PhaseWork, placed: Layout, clock: Clock, *, groups: int) -> Iterator[Stretch]:
    """Yield the stretches of a phase until all of it is done."""
    for row in range(len(STAGES) * groups, len(placed.most)):
        clock.start(row, 1.0, _nothing)
    for group in range(groups):
        if work.tasks is not None:
            TaskWaves(clock=clock, group=group, tasks=work.tasks).begin()
        else:
            clock.start(len(STAGES) * group + SEND, 1.0, _nothing)
    yield from clock.run()


def _nothing() -> None:
    pass
