"""Simulation of a planned cluster: the same job, drawn several times from what the plan knows of a type.

Draws differ in the spread between nodes, the error of claimed rates, and the scatter of whole runs; each is also run
with lost, slow or reclaimed spot nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist, fmean
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.catalog import Catalog
from planner.catalog.cloud_regions import regions_of
from planner.cost_model.caveats import stated_burst_bytes_per_s
from planner.cost_model.duration import PhaseUses, planned_spares, slowdowns_of
from planner.cost_model.evidence import RATE_OF
from planner.cost_model.model import CostModel
from planner.cost_model.run_overheads import RunOverheads
from planner.cost_model.workload import JobContext
from planner.errors import BadInputError
from planner.planning.candidates.candidate_grid import build_grid
from planner.planning.candidates.candidates import candidate
from planner.planning.ranking.selection import narrowed
from planner.planning.request.region import Region
from planner.schemas.plan import Candidate, Request
from planner.simulation.losses import Loss, check_loss, seconds_with_loss
from planner.simulation.machines import Machines, NodeGroup, Slow, groups_of, likely_bursts, machines_of
from planner.simulation.phase_work import PhaseWork, at_full_rate, phase_work
from planner.simulation.result import LossCost, PhaseRange, Simulation, SlowCost, SpotCost
from planner.simulation.sort_job import SimulatedPhase, simulate_job
from planner.simulation.timeline import OTHERS
from planner.statistics.interruptions import Risk

MOST_DRAWS: Final = 1000
_SAME: Final = 1e-3
"""Largest relative difference of a cluster's time when it is planned again, due to rounding."""


def simulate_plan(
    request: Request,
    best: Candidate,
    *,
    models: Sequence[CostModel],
    catalogs: Sequence[Catalog],
    overheads: RunOverheads,
    draws: int,
    seed: int,
    loss: Loss | None = None,
    slow: Slow | None = None,
) -> Simulation:
    """Return the simulation of a request's recommended cluster, also with a `loss` of nodes and with `slow` ones.
    Raises BadInputError for no draws or too many, for an impossible loss or impossible slow nodes, and for a plan that
    the catalogs no longer give.
    """
    check_draws(draws)
    context = simulation_context(request, best, models=models, catalogs=catalogs, overheads=overheads)
    return simulate(context, best, draws=draws, seed=seed, loss=loss, slow=slow)


def check_draws(draws: int) -> None:
    """Raise BadInputError for no draws, or too many."""
    if not 1 <= draws <= MOST_DRAWS:
        raise BadInputError(f"--draws {draws}: from 1 to {MOST_DRAWS} runs can be drawn", code="out-of-range")


def simulate(
    context: JobContext, best: Candidate, *, draws: int, seed: int, loss: Loss | None = None, slow: Slow | None = None
) -> Simulation:
    """Return the simulation of a cluster that was planned on the only layout of `context`."""
    full = at_full_rate(context)
    machines = machines_of(context, best.nodes)
    probed = likely_bursts(context, machines, best.nodes)[0]
    works = [phase_work(full, phase, best.nodes, probed) for phase in full.model.phases]
    if loss is not None:
        check_loss(loss, works, nodes=best.nodes)
    if slow is not None:
        slow.count(best.nodes)  # raises if there are too few nodes
    drawn_runs = draw_runs(full, works, machines, best=best, draws=draws, seed=seed)
    runs = [Run(draw=draw, phases=simulate_job(works, draw.groups, draw.machines)) for draw in drawn_runs]
    totals = [run.seconds for run in runs]
    middle = runs[int(np.argsort(totals, kind="stable")[(len(totals) - 1) // 2])].phases
    return Simulation(
        cluster=f"{best.nodes} x {best.instance_type}",
        nodes=best.nodes,
        draws=draws,
        seed=seed,
        p50_s=scatter(totals, 0.5),
        p95_s=scatter(totals, 0.95),
        planned_p50_s=best.time_s.p50,
        planned_p95_s=best.time_s.p95,
        phases=tuple(_range(best.phases[number].equation_s, runs, number) for number in range(len(works))),
        breaks_first=_breaks_first(runs),
        timelines={phase.name: phase.timeline for phase in middle},
        loss=None if loss is None else loss_cost(loss, works, runs),
        slow=None if slow is None else slow_cost(slow, works, runs),
        spot=None if context.risk is None else spot_cost(context.risk, works, runs, seed=seed),
        burst_bytes_per_s=(best.nodes > 1 and stated_burst_bytes_per_s(context, best.nodes)) or 0.0,
    )


def _range(equation_s: float, runs: Sequence[Run], number: int) -> PhaseRange:
    phases = [run.phases[number] for run in runs]
    seconds = [run.draw.factor * phase.seconds for run, phase in zip(runs, phases, strict=True)]
    names = dict.fromkeys(name for phase in phases for name in phase.timeline.waits)
    waits = {name: float(np.mean([phase.timeline.waits.get(name, 0.0) for phase in phases])) for name in names}
    return PhaseRange(
        name=phases[0].name,
        equation_s=equation_s,
        p50_s=scatter(seconds, 0.5),
        p95_s=scatter(seconds, 0.95),
        waits=waits,
        bottleneck=max(waits, key=lambda name: waits[name], default="nothing"),
    )


def _breaks_first(runs: Sequence[Run]) -> str:
    """Return the resource that all runs together wait for longest; waiting for other nodes does not count."""
    waited: dict[str, float] = {}
    for phase in (phase for run in runs for phase in run.phases):
        for name, share in phase.timeline.waits.items():
            waited[name] = waited.get(name, 0.0) + share * phase.seconds
    return max((name for name in waited if name != OTHERS), key=lambda name: waited[name], default="nothing")


def simulation_context(
    request: Request,
    best: Candidate,
    *,
    models: Sequence[CostModel],
    catalogs: Sequence[Catalog],
    overheads: RunOverheads,
) -> JobContext:
    """Return the job on the layout of a planned cluster alone."""
    again = replace(narrowed(request, best, nodes=best.nodes), catalogs=request.catalogs)
    sizes = np.array([float(best.nodes)])
    for model in (model for model in models if model.name == best.model):
        for catalog, names in zip(catalogs, regions_of(request.regions, catalogs), strict=True):
            if catalog.cloud != best.cloud or best.region not in names:
                continue
            region = Region.of(again, catalog, best.region)
            grid, _ = build_grid(again, model=model, region=region, overheads=overheads, sizes=sizes)
            for row in range(len(grid.context.layouts.type_row)):
                made = candidate(grid.context, row=row, nodes=best.nodes, offer=grid.offer)
                if made.storage == best.storage and math.isclose(
                    made.time_s.expected, best.time_s.expected, rel_tol=_SAME
                ):
                    return grid.context.only(np.array([row]))
    raise BadInputError(
        "the plan was made with a profile, or with catalogs that have changed since",
        ["plan again without"],
        code="other-catalogs",
    )


_MOST_LOSSES: Final = 8
"""Most node losses that are simulated for one run."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """One undisturbed run."""

    draw: Draw
    phases: Sequence[SimulatedPhase]

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return sum(group.nodes for group in self.draw.groups)

    @property
    def seconds(self) -> float:
        """Duration of the run."""
        return self.draw.factor * sum(phase.seconds for phase in self.phases)

    def seconds_with(self, loss: Loss, works: Sequence[PhaseWork]) -> float:
        """Return the duration of the run with a loss."""
        lossy_s = seconds_with_loss(works, self.draw.groups, self.draw.machines, loss=loss, phases=self.phases)
        return self.draw.factor * lossy_s


def loss_cost(loss: Loss, works: Sequence[PhaseWork], runs: Sequence[Run]) -> LossCost:
    """Return the cost of a loss over the runs."""
    lossy = [run.seconds_with(loss, works) for run in runs]
    p50_s, p95_s, times = _compare_runs(lossy, runs)
    return LossCost(nodes=loss.nodes, share=loss.share, p50_s=p50_s, p95_s=p95_s, times=times)


def slow_cost(slow: Slow, works: Sequence[PhaseWork], runs: Sequence[Run]) -> SlowCost:
    """Return the cost of slow nodes over the runs."""
    devices = sorted({name for work in works for name in (*work.read_s, *work.write_s)})
    slowed = [
        run.draw.factor
        * sum(phase.seconds for phase in simulate_job(works, slow.of(run.draw.groups, devices), run.draw.machines))
        for run in runs
    ]
    p50_s, p95_s, times = _compare_runs(slowed, runs)
    nodes = slow.count(runs[0].nodes)
    return SlowCost(nodes=nodes, factor=slow.factor, resource=slow.resource, p50_s=p50_s, p95_s=p95_s, times=times)


def _compare_runs(disturbed_s: Sequence[float], runs: Sequence[Run]) -> tuple[float, float, float]:
    """Return the median and 95% quantile of disturbed runs, and the median ratio to the undisturbed runs."""
    times = [seconds / run.seconds for seconds, run in zip(disturbed_s, runs, strict=True)]
    return scatter(disturbed_s, 0.5), scatter(disturbed_s, 0.95), scatter(times, 0.5)


def spot_cost(risk: Risk, works: Sequence[PhaseWork], runs: Sequence[Run], *, seed: int) -> SpotCost | None:
    """Return the cost of reclaimed nodes, each lost at a random moment of its run. Each loss costs the mean of at most
    `_MOST_LOSSES` losses simulated for that run, and the costs add up. None where the cost of a lost node is unknown.
    """
    if all(work.tasks is None for work in works) or runs[0].nodes < 2:
        return None
    rng, taken, spent = np.random.default_rng(seed), list[int](), list[float]()
    for run in runs:
        expected = run.nodes * float(np.mean(risk.per_node_s)) * run.seconds  # of the one layout
        count = min(int(rng.poisson(expected)), run.nodes - 1)
        losses = [Loss(nodes=1, share=float(moment)) for moment in rng.uniform(0, 1, min(count, _MOST_LOSSES))]
        extra_s = fmean(run.seconds_with(loss, works) - run.seconds for loss in losses) if losses else 0.0
        taken.append(count)
        spent.append(run.seconds + count * extra_s)
    p50_s, p95_s, _ = _compare_runs(spent, runs)
    mean = fmean(seconds / run.seconds for seconds, run in zip(spent, runs, strict=True))
    return SpotCost(taken_back=fmean(taken), p50_s=p50_s, p95_s=p95_s, times=mean)


_LEAST_SIGMA: Final = 1e-12
"""Sigma for whole runs that do not scatter."""


@dataclass(frozen=True, kw_only=True)
class Draw:
    """The nodes of one run with their machines, and the factor by which the whole run takes longer than predicted by
    equations and simulation.
    """

    groups: Sequence[NodeGroup]
    machines: Machines
    factor: float


def draw_runs(
    context: JobContext, works: Sequence[PhaseWork], machines: Machines, *, best: Candidate, draws: int, seed: int
) -> Iterator[Draw]:
    """Yield the nodes of each run of a planned cluster; the same `seed` draws the same nodes."""
    rng, nodes = np.random.default_rng(seed), best.nodes
    count = np.array([float(nodes)])
    screened = planned_spares(context, PhaseUses.of_clusters(context, count), count).screened[0]
    doubted = {name: of[0].tolist() for name, of in slowdowns_of(context, count).items()}
    claims = [dict(zip(doubted, way, strict=True)) for way in zip(*doubted.values(), strict=True)] or [{}]
    whole_runs = NormalDist(sigma=max(context.overheads.shared_sigma, _LEAST_SIGMA))
    bursts = likely_bursts(context, machines, nodes)
    for claim_at, run_at, burst_at in zip(*(_shuffled_midpoints(draws, rng) for _ in range(3)), strict=True):
        claim = claims[int(claim_at * len(claims))]
        slowness = {
            name: factors * claim.get(RATE_OF[name], 1.0)
            for name, factors in _slowness(context, works, nodes + (best.spares if screened else 0), rng).items()
        }
        if screened:  # the slowest are returned
            fastest = np.argsort(slowness[screened], kind="stable")[:nodes]
            slowness = {name: factors[fastest] for name, factors in slowness.items()}
        lateness = _lateness(works, machines, slowness, nodes)
        yield Draw(
            groups=groups_of(slowness, lateness=lateness),
            machines=bursts[int(burst_at * len(bursts))],
            factor=math.exp(whole_runs.inv_cdf(run_at)),
        )


def _shuffled_midpoints(draws: int, rng: np.random.Generator) -> list[float]:
    """Return the midpoints of `draws` equal parts of (0, 1) in random order. With them, a few draws cover a
    distribution that all nodes of a run share, and their median is its median.
    """
    return [float(place) for place in rng.permutation((np.arange(draws) + 0.5) / draws)]


def _slowness(
    context: JobContext, works: Sequence[PhaseWork], nodes: int, rng: np.random.Generator
) -> dict[str, Floats]:
    """Draw the slowness factors of each node's resources, (n,) each; a rate that is the slowest of n is certain."""
    slowest = bool(context.rates.network.slowest_of_n[int(context.layouts.type_row[0])])
    tailed = {name: work for phase in context.model.phases for name, work in context.works(phase).items()}
    names = {name for work in works for name in (*work.read_s, *work.write_s)}
    values = {name: context.spread(name, tailed.get(name)).sample((nodes,), rng) for name in sorted(names)}
    values["cpu"] = context.spread("cpu", tailed.get("cpu")).sample((nodes,), rng)
    network = context.spread("network", None).sample((nodes,), rng)
    return values | {"network": np.ones(nodes) if slowest else network}


def _lateness(works: Sequence[PhaseWork], machines: Machines, slowness: Mapping[str, Floats], nodes: int) -> Floats:
    """Return each node's lateness relative to the slowest node, in the phase where it is latest: (n,)."""
    late = np.zeros(nodes)
    for work in works:
        carried = work.exchanged_bytes + max(work.in_bytes, work.out_bytes)
        seconds = carried / machines.link_bytes_per_s * slowness["network"]
        np.maximum(seconds, (work.compute_s + work.move_s) / machines.vcpu * slowness["cpu"], out=seconds)
        for name in {*work.read_s, *work.write_s}:
            device_s = work.read_s.get(name, 0.0) + work.write_s.get(name, 0.0)
            np.maximum(seconds, device_s * slowness[name], out=seconds)
        if (longest := float(seconds.max())) > 0:
            np.maximum(late, seconds / longest, out=late)
    return late


def scatter(values: Sequence[float], probability: float) -> float:
    """Return a quantile of the values of several draws; NaN without values."""
    return float(np.quantile(np.array(values), probability)) if len(values) else math.nan
