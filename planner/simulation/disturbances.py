"""The same runs once more, disturbed: nodes are lost, slow, or taken back because they were rented as spot machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

import numpy as np

from planner.simulation.draws import Draw, scatter
from planner.simulation.losses import Loss, seconds_with_loss
from planner.simulation.machines import Slow
from planner.simulation.phase_work import PhaseWork
from planner.simulation.result import LossCost, SlowCost, SpotCost
from planner.simulation.sort_job import SimulatedPhase, simulate_job
from planner.statistics.interruptions import Risk

_MOST_LOSSES: Final = 8
"""That are simulated for a run."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """One undisturbed run."""

    draw: Draw
    phases: Sequence[SimulatedPhase]

    @property
    def nodes(self) -> int:
        """Return how many nodes it has."""
        return sum(group.nodes for group in self.draw.groups)

    @property
    def seconds(self) -> float:
        """Return how long it takes."""
        return self.draw.factor * sum(phase.seconds for phase in self.phases)

    def seconds_with(self, loss: Loss, works: Sequence[PhaseWork]) -> float:
        """Return how long it takes with a loss."""
        lossy_s = seconds_with_loss(works, self.draw.groups, self.draw.machines, loss=loss, phases=self.phases)
        return self.draw.factor * lossy_s


def loss_cost(loss: Loss, works: Sequence[PhaseWork], runs: Sequence[Run]) -> LossCost:
    """Return what a loss costs each of the runs."""
    lossy = [run.seconds_with(loss, works) for run in runs]
    p50_s, p95_s, times = _compared(lossy, runs)
    return LossCost(nodes=loss.nodes, share=loss.share, p50_s=p50_s, p95_s=p95_s, times=times)


def slow_cost(slow: Slow, works: Sequence[PhaseWork], runs: Sequence[Run]) -> SlowCost:
    """Return what slow nodes cost each of the runs."""
    devices = sorted({name for work in works for name in (*work.read_s, *work.write_s)})
    slowed = [
        run.draw.factor
        * sum(phase.seconds for phase in simulate_job(works, slow.of(run.draw.groups, devices), run.draw.machines))
        for run in runs
    ]
    p50_s, p95_s, times = _compared(slowed, runs)
    nodes = slow.count(runs[0].nodes)
    return SlowCost(nodes=nodes, factor=slow.factor, resource=slow.resource, p50_s=p50_s, p95_s=p95_s, times=times)


def _compared(disturbed_s: Sequence[float], runs: Sequence[Run]) -> tuple[float, float, float]:
    """Return median and 95% of disturbed runs, and how many times as long they take in the median."""
    times = [seconds / run.seconds for seconds, run in zip(disturbed_s, runs, strict=True)]
    return scatter(disturbed_s, 0.5), scatter(disturbed_s, 0.95), scatter(times, 0.5)


def spot_cost(risk: Risk, works: Sequence[PhaseWork], runs: Sequence[Run], *, seed: int) -> SpotCost | None:
    """Return what it costs that nodes are taken back, each at a random moment of its run, as lost nodes do: several of
    a run cost the sum of what each does, of many as much as `_MOST_LOSSES` on average. None where it is not known what
    a lost node costs.
    """
    if all(work.tasks is None for work in works) or runs[0].nodes < 2:
        return None
    rng, taken, spent = np.random.default_rng(seed), list[int](), list[float]()
    for run in runs:
        count = min(int(rng.poisson(run.nodes * risk.per_node_s * run.seconds)), run.nodes - 1)
        losses = [Loss(nodes=1, share=float(moment)) for moment in rng.uniform(0, 1, min(count, _MOST_LOSSES))]
        extra_s = fmean(run.seconds_with(loss, works) - run.seconds for loss in losses) if losses else 0.0
        taken.append(count)
        spent.append(run.seconds + count * extra_s)
    p50_s, p95_s, _ = _compared(spent, runs)
    mean = fmean(seconds / run.seconds for seconds, run in zip(spent, runs, strict=True))
    return SpotCost(taken_back=fmean(taken), p50_s=p50_s, p95_s=p95_s, times=mean)
