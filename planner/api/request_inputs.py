"""What a request is planned with: the models, catalogs and overheads that it names, loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.catalog import Catalog, load_catalog
from planner.config.paths import model_names
from planner.cost_model import run_overheads
from planner.cost_model.model import CostModel
from planner.cost_model.model_reader import load_engine, load_model
from planner.cost_model.run_overheads import RunOverheads
from planner.errors import BadInputError
from planner.planning.request.request_checks import run_by_engine
from planner.schemas.plan import ALL_MODELS, Plan, Request

if TYPE_CHECKING:
    from planner.calibration import Profile
    from planner.simulation.result import Simulation


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What a request is planned with."""

    models: list[CostModel]
    catalogs: list[Catalog]
    overheads: RunOverheads


def inputs_of(request: Request, profile: Profile | None = None) -> tuple[Request, Inputs]:
    """Return what a request names, and the request as its engine carries it out; a `profile` supplies the constants of
    models that describe a framework. Raises BadInputError for unknown names.
    """
    catalogs = [load_catalog(name) for name in request.catalogs]
    models = [load_model(name) for name in (model_names() if request.model == ALL_MODELS else (request.model,))]
    if profile is not None:
        from planner.planning.candidates.calibrated_model import with_profile

        models = [with_profile(model, profile) for model in models]
    elif not request.paper:  # a profile is of software of its own
        request, models = run_by_engine(request, models, load_engine(request.engine))
    overheads = run_overheads.PAPER if request.paper else run_overheads.shipped()
    return request, Inputs(models=list(models), catalogs=catalogs, overheads=overheads)


def simulated(
    plan: Plan, *, profile: str | None, draws: int, seed: int, lose: str | None = None, slow: str | None = None
) -> Simulation:
    """Return the simulation of a plan's recommended cluster, drawn `draws` times: tasks and flows instead of equations;
    `lose` says which nodes are lost when: `node@30%`, `5@30%`; `slow` how many take how much longer: `10%@2`,
    `network:1@3`.

    Raises InfeasibleError where there is no cluster, BadInputError for a plan that was made with a profile, and for
    losses or slow nodes that cannot be.

    >>> import planner
    >>> simulation = planner.recommend("1TB", instance="i4i.4xlarge", nodes=8).simulate(draws=3)
    >>> simulation.p50_s <= simulation.p95_s, simulation.phases[0].name
    (True, 'map and shuffle')
    """
    from planner.planning.recommendation import require_best
    from planner.simulation.losses import Loss
    from planner.simulation.machines import Slow
    from planner.simulation.simulate import simulate_plan

    best = require_best(plan)
    if profile is not None:
        raise BadInputError("a profile has the times of a framework, not its tasks: simulate a plan without --profile")
    request, given = inputs_of(plan.request)
    return simulate_plan(
        request,
        best,
        models=given.models,
        catalogs=given.catalogs,
        overheads=given.overheads,
        draws=draws,
        seed=seed,
        loss=None if lose is None else Loss.parse(lose),
        slow=None if slow is None else Slow.parse(slow),
    )
