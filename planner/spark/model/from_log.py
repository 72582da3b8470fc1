"""From an application and a request to a plan: the types on offer, the logged type, and the choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from planner.catalog import Catalog
from planner.catalog.cloud_regions import regions_of
from planner.catalog.instances import split_weighting
from planner.catalog.loading import catalog_names, load_catalog
from planner.errors import BadInputError
from planner.planning.request.region import Region
from planner.planning.request.request_checks import require_known_types
from planner.schemas.plan import Rejection, Request
from planner.spark.application.application import Application
from planner.spark.model.choices import SparkPlan, select_cluster, work_of
from planner.spark.model.machines import Nodes, NodeType, machines, parse_ran_on
from planner.spark.model.platforms import platform_called
from planner.spark.model.prediction import Work
from planner.spark.model.several_logs import latest_first, mismatch
from planner.spark.model.timeline import cpu_share

_ASK: Final = "add --ran-on 'TYPE x NODES', such as --ran-on 'm5.4xlarge x 4'"


@dataclass(frozen=True, kw_only=True)
class Logged:
    """The nodes an application ran on; `nodes_source` is `log` or `--ran-on`."""

    nodes: Nodes
    nodes_source: str


def plan_application(
    application: Application,
    request: Request,
    *,
    ran_on: str | Sequence[str] | None = None,
    earlier: Sequence[Application] = (),
) -> SparkPlan:
    """Return the clusters for an application. `ran_on` gives what the log lacks, as `m5.4xlarge x 4`, or for runs that
    differ `app-1=m5.4xlarge x 4` each. `earlier` runs of the same job on the same data narrow the times.

    The request's catalogs, regions, type filters, prices, numbers of nodes and deadline apply. Raises BadInputError if
    neither log nor `ran_on` gives the machines, or no plan is possible.
    """
    require_known_types(request, [load_catalog(name) for name in request.catalogs])
    stated = [ran_on] if isinstance(ran_on, str) else list(ran_on or ())
    logged = logged_nodes(application, request, ran_on=find_ran_on(application, stated))
    others, unused = _earlier_works(application, earlier, request, stated)
    platform = platform_called(application.cluster.platform)
    offered: list[NodeType] = []
    unasked: list[Rejection] = []
    for name in request.catalogs:
        catalog = load_catalog(name)
        for region_name in _regions(request, catalog, application):
            region = Region.of(request, catalog, region_name)
            made = zip(machines(region.catalog, region.offer), region.passed, strict=True)
            passed_by = [m for m, passed in made if passed and not split_weighting(m.instance_type)[1]]
            unlisted = {m.instance_type for m in passed_by if not platform.accepts(m.instance_type, cloud=m.cloud)}
            if not platform.on_top and platform.cloud == catalog.cloud:  # it has workers, and no machine types
                unlisted = {m.instance_type for m in passed_by} - {logged.nodes.machine.instance_type}
            offered += [m for m in passed_by if m.instance_type not in unlisted]
            reason = f"{platform.platform} " + ("does not document it" if platform.on_top else "lets nobody choose it")
            unasked += [Rejection(instance_type=name, reason=reason) for name in sorted(unlisted)]
            unasked += region.unasked
    plan = select_cluster(
        work_of(application, logged.nodes),
        offered,
        others=others,
        deadline_s=request.deadline_s,
        confidence=request.confidence,
        nodes=request.nodes,
        max_nodes=request.max_nodes,
        max_vcpus=request.max_vcpus,
    )
    return replace(plan, rejected=(*plan.rejected, *unasked), runs=1 + len(others), unused=tuple(unused))


def catalogs_of(application: Application, catalogs: Sequence[str], *, ran_on: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the catalogs to plan on where the user names none: that of the platform, of the machines if it lacks them,
    else `catalogs`.
    """
    text, cloud = find_ran_on(application, ran_on), application.cluster.cloud
    name = parse_ran_on(text)[0] if text else application.cluster.instance_type
    known = list(dict.fromkeys([*([cloud] if cloud else []), *catalogs, *_shipped()]))
    home = next((each for each in known if name in load_catalog(each).instances.rows), cloud)
    return (home,) if home else tuple(catalogs)


def _shipped() -> list[str]:
    return [catalog for catalog in catalog_names() if "-" not in catalog]


def find_ran_on(application: Application, stated: Sequence[str]) -> str | None:
    """Return the caller's text on where a run was: the one that names the run, else the one that names none."""
    named = {text.partition("=")[0].strip(): text.partition("=")[2] for text in stated if "=" in text}
    own = named.get(application.attempt_id) or named.get(application.app_id)
    return own or next((text for text in stated if "=" not in text), None)


def _earlier_works(
    application: Application, earlier: Sequence[Application], request: Request, stated: Sequence[str]
) -> tuple[list[Work], list[str]]:
    """Return the other runs that count, and why the rest do not."""
    works, unused = [], []
    for other in latest_first(earlier):
        try:
            if reason := mismatch(application, other):
                raise BadInputError(reason, code="machines-unknown")
            logged = logged_nodes(other, request, ran_on=find_ran_on(other, stated))
            works.append(work_of(other, logged.nodes))
        except BadInputError as error:
            unused.append(f"{other.app_id or other.files[0]}: {error}")
    return works, unused


def logged_nodes(application: Application, request: Request, *, ran_on: str | None) -> Logged:
    """Return the nodes that an application ran on. Raises BadInputError as `plan_application` does."""
    cluster = application.cluster
    name, count = parse_ran_on(ran_on) if ran_on else (cluster.instance_type, None)
    if not name:
        raise BadInputError(f"the log does not tell which machines it ran on: {_ASK}", code="machines-unknown")
    count = count or cluster.hosts_at_once
    if not count:
        raise BadInputError(f"the log does not tell how many {name} it ran on: {_ASK}", code="machine-count-unknown")
    machine = next(_find_types(name, application, request), None)
    if machine is None:
        raise BadInputError(f"no catalog has the type {name} that the log was written on: {_ASK}", code="unknown-type")
    limited = replace(machine, cpu_share=cpu_share(application))
    return Logged(nodes=Nodes(machine=limited, count=count), nodes_source="--ran-on" if ran_on else "log")


def _find_types(name: str, application: Application, request: Request) -> Iterator[NodeType]:
    """Yield a type from the requested catalogs, then from those of today's clouds."""
    for catalog_name in dict.fromkeys([*request.catalogs, *_shipped()]):
        catalog = load_catalog(catalog_name)
        if name in catalog.instances.rows:
            region_name = _regions(request, catalog, application)[0]
            yield machines(catalog, Region.of(request, catalog, region_name).offer)[catalog.instances.index(name)]


def _regions(request: Request, catalog: Catalog, application: Application) -> tuple[str, ...]:
    """Return the requested regions, else the logged one, else the catalog's default."""
    asked_for = [load_catalog(name) for name in request.catalogs]
    if request.regions and any(catalog.path == other.path for other in asked_for):
        by_catalog = zip(asked_for, regions_of(request.regions, asked_for), strict=True)
        return next(names for other, names in by_catalog if other.path == catalog.path)
    logged = application.cluster.region
    return (logged if logged in catalog.regions(request.pricing) else catalog.default_region,)
