"""A plan whose times come from a calibrated profile instead of the equations alone.

The equations determine which clusters hold the data and how long each resource works; the profile, learned from real
runs, gives the time of such a cluster and its range. A deadline is met when the upper end of the profile's 90% range
meets it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from planner.arrays import Floats
from planner.calibration import JobRow, Profile
from planner.calibration.experiment import settling_run
from planner.cost_model.bill import retimed
from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.planning.candidates.candidates import Cluster, candidates, with_quoted
from planner.planning.ranking.frontier import frontier_of
from planner.planning.ranking.selection import SLACK, Limit, order
from planner.planning.request.constraints import overrun
from planner.planning.what_if.break_even import break_even, grid_of
from planner.planning.what_if.reliefs import with_reliefs
from planner.schemas.plan import TIMES_OF_PROFILE, Candidate, Cost, Overturn, Plan, Range, Rejection, Request
from planner.schemas.request_forms import is_plain
from planner.units import format_duration

_TYPES = 40
"""Types for which the profile predicts a time: the first by the equations, however many are shown."""

_NODE_COUNTS = 24
"""Cluster sizes tried up to the most allowed, evenly spread on a logarithmic scale."""

_SIZES = 3
"""Sizes of each type that are computed exactly, the most promising by the profile's times."""

_UNSURE: Final = 0.5
"""Widening of the range by a what-if: standard deviation of ln(time) per unit of ln(ratio)."""

_Z95: Final = 1.645

_OF_JOB: Final = ("price", "data")
"""What-ifs that a profile's times cover directly: it knows jobs of other sizes, and does not depend on prices."""

Specs = Mapping[str, Mapping[str, Any]]
Place = tuple[str, int]
"""A type and a number of nodes."""


@dataclass(frozen=True)
class _TimedJob:
    """A job with the profile's times: expected, median and the upper end of the range."""

    job: JobRow
    usual_s: float
    median_s: float
    high_s: float

    @property
    def place(self) -> Place:
        """Its type and number of nodes."""
        return self.job.instance_type, self.job.nodes

    def stretched(self, ratio: float) -> _TimedJob:
        """Return it with a what-if, lengthened as the equations' time is: how far the real time follows the equations
        is unknown, so the range widens by half of the change, in ln.
        """
        spread = math.hypot(math.log(self.high_s / self.usual_s), _Z95 * _UNSURE * math.log(ratio))
        usual_s = self.usual_s * ratio
        return _TimedJob(self.job, usual_s, self.median_s * ratio, usual_s * math.exp(spread))


def plan_with_profile(
    request: Request,
    profile: Profile,
    *,
    specs: Specs,
    options: Mapping[str, Any] | None = None,
    plan_of: Callable[[Request], Plan],
    grids_of: Callable[[Request], Sequence[CandidateGrid]],
) -> Plan:
    """Return the plan for `request` with `profile`'s times and ranges.

    `specs` describe the machines as calibration needs them, `options` are the further columns of the runs (such as
    `io`); `plan_of` and `grids_of` return the plan of a request and its clusters by the equations. Each type is tried
    at several cluster sizes; those whose range ends after the deadline, or whose total exceeds the budget, are rejected
    with how near they come.
    """
    free = replace(request, deadline_s=None, sort_deadline_s=None, budget_usd=None, top=_TYPES)
    base = plan_of(free)
    if not base.candidates:
        return replace(base, request=request)
    jobs = _promising(base.candidates, profile, request, specs=specs, options=options or {})
    of_types = replace(free, instances=tuple(sorted({name for name, _ in jobs})))
    grids, as_is = grids_of(of_types), _without_what_ifs(of_types)
    made = _by_equations(grids, jobs, request)
    before = made if as_is == of_types else _by_equations(grids_of(as_is), jobs, request)
    known = [place for place in jobs if place in made and place in before]
    tried = [
        _timed(of, jobs[place], before[place].expected_s, data_bytes=request.bytes_to_sort)
        for place, of in zip(known, candidates([made[place] for place in known], free), strict=True)
    ]
    good = [of for of in tried if overrun(of, of.time_s.p95, request) <= 1]
    best = {of.instance_type: of for of in reversed(order(good, request.rule))}
    ranked = order(list(best.values()), request.rule)
    if ranked:
        place = ranked[0].instance_type, ranked[0].nodes
        settling = settling_run(profile, jobs[place].job, instances={place[0]: specs[place[0]]})
        settles = () if settling is None else (settling.settles(),)
        first = _with_reliefs(ranked[0], grids, usual_s=jobs[place].usual_s, before_s=before[place].expected_s)
        turn = _overturned_by(first, grids, of_types)
        ranked[0] = replace(first, overturned_by=turn, warnings=(*settles, *first.warnings))
    names = {name for name, _ in known}
    missed = [_rejection(tried, name, request) for name in names - best.keys()]
    missed += [_without_ratio(name) for name in sorted({name for name, _ in made} - names)]
    return replace(
        base,
        request=request,
        best=ranked[0] if ranked else None,
        candidates=tuple(ranked[: request.top]),
        rejected=(*base.rejected, *missed),
        frontier=tuple(frontier_of(good, ranked)),
    )


def _promising(
    planned: Sequence[Candidate], profile: Profile, request: Request, *, specs: Specs, options: Mapping[str, Any]
) -> dict[Place, _TimedJob]:
    """Return the jobs that are worth computing exactly, by their clusters: the best sizes of each type by the profile's
    times and its planned cluster's cost per node-hour.
    """
    pairs = [(of, job) for of in planned for job in _jobs(of, request, options)]
    rows = [job for _, job in pairs]
    mixture = profile.mixture(rows, instances={of.instance_type: specs[of.instance_type] for of in planned})
    (usual_s, _, high_s), (median_s,) = mixture.range_s(), mixture.quantiles_s(0.5)
    hourly, around_s, charges = np.array([_resized(of, nodes=job.nodes) for of, job in pairs]).T
    usd, most_usd = (hourly * (job_s + around_s) / 3600 + charges for job_s in (usual_s, high_s))
    limits = (request.deadline_s, request.sort_deadline_s, request.budget_usd)
    most = (high_s + around_s, high_s, most_usd)
    over = np.max([np.ones(len(rows)), *(of / limit for of, limit in zip(most, limits, strict=True) if limit)], axis=0)
    cheapest = np.lexsort((usd, over))[0]
    limit = Limit(usd=SLACK * usd[cheapest], least_usd=usd[cheapest], time_s=usual_s[cheapest])
    near = limit.admits(total_usd=usd, time_s=usual_s) & (request.rule in ("balanced", "papers"))
    first, second = (usual_s, usd) if request.objective == "time" else (usd, usual_s)
    by_type: dict[str, list[int]] = {}
    for at in np.lexsort((second, np.where(near, usual_s, first), ~near, over)).tolist():
        by_type.setdefault(rows[at].instance_type, []).append(at)
    chosen = sorted(at for places in by_type.values() for at in places[:_SIZES])
    timed = [_TimedJob(rows[at], *(float(of[at]) for of in (usual_s, median_s, high_s))) for at in chosen]
    return {job.place: job for job in timed}


def _resized(planned: Candidate, *, nodes: int) -> tuple[float, float, float]:
    """Return what a planned cluster's bill needs at another size: USD per hour, seconds around the job, some of which
    nodes share, and charges.
    """
    scale, shared = planned.nodes / nodes, ("validate", "generate", "stage in", "stage out")
    around_s = sum(s * scale if name in shared else s for name, s in planned.overheads_s.items())
    return planned.usd_per_hour / scale, around_s, planned.cost_usd.charges


def _jobs(planned: Candidate, request: Request, options: Mapping[str, Any]) -> Iterator[JobRow]:
    """Yield the jobs on a type: with the fewest nodes that hold the data, and larger numbers that all types share, so
    that they plan together.
    """
    name, gigabytes, least = planned.instance_type, request.bytes_to_sort / 1e9, planned.nodes_min
    shared = np.geomspace(1, request.max_nodes, _NODE_COUNTS).round().astype(int).tolist()
    counts = [request.nodes] if request.nodes else sorted({least, *(count for count in shared if count > least)})
    for nodes in counts:
        yield JobRow(instance_type=name, nodes=nodes, data_gb=gigabytes, options=dict(options))


def _by_equations(grids: Sequence[CandidateGrid], places: Collection[Place], request: Request) -> dict[Place, Cluster]:
    """Return the clusters at some places, on the layout that comes first by the equations, where any is possible."""
    found: dict[Place, list[Cluster]] = {}
    for every_size in grids:
        grid = replace(every_size, nodes=np.intersect1d(every_size.nodes, [float(nodes) for _, nodes in places]))
        able = np.argwhere(np.isfinite(grid.estimates.total_usd)).tolist()
        cells = [(row, at) for row, at in able if (grid.type_name(row), int(grid.nodes[at])) in places]
        grid.evaluate(cells)
        for row, column in cells:
            cluster = grid.cluster(row, column)
            if cluster.machines <= request.most_machines and grid.excess(row, column) <= 1:
                found.setdefault((cluster.instance_type, cluster.nodes), []).append(cluster)
    return {place: order(clusters, request.rule)[0] for place, clusters in found.items()}


def _with_reliefs(best: Candidate, grids: Sequence[CandidateGrid], *, usual_s: float, before_s: float) -> Candidate:
    """Return the chosen cluster with what doubling each of its resources saves, as a what-if of the profile, whose time
    without what-ifs is `usual_s`, the equations' `before_s`.
    """
    grid = grid_of(best, grids)
    return best if grid is None else with_reliefs(best, grid, lambda s: usual_s * _ratio(usual_s, before_s, s))


def _overturned_by(best: Candidate, grids: Sequence[CandidateGrid], request: Request) -> Overturn | None:
    """Return what would put another type first at the chosen size, if the chosen one is first by the equations, too."""
    alike = _by_equations(grids, {(name, best.nodes) for name in request.instances}, request)
    first, *others = order(list(alike.values()), request.rule)
    if first.instance_type != best.instance_type:
        return None
    of_size = [replace(grid, nodes=grid.nodes[grid.nodes == best.nodes]) for grid in grids]
    return break_even(request, first.candidate(), others, of_size)


def _without_what_ifs(request: Request) -> Request:
    """Return the request on machines as they were in the profile's runs."""
    assume = {name: value for name, value in request.assume.items() if is_plain(name)}
    scale = {name: factor for name, factor in request.scale.items() if name in _OF_JOB}
    return replace(request, assume=assume, scale=scale, network_distribution=None)


def _ratio(usual_s: float, before_s: float, after_s: Floats | float) -> Floats:
    """Return the factor of a what-if on the profile's time: that of the equations' time, or more if the seconds it adds
    to them are more. The equations may make a job wait for something that the profile knows is fast.
    """
    ratio = np.asarray(after_s) / before_s
    return np.where(ratio > 1, np.maximum(ratio, 1 + (after_s - before_s) / usual_s), ratio)


def _without_ratio(name: str) -> Rejection:
    return Rejection(
        instance_type=name,
        reason="the profile cannot be carried over to the what-if",
        detail="without it the equations cannot time the type: measure what is assumed, or plan without --profile",
    )


def _timed(candidate: Candidate, job: _TimedJob, before_s: float, *, data_bytes: float) -> Candidate:
    """Return the candidate with the profile's times, stretched by the what-ifs without which the equations' time is
    `before_s`; `equation` keeps the equations' time.
    """
    old, energy = candidate.time_s, candidate.energy_j
    ratio = float(_ratio(job.usual_s, before_s, old.expected)) if old.expected != before_s else 1.0
    of = job.stretched(ratio)
    timed = replace(
        candidate,
        energy_j=None if energy is None or not old.expected else energy * of.usual_s / old.expected,
        time_s=Range(equation=old.equation, expected=of.usual_s, p50=of.median_s, p95=of.high_s),
        cost_usd=_cost(candidate, usual_s=of.usual_s, median_s=of.median_s, high_s=of.high_s),
        bill=retimed(candidate, job_s=of.usual_s),
        warnings=(*candidate.warnings, _source_of_time(ratio)),
    )
    return with_quoted(timed, data_bytes=data_bytes)


def _source_of_time(ratio: float) -> str:
    words = f"{TIMES_OF_PROFILE}; phases and bottleneck: from the equations"
    return words if ratio == 1 else f"{words}; the what-if makes it {ratio:.2f} times as long, by the equations"


def _cost(candidate: Candidate, *, usual_s: float, median_s: float, high_s: float) -> Cost:
    """Return the cost of the profile's times at the equations' rate; requests and charges do not depend on time."""
    old, per_s = candidate.cost_usd, candidate.usd_per_hour / 3600
    expected, p50, p95 = (per_s * s + old.requests for s in (usual_s, median_s, high_s))
    total, most = (math.fsum(line.usd or 0.0 for line in retimed(candidate, job_s=s)) for s in (usual_s, high_s))
    return replace(old, expected=expected, p50=p50, p95=p95, total=total, total_p95=most)


def _rejection(tried: Sequence[Candidate], name: str, request: Request) -> Rejection:
    fastest = min((of for of in tried if of.instance_type == name), key=lambda of: of.time_s.p95)
    return Rejection(
        instance_type=name,
        reason="misses the deadline or the budget at the upper end of the profile's range",
        detail=f"{fastest.nodes} nodes take up to {format_duration(fastest.time_s.p95)}",
        nearness=overrun(fastest, fastest.time_s.p95, request),
    )
