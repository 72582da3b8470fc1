"""What the request asks of a cluster beyond holding the data: deadline, budget, quota. And which of them clash."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from planner.arrays import Flags, Floats, Rows
from planner.cost_model.estimate import Estimates, later
from planner.cost_model.prices import paid_nodes
from planner.cost_model.staging_steps import around_s
from planner.cost_model.workload import JobContext
from planner.planning.evidence_filter import weak_network
from planner.planning.node_limits import most_nodes
from planner.schemas.plan import Candidate, Rejection, Request
from planner.units import format_duration, format_usd


@dataclass(frozen=True, kw_only=True, eq=False)
class Constraint:
    """One thing asked: `measure` (R, N) may be at most `limit`. `reason` says so, `shown` shows a measure."""

    name: str
    reason: str
    measure: Floats
    limit: float
    shown: str

    @property
    def met(self) -> Flags:
        """Which clusters keep to it."""
        return self.measure <= self.limit

    def show(self, amount: float) -> str:
        """Return an amount of what is measured in words."""
        if self.name == "capacity":
            return f"{self.shown} {amount:.3g} times as many nodes as there are"
        if self.name == "evidence":
            return self.shown
        if self.name == "quota":
            return f"{self.shown} {amount:.0f} vCPUs"
        return f"{self.shown} {format_duration(amount) if 'deadline' in self.name else format_usd(amount)}"


def constraints(context: JobContext, estimates: Estimates, request: Request, *, region: str) -> list[Constraint]:
    """Return what `request` asks, measured on every cluster of a region."""
    return [
        *_deadlines(context, estimates, request),
        *_budget(estimates, request),
        *_quota(context, estimates, request),
        *_capacity(context, estimates, request, region=region),
        *_evidence(context, estimates, request),
    ]


def _deadlines(context: JobContext, estimates: Estimates, request: Request) -> Iterator[Constraint]:
    late = later(request.confidence, shared_sigma=context.overheads.shared_sigma) if request.confidence else 1.0
    sureness = f" with probability {request.confidence:g}" if request.confidence else ""
    sort_s = estimates.expected_s * late
    if request.deadline_s is not None:
        yield Constraint(
            name="deadline",
            reason=f"misses the deadline of {format_duration(request.deadline_s)}{sureness}",
            measure=sort_s + around_s(context, estimates.nodes),
            limit=request.deadline_s,
            shown="takes in all",
        )
    if request.sort_deadline_s is not None:
        yield Constraint(
            name="sort's deadline",
            reason=f"misses the sort's deadline of {format_duration(request.sort_deadline_s)}{sureness}",
            measure=sort_s,
            limit=request.sort_deadline_s,
            shown="takes",
        )


def _budget(estimates: Estimates, request: Request) -> Iterator[Constraint]:
    if request.budget_usd is not None and estimates.total_p95_usd is not None:
        yield Constraint(
            name="budget",
            reason=f"exceeds the budget of {format_usd(request.budget_usd)}",
            measure=estimates.total_p95_usd,
            limit=request.budget_usd,
            shown="costs in all, at 95%,",
        )


def _quota(context: JobContext, estimates: Estimates, request: Request) -> Iterator[Constraint]:
    if request.max_vcpus is not None:
        vcpu = context.catalog.instances.vcpu[context.layouts.type_row]
        yield Constraint(
            name="quota",
            reason=f"exceeds the quota of {request.max_vcpus} vCPUs",
            measure=_where_possible(estimates, vcpu[:, None] * _launched(context, estimates)),
            limit=request.max_vcpus,
            shown="launches",
        )


def _capacity(context: JobContext, estimates: Estimates, request: Request, *, region: str) -> Iterator[Constraint]:
    if request.node_limits:
        most = most_nodes(request.node_limits, context.catalog, region=region)[context.layouts.type_row]
        yield Constraint(
            name="capacity",
            reason="needs more nodes than there are to be had",
            measure=_where_possible(estimates, _launched(context, estimates) / most[:, None]),
            limit=1.0,
            shown="launches",
        )


def _evidence(context: JobContext, estimates: Estimates, request: Request) -> Iterator[Constraint]:
    """A network in doubt rules out clusters, not one node alone."""
    if request.evidence != "any" and request.nodes is None:
        weak = weak_network(context, request.evidence)[:, None] & (estimates.nodes > 1)
        yield Constraint(
            name="evidence",
            reason=f"rests on weaker evidence than --evidence {request.evidence}",
            measure=_where_possible(estimates, np.where(weak, 2.0, 1.0)),
            limit=1.0,
            shown="network: not measured" if request.evidence == "measured" else "network: neither stated nor measured",
        )


def _launched(context: JobContext, estimates: Estimates) -> Floats:
    """Return how many nodes are launched at each cluster size, spares included, shape (N,)."""
    return paid_nodes(estimates.nodes, spare_fraction=context.overheads.spare_fraction)


def _where_possible(estimates: Estimates, measure: Floats) -> Floats:
    return np.where(np.isfinite(estimates.total_usd), measure, np.inf)


def overrun(candidate: Candidate, sort_s: float, request: Request) -> float:
    """Return by what factor a cluster, computed exactly, exceeds the tightest of deadlines and budget; at most 1 meets
    all. `sort_s` is how long its sort takes, as surely as is asked.
    """
    whole_s = sort_s + sum(candidate.overheads_s.values())
    late = whole_s / request.deadline_s if request.deadline_s else 0.0
    sort_late = sort_s / request.sort_deadline_s if request.sort_deadline_s else 0.0
    dear = candidate.cost_usd.total_p95 / request.budget_usd if request.budget_usd else 0.0
    return max(late, sort_late, dear)


def missed(name: str, rows: Rows, asked: Sequence[Constraint]) -> Rejection:
    """Return the rejection of a type, of layouts `rows`, that holds the data but does not keep to all of `asked`."""
    for constraint in asked:
        least = float(constraint.measure[rows].min())
        if least > constraint.limit:
            shown, over = constraint.show(least), least / constraint.limit
            amount = constraint.name != "evidence"
            by = f", {100 * (over - 1):.2g}% too much" if amount and shown == constraint.show(constraint.limit) else ""
            return Rejection(instance_type=name, reason=constraint.reason, detail=shown + by, nearness=over)
    together = " and ".join(f"the {constraint.name}" for constraint in asked)
    measured = (constraint for constraint in asked if constraint.name != "evidence")
    detail = ", ".join(f"{constraint.show(float(constraint.measure[rows].min()))} at least" for constraint in measured)
    return Rejection(instance_type=name, reason=f"meets {together} only apart", detail=detail, nearness=1.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Asked:
    """The constraints of a grid, and what a cluster at a row and a column of it is called: `79 x i8g.8xlarge`."""

    constraints: Sequence[Constraint]
    cluster_name: Callable[[int, int], str]


def conflicts(grids: Sequence[Asked]) -> Iterator[str]:
    """Name what clashes, given the constraints of every grid when no cluster keeps to all: one that no cluster can
    meet, with the cluster that comes nearest, or pairs that can each be met and not together.
    """
    asked = [grid.constraints for grid in grids if grid.constraints]
    names = [constraint.name for constraint in asked[0]] if asked else []
    met = {
        name: any(constraint.met.any() for group in asked for constraint in group if constraint.name == name)
        for name in names
    }
    yield from (text for name in names if not met[name] and (text := _unmet(grids, name)))
    for first, second in combinations([name for name in names if met[name]], 2):
        pairs = [{constraint.name: constraint for constraint in group} for group in asked]
        if not any((pair[first].met & pair[second].met).any() for pair in pairs):
            yield f"the {first} and the {second} clash: {_trade(pairs, first, second)}; {_trade(pairs, second, first)}"


def _unmet(grids: Sequence[Asked], name: str) -> str:
    """Say that no cluster keeps to a constraint, and what the nearest one does; '' where none holds the data."""
    least, nearest = np.inf, ""
    for grid in grids:
        for constraint in grid.constraints:
            if constraint.name == name and constraint.measure.size:
                row, column = np.unravel_index(np.argmin(constraint.measure), constraint.measure.shape)
                measure = float(constraint.measure[row, column])
                if measure < least:
                    least = measure
                    nearest = f"{grid.cluster_name(int(row), int(column))}, {constraint.show(measure)}"
    whole = " (of the whole run; --sort-deadline is for the sort without boot and checks)" if name == "deadline" else ""
    return f"no cluster meets the {name} alone: the nearest, {nearest}{whole}" if nearest else ""


def _trade(grids: Sequence[dict[str, Constraint]], met: str, broken: str) -> str:
    """Say what meeting one of two asks of the other."""
    within = [np.where(group[met].met, group[broken].measure, np.inf).min(initial=np.inf) for group in grids]
    least = grids[0][broken].show(float(min(within)))
    return f"what meets the {met} has {least}" if broken == "evidence" else f"what meets the {met} {least} at least"
