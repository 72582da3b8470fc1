"""Scale-up against scale-out: the same job on few large and on many small nodes of one family, and on a single one.

Lee & Fox (section I, Figure 1) compare clusters of about as many processors in nodes of different size; SoCC 2015
(section 2) asks which side the cloud's prices favour. Here each size of a family is planned three times: with as many
virtual CPUs in all as the recommended cluster has, with its own best number of nodes, and as one node.
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

    Where a cluster is not feasible it is None, and `reasons` says why under the same name.
    """

    instance_type: str
    vcpu: float
    equal: Candidate | None
    best: Candidate | None
    single: Candidate | None
    reasons: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """The sizes of a family from the largest to the smallest; `vcpus` is what the equal clusters have in all."""

    vcpus: float
    sizes: tuple[Size, ...]

    @property
    def verdict(self) -> str:
        """What equal clusters say: whether few large or many small nodes cost less, what it costs in time, and which
        size is the cheapest of all.
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
    """Return how many plans a comparison of so many types makes."""
    return 1 + len(_counts(vcpu=1, total=1)) * types


def _counts(*, vcpu: float, total: float) -> dict[str, int | None]:
    return {"equal": max(1, math.ceil(total / vcpu - 1e-9)), "best": None, "single": 1}


def _size(request: Request, name: str, vcpu: float, total: float, plan_of: Callable[[Request], Plan]) -> Size:
    plans = {
        shape: plan_of(replace(request, instances=(name,), nodes=count, max_nodes=max(request.max_nodes, count or 1)))
        for shape, count in _counts(vcpu=vcpu, total=total).items()
    }
    reasons = {shape: _reason(plan) for shape, plan in plans.items() if plan.best is None}
    clusters = {shape: plan.best for shape, plan in plans.items()}
    return Size(instance_type=name, vcpu=vcpu, reasons=reasons, **clusters)


def _reason(plan: Plan) -> str:
    for rejection in plan.rejected:
        if not rejection.reason.startswith(("not asked", "excluded")):
            reason = re.sub(r" within --(max-)?nodes \d+", "", rejection.reason)  # that option is not the user's
            return reason + (f" ({rejection.detail})" if rejection.detail else "")
    return "not asked for"
