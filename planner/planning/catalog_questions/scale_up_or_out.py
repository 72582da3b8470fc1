"""Scale-up against scale-out: the same job on few large nodes, on many small ones of the same family, and on one.

Lee & Fox (section I, Figure 1) compare clusters with about the same number of processors in nodes of different size;
SoCC 2015 (section 2) asks which side the cloud's prices favour. Here each size of a family is planned three times: with
the recommended cluster's total of virtual CPUs, with its own best number of nodes, and as one node.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from planner.schemas.plan import Candidate, Plan, Request


@dataclass(frozen=True, kw_only=True)
class Size:
    """One instance type: as a cluster of equal vCPUs (`equal`), at its own best (`best`), alone (`single`).

    An infeasible cluster is None, with the reason in `reasons` under the same name.
    """

    instance_type: str
    vcpu: float
    equal: Candidate | None
    best: Candidate | None
    single: Candidate | None
    reasons: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """The sizes of a family, the largest first; `vcpus` is the total of the equal clusters."""

    vcpus: float
    sizes: tuple[Size, ...]

    @property
    def verdict(self) -> str:
        """Result of the equal clusters: whether few large or many small nodes cost less, the cost in time, and the
        cheapest size of all.
        """
        feasible = [size.equal for size in self.sizes if size.equal]
        if len(feasible) < 2:
            return "fewer than two sizes can do the job with so many processors: nothing to compare"
        large, small = feasible[0], feasible[-1]
        dearer = large.cost_usd.total / small.cost_usd.total - 1
        slower = large.time_s.expected / small.time_s.expected - 1
        if abs(dearer) < 0.01 and abs(slower) < 0.01:
            return "large and small nodes do the job alike"
        least = min(feasible, key=lambda cluster: cluster.cost_usd.total)
        return (
            f"{large.nodes} x {large.instance_type} cost {abs(dearer):.0%} {'more' if dearer > 0 else 'less'} and take "
            f"{abs(slower):.0%} {'longer' if slower > 0 else 'less time'} than {small.nodes} x {small.instance_type}; "
            f"{least.nodes} x {least.instance_type} cost least"
        )


def scale(request: Request, *, vcpus: Mapping[str, float], plan_of: Callable[[Request], Plan]) -> Scaling:
    """Plan `request`, whose `instances` name the family, on every type of `vcpus` (virtual CPUs by type)."""
    whole = plan_of(replace(request, instances=tuple(vcpus), nodes=None))
    total = whole.best.nodes * vcpus[whole.best.instance_type] if whole.best else max(vcpus.values())
    order = sorted(vcpus, key=lambda name: (-vcpus[name], name))
    return Scaling(vcpus=total, sizes=tuple(_size(request, name, vcpus[name], total, plan_of) for name in order))


def plans_of(types: int) -> int:
    """Return how many plans a comparison of `types` types makes."""
    return 1 + len(_counts(vcpu=1, total=1)) * types


def _counts(*, vcpu: float, total: float) -> dict[str, int | None]:
    return {"equal": max(1, math.ceil(total / vcpu - 1e-9)), "best": None, "single": 1}


def _size(request: Request, name: str, vcpu: float, total: float, plan_of: Callable[[Request], Plan]) -> Size:
    plans = {
        shape: plan_of(
            replace(
                request, instances=(name,), nodes=count, max_nodes=Request.max_nodes if count else request.max_nodes
            )
        )
        for shape, count in _counts(vcpu=vcpu, total=total).items()
    }
    reasons = {shape: _reason(plan) for shape, plan in plans.items() if plan.best is None}
    clusters = {shape: plan.best for shape, plan in plans.items()}
    return Size(instance_type=name, vcpu=vcpu, reasons=reasons, **clusters)


def _reason(plan: Plan) -> str:
    for rejection in plan.rejected:
        if not rejection.reason.startswith(("not asked", "excluded")):
            reason = re.sub(r" within --(max-)?nodes \d+", "", rejection.reason)  # not an option of the user's
            return reason + (f" ({rejection.detail})" if rejection.detail else "")
    return "not asked for"
