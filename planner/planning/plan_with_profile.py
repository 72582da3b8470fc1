"""A plan whose times come from a calibrated profile instead of the equations alone.

The equations say which clusters hold the data and what each resource does; the profile, learned from real runs, says
how long such a cluster takes and how sure that is. A deadline is met when the upper end of the profile's 90% range
meets it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from planner.calibration import Job, Profile
from planner.cost_model.bill import retimed
from planner.planning.selection import order
from planner.schemas.plan import Candidate, Cost, Plan, Range, Rejection, Request
from planner.units import format_duration

_NODE_COUNTS = 24
"""Cluster sizes tried up to the most allowed, evenly spread on a logarithmic scale."""

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

    `specs` describe the machines as calibration wants them, `options` are the further columns of the runs (such as
    `io`), and `plan_again` plans a request by the equations. Each type is tried at several cluster sizes; those whose
    range ends beyond the deadline, or whose total exceeds the budget, are rejected with how near they come.
    """
    free = replace(request, deadline_s=None, budget_usd=None)
    base = plan_again(free)
    jobs = [job for candidate in base.candidates for job in _jobs(candidate, request, options or {})]
    if not jobs:
        return replace(base, request=request)
    median, _, high = profile.mixture(
        jobs, instances={job.instance_type: specs[job.instance_type] for job in jobs}
    ).range_s()
    estimated = _by_equations(free, jobs, plan_again)
    tried = [
        _timed(estimated[job.instance_type, job.nodes], float(median_s), float(high_s))
        for job, median_s, high_s in zip(jobs, median, high, strict=True)
        if (job.instance_type, job.nodes) in estimated
    ]
    good = [candidate for candidate in tried if _meets(candidate, request)]
    best = {candidate.instance_type: candidate for candidate in reversed(order(good, request.objective))}
    missed = [
        _rejection(tried, name, request) for name in {candidate.instance_type for candidate in tried} - best.keys()
    ]
    ranked = order(list(best.values()), request.objective)
    return replace(
        base,
        request=request,
        best=ranked[0] if ranked else None,
        candidates=tuple(ranked[: request.top]),
        rejected=(*base.rejected, *missed),
        frontier=(),
    )


def _jobs(candidate: Candidate, request: Request, options: Mapping[str, Any]) -> Iterator[Job]:
    counts = {request.nodes} if request.nodes else _node_counts(candidate.nodes_min, request.max_nodes)
    for nodes in sorted(counts):
        yield Job(
            instance_type=candidate.instance_type, nodes=nodes, data_gb=request.data_bytes / 1e9, options=dict(options)
        )


def _node_counts(least: int, most: int) -> set[int]:
    """Take the fewest nodes that hold the data and, above, sizes that all types share, so that they plan together."""
    shared = np.geomspace(1, most, _NODE_COUNTS).round().astype(int).tolist()
    return {least} | {count for count in shared if count > least}


def _by_equations(
    free: Request, jobs: Sequence[Job], plan_again: Callable[[Request], Plan]
) -> dict[tuple[str, int], Candidate]:
    """Return each job's cluster as the equations have it; one call answers for all types of a size."""
    names = tuple(sorted({job.instance_type for job in jobs}))
    sizes = sorted({job.nodes for job in jobs})
    plans = (plan_again(replace(free, nodes=nodes, instances=names, top=len(names))) for nodes in sizes)
    return {(candidate.instance_type, candidate.nodes): candidate for plan in plans for candidate in plan.candidates}


def _timed(candidate: Candidate, median_s: float, high_s: float) -> Candidate:
    """Put the profile's time in place of the equations', which stays visible as `equation`."""
    old = candidate.time_s
    energy = candidate.energy_j
    return replace(
        candidate,
        energy_j=None if energy is None or not old.expected else energy * median_s / old.expected,
        time_s=Range(equation=old.equation, expected=median_s, p50=median_s, p95=high_s),
        cost_usd=_cost(candidate, median_s=median_s, high_s=high_s),
        bill=retimed(candidate, job_s=median_s),
        warnings=(*candidate.warnings, "time and range: from the profile; the phases are the equations'"),
    )


def _cost(candidate: Candidate, *, median_s: float, high_s: float) -> Cost:
    """Price the profile's times at the equations' rate; requests and charges do not depend on time."""
    old = candidate.cost_usd
    equation_s = candidate.time_s.equation
    per_s = (old.equation - old.requests) / equation_s if equation_s else 0.0
    totals = [math.fsum(line.usd or 0.0 for line in retimed(candidate, job_s=s)) for s in (median_s, high_s)]
    return Cost(
        equation=old.equation,
        expected=per_s * median_s + old.requests,
        p50=per_s * median_s + old.requests,
        p95=per_s * high_s + old.requests,
        total=totals[0],
        total_p95=totals[1],
        requests=old.requests,
        unknown=old.unknown,
    )


def _meets(candidate: Candidate, request: Request) -> bool:
    late = request.deadline_s is not None and candidate.time_s.p95 > request.deadline_s
    dear = request.budget_usd is not None and candidate.cost_usd.total_p95 > request.budget_usd
    return not (late or dear)


def _rejection(tried: Sequence[Candidate], name: str, request: Request) -> Rejection:
    fastest = min(
        (candidate for candidate in tried if candidate.instance_type == name),
        key=lambda candidate: candidate.time_s.p95,
    )
    deadline = request.deadline_s or fastest.time_s.p95
    return Rejection(
        instance_type=name,
        reason="misses the deadline or the budget at the upper end of the profile's range",
        detail=f"{fastest.nodes} nodes take up to {format_duration(fastest.time_s.p95)}",
        nearness=fastest.time_s.p95 / deadline,
    )
