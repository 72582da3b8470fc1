"""Questions about a machine type: why a plan does not recommend it, and how long one's own machines take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planner.api.request_inputs import inputs_of
from planner.catalog import Catalog, load_catalog
from planner.config.user_machines import listed_machines
from planner.planning.candidates.candidate_grid import CandidateGrid, build_grid
from planner.planning.request.region import Region
from planner.planning.what_if.first_choice import factors
from planner.planning.what_if.own_cluster import OwnCluster, OwnMachines, own_cluster
from planner.planning.what_if.why_not import TypeQuestions, WhyNot, require_type, type_names
from planner.schemas.machine_lists import MachineList
from planner.schemas.plan import ALL_MODELS, Candidate, Plan, Request
from planner.schemas.request_forms import CLOUDS


def why_not(
    plan: Plan,
    name: str,
    *,
    plan_again: Callable[[Request], Plan],
    brief_plan: Callable[[Request], Plan],
    with_profile: bool = False,
) -> WhyNot:
    """Return why a type is not recommended. If times come from a profile, which has no rates to change, the answer has
    the price at which the type would be recommended, and not the resources. Raises BadInputError for a type in none of
    the plan's catalogs.
    """
    catalogs = _catalogs(plan)
    require_type(name, catalogs, option="--why-not", others=lambda: _others(plan))

    def factors_of(cluster: Candidate) -> dict[str, float]:
        return {} if with_profile else factors(plan, cluster, _grid(plan.request, cluster))

    questions = TypeQuestions(
        plan=plan, catalogs=catalogs, plan_again=plan_again, brief_plan=brief_plan, factors=factors_of
    )
    return questions.why_not(name)


def own(plan: Plan, machines: str | MachineList, *, plan_again: Callable[[Request], Plan]) -> OwnCluster:
    """Return how long one's own machines take: `20 x m5d.12xlarge`, a file that lists them, or a list read from one.
    Raises BadInputError for an unreadable list, and for a type in none of the plan's catalogs.
    """
    listed = listed_machines(machines, option="--own") if isinstance(machines, str) else machines
    if listed is None:
        asked = OwnMachines.parse(str(machines))
    else:
        asked = OwnMachines(nodes=listed.nodes, instance_type=listed.instance_type)
    catalogs = _catalogs(plan)
    require_type(asked.instance_type, catalogs, option="--own", others=lambda: _others(plan))
    named = zip(plan.request.catalogs, catalogs, strict=True)
    having = [name for name, catalog in named if asked.instance_type in type_names(catalog)]
    return replace(own_cluster(asked, plan, catalogs=having, plan_again=plan_again), listed=listed)


def _catalogs(plan: Plan) -> list[Catalog]:
    return [load_catalog(name) for name in plan.request.catalogs]


def _others(plan: Plan) -> list[Catalog]:
    return [load_catalog(name) for name in CLOUDS if name not in plan.request.catalogs]


def _grid(request: Request, cluster: Candidate) -> CandidateGrid:
    """Return every size of a cluster's type, in its region and under its model, as estimated."""
    model = cluster.model if request.model == ALL_MODELS else request.model
    alone = replace(request, model=model, instances=(cluster.instance_type,), exclude=(), pricing=cluster.pricing)
    alone, given = inputs_of(alone)
    catalog = next(catalog for catalog in given.catalogs if catalog.cloud == cluster.cloud)
    region = Region.of(alone, catalog, cluster.region)
    return build_grid(alone, model=given.models[0], region=region, overheads=given.overheads)[0]
