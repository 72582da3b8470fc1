"""What a request is planned with: the models, catalogs and overheads that it names, loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.catalog import Catalog, load_catalog
from planner.config.model_files import model_names
from planner.cost_model import run_overheads
from planner.cost_model.engine_reader import load_engine
from planner.cost_model.model import CostModel
from planner.cost_model.model_reader import load_model
from planner.cost_model.run_overheads import RunOverheads
from planner.planning.request_checks import run_by_engine
from planner.schemas.plan import ALL_MODELS, Request

if TYPE_CHECKING:
    from planner.calibration import Profile


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
        from planner.planning.calibrated_model import with_profile

        models = [with_profile(model, profile) for model in models]
    elif not request.paper:  # a profile is of software of its own
        request, models = run_by_engine(request, models, load_engine(request.engine))
    overheads = run_overheads.PAPER if request.paper else run_overheads.shipped()
    return request, Inputs(models=list(models), catalogs=catalogs, overheads=overheads)
