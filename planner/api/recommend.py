"""Planning from Python and notebooks: `planner.recommend(...)` and what-ifs on its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from planner.config.paths import StrPath
from planner.errors import BadInputError, PlannerError
from planner.report.answer import Answer
from planner.schemas.arguments import columns, request_fields, require_no_columns, with_all_arguments
from planner.schemas.door import Between, Offset, Without, checked
from planner.schemas.plan import Candidate, Plan, Request

if TYPE_CHECKING:
    import pandas as pd

    from planner.calibration import Profile
    from planner.cost_model.volumes.volume_counts import VolumeCount
    from planner.exports.platform import Export
    from planner.planning.what_if.network_views import NetworkRow
    from planner.planning.what_if.own_cluster import OwnCluster
    from planner.planning.what_if.what_if import Contrast, WhatIf
    from planner.planning.what_if.why_not import WhyNot
    from planner.schemas.machine_lists import MachineList
    from planner.schemas.request_arguments import RequestArguments
    from planner.simulation.result import Simulation

Points = Annotated[int, Between(1, 1000)]
"""How many clusters are planned for a curve."""
Factor = Annotated[float, Between(0, above=True)]
"""How many times as fast a resource is made."""


@dataclass(frozen=True, repr=False)
class Recommendation(Answer):
    """The answer to `recommend`: a Plan, its candidates as a pandas frame, its bill, reasons, charts and what-ifs.

    >>> import planner
    >>> answer = planner.recommend("1TB", instance="i4i.4xlarge", nodes=8)
    >>> len(repr(answer).splitlines()) <= 5
    True
    """

    profile: str | None = None
    """The stored profile of the times, and further columns of its runs: both are kept in what-ifs."""
    option: Mapping[str, str] | None = None

    @checked
    def at_sizes(self, *, points: Points = 16) -> list[Candidate]:
        """Return the recommended type at about `points` feasible node counts, evenly spaced in their logarithm, from
        the fewest that hold the data to `max_nodes`.
        """
        return self._what_if().at_sizes(points)

    @checked
    def sensitivities(self, *, factors: Sequence[Factor] = (0.5, 2.0)) -> pd.DataFrame:
        """Return time and total cost of the recommended cluster with each resource `factor` times as fast.

        Without a cluster the frame is empty and its `attrs["why"]` has the reason.

        >>> import planner
        >>> planner.recommend("1TB", deadline="1s").sensitivities().attrs["why"][0][:16]
        'nothing feasible'
        """
        from planner.report.frames import sensitivities_frame

        reliefs = {} if self.best is None else {factor: self.reliefs(factor) for factor in factors}
        frame = sensitivities_frame(self.best, reliefs)
        frame.attrs |= {"why": self.why} if self.best is None else {}
        return frame

    @checked
    def chart(self, *, dark: bool = False) -> Any:
        """Chart cost against time, and the phases, for a slide, as `plan --chart` writes it."""
        from planner.report import plots
        from planner.report.terminal.reasons import refusal

        best = self.best
        return plots.reason_chart(refusal(self.plan)) if best is None else plots.slide(self.plan, best, dark=dark)

    def plot_frontier(self) -> Any:
        """Chart total cost against time: the frontier and the candidates. Charts need the extra `plots`, and show why
        if nothing is feasible.
        """
        from planner.report import frames, plots

        return self._drawn(lambda: plots.frontier(frames.frontier_frame(self.plan), frames.candidates_frame(self.plan)))

    def plot_phases(self) -> Any:
        """Chart the work of each resource in each phase, with bottlenecks marked; a menu selects the candidate."""
        from planner.report import frames, plots

        return self._drawn(lambda: plots.phases(frames.phases_frame(self.candidates)))

    def plot_ranges(self) -> Any:
        """Chart the time of each candidate from its median to its 95th percentile."""
        from planner.report import frames, plots

        return self._drawn(lambda: plots.ranges(frames.candidates_frame(self.plan)))

    @checked
    def plot_sensitivities(self, *, factors: Sequence[Factor] = (0.5, 2.0)) -> Any:
        """Chart how time and cost change when one resource is slower or faster."""
        from planner.report import plots

        return self._drawn(lambda: plots.sensitivities(self.sensitivities(factors=factors)))

    @checked
    def plot_by_nodes(self, *, points: Points = 16) -> Any:
        """Chart time against node count for the recommended type, with the range from median to 95th percentile."""
        from planner.report import frames, plots

        return self._drawn(lambda: plots.by_nodes(frames.sizes_frame(self.at_sizes(points=points))))

    @checked
    def to_html(self, *, made_on: date | None = None, on_step: Callable[[str], None] | None = None) -> str:
        """Return the answer as a page that needs no network: see `plan --html`.

        The page shows why if nothing is feasible. `on_step` is called with the name of each step as it starts, 1 +
        PLAN_PAGE_STEPS times. Raises PlannerError without the extra `plots`.
        """
        from planner.report.page import plan_page, refusal_page
        from planner.report.terminal.reasons import refusal

        if self.best is None:
            return refusal_page(self.plan, why=refusal(self.plan), made_on=made_on)
        tell = on_step or (lambda step: None)
        tell("planning around the answer")
        try:
            contrast = self.page_contrast()
        except PlannerError:  # the catalog of a kept plan no longer exists
            contrast = None
        return plan_page(self.plan, contrast, stored=self._stored(), made_on=made_on, on_step=tell)

    @checked
    def export(self, to: str) -> Export:
        """Return the recommended cluster as a platform's configuration file: see `planner export --help`.

        Raises BadInputError if nothing is feasible, and for features that the platform lacks.
        """
        from planner.exports.platform import export_plan

        return export_plan(self.plan, to)

    @checked
    def reliefs(self, factor: Factor = 2.0) -> dict[str, Candidate]:
        """Return the recommended cluster with each of its resources in turn made `factor` times as fast."""
        return self._what_if().reliefs(factor)

    def networks(self) -> pd.DataFrame:
        """Return the cost of the leading types under three networks: unlimited, scaling ideally, and as expected at
        scale. One row each; `winner` marks the type to recommend under that network. Empty if the request gives the
        network rate.
        """
        from planner.report.frames import networks_frame

        return networks_frame(self.network_rows())

    def network_rows(self) -> tuple[NetworkRow, ...]:
        """Return the rows of `networks`, with each cluster in full."""
        from planner.planning.what_if.network_views import network_rows

        return network_rows(self.plan.request, plan_again=self._brief_plan)

    def plot_networks(self) -> Any:
        """Chart the cost of the leading types under three networks."""
        from planner.report import plots

        return self._drawn(lambda: plots.networks(self.networks()))

    def volumes(self) -> pd.DataFrame:
        """Return the read and write rates of the candidates on block volumes with one volume of a type, two, three ...,
        until the link between a node and its volumes is full. One row each; empty if none uses volumes.
        """
        from planner.report.frames import volumes_frame

        return volumes_frame(self.volume_counts())

    def volume_counts(self) -> list[VolumeCount]:
        """Return the rows of `volumes`."""
        from planner.catalog import load_catalog
        from planner.cost_model.volumes.volume_counts import counts_on

        on_volumes = [(c.cloud, c.cloud_type) for c in self.candidates if c.volumes]
        return counts_on(on_volumes, [load_catalog(name) for name in self.plan.request.catalogs])

    def contrast(self) -> Contrast:
        """Return the comparison of the recommended cluster that `--explain` and the page show."""
        return self._what_if().contrast()

    def page_contrast(self) -> Contrast:
        """Return `contrast` with the page's further comparisons: networks, volumes and plans at some factors."""
        variants = replace(self._what_if(), plan_again=self._brief_plan).variants()
        networks, volumes = self.network_rows(), self.volume_counts()
        return replace(self.contrast(), networks=networks, volumes=volumes, variants=variants)

    def what_if(self, factors: Mapping[str, Any] | str = "", /, **changes: Any) -> Recommendation:
        """Plan again with a change: a resource, the price or the data multiplied (`network=2`, `price="70%"`, `data=2`;
        the others are `local`, `volumes`, `objects` and `cpu`) or an argument of `recommend` replaced (`data="200TB"`,
        `deadline="1h"`, `nodes=50`). `factors` may be those of the command line, `"network=2,data=2"`.

        The rest of the request stays; prices and capacities add to those given. Raises BadInputError for other changes.

        >>> import planner
        >>> eight = planner.recommend("1TB", instance="i4i.4xlarge", nodes=8)
        >>> eight.what_if(data="2TB", network=2).plan.request.data_bytes
        2000000000000
        """
        from planner.planning.what_if.what_if import changed

        return self._answer_to(changed(self.plan.request, changes, what_if=factors))

    def by_region(self) -> dict[str, Candidate | None]:
        """Return the cluster to recommend in each requested region alone, None where nothing is feasible.

        >>> import planner
        >>> [*planner.recommend("1TB", cloud="azure", region=["eastus", "westeurope"]).by_region()]
        ['eastus', 'westeurope']
        """
        from planner.catalog import load_catalog
        from planner.catalog.cloud_regions import regions_of

        request = self.plan.request
        named = zip(request.catalogs, regions_of(request.regions, [*map(load_catalog, request.catalogs)]), strict=True)
        alone = {
            name: replace(request, catalogs=(catalog,), regions=(name,)) for catalog, names in named for name in names
        }
        return {name: self._brief_plan(asked).best for name, asked in alone.items()}

    @checked
    def why_not(self, instance_type: str) -> WhyNot:
        """Return why a type is not recommended: its best cluster, and changes that would rank it first.

        Raises BadInputError for a type that is in none of the request's catalogs.

        >>> import planner
        >>> answer = planner.recommend("1TB", instance="i4i.*", nodes=8)
        >>> answer.why_not("i4i.32xlarge").cluster.nodes
        8
        """
        from planner.api.type_questions import why_not

        return why_not(
            self.plan,
            instance_type,
            plan_again=self._plan_again,
            brief_plan=self._brief_plan,
            with_profile=self.profile is not None,
        )

    @checked
    def own(self, machines: str | MachineList) -> OwnCluster:
        """Return how long existing machines take, and whether more of them would help. They are `20 x m5d.12xlarge`, a
        file that lists them (see `planner.schemas.machine_lists`), or a list read from one. Raises BadInputError for an
        unreadable list, and for a type in none of the request's catalogs.

        >>> import planner
        >>> planner.recommend("1TB").own("8 x i4i.4xlarge").cluster.nodes
        8
        """
        from planner.api.type_questions import own

        return own(self.plan, machines, plan_again=self._plan_again)

    @checked
    def simulate(
        self, *, draws: int = 20, seed: Offset = 0, lose: str | None = None, slow: str | None = None
    ) -> Simulation:
        """Return the simulated sort of the recommended cluster: see `planner.api.request_inputs.simulated`."""
        from planner.api.request_inputs import simulated

        return simulated(self.plan, profile=self.profile, draws=draws, seed=seed, lose=lose, slow=slow)

    def without_what_ifs(self) -> Recommendation:
        """Return the answer to the same request without the factors of `what_if`."""
        return self._answer_to(replace(self.plan.request, scale={}))

    def in_object_store(self) -> Candidate | None:
        """Return the recommended cluster if it loaded its data from its cloud's object store and wrote the result
        there; None if the request gives their place, or the catalog has no such store.
        """
        return replace(self._what_if(), plan_again=self._brief_plan).in_object_store()

    def _stored(self) -> Candidate | None:
        """Return `in_object_store`; None if a kept plan's catalog no longer exists."""
        try:
            return self.in_object_store()
        except PlannerError:
            return None

    def _answer_to(self, request: Request) -> Recommendation:
        """Answer another request with this answer's settings."""
        return answer(request, profile=self.profile, option=self.option)

    def _plan_again(self, request: Request) -> Plan:
        return self._answer_to(request).plan

    def _brief_plan(self, request: Request) -> Plan:
        """Plan another request with this plan's settings, without an explanation."""
        return answer(request, profile=self.profile, option=self.option, explained=False).plan

    def _drawn(self, chart: Callable[[], Any]) -> Any:
        from planner.report import plots

        return plots.reason_chart(self.why) if self.best is None else chart()

    def _what_if(self) -> WhatIf:
        from planner.catalog import load_catalog
        from planner.planning.what_if.what_if import WhatIf

        def has_type(name: str, candidate: Candidate) -> bool:
            catalog = load_catalog(name)
            return catalog.cloud == candidate.cloud and candidate.instance_type in catalog.instances.rows

        return WhatIf(plan=self.plan, plan_again=self._plan_again, has_type=has_type)


def request_of(asked: Mapping[str, Any]) -> Request:
    """Return the request that arguments of `recommend` describe."""
    from planner.api.request_inputs import clouds_of_data, in_regions_of_data, with_derived_arguments

    fields = request_fields(with_derived_arguments(asked))
    return in_regions_of_data(Request(**({"catalogs": clouds_of_data(fields)} | fields)))


def recommend(
    data: str | float | None = None,
    *,
    profile: str | None = None,
    option: Mapping[str, str] | str | None = None,
    today: date | None = None,
    **asked: Unpack[RequestArguments],
) -> Recommendation:
    """Recommend a cluster; the arguments are the options of `plan`, under the same names.

    Sizes, durations and rates are texts with units, or numbers of bytes, seconds and bytes/s. Prices that are old on
    the day `today` give a warning. Raises BadInputError for invalid arguments; "nothing feasible" is an answer, not an
    error.

    >>> import planner
    >>> answer = planner.recommend("1TB", instance="i4i.*", deadline="2h", nodes=8)
    >>> answer.best.nodes, answer.best.model
    (8, 'daytona')
    """
    return answer(request_of({"data": data, **asked}), today=today, profile=profile, option=option)


recommend.__signature__ = with_all_arguments(recommend)  # type: ignore[attr-defined]
recommend = checked(recommend)


@checked
def own(machines: str, data: str | float | None = None, **asked: Unpack[RequestArguments]) -> OwnCluster:
    """Return how long existing machines take: `20 x m5d.12xlarge`, or a file that lists them. The other arguments are
    those of `recommend`.

    >>> import planner
    >>> planner.own("8 x i4i.4xlarge", "1TB").cluster.nodes
    8
    """
    return recommend(data, **asked).own(machines)


def _planned(request: Request, plan_of: Callable[[Request], Plan], *, brief: Callable[..., Plan] | None = None) -> Plan:
    """Return the plan that `plan_of` gives for a request, or that for the most data, found with many `brief` plans."""
    if not request.most_data:
        return plan_of(request)
    from planner.planning.what_if.most_data import most_data

    return most_data(request, plan_of=brief or plan_of, quick_plan=brief, in_full=plan_of)


@checked
def calibrate(
    runs: Any,
    *,
    model: str | None = None,
    name: str | None = None,
    instances: Any = None,
    catalog: Annotated[StrPath | None, Without("instances")] = None,
    ran_on: Sequence[str] = (),
) -> Profile:
    """Learn a profile from past runs. `runs` are rows, as a frame or dicts: see `planner.calibration.calibrate`; or
    paths of CSV files, event logs and reports: see `planner.api.past_runs.calibrate_files`.

    `model` is the prior, `name` the profile's. Machines are described by `instances`, rows or a CSV file, else by a
    `catalog`, aws by default. `ran_on` says where logged runs ran: `m5.4xlarge x 4`. Raises BadInputError.

    >>> import planner
    >>> planner.calibrate([], name="mine")
    Profile('mine', model 'framework', no runs)
    """
    from planner.stores import profiles

    said = {"model": model, "name": name, "instances": instances, "catalog": catalog}
    given = {key: value for key, value in said.items() if value is not None}
    if isinstance(runs, list | tuple) and runs and all(isinstance(run, str | Path) for run in runs):
        from planner.api.past_runs import calibrate_files

        return calibrate_files([Path(run) for run in runs], ran_on=ran_on, **given)[0]
    if ran_on:
        text = "`ran_on` is of event logs: rows say where they ran; leave it out"
        raise BadInputError(text, field="ran_on", code="not-applicable")
    return profiles.calibrate(runs, **given)


def answer(
    request: Request,
    *,
    today: date | None = None,
    profile: str | None = None,
    option: Mapping[str, str] | str | None = None,
    explained: bool = True,
    compiled_for: frozenset[str] = frozenset(),
) -> Recommendation:
    """Load the models and catalogs that `request` names and plan it; with `today`, warn of old prices. Times and ranges
    are those of a stored `profile`, if one is named; `option` has further columns of its runs. Unless `explained`, the
    plan has fewer reasons; `compiled_for` are the processors for which the head of rented machines compiles the sort.

    Raises BadInputError for unknown names, and for columns without a profile.
    """
    from planner.api.request_inputs import inputs_of
    from planner.catalog.checking import stale_prices
    from planner.config.paths import model_names
    from planner.cost_model.model_reader import load_model
    from planner.planning.ranking.elsewhere import advice, lacks_only_disks, models_elsewhere
    from planner.planning.recommendation import recommend as plan_request

    learned, more = None, None
    if profile is not None:
        from planner.planning.plan_with_profile import plan_with_profile
        from planner.stores import profiles  # calibration takes a while to import, and most plans need none

        learned = profiles.load_profile(profile)
    request, given = inputs_of(request, learned, compiled_for=compiled_for)
    plan_of = partial(plan_request, model=given.models, catalogs=given.catalogs, overheads=given.overheads)
    if learned is None:
        require_no_columns(option)
        brief = partial(plan_of, explained=False)
        plan = _planned(request, plan_of if explained else brief, brief=brief)
    else:
        specs = {name: spec for catalog in request.catalogs for name, spec in profiles.specs_of(catalog).items()}
        timed, more = partial(plan_with_profile, profile=learned, specs=specs, plan_of=plan_of), columns(option)
        plan = _planned(request, partial(timed, options=more))
    if explained and learned is None and lacks_only_disks(plan):
        others = models_elsewhere(given.models, map(load_model, model_names()))
        best_of = partial(_best_with_model, request)
        plan = replace(plan, conflicts=(*plan.conflicts, *advice(others, best_of)))
    old = [
        text
        for pricing in request.pricings
        if len(request.pricings) == 1 or all(catalog.main_regions(pricing) for catalog in given.catalogs)
        for text in stale_prices(given.catalogs, request.regions, today=today, pricing=pricing)
    ]
    return Recommendation(replace(plan, warnings=(*plan.warnings, *old)), profile=profile, option=more)


def _best_with_model(request: Request, model: str) -> Candidate | None:
    return answer(replace(request, model=model), explained=False).plan.best
