"""Which of the machines that were measured shall work, and what to expect of them: the plan, made again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.catalog import load_catalog
from planner.cost_model import run_overheads
from planner.cost_model.model import load_model, on_a_cluster
from planner.errors import PlannerError
from planner.planning.recommendation import recommend, require_best
from planner.runs.local import copies
from planner.runs.node_benchmarks import NodeRates
from planner.schemas.plan import Candidate, Plan, Request
from planner.statistics.slow_node_screening import Screening


@dataclass(frozen=True, kw_only=True)
class NodeSelection:
    """The machines that work, fastest first; `plan` is made for them with the rates of the slowest of them."""

    working: tuple[str, ...]
    screening: Screening
    plan: Plan

    @property
    def idle(self) -> tuple[str, ...]:
        """Machines that were measured and do not work."""
        measured = [*self.screening.kept, *(drop.node for drop in self.screening.dropped)]
        return tuple(name for name in measured if name not in self.working)


def select_nodes(trials: NodeRates, candidate: Candidate, request: Request) -> NodeSelection:
    """Return the crew for a cluster that was planned as `candidate`.

    The fastest `candidate.nodes` of those that the screening keeps; where it keeps fewer, either these alone or with
    the best of the slow ones, whichever is planned to be done first; each copy of the output has a machine of its own.
    Raises InfeasibleError when neither can hold the
    data.
    """
    screening = trials.screened()
    wanted = candidate.nodes
    able = [drop for drop in screening.dropped if drop.node not in trials.failed and drop.rate_per_s > 0]
    slow = [drop.node for drop in sorted(able, key=lambda drop: -drop.share)]
    crews = [screening.kept[:wanted]]
    if len(crews[0]) < wanted and slow:
        crews.append((*screening.kept, *slow)[:wanted])
    crews = [crew for crew in crews if len(crew) >= copies(load_model(candidate.model))] or crews[-1:]
    plans: list[tuple[Plan, tuple[str, ...]]] = []
    refusal: PlannerError | None = None
    for crew in crews:
        try:
            plans.append((plan_for(crew, trials, candidate, request), crew))
        except PlannerError as error:
            refusal = error
    if not plans and refusal is not None:
        raise refusal
    plan, crew = min(plans, key=lambda each: require_best(each[0]).time_s.expected)
    return NodeSelection(working=crew, screening=screening, plan=plan)


def plan_for(crew: Sequence[str], trials: NodeRates, candidate: Candidate, request: Request) -> Plan:
    """Plan the same job for exactly these machines, at the pace of the slowest. Raises InfeasibleError."""
    medium = "volume" if candidate.volumes else "local"
    slowest = {
        "network": trials.slowest("network", crew),
        f"{medium}_read": trials.slowest("disk_read", crew),
        f"{medium}_write": trials.slowest("disk_write", crew),
    }
    measured = {name: rate for name, rate in slowest.items() if rate is not None}
    again = replace(
        request,
        model=candidate.model,
        catalogs=(candidate.cloud,),
        regions=(candidate.region,),
        instances=(candidate.instance_type,),
        exclude=(),
        nodes=len(crew),
        deadline_s=None,
        budget_usd=None,
        assume=request.assume | measured,
        network_distribution=None,
    )
    here = replace(run_overheads.shipped(), node_sigma={})  # these are the nodes, and the slowest is known
    model, catalogs = on_a_cluster(load_model(candidate.model)), [load_catalog(candidate.cloud)]
    plan = recommend(again, model=model, catalogs=catalogs, overheads=here)
    require_best(plan)
    return replace(plan, rejected=())
