"""The user's own cluster: its time, its bottleneck, and the gain from more of its machines."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from planner.errors import BadInputError
from planner.planning.candidates.feasibility import nodes_needed
from planner.planning.request.filters import UNASKED
from planner.schemas.machine_lists import MachineList
from planner.schemas.plan import Candidate, NodeLimit, Plan, Request
from planner.units import parse_count

_STEP: Final = 1.5
"""Factor from one number of machines considered to the next."""

_WORTH_IT: Final = 0.95
"""More machines help if a step leaves at most this share of the whole run."""

_MOST_STEPS: Final = 12
_MOST_NODES: Final = 20_000

_EXAMPLE: Final = "'20 x m5d.12xlarge'"


@dataclass(frozen=True, kw_only=True)
class OwnMachines:
    """A number of machines of one type."""

    nodes: int
    instance_type: str

    @classmethod
    def parse(cls, text: str) -> OwnMachines:
        """Read `20 x m5d.12xlarge` or `m5d.12xlarge x 20`. Raises BadInputError for anything else."""
        match = re.fullmatch(
            r"(?P<first>\d[\d,\s]*?)\s*[x*×]\s*(?P<name>\S+)|(?P<type>\S+)\s+[x*×]\s*(?P<last>[\d,]+)", text.strip()
        )
        if match is None and len(re.split(r"[,;+]\s*(?=\S+\s+x\s)|\n", text.strip())) > 1:
            raise BadInputError(
                f"--own {text}: a cluster has one type of machine; ask about each group alone", code="several-types"
            )
        if match is None:
            raise BadInputError(
                f"--own {text}: write it as {_EXAMPLE}",
                [
                    "how many machines of which type; or name a file that lists them",
                    "machines of your own design: `planner catalog new mine --machines 20 ...` makes a type of them",
                ],
                code="malformed",
            )
        try:
            nodes = parse_count(match["first"] or match["last"])
        except BadInputError:
            raise BadInputError(
                f"--own {text}: name one number of machines; the answer shows larger ones beside it",
                code="several-counts",
            ) from None
        if not 1 <= nodes <= _MOST_NODES:
            raise BadInputError(f"--own {text}: from 1 to {_MOST_NODES} machines", code="out-of-range")
        return cls(nodes=nodes, instance_type=match["name"] or match["type"])

    def __str__(self) -> str:
        return f"{self.nodes} x {self.instance_type}"


@dataclass(frozen=True, kw_only=True)
class OwnCluster:
    """Answer about the user's own machines. `cluster` is None if they cannot do the job, for the `reason`;
    `nodes_needed` is then how many could, if more of them can.

    `sizes` are clusters of the same machines in rising numbers, from those there are, or needed, up to `helps_up_to`,
    the last that helps: each makes the whole run at least 5% shorter for half more machines. The bill is that of rented
    machines; for owned ones only `cost_usd.charges` of it apply. `recommended` is the cluster the plan would rent, and
    `listed` what a file contains about the machines.
    """

    machines: OwnMachines
    recommended: Candidate | None
    cluster: Candidate | None = None
    reason: str = ""
    nodes_needed: int | None = None
    sizes: tuple[Candidate, ...] = ()
    listed: MachineList | None = None

    def keeps_to(self, request: Request) -> bool:
        """Return whether the machines do the job within the request's deadlines; rent does not concern them."""
        of = self.cluster
        return of is not None and all(
            limit_s is None or time_s <= limit_s
            for limit_s, time_s in ((request.deadline_s, of.whole_run_s), (request.sort_deadline_s, of.time_s.expected))
        )

    @property
    def helps_up_to(self) -> int | None:
        """Largest number of machines up to which more help; None if no number does the job."""
        best = None
        for smaller, larger in zip(self.sizes, self.sizes[1:], strict=False):
            if larger.whole_run_s > smaller.whole_run_s * _WORTH_IT:
                return smaller.nodes
            best = larger.nodes
        return best if best else (self.sizes[0].nodes if self.sizes else None)


def own_cluster(
    machines: OwnMachines, plan: Plan, *, catalogs: Sequence[str], plan_again: Callable[[Request], Plan]
) -> OwnCluster:
    """Return the answer about the user's machines for the job of a plan; `catalogs` are those with their type."""

    def of_size(nodes: int) -> Plan:
        return plan_again(_free(plan.request, machines, catalogs, nodes=nodes))

    own_plan = of_size(machines.nodes)
    if own_plan.best is None:
        return _too_few(machines, plan, own_plan, of_size)
    sizes = _sizes(own_plan.best, of_size)
    return OwnCluster(machines=machines, recommended=plan.best, cluster=own_plan.best, sizes=tuple(sizes))


def _free(request: Request, machines: OwnMachines, catalogs: Sequence[str], *, nodes: int) -> Request:
    """Return the request for the given machines, without the options that choose or limit those to rent."""
    return replace(
        request,
        catalogs=tuple(catalogs),
        instances=(machines.instance_type,),
        exclude=(),
        arch=None,
        min_memory_bytes=None,
        evidence="any",
        nodes=nodes,
        max_nodes=Request.max_nodes,
        max_vcpus=None,
        node_limits=(NodeLimit(nodes=10**9),),  # in place of what their catalog says
        deadline_s=None,
        sort_deadline_s=None,
        confidence=None,
        budget_usd=None,
        top=1,
    )


def _too_few(machines: OwnMachines, plan: Plan, own_plan: Plan, of_size: Callable[[int], Plan]) -> OwnCluster:
    """Return the answer about machines that cannot do the job, with how many could."""
    few = {nodes: r.detail for r in own_plan.rejected if (nodes := nodes_needed(r, own_plan.request))}
    of_type = (r for r in own_plan.rejected if not r.reason.startswith(UNASKED))
    other = (f"{r.reason} ({r.detail})" if r.detail else r.reason for r in of_type)
    reason = next(iter(few.values()), "") or next(other, "")  # the reason for too few names an option not given
    refused = OwnCluster(machines=machines, recommended=plan.best, reason=reason)
    least = min(few, default=_MOST_NODES + 1)
    enough = of_size(least).best if least <= _MOST_NODES else None
    if enough is None:
        return refused
    return replace(refused, nodes_needed=least, sizes=tuple(_sizes(enough, of_size)))


def _sizes(first: Candidate, of_size: Callable[[int], Plan]) -> list[Candidate]:
    """Return clusters, each half as large again as the one before, at least three, until the next hardly helps."""
    sizes = [first]
    for step in range(1, _MOST_STEPS):
        nodes = math.ceil(first.nodes * _STEP**step - 1e-9)
        larger = of_size(nodes).best if nodes <= _MOST_NODES else None
        if larger is None:
            break
        sizes.append(larger)
        if step > 1 and larger.whole_run_s > sizes[-2].whole_run_s * _WORTH_IT:
            break
    return sizes
