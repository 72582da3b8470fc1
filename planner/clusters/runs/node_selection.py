"""Selection of the working nodes by their measurements, and the new plan for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from planner.catalog import load_catalog
from planner.clusters.runs.node_benchmarks import NodeRates
from planner.cost_model import run_overheads
from planner.cost_model.model import on_a_cluster, run_by
from planner.cost_model.model_reader import load_engine, load_model
from planner.errors import PlannerError
from planner.planning.ranking.selection import narrowed
from planner.planning.recommendation import recommend, require_best
from planner.schemas.plan import Candidate, Plan, Request
from planner.statistics.slow_node_screening import Screening

_HEAD_WORKS_AMONG: Final = 64
"""Up to this many nodes, the head works, too; assumed."""


@dataclass(frozen=True, kw_only=True)
class NodeSelection:
    """The working machines, fastest first; `plan` is made for them at the rates of the slowest."""

    working: tuple[str, ...]
    screening: Screening
    plan: Plan

    @property
    def idle(self) -> tuple[str, ...]:
        """Machines that were measured but do not work."""
        measured = [*self.screening.kept, *(drop.node for drop in self.screening.dropped)]
        return tuple(name for name in measured if name not in self.working)


def select_nodes(rates: NodeRates, candidate: Candidate, request: Request, *, head: str = "") -> NodeSelection:
    """Return the working nodes of a cluster planned as `candidate`.

    These are the fastest `candidate.nodes` that pass the screening. If fewer pass, they work alone or together with the
    best of the slow ones, whichever is planned to finish first. Each copy of the output needs its own node. The `head`
    of a large cluster is busy without tasks: it works only where it is needed.

    Raises InfeasibleError when neither choice can hold the data.
    """
    screening = rates.screen()
    planned = candidate.nodes
    usable = [drop for drop in screening.dropped if drop.node not in rates.failed and drop.rate_per_s > 0]
    slow = [drop.node for drop in sorted(usable, key=lambda drop: -drop.share)]
    others = tuple(name for name in screening.kept if name != head)
    options = [(others if planned > _HEAD_WORKS_AMONG and len(others) >= planned else screening.kept)[:planned]]
    if len(options[0]) < planned and slow:
        options.append((*screening.kept, *slow)[:planned])
    options = [nodes for nodes in options if len(nodes) >= load_model(candidate.model).output_copies] or options[-1:]
    plans: list[tuple[Plan, tuple[str, ...]]] = []
    refusal: PlannerError | None = None
    for nodes in options:
        try:
            plans.append((plan_for(nodes, rates, candidate, request), nodes))
        except PlannerError as error:
            refusal = error
    if not plans and refusal is not None:
        raise refusal
    plan, nodes = min(plans, key=lambda option: require_best(option[0]).time_s.expected)
    return NodeSelection(working=nodes, screening=screening, plan=plan)


def plan_for(nodes: Sequence[str], rates: NodeRates, candidate: Candidate, request: Request) -> Plan:
    """Plan the same job for exactly these nodes, at the rates of the slowest. Raises InfeasibleError."""
    medium = "volume" if candidate.volumes else "local"
    slowest = {
        "network": rates.slowest("network", nodes),
        f"{medium}_read": rates.slowest("disk_read", nodes),
        f"{medium}_write": rates.slowest("disk_write", nodes),
    }
    measured = {name: rate for name, rate in slowest.items() if rate is not None}
    again = replace(narrowed(request, candidate, nodes=len(nodes)).assuming(measured), network_distribution=None)
    overheads = replace(run_overheads.shipped(), node_sigma={})  # the slowest of these nodes is known
    model = run_by(on_a_cluster(load_model(candidate.model)), load_engine(request.engine))
    catalogs = [load_catalog(candidate.cloud)]
    plan = recommend(again, model=model, catalogs=catalogs, overheads=overheads)
    require_best(plan)
    return replace(plan, rejected=())
