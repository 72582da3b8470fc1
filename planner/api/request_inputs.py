"""Loaded inputs of a request: models, catalogs and overheads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner.catalog import Catalog, load_catalog
from planner.catalog.loading import require_clouds
from planner.config.paths import model_names
from planner.config.user_tables import price_sheet
from planner.cost_model import run_overheads
from planner.cost_model.model import CostModel
from planner.cost_model.model_reader import load_engine, load_model
from planner.cost_model.run_overheads import RunOverheads
from planner.errors import BadInputError
from planner.planning.request.job_context import cloud_of, is_in_store
from planner.planning.request.request_checks import run_by_engine
from planner.schemas.plan import ALL_MODELS, Plan, Request
from planner.schemas.request_forms import clouds, name_list

if TYPE_CHECKING:
    from planner.calibration import Profile
    from planner.simulation.result import Simulation


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Models, catalogs and overheads that a request is planned with."""

    models: list[CostModel]
    catalogs: list[Catalog]
    overheads: RunOverheads


_SHEETS: Final = (".csv", ".tsv")
"""Names of files of prices."""
SIDE_BY_SIDE: Final = "daytona,indy,object-store"
"""Default models if input and output are in object stores and none is named: a store replicates data, so that it can be
the shuffle's path or be staged, and one copy on the nodes is enough.
"""


def with_derived_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a request with derived ones: the input is listed if no size is given, machines are rented
    in the bucket's region, and several models are compared between object stores.

    Raises BadInputError if a cloud is unknown or the input does not exist, IoFailureError if it cannot be reached.
    """
    full = dict(arguments)
    require_clouds(clouds(name_list(full.get("cloud"))))
    for name in ("input", "output"):
        if (path := full.get(name)) and "://" not in str(path) and Path(path).exists():
            full[name] = Path(path).resolve().as_uri()
    if full.get("data") is None and full.get("data_bytes") is None and full.get("input") and not full.get("most_data"):
        full |= _listed(str(full["input"]), full)
    full |= price_sheets(full)
    if not full.get("model") and all(is_in_store(full.get(name)) for name in ("input", "output")):
        full["model"] = SIDE_BY_SIDE
    return full


def price_sheets(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the prices in files that `own_price` names, and what else it says. Raises BadInputError."""
    given = arguments.get("own_price") or ()
    texts = [given] if isinstance(given, str) else given
    files = [] if isinstance(texts, Mapping) else [text for text in texts if text.endswith(_SHEETS)]
    if not files:
        return {}
    if arguments.get("pricing") in ("spot", ["spot"], ("spot",)):
        text = "`own_price` does not go with `pricing=spot`: leave out one of them"
        raise BadInputError(text, field="own_price", code="contradiction")
    sheets = [price for file in files for price in price_sheet(Path(file))]
    rest = [text for text in texts if text not in files]
    return {"own_price": rest, "own_prices": (*(arguments.get("own_prices") or ()), *sheets)}


def _listed(address: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    from planner.api.listed_input import list_input

    found = list_input(address, format=arguments.get("format"))
    said: dict[str, Any] = {"format": found.format, "compression": found.compression}
    said |= {"files": found.files, "input_region": found.region}
    rest = {name: value for name, value in said.items() if value is not None and arguments.get(name) is None}
    return {"data": f"{found.stored_bytes}B", **rest}


def clouds_of_data(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the cloud to plan for if none is named: the input's, else the output's, if it has the requested types;
    else the default.
    """
    cloud = cloud_of(fields.get("input")) or cloud_of(fields.get("output"))
    if not cloud or cloud in Request.catalogs:
        return Request.catalogs
    arguments: Sequence[str] = fields.get("instances") or ()
    names = load_catalog(cloud).instances.cloud_type.tolist() if arguments else []
    has_all = all(any(fnmatchcase(name, pattern.partition("+")[0]) for name in names) for pattern in arguments)
    return (cloud,) if has_all else Request.catalogs


def in_regions_of_data(request: Request) -> Request:
    """Return the request in the bucket's region, and in each other cloud's default, unless it gives a region."""
    cloud, region = cloud_of(request.input), request.input_region
    if request.regions or not region or cloud not in request.catalogs:
        return request
    others = [f"{name}={load_catalog(name).default_region}" for name in request.catalogs if name != cloud]
    return replace(request, regions=(f"{cloud}={region}", *others) if others else (region,))


def inputs_of(
    request: Request, profile: Profile | None = None, *, compiled_for: frozenset[str] = frozenset()
) -> tuple[Request, Inputs]:
    """Return the inputs that a request names, and the request as its engine runs it; a `profile` supplies the constants
    of models of a framework, `compiled_for` are the processors without a wheel of the sort core. Raises BadInputError
    for unknown names.
    """
    catalogs = [load_catalog(name) for name in request.catalogs]
    models = [load_model(name) for name in (model_names() if request.model == ALL_MODELS else request.models)]
    if profile is not None:
        from planner.planning.candidates.calibrated_model import with_profile

        models = [with_profile(model, profile) for model in models]
    elif not request.paper:  # a profile describes other software
        request, models = run_by_engine(request, models, load_engine(request.engine))
    overheads = run_overheads.PAPER if request.paper else run_overheads.shipped()
    overheads = replace(overheads, compiled_for=compiled_for)
    return request, Inputs(models=list(models), catalogs=catalogs, overheads=overheads)


def simulated(
    plan: Plan, *, profile: str | None, draws: int, seed: int, lose: str | None = None, slow: str | None = None
) -> Simulation:
    """Return the simulation of a plan's recommended cluster, drawn `draws` times, with tasks and flows instead of
    equations; `lose` gives nodes to lose and when: `node@30%`, `5@30%`; `slow` gives how many are how much slower:
    `10%@2`, `network:1@3`.

    Raises InfeasibleError without a cluster, BadInputError for a plan made with a profile, and for invalid losses or
    slow nodes.

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
        raise BadInputError(
            "a profile has the times of a framework, not its tasks: simulate a plan without --profile",
            code="profile-not-simulated",
        )
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
