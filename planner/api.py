"""Planning from Python and notebooks: `planner.recommend(...)` and what-ifs on its answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from planner.schemas.plan import (
    ALL_MODELS,
    Candidate,
    FrontierPoint,
    NodeLimit,
    Objective,
    OwnPrice,
    Plan,
    Rejection,
    Request,
    to_jsonable,
)
from planner.units import parse_duration, parse_rate, parse_size

if TYPE_CHECKING:
    import pandas as pd

    from planner.calibration import Profile
    from planner.catalog import Catalog
    from planner.report.reasons import Contrast


@dataclass(frozen=True)
class Recommendation:
    """The answer to `recommend`: a Plan, its candidates as a pandas frame, and what-ifs."""

    plan: Plan

    @property
    def best(self) -> Candidate | None:
        """The cluster to rent; None when nothing is feasible (then `rejected` says why)."""
        return self.plan.best

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The best count of each type, best first."""
        return self.plan.candidates

    @property
    def rejected(self) -> tuple[Rejection, ...]:
        """Every type left out, with its reason."""
        return self.plan.rejected

    @property
    def frontier(self) -> tuple[FrontierPoint, ...]:
        """The clusters that nothing beats in both time and total cost, fastest first."""
        return self.plan.frontier

    def to_frame(self) -> pd.DataFrame:
        """Return the candidates, one row each; nested fields become columns such as `time_s.p95`."""
        import pandas as pd

        rows = [{key: value for key, value in to_jsonable(c).items() if key != "phases"} for c in self.candidates]
        return pd.json_normalize(rows)

    def at_sizes(self, *, points: int = 16) -> list[Candidate]:
        """Return the recommended type at about `points` node counts, evenly spaced in their logarithm, from the fewest
        that hold the data to `max_nodes`; what is not feasible is left out.
        """
        import numpy as np

        if self.best is None:
            return []
        most = max(self.best.nodes, self.plan.request.max_nodes)
        sizes = np.unique(np.geomspace(self.best.nodes_min, most, points).round().astype(int)).tolist()
        found = (answer(self.about(self.best, nodes=nodes)).best for nodes in sizes)
        return [one for one in found if one is not None]

    def sensitivities(self, *, factors: Sequence[float] = (0.5, 2.0)) -> pd.DataFrame:
        """Return time and total cost of the recommended cluster with each resource `factor` times as fast.

        Raises InfeasibleError when nothing was recommended.
        """
        from planner.planning.recommendation import require_best
        from planner.report.frames import sensitivities_frame

        return sensitivities_frame(require_best(self.plan), {factor: self.reliefs(factor) for factor in factors})

    def plot_frontier(self) -> Any:
        """Chart total cost against time: the frontier and the candidates. Charts need the extra `plots`."""
        from planner.report import frames, plots

        return plots.frontier(frames.frontier_frame(self.plan), frames.candidates_frame(self.plan))

    def plot_phases(self) -> Any:
        """Chart what each resource does in each phase, the bottlenecks marked; a menu chooses the candidate."""
        from planner.report import frames, plots

        return plots.phases(frames.phases_frame(self.candidates))

    def plot_ranges(self) -> Any:
        """Chart the time of each candidate from its median to its 95%."""
        from planner.report import frames, plots

        return plots.ranges(frames.candidates_frame(self.plan))

    def plot_sensitivities(self, *, factors: Sequence[float] = (0.5, 2.0)) -> Any:
        """Chart how time and cost move when one resource is slower or faster."""
        from planner.report import plots

        return plots.sensitivities(self.sensitivities(factors=factors))

    def plot_by_nodes(self, *, points: int = 16) -> Any:
        """Chart time against node count for the recommended type, with the range from median to 95%."""
        from planner.report import frames, plots

        return plots.by_nodes(frames.sizes_frame(self.at_sizes(points=points)))

    def to_html(self) -> str:
        """Return the answer as a page that opens without a network: see `plan --html`."""
        from planner.report.page import plan_page

        return plan_page(self)

    def reliefs(self, factor: float = 2.0) -> dict[str, Candidate]:
        """Return what the recommended cluster becomes with each of its resources made `factor` times as fast."""
        best = self.plan.best
        if best is None:
            return {}
        fixed = self.about(best, nodes=best.nodes)
        names = [name for name in ("network", "local", "volumes", "objects", "cpu") if _works(best, name)]
        scales = {name: fixed.scale | {name: fixed.scale.get(name, 1.0) * factor} for name in names}
        made = {name: answer(replace(fixed, scale=scale)).best for name, scale in scales.items()}
        return {name: found for name, found in made.items() if found is not None}

    def contrast(self) -> Contrast:
        """Return what `--explain` and the page compare the recommended cluster with."""
        from planner.report.reasons import Contrast

        best = self.plan.best
        if best is None:
            return Contrast()
        fixed = self.about(best, nodes=best.nodes)
        dearer = fixed.scale | {"price": 2 * fixed.scale.get("price", 1.0)}
        return Contrast(
            reliefs=self.reliefs(2.0),
            burdens=self.reliefs(0.5),
            doubled={
                "data": answer(replace(fixed, data_bytes=2 * fixed.data_bytes)).best,
                "price": answer(replace(fixed, scale=dearer)).best,
            },
            storage_alone=self._storage_alone(best),
        )

    def _storage_alone(self, best: Candidate) -> Plan | None:
        """Return the plan of the type that would be chosen if every network were fast enough; None if it is the same,
        or if the network is as the user says.
        """
        request = self.plan.request
        if "network" in request.assume or request.network_distribution is not None:
            return None
        blind = answer(replace(request, assume=request.assume | {"network": 1e15}, top=1)).best
        if blind is None or blind.instance_type == best.instance_type:
            return None
        own = tuple(name for name in request.catalogs if _holds(name, blind))
        chosen = replace(request, catalogs=own, regions=(blind.region,), instances=(blind.instance_type,), top=1)
        return answer(chosen).plan

    def about(self, one: Candidate, *, nodes: int) -> Request:
        """Return the request narrowed to one candidate's type, region and model at `nodes`, without limits on time
        and cost.
        """
        return replace(
            self.plan.request,
            catalogs=tuple(name for name in self.plan.request.catalogs if _holds(name, one)),
            model=one.model if self.plan.request.model == ALL_MODELS else self.plan.request.model,
            regions=(one.region,),
            instances=(one.instance_type,),
            nodes=nodes,
            deadline_s=None,
            budget_usd=None,
            top=1,
        )

    def what_if(self, **factors: float) -> Recommendation:
        """Plan again with resources multiplied: `what_if(network=2)` doubles every network rate, `price=0.7` discounts.

        Raises BadInputError for anything but `network`, `local`, `volumes`, `objects`, `cpu` and `price`.
        """
        scale = {name: factors.get(name, 1.0) * self.plan.request.scale.get(name, 1.0) for name in factors}
        return answer(replace(self.plan.request, scale=self.plan.request.scale | scale))


def recommend(
    *,
    data: str | int,
    model: str,
    catalogs: Sequence[str] = ("aws",),
    regions: Sequence[str] = (),
    instances: Sequence[str] = (),
    exclude: Sequence[str] = (),
    arch: str | None = None,
    max_vcpus: int | None = None,
    nodes: int | None = None,
    max_nodes: int = 1000,
    deadline: str | float | None = None,
    confidence: float | None = None,
    budget_usd: float | None = None,
    objective: Objective = "balanced",
    pricing: str = "on-demand",
    interruptions_per_node_hour: float | None = None,
    assume: Mapping[str, str | float] | None = None,
    network_distribution: str | None = None,
    own_prices: Sequence[OwnPrice] = (),
    node_limits: Sequence[NodeLimit] = (),
    input: str | None = None,
    output: str | None = None,
    zones: int = 1,
    map_ratio: float = 1.0,
    reduce_ratio: float = 1.0,
    compute_bytes_per_s_per_vcpu: float | None = None,
    paper: bool = False,
    top: int = 10,
    today: date | None = None,
) -> Recommendation:
    """Recommend a cluster; the arguments are the options of `plan`.

    Sizes, durations and rates are texts with units, or numbers of bytes, seconds and bytes/s. Prices that are old on
    the day `today` are warned of. Raises BadInputError for what cannot be understood; that nothing is feasible is an
    answer, not an error.
    """
    return answer(
        Request(
            data_bytes=parse_size(data) if isinstance(data, str) else data,
            model=model,
            catalogs=tuple(catalogs),
            regions=tuple(regions),
            instances=tuple(instances),
            exclude=tuple(exclude),
            arch=arch,
            max_vcpus=max_vcpus,
            nodes=nodes,
            max_nodes=max_nodes,
            deadline_s=parse_duration(deadline) if isinstance(deadline, str) else deadline,
            confidence=confidence,
            budget_usd=budget_usd,
            objective=objective,
            pricing=pricing,
            interruptions_per_node_hour=interruptions_per_node_hour,
            assume={name: _rate(amount) for name, amount in (assume or {}).items()},
            network_distribution=network_distribution,
            own_prices=tuple(own_prices),
            node_limits=tuple(node_limits),
            input=input,
            output=output,
            zones=zones,
            map_ratio=map_ratio,
            reduce_ratio=reduce_ratio,
            compute_bytes_per_s_per_vcpu=compute_bytes_per_s_per_vcpu,
            paper=paper,
            top=top,
        ),
        today=today,
    )


def answer_with_profile(request: Request, profile: str, options: Mapping[str, str] | None = None) -> Recommendation:
    """Plan `request` with the times and ranges of a stored profile; `options` are further columns of its runs."""
    from planner.planning.plan_with_profile import plan_with_profile
    from planner.stores import profiles

    specs = {name: spec for catalog in request.catalogs for name, spec in profiles.specs_of(catalog).items()}
    known = profiles.load_profile(profile)

    def plan_again(again: Request) -> Plan:
        return answer(again, profile=known).plan

    return Recommendation(plan_with_profile(request, known, specs=specs, options=options, plan_again=plan_again))


def calibrate(runs: Any, **given: Any) -> Profile:
    """Learn a profile from past runs: see `planner.stores.profiles.calibrate` for the arguments."""
    from planner.stores import profiles

    return profiles.calibrate(runs, **given)


def answer(request: Request, *, today: date | None = None, profile: Profile | None = None) -> Recommendation:
    """Load the models and the catalogs that `request` names and plan it; with `today`, warn of old prices. A `profile`
    supplies the constants of models that describe a framework.

    Raises BadInputError for unknown names.
    """
    from planner.catalog import load_catalog
    from planner.config.model_files import model_names
    from planner.cost_model import run_overheads
    from planner.cost_model.model import load_model
    from planner.planning.recommendation import recommend as plan_request

    catalogs = [load_catalog(name) for name in request.catalogs]
    models = [load_model(name) for name in (model_names() if request.model == ALL_MODELS else (request.model,))]
    if profile is not None:
        from planner.planning.calibrated_model import with_profile

        models = [with_profile(model, profile) for model in models]
    plan = plan_request(
        request,
        model=models,
        catalogs=catalogs,
        overheads=run_overheads.PAPER if request.paper else run_overheads.shipped(),
    )
    return Recommendation(replace(plan, warnings=(*plan.warnings, *_stale(catalogs, request.regions, today))))


def _works(best: Candidate, name: str) -> bool:
    """Whether a resource of a what-if does anything in a cluster; all local disks are one."""
    used = {resource for phase in best.phases for resource in phase.resources}
    own = {"local": {"local_disks", "data_disks", "intermediate_disks"}, "objects": {"object_store"}}
    return bool(used & own.get(name, {name}))


def _holds(name: str, best: Candidate) -> bool:
    from planner.catalog import load_catalog

    catalog = load_catalog(name)
    return catalog.cloud == best.cloud and best.instance_type in catalog.instances.rows


def _stale(catalogs: Sequence[Catalog], regions: Sequence[str], today: date | None) -> Iterator[str]:
    from planner.catalog.checking import staleness_days

    if today is None:
        return
    for catalog in catalogs:
        for region in regions or (catalog.default_region,):
            age = staleness_days(catalog, today=today, region=region)
            if age is not None:
                place = f" in {region}" if regions else ""
                advice = _renewal(catalog.name)
                yield f"prices of {catalog.name}{place} are of {catalog.priced_on(region)}, {age} days old{advice}"


def _renewal(catalog: str) -> str:
    from planner.catalog.refreshed import REFRESHABLE

    return f"; planner catalog refresh --cloud {catalog} renews them" if catalog in REFRESHABLE else ""


def _rate(amount: Any) -> float:
    return parse_rate(amount) if isinstance(amount, str) else float(amount)
