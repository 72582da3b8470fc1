"""Constraints of a request besides holding the data: deadline, budget, quota; and clashes between them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

import numpy as np

from planner.arrays import Flags, Floats, Rows
from planner.catalog import Catalog
from planner.cost_model.estimate import Estimates
from planner.cost_model.prices import paid_nodes
from planner.cost_model.staging import overheads_s
from planner.cost_model.workload import JobContext
from planner.planning.request.filters import weak_network
from planner.schemas.plan import NodeLimit, Rejection, Request
from planner.statistics.taught_times import KEPT
from planner.units import count_text, format_duration, format_usd


@dataclass(frozen=True, kw_only=True, eq=False)
class Constraint:
    """One constraint: `measure` (R, N) may be at most `limit`. `reason` states it, `shown` is the form of a measure."""

    name: str
    reason: str
    measure: Floats
    limit: float
    shown: str

    def within(self, share: float) -> Flags:
        """Return the clusters with at most `share` of its limit: 1 for those that meet it."""
        return self.measure <= share * self.limit

    def show(self, amount: float) -> str:
        """Return an amount of the measure in words."""
        if self.name == "capacity":
            return f"{self.shown} {amount:.3g} times as many nodes as there are"
        if self.name == "evidence":
            return self.shown
        if self.name == "quota":
            return f"{self.shown} {amount:.0f} vCPUs"
        if self.name == RESTARTS:
            return f"{self.shown} {amount:,.3g} times"
        size = format_duration(amount) if "deadline" in self.name else format_usd(amount)
        return f"{self.shown} {size}{_OF_WHAT.get(self.name, '')}"

    @property
    def asked(self) -> str:
        """The option with its limit, or the name if no option sets one."""
        return self.option(self.limit) if self.name in _OPTIONS else f"the {self.name}"

    def excess(self, amount: float) -> str:
        """Return by how much an amount is too large if it looks equal to the limit, else ''."""
        alike = self.name != "evidence" and self.show(amount) == self.show(self.limit)
        return f", {100 * (amount / self.limit - 1):.2g}% too much" if alike else ""

    def option(self, amount: float) -> str:
        """Return the option that allows an amount, rounded up; '' if no option sets one."""
        if self.name == RESTARTS:
            return "--pricing on-demand"
        return f"{_OPTIONS[self.name]} {_rounded_up(self.name, amount)}" if self.name in _OPTIONS else ""


MACHINES: Final = "number of machines"
RESTARTS: Final = "limit on restarts"
_MOST_BEGUN: Final = 100.0
"""Most begins, on average, of a job that is planned: of such jobs hardly one in a hundred ends at the first attempt."""

_OF_WHAT: Final = {"deadline": " in all", "budget": " in 95 of 100 runs"}
_OPTIONS: Final = {
    "deadline": "--deadline",
    "sort's deadline": "--sort-deadline",
    "budget": "--budget",
    "quota": "--max-vcpus",
}


def _rounded_up(name: str, amount: float) -> str:
    """Return an amount in an option's form: whole vCPUs, cents and seconds, small amounts to three figures."""
    unit = 10.0 ** (math.floor(math.log10(amount)) - 2) if amount > 0 else 1.0
    if name == "quota":
        return f"{math.ceil(amount)}"
    if name == "budget":
        return f"{math.ceil(amount * 100) / 100:.2f}" if amount >= 1 else f"{math.ceil(amount / unit) * unit:.3g}"
    return f"{math.ceil(amount)}s" if amount >= 100 else f"{math.ceil(amount / unit) * unit:.3g}s"


def constraints(context: JobContext, estimates: Estimates, request: Request, *, region: str) -> list[Constraint]:
    """Return the constraints of `request`, measured on every cluster of a region."""
    return [
        *_deadlines(context, estimates, request),
        *_budget(estimates, request),
        *_quota(context, estimates, request),
        *_capacity(context, estimates, request, region=region),
        *_evidence(context, estimates, request),
        *_restarts(context, estimates),
    ]


def sureness(context: JobContext, request: Request) -> float | None:
    """Return the probability with which a job keeps to its deadline; None for in expectation. Of times that real runs
    teach it is the upper end of their range.
    """
    return request.confidence or (None if context.known is None else KEPT)


def _deadlines(context: JobContext, estimates: Estimates, request: Request) -> Iterator[Constraint]:
    sure = sureness(context, request)
    sort_s = estimates.expected_s if sure is None else estimates.quantile_s(sure)
    kept = f" with probability {request.confidence:g}" if request.confidence else ""
    if context.known is not None and not request.confidence:
        kept = " at the upper end of the profile's range"
    if request.deadline_s is not None:
        yield Constraint(
            name="deadline",
            reason=f"misses the deadline of {format_duration(request.deadline_s)}{kept}",
            measure=sort_s + overheads_s(context, estimates.nodes),
            limit=request.deadline_s,
            shown="takes",
        )
    if request.sort_deadline_s is not None:
        yield Constraint(
            name="sort's deadline",
            reason=f"misses the sort's deadline of {format_duration(request.sort_deadline_s)}{kept}",
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
            shown="costs up to",
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
    machines = context.catalog.instances.machines
    if request.node_limits or np.isfinite(machines).any():
        limits = most_nodes(request.node_limits, context.catalog, region=region)
        most = np.where(np.isinf(limits) & np.isfinite(machines), machines, limits)[context.layouts.type_row]
        yield Constraint(
            name="capacity",
            reason="needs more nodes than there are to be had",
            measure=_where_possible(estimates, _launched(context, estimates) / most[:, None]),
            limit=1.0,
            shown="launches",
        )


def _evidence(context: JobContext, estimates: Estimates, request: Request) -> Iterator[Constraint]:
    """Yield the constraint on network evidence: a doubtful network rules out clusters, but not a single node."""
    if request.evidence != "any" and request.nodes is None:
        weak = weak_network(context, request.evidence)[:, None] & (estimates.nodes > 1)
        yield Constraint(
            name="evidence",
            reason=f"rests on weaker evidence than --set evidence={request.evidence}",
            measure=_where_possible(estimates, np.where(weak, 2.0, 1.0)),
            limit=1.0,
            shown="network: not measured" if request.evidence == "measured" else "network: neither stated nor measured",
        )


def _restarts(context: JobContext, estimates: Estimates) -> Iterator[Constraint]:
    """Yield the constraint on restarts: under some models, losing a spot node restarts the whole job."""
    risk = context.risk
    if risk is not None and risk.recovery != "redo":
        yield Constraint(
            name=RESTARTS,
            reason="begins again too often, as spot nodes are taken back",
            measure=_where_possible(estimates, risk.times_begun(estimates.expected_s, nodes=estimates.nodes)),
            limit=_MOST_BEGUN,
            shown="begins",
        )


def machines(context: JobContext, estimates: Estimates, *, most: float) -> Constraint:
    """Return the constraint on all machines, spares included."""
    launched = np.broadcast_to(_launched(context, estimates), estimates.total_usd.shape)
    reason = f"needs more than {count_text(most, 'machine')}"
    return Constraint(name=MACHINES, reason=reason, measure=launched, limit=most, shown="launches")


def _launched(context: JobContext, estimates: Estimates) -> Floats:
    """Return how many nodes are launched at each cluster size, spares included, shape (N,)."""
    return paid_nodes(estimates.nodes, spare_fraction=context.overheads.spare_fraction)


def _where_possible(estimates: Estimates, measure: Floats) -> Floats:
    return np.where(np.isfinite(estimates.total_usd), measure, np.inf)


def missed(name: str, rows: Rows, asked: Sequence[Constraint]) -> Rejection:
    """Return the rejection of a type, with layouts `rows`, that holds the data but misses one of `asked`."""
    for constraint in asked:
        least = float(constraint.measure[rows].min())
        if least > constraint.limit:
            at_best = "" if constraint.name == "evidence" else " at best"
            detail = f"{constraint.show(least)}{at_best}{constraint.excess(least)}"
            return Rejection(
                instance_type=name, reason=constraint.reason, detail=detail, nearness=least / constraint.limit
            )
    together = " and ".join(f"the {constraint.name}" for constraint in asked)
    measured = (constraint for constraint in asked if constraint.name != "evidence")
    detail = ", ".join(f"{constraint.show(float(constraint.measure[rows].min()))} at best" for constraint in measured)
    return Rejection(instance_type=name, reason=f"meets {together}, but not together", detail=detail, nearness=1.0)


def limit_of(limits: Sequence[NodeLimit], *, cloud: str, region: str, instance_type: str) -> NodeLimit | None:
    """Return the first limit that fits a type; one with added disks (`TYPE+4x375GB`) also matches by its own name."""
    names = {instance_type, instance_type.partition("+")[0]}
    for limit in limits:
        in_place = fnmatchcase(cloud, limit.cloud) and fnmatchcase(region, limit.region)
        if in_place and any(fnmatchcase(name, limit.instance) for name in names):
            return limit
    return None


def most_nodes(limits: Sequence[NodeLimit], catalog: Catalog, *, region: str) -> Floats:
    """Return the most instances of every type, shape (T,): inf without a limit."""
    limits_by_type = (
        limit_of(limits, cloud=catalog.cloud, region=region, instance_type=name)
        for name in catalog.instances.instance_type.tolist()
    )
    return np.array([np.inf if limit is None else float(limit.nodes) for limit in limits_by_type])
