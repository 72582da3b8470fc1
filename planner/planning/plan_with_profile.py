"""A plan whose times come from a calibrated profile instead of the equations alone.

The equations determine which clusters hold the data and how long each resource works; the profile, learned from real
runs, gives the time of such a cluster and its range. A deadline is met when the upper end of the profile's 90% range
meets it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from planner.arrays import Floats
from planner.calibration import JobRow, Profile
from planner.calibration.experiment import settling_run
from planner.cost_model.bill import retimed
from planner.planning.candidates.candidates import with_quoted
from planner.planning.ranking.frontier import frontier_of
from planner.planning.ranking.selection import SLACK, Limit, narrowed, order
from planner.planning.request.constraints import overrun
from planner.planning.what_if.reliefs import used_resources
from planner.schemas.plan import TIMES_OF_PROFILE, Candidate, Cost, Plan, Range, Rejection, Request
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


def plan_with_profile(
    request: Request,
    profile: Profile,
    *,
    specs: Specs,
    options: Mapping[str, Any] | None = None,
    plan_again: Callable[[Request], Plan],
) -> Plan:
    """Return the plan for `request` with `profile`'s times and ranges.

    `specs` describe the machines as calibration needs them, `options` are the further columns of the runs (such as
    `io`), and `plan_again` plans a request by the equations. Each type is tried at several cluster sizes; those whose
    range ends after the deadline, or whose total exceeds the budget, are rejected with how near they come.
    """
    free = replace(request, deadline_s=None, sort_deadline_s=None, budget_usd=None, top=_TYPES)
    base = plan_again(free)
    jobs = [job for candidate in base.candidates for job in _jobs(candidate, request, options or {})]
    if not jobs:
        return replace(base, request=request)
    mixture = profile.mixture(jobs, instances={job.instance_type: specs[job.instance_type] for job in jobs})
    (usual, _, high), (median,) = mixture.range_s(), mixture.quantiles_s(0.5)
    promising = _promising(base.candidates, jobs, request, usual_s=usual, high_s=high)
    jobs = [jobs[place] for place in promising]
    usual, median, high = usual[promising], median[promising], high[promising]
    estimated = _by_equations(free, jobs, plan_again)
    times = _what_if_times(free, jobs, estimated, plan_again)
    ratios = {
        cluster: _ratio(float(usual_s), *times[cluster])
        for cluster, usual_s in zip(map(_cluster, jobs), usual, strict=True)
        if cluster in times
    }
    tried = [
        with_quoted(
            _timed(
                estimated[cluster],
                *_stretched(float(usual_s), float(high_s), ratios[cluster]),
                median_s=float(median_s) * ratios[cluster],
                ratio=ratios[cluster],
            ),
            data_bytes=request.bytes_to_sort,
        )
        for cluster, usual_s, median_s, high_s in zip(map(_cluster, jobs), usual, median, high, strict=True)
        if cluster in ratios
    ]
    without = sorted({name for name, _ in estimated.keys() - ratios.keys()} - {name for name, _ in ratios})
    good = [candidate for candidate in tried if _meets(candidate, request)]
    best = {candidate.instance_type: candidate for candidate in reversed(order(good, request.rule))}
    missed = [
        _rejection(tried, name, request) for name in {candidate.instance_type for candidate in tried} - best.keys()
    ]
    ranked = order(list(best.values()), request.rule)
    if ranked:
        place = [_cluster(job) for job in jobs].index((ranked[0].instance_type, ranked[0].nodes))
        ranked[0] = _with_reliefs(ranked[0], free, float(usual[place]), times, plan_again)
        settling = settling_run(
            profile, jobs[place], instances={ranked[0].instance_type: specs[ranked[0].instance_type]}
        )
        if settling is not None:
            ranked[0] = replace(ranked[0], warnings=(settling.settles(), *ranked[0].warnings))
    return replace(
        base,
        request=request,
        best=ranked[0] if ranked else None,
        candidates=tuple(ranked[: request.top]),
        rejected=(*base.rejected, *missed, *(_without_ratio(name) for name in without)),
        frontier=tuple(frontier_of(good, ranked)),
    )


def _promising(
    candidates: Sequence[Candidate], jobs: Sequence[JobRow], request: Request, *, usual_s: Floats, high_s: Floats
) -> list[int]:
    """Return which jobs are worth computing exactly: the best sizes of each type by the profile's times and its
    candidate's cost per node-hour.
    """
    of_type = {candidate.instance_type: candidate for candidate in candidates}
    seconds, usd, over = [], [], []
    for job, expected_s, most_s in zip(jobs, usual_s.tolist(), high_s.tolist(), strict=True):
        planned = of_type[job.instance_type]
        resized = _resized(planned, nodes=job.nodes)
        hourly, around_s = resized.usd_per_hour, sum(resized.overheads_s.values())
        seconds.append(expected_s)
        usd.append(hourly * (expected_s + around_s) / 3600 + planned.cost_usd.charges)
        dear = hourly * (most_s + around_s) / 3600 + planned.cost_usd.charges
        late = replace(resized, cost_usd=replace(planned.cost_usd, total_p95=dear))
        over.append(max(1.0, overrun(late, most_s, request)))
    cheapest = min(range(len(jobs)), key=lambda place: (over[place], usd[place]))
    limit = Limit(usd=SLACK * usd[cheapest], least_usd=usd[cheapest], time_s=seconds[cheapest])
    within = limit.admits(total_usd=np.array(usd), time_s=np.array(seconds)).tolist()
    first, second = (seconds, usd) if request.objective == "time" else (usd, seconds)

    def promise(place: int) -> tuple[float, ...]:
        near = request.rule in ("balanced", "papers") and within[place]
        return (over[place], not near, seconds[place] if near else first[place], second[place])

    by_type: dict[str, list[int]] = {}
    for place, job in enumerate(jobs):
        by_type.setdefault(job.instance_type, []).append(place)
    return sorted(place for places in by_type.values() for place in sorted(places, key=promise)[:_SIZES])


def _resized(candidate: Candidate, *, nodes: int) -> Candidate:
    """Return a candidate at another size, changing only what the bill needs: steps shared among nodes, and the cost."""
    scale = candidate.nodes / nodes
    shared = ("validate", "generate", "stage in", "stage out")
    overheads = {name: s * scale if name in shared else s for name, s in candidate.overheads_s.items()}
    return replace(candidate, nodes=nodes, usd_per_hour=candidate.usd_per_hour / scale, overheads_s=overheads)


def _with_reliefs(
    best: Candidate,
    free: Request,
    usual_s: float,
    times: Mapping[tuple[str, int], tuple[float, float]],
    plan_again: Callable[[Request], Plan],
) -> Candidate:
    """Return the chosen cluster with the saving from doubling each of its resources, as a what-if of the profile:
    `usual_s` is the profile's time without what-ifs, which change the equations' `times`.
    """
    before_s, _ = times[best.instance_type, best.nodes]
    fixed = narrowed(replace(free, top=1), best, nodes=best.nodes)
    fixed = replace(fixed, catalogs=free.catalogs, model=best.model)
    whole_s = best.time_s.expected + sum(best.overheads_s.values())
    reliefs_s = {}
    for name in used_resources(best):
        faster = replace(fixed, scale=fixed.scale | {name: 2 * fixed.scale.get(name, 1.0)})
        if (made := plan_again(faster).best) is not None:
            relieved_s = usual_s * _ratio(usual_s, before_s, made.time_s.expected)
            reliefs_s[name] = max(0.0, whole_s - relieved_s - sum(made.overheads_s.values()))
    limit = max(reliefs_s, key=lambda name: reliefs_s[name], default="")
    return replace(best, reliefs_s=reliefs_s, bottleneck=limit)


def _jobs(candidate: Candidate, request: Request, options: Mapping[str, Any]) -> Iterator[JobRow]:
    counts = {request.nodes} if request.nodes else _node_counts(candidate.nodes_min, request.max_nodes)
    for nodes in sorted(counts):
        yield JobRow(
            instance_type=candidate.instance_type,
            nodes=nodes,
            data_gb=request.bytes_to_sort / 1e9,
            options=dict(options),
        )


def _node_counts(least: int, most: int) -> set[int]:
    """Return the fewest nodes that hold the data and larger sizes that all types share, so that they plan together."""
    shared = np.geomspace(1, most, _NODE_COUNTS).round().astype(int).tolist()
    return {least} | {count for count in shared if count > least}


def _cluster(job: JobRow) -> tuple[str, int]:
    return job.instance_type, job.nodes


def _what_if_times(
    free: Request,
    jobs: Sequence[JobRow],
    estimated: Mapping[tuple[str, int], Candidate],
    plan_again: Callable[[Request], Plan],
) -> dict[tuple[str, int], tuple[float, float]]:
    """Return each cluster's seconds without and with the request's what-ifs, by the equations.

    A profile describes machines as they were in its runs. Clusters are left out if the equations can only time them
    with the what-ifs, for example where the request assumes an unknown rate.
    """
    assume = {name: value for name, value in free.assume.items() if is_plain(name)}
    scale = {name: factor for name, factor in free.scale.items() if name in _OF_JOB}
    as_is = replace(free, assume=assume, scale=scale, network_distribution=None)
    if as_is == free:
        return {cluster: (made.time_s.expected or 1.0,) * 2 for cluster, made in estimated.items()}
    before = _by_equations(as_is, jobs, plan_again)
    return {
        cluster: (before[cluster].time_s.expected, candidate.time_s.expected)
        for cluster, candidate in estimated.items()
        if cluster in before
    }


def _ratio(usual_s: float, before_s: float, after_s: float) -> float:
    """Return the factor of a what-if on the profile's time: that of the equations' time, or more if the seconds it adds
    to them are more. The equations may make a job wait for something that the profile knows is fast.
    """
    ratio = after_s / before_s
    return max(ratio, 1 + (after_s - before_s) / usual_s) if ratio > 1 else ratio


def _stretched(usual_s: float, high_s: float, ratio: float) -> tuple[float, float]:
    """Return the profile's usual time and upper end with a what-if, lengthened as the equations' time is.

    How far the real time follows the equations is unknown, so the range widens by half of the change, in ln.
    """
    spread = math.hypot(math.log(high_s / usual_s), _Z95 * _UNSURE * math.log(ratio))
    return usual_s * ratio, usual_s * ratio * math.exp(spread)


def _without_ratio(name: str) -> Rejection:
    return Rejection(
        instance_type=name,
        reason="the profile cannot be carried over to the what-if",
        detail="without it the equations cannot time the type: measure what is assumed, or plan without --profile",
    )


def _by_equations(
    free: Request, jobs: Sequence[JobRow], plan_again: Callable[[Request], Plan]
) -> dict[tuple[str, int], Candidate]:
    """Return each job's cluster by the equations; one call covers all types of a size."""
    names = tuple(sorted({job.instance_type for job in jobs}))
    sizes = sorted({job.nodes for job in jobs})
    plans = (plan_again(replace(free, nodes=nodes, instances=names, top=len(names))) for nodes in sizes)
    return {
        (candidate.instance_type, candidate.nodes): candidate
        for plan in plans
        for candidate in reversed(plan.candidates)  # the best of several regions counts
        if candidate.nodes + candidate.spares <= free.most_machines
    }


def _timed(candidate: Candidate, usual_s: float, high_s: float, *, median_s: float, ratio: float) -> Candidate:
    """Return the candidate with the profile's time, `usual_s` expected; `equation` keeps the equations' time."""
    old = candidate.time_s
    energy = candidate.energy_j
    return replace(
        candidate,
        energy_j=None if energy is None or not old.expected else energy * usual_s / old.expected,
        time_s=Range(equation=old.equation, expected=usual_s, p50=median_s, p95=high_s),
        cost_usd=_cost(candidate, usual_s=usual_s, median_s=median_s, high_s=high_s),
        bill=retimed(candidate, job_s=usual_s),
        warnings=(*candidate.warnings, _source_of_time(ratio)),
    )


def _source_of_time(ratio: float) -> str:
    words = f"{TIMES_OF_PROFILE}; phases and bottleneck: from the equations"
    return words if ratio == 1 else f"{words}; the what-if makes it {ratio:.2f} times as long, by the equations"


def _cost(candidate: Candidate, *, usual_s: float, median_s: float, high_s: float) -> Cost:
    """Return the cost of the profile's times at the equations' rate; requests and charges do not depend on time."""
    old = candidate.cost_usd
    equation_s = candidate.time_s.equation
    per_s = (old.equation - old.requests) / equation_s if equation_s else 0.0
    totals = [math.fsum(line.usd or 0.0 for line in retimed(candidate, job_s=s)) for s in (usual_s, high_s)]
    return replace(
        old,
        expected=per_s * usual_s + old.requests,
        p50=per_s * median_s + old.requests,
        p95=per_s * high_s + old.requests,
        total=totals[0],
        total_p95=totals[1],
    )


def _meets(candidate: Candidate, request: Request) -> bool:
    return overrun(candidate, candidate.time_s.p95, request) <= 1


def _rejection(tried: Sequence[Candidate], name: str, request: Request) -> Rejection:
    fastest = min(
        (candidate for candidate in tried if candidate.instance_type == name),
        key=lambda candidate: candidate.time_s.p95,
    )
    return Rejection(
        instance_type=name,
        reason="misses the deadline or the budget at the upper end of the profile's range",
        detail=f"{fastest.nodes} nodes take up to {format_duration(fastest.time_s.p95)}",
        nearness=overrun(fastest, fastest.time_s.p95, request),
    )
