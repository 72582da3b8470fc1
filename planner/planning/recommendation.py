"""From a Request and catalogs to a Plan: build a candidate grid for each model, catalog and region, select sizes, rank.

Source: Conley, Vahdat, Porter, SoCC 2015, sections 3.3 and 4; the ranges and whole-run totals go beyond it, see
docs/equations.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.catalog import Catalog
from planner.catalog.cloud_regions import regions_of
from planner.catalog.measurements import SOURCE
from planner.catalog.tables import Table
from planner.cost_model.known_times import KnownTimes
from planner.cost_model.model import CostModel
from planner.cost_model.rates import OF_TYPES
from planner.cost_model.run_overheads import RunOverheads
from planner.errors import BadInputError
from planner.planning.candidates.candidate_grid import CandidateGrid, build_grid
from planner.planning.candidates.candidates import Cluster, candidates
from planner.planning.candidates.feasibility import DISK_RATE_UNKNOWN, DISKS_UNKNOWN
from planner.planning.catalog_questions.next_measurement import RENTED
from planner.planning.ranking import nearest, refusal, selection
from planner.planning.ranking.capacity import (
    MACHINES_AT_HAND,
    exceeds_capacity,
    instead_of,
    may_need_no_request,
    within_capacity,
)
from planner.planning.ranking.frontier import frontier_clusters, frontier_of
from planner.planning.ranking.one_machine import done_here
from planner.planning.ranking.search import Selected, select_clusters
from planner.planning.request.filters import NOT_WANTED, filter_conflicts
from planner.planning.request.job_context import region_notes
from planner.planning.request.region import Region, known_rates, priced_alike
from planner.planning.request.request_checks import check_request
from planner.planning.request.stored_data import stored_notes
from planner.planning.what_if.break_even import break_even, grid_of
from planner.planning.what_if.reliefs import with_reliefs
from planner.schemas.plan import (
    ASSUMED_OF_ALL,
    Candidate,
    CapacityRequest,
    CatalogStamp,
    FrontierPoint,
    Plan,
    Rejection,
    Request,
    Unmeasured,
)
from planner.schemas.request_forms import is_plain
from planner.units import count_text, format_rate

_SURE: Final = 0.95
"""Probability of meeting the deadline for the alternative cluster, shown when the recommended one is less certain."""


def recommend(
    request: Request,
    sizes: Floats | None = None,
    *,
    model: CostModel | Sequence[CostModel],
    catalogs: Sequence[Catalog],
    overheads: RunOverheads,
    explained: bool = True,
    known: KnownTimes | None = None,
) -> Plan:
    """Return the plan for `request`: candidates best first, the frontier, and every type left out with its reason.

    Clusters of several models are ranked together, each type once per model. `best` is None if nothing is feasible;
    `require_best` turns that into the error a command ends with. With `sizes`, only clusters of these numbers of nodes
    are planned; unless `explained`, the plan lacks the nearest clusters and what would overturn the choice. `known`
    times count in place of the equations', which then tell what a what-if changes. Raises BadInputError for an unpriced
    region, an unknown instance type, distribution or assumption.
    """
    check_request(request, catalogs)
    regions, unpriced = _regions(request, catalogs)
    grids: list[list[CandidateGrid]] = []
    rejected: list[Rejection] = []
    models = [model] if isinstance(model, CostModel) else list(model)
    regional: list[tuple[CandidateGrid, list[Rejection]]] = []
    for cost_model in models:
        build = partial(build_grid, model=cost_model, overheads=overheads, sizes=sizes)
        built = [build(replace(request, pricing=region.offer.pricing), region=region) for region in regions]
        if known is not None:
            built = list(_taught(built, known, request, catalogs, build=build))
        grids += [[grid for grid, _ in built if grid.offer.pricing == pricing] for pricing in request.pricings]
        rejected += [rejection for _, unusable in built for rejection in unusable]
        regional += built
    all_grids, kinds = list(chain(*grids)), len(models) * len(request.pricings)
    selected = _evaluated(request, grids)
    by_pricing, beside = selected.by_pricing, selected.beside
    ranked = _best_of_types(selection.order(selected.clusters, request.rule, beside=beside))
    if sizes is None and ranked and may_need_no_request(request, ranked[0]):
        again = replace(request, max_nodes=MACHINES_AT_HAND)
        at_hand = recommend(again, model=model, catalogs=catalogs, overheads=overheads, explained=explained)
        if note := instead_of(ranked[0], at_hand.best):
            return replace(at_hand, request=request, warnings=(note, *at_hand.warnings))
    unbeaten = [*selected.clusters, *beside, *(_on_frontier(request, all_grids) if ranked else ())]
    rejected += selected.rejected()
    explanation = () if ranked or not explained else _explained(request, catalogs, all_grids, rejected)
    rejected, conflicts = explanation or (rejected, ())
    to_show = _to_show(ranked, by_pricing, request, kinds=kinds)
    clusters = list({id(cluster): cluster for cluster in (*to_show, *by_pricing)}.values())
    shown = dict(zip(map(id, clusters), candidates(clusters, request), strict=True))
    best = shown[id(ranked[0])] if ranked else None
    if best is not None and explained:
        grid = grid_of(best, all_grids)
        turn = break_even(request, best, ranked[1:], all_grids, beside=beside)
        best = replace(with_reliefs(best, grid) if grid else best, overturned_by=turn)
        shown[id(ranked[0])] = best
    chosen = [best] if best is not None else []
    return Plan(
        request=request,
        catalog=_stamp(catalogs),
        best=best,
        candidates=tuple(shown[id(cluster)] for cluster in to_show),
        rejected=tuple(_sorted(rejected, unbeaten, kinds=kinds)),
        by_pricing=tuple(shown[id(cluster)] for cluster in by_pricing),
        frontier=tuple(frontier_of(unbeaten, ranked)),
        higher_confidence=_higher_confidence_choice(request, chosen, grids),
        capacity=_capacity(request, ranked[:1], chosen, grids) if explained else None,
        left_out=tuple(_catalogs_without_candidates(regional)) if ranked else (),
        unmeasured=tuple(_unmeasured(regional)),
        feasible=selected.feasible if ranked else 0,
        conflicts=conflicts,
        warnings=(
            *chain.from_iterable(done_here(request, of, models[0]) for of in chosen),
            *(() if request.paper else _own_measurement_notes(chosen, regions)),
            *_ignored_by_paper_mode(request),
            *unpriced,
            *_without_rent(regions),
            *_raised(request, regions),
            *_priced_alike(request, regions),
            *_capacity_notes(request, regions),
            *_beyond_the_link(request, chosen),
            *(() if request.paper else (*stored_notes(request, models[0].engine), *region_notes(request))),
            *_away_from_data(request, chosen),
        ),
    )


def _taught(
    built: Sequence[tuple[CandidateGrid, list[Rejection]]],
    known: KnownTimes,
    request: Request,
    catalogs: Sequence[Catalog],
    *,
    build: Callable[..., tuple[CandidateGrid, list[Rejection]]],
) -> Iterator[tuple[CandidateGrid, list[Rejection]]]:
    """Yield the grids with the times that real runs teach of their types, and a rejection for each type whose time
    cannot be carried over to the request's what-ifs.
    """
    plain = without_what_ifs(request)
    before = [grid for grid, _ in built]
    if plain != request:
        regions = _regions(plain, catalogs)[0]
        before = [build(replace(plain, pricing=region.offer.pricing), region=region)[0] for region in regions]
    for (grid, rejected), as_is in zip(built, before, strict=True):
        taught_times = replace(known, as_is=as_is.context)
        told = taught_times.tells(grid.context.layouts.type_row)
        lost = dict.fromkeys(grid.type_name(row) for row in np.flatnonzero(~told).tolist())
        context = replace(grid.context.only_rows(np.flatnonzero(told)), known=taught_times)
        taught = CandidateGrid.of(context, grid.offer, nodes=grid.nodes, request=grid.request)
        yield taught, [*rejected, *map(_without_ratio, lost)]


def without_what_ifs(request: Request) -> Request:
    """Return the request on machines as they were in the runs that teach times: these know jobs of other sizes, and do
    not depend on prices.
    """
    assume = {name: value for name, value in request.assume.items() if is_plain(name)}
    scale = {name: factor for name, factor in request.scale.items() if name in ("price", "data")}
    return replace(request, assume=assume, scale=scale, network_distribution=None)


def _without_ratio(name: str) -> Rejection:
    return Rejection(
        instance_type=name,
        reason="the profile cannot be carried over to the what-if",
        detail="without it the equations cannot time the type: measure what is assumed, or plan without --profile",
    )


def _regions(request: Request, catalogs: Sequence[Catalog]) -> tuple[list[Region], list[str]]:
    """Return each requested region under each way to pay, and why some are left out; with several ways to pay, a region
    needs the prices of only one. Raises BadInputError for regions without any.
    """
    regions: list[Region] = []
    unpriced: list[str] = []
    lacking: list[BadInputError] = []
    for catalog, names in zip(catalogs, regions_of(request.regions, catalogs), strict=True):
        for name in names:
            missing: list[BadInputError] = []
            for pricing in request.pricings:
                try:
                    regions.append(Region.of(replace(request, pricing=pricing), catalog, name))
                except BadInputError as error:
                    missing.append(error)
            lacking += missing[:1] if len(missing) == len(request.pricings) else []
            unpriced += [error.message for error in missing]
    if lacking:
        raise lacking[0].reworded(lacking[0].message, *(error.message for error in lacking[1:]))
    return regions, unpriced


def _evaluated(request: Request, grids: Sequence[Sequence[CandidateGrid]]) -> Selected:
    """Return the clusters that are best by the request; if there are none, the one that is furthest within all limits,
    if there is one.
    """
    selected = select_clusters(request, grids)
    if selected.clusters or (cluster := nearest.keeping_to_all(list(chain(*grids)))) is None:
        return selected
    return selected.with_the_only(cluster)


def _on_frontier(request: Request, grids: Sequence[CandidateGrid]) -> Iterator[Cluster]:
    """Yield the clusters on the frontier of each way to pay."""
    for pricing in request.pricings:
        yield from frontier_clusters([grid for grid in grids if grid.offer.pricing == pricing])


def _best_of_types(ranked: Sequence[Cluster]) -> list[Cluster]:
    """Return the first of each type of each model, cloud, region and way to pay."""
    firsts: dict[tuple[str, ...], Cluster] = {}
    for cluster in ranked:
        firsts.setdefault(cluster.place, cluster)
    return list(firsts.values())


def _higher_confidence_choice(
    request: Request, best: Sequence[Candidate], grids: Sequence[Sequence[CandidateGrid]]
) -> FrontierPoint | None:
    """Return the cluster that meets the deadlines with `_SURE`, if the recommended one is less certain."""
    likely = best[0].deadline_kept if best else None
    if likely is None or likely >= _SURE or request.confidence or request.paper:
        return None
    sure = replace(request, confidence=_SURE, top=1)
    surer = _evaluated(
        sure, [[grid.under(replace(grid.request, confidence=_SURE)) for grid in of_kind] for of_kind in grids]
    )
    more_confident = selection.order(surer.clusters, request.rule, beside=surer.beside)
    return more_confident[0].point if more_confident else None


def _capacity(
    request: Request, ranked: Sequence[Cluster], best: Sequence[Candidate], grids: Sequence[Sequence[CandidateGrid]]
) -> CapacityRequest | None:
    """Return the capacity to request for the recommended cluster, with the best cluster that needs no request."""
    if not ranked or request.paper or not exceeds_capacity(ranked[0]):
        return None
    grid = grid_of(best[0], list(chain(*grids)))
    if grid is None:
        return None
    instances, machines = grid.context.catalog.instances, ranked[0].machines
    smaller: list[FrontierPoint] = []
    if (request.nodes or 0) <= MACHINES_AT_HAND:
        selected = select_clusters(replace(request, top=1), [within_capacity(of_model) for of_model in grids])
        in_order = selection.order(selected.clusters, request.rule, beside=selected.beside)
        smaller = [of.point for of in in_order if not exceeds_capacity(of)]
    vcpu = float(instances.vcpu[instances.index(ranked[0].instance_type)])
    return CapacityRequest(machines=machines, vcpus=machines * vcpu, smaller=smaller[0] if smaller else None)


def _catalogs_without_candidates(regional: Sequence[tuple[CandidateGrid, list[Rejection]]]) -> Iterator[str]:
    """Yield the catalogs of which no type could be planned, and the facts missing from the types that lack fewest."""
    unplanned: dict[str, list[Rejection]] = {}
    for grid, unusable in regional:
        unplanned.setdefault(grid.context.catalog.name, []).extend(unusable)
    planned = {grid.context.catalog.name for grid, _ in regional if len(grid.context.layouts.type_row)}
    for name, rejections in unplanned.items():
        lacking = [rejection for rejection in rejections if not rejection.reason.startswith(NOT_WANTED)]
        if name not in planned and lacking:
            yield f"{name} was left out: {min(lacking, key=refusal.by_missing_facts).reason}"


def _unmeasured(regional: Sequence[tuple[CandidateGrid, list[Rejection]]]) -> Iterator[Unmeasured]:
    """Yield, by catalog, the number of types left out because the rate or number of their local disks is unknown, with
    the command that measures it.
    """
    types: dict[str, set[str]] = {}
    for grid, unusable in regional:
        names = {r.instance_type for r in unusable if r.reason in (DISKS_UNKNOWN, DISK_RATE_UNKNOWN)}
        types.setdefault(grid.context.catalog.name, set()).update(names)
    for name, unknown in types.items():
        if unknown:
            rented = f"planner bench fleet --cloud {name} --instance TYPE --nodes 2"
            measure = rented if name in RENTED else "planner bench disk --mode all, on such a machine"
            yield Unmeasured(cloud=name, types=len(unknown), measure=measure)


def require_best(plan: Plan) -> Candidate:
    """Return the recommended cluster. Raises InfeasibleError, naming what clashes and the nearest rejections, if there
    is none.
    """
    if plan.best is None:
        raise refusal.refusal_of(plan)
    return plan.best


def _explained(
    request: Request, catalogs: Sequence[Catalog], grids: Sequence[CandidateGrid], rejected: Sequence[Rejection]
) -> tuple[list[Rejection], tuple[str, ...]]:
    """Return the rejections, the nearest computed exactly, and what clashes: the filters that together let no type
    through, else the constraints that no cluster meets together.
    """
    asked = [nearest.constrained_types(grid) for grid in grids if grid.asked]
    near = {rejection.instance_type: rejection for rejection in refusal.nearest_types(asked, rejected)}
    others = [rejection for rejection in rejected if rejection.instance_type not in near]
    clash = tuple(filter_conflicts(request, catalogs)) or tuple(refusal.conflicts(asked))
    return [*others, *near.values()], clash


def _own_measurement_notes(best: Sequence[Candidate], regions: Sequence[Region]) -> Iterator[str]:
    """Yield notes on the user's own measurements: of the recommended cluster, else of the types that it was chosen
    over.
    """
    catalogs = list({id(region.catalog): region.catalog for region in regions}.values())
    notes = list(chain.from_iterable(own_measurements(candidate, catalogs) for candidate in best))
    yield from notes
    measured = dict.fromkeys(chain.from_iterable(map(_measured_types, regions)))
    if measured and best and not notes:
        named = f"your own measurements of {', '.join(measured)} count, but {best[0].instance_type} is better"
        yield f"{named}; planner why-not {next(iter(measured))} says why"


def _measured_types(region: Region) -> Iterator[str]:
    """Yield the types of a region that the user measured, of those that the request takes."""
    names = region.catalog.instances.names
    for table in region.catalog.tables.values():
        if {"instance_type", "source"} <= table.columns.keys():
            measured = set(table["instance_type"][table["source"] == SOURCE].tolist())
            rows = np.flatnonzero(region.passed).tolist() if measured else []
            yield from (names[row] for row in rows if names[row] in measured)


def _ignored_by_paper_mode(request: Request) -> Iterator[str]:
    """Yield the requested options that have no meaning in the papers' equations."""
    named = {
        "--input": request.input,
        "--output": request.output,
        "--zones": request.zones > 1,
        "--head-room": request.head_room is not None,
        "own prices": request.own_prices,
        "--confidence": request.confidence,
        "--format": request.format,
        "--compression": request.compression,
        "--unknown": request.unknown,
    }
    ignored = [name for name, given in named.items() if given]
    if request.paper and ignored:
        yield f"--paper ignores {', '.join(ignored)}: the papers' equations know nothing of it"


def _priced_alike(request: Request, regions: Sequence[Region]) -> Iterator[str]:
    """Yield once each of the user's own prices that is the same for several sizes."""
    own = () if request.paper or "price" in request.assume else request.own_prices
    return iter(dict.fromkeys(chain.from_iterable(priced_alike(region, own) for region in regions)))


def _without_rent(regions: Sequence[Region]) -> Iterator[str]:
    """Yield notes on the catalogs whose machines are planned as free, as nobody states a price."""
    for region in regions:
        if region.catalog.is_free and not region.offer.price_usd_per_hour.any():
            advice = "--own-price TYPE=USD, or prices.csv, states one"
            yield f"price: {region.catalog.name} has none, so its machines count as free; {advice}"


def _raised(request: Request, regions: Sequence[Region]) -> Iterator[str]:
    """Yield how many types each rate assumed of all of them raises and lowers: slower types may thereby win."""
    by_catalog = {id(region.catalog): region for region in regions}.values()
    for name in ("network", "local_read", "local_write", "volume_read", "volume_write", "object_read", "object_write"):
        if name not in request.assume or request.paper:
            continue
        known = np.concatenate([known_rates(region, name)[region.passed] for region in by_catalog])
        if len(known) > 1:
            counts = [int(of.sum()) for of in (known < request.assume[name], known > request.assume[name])]
            unknown = f", and {np.isnan(known).sum():,} of unknown rate get it" if np.isnan(known).any() else ""
            advice = f"; '{name}:TYPE=RATE' names types" if name in OF_TYPES else ""
            rate, (up, down) = format_rate(request.assume[name]), counts
            yield f"{ASSUMED_OF_ALL}{name}={rate} raises {count_text(up, 'type')} and lowers {down:,}{unknown}{advice}"


def _beyond_the_link(request: Request, best: Sequence[Candidate]) -> Iterator[str]:
    """Yield notes where the recommended cluster's volumes, or its link to them, do less than was assumed of volumes."""
    for candidate in best if not request.paper else ():
        volumes = candidate.volumes
        planned = volumes.count * volumes.bytes_per_s_each if volumes else math.inf
        for name in ("volume_read", "volume_write"):
            if request.assume.get(name, 0.0) > planned * (1 + 1e-9):
                asked, most = format_rate(request.assume[name]), format_rate(planned)
                yield f"{name}: planned with {most}, what {candidate.instance_type} and its volumes do, not {asked}"


def _capacity_notes(request: Request, regions: Sequence[Region]) -> Iterator[str]:
    """Yield the types planned with fewer nodes because a cloud had no more."""
    places = {(region.catalog.cloud, region.offer.region) for region in regions}
    for limit in request.node_limits:
        if (limit.cloud, limit.region) in places:
            seen = f"at most {limit.nodes} x {limit.instance} in {limit.region}: {limit.note}"
            yield f"{seen}; --set capacity=TYPE=N overrides that"


def _away_from_data(request: Request, best: Sequence[Candidate]) -> Iterator[str]:
    """Yield a note if the recommended machines are not in the region of the input."""
    for candidate in best if not request.paper else ():
        region = request.input_region
        if region and region != candidate.region:
            yield f"input: the bucket is in {region}, the machines in {candidate.region}; --region {region} moves them"


def _to_show(
    ranked: Sequence[Cluster], by_pricing: Sequence[Cluster], request: Request, *, kinds: int
) -> list[Cluster]:
    """Return the first `top`; with several models or ways to pay, first the best of each, to show each one's price."""
    if kinds == 1:
        return list(ranked[: request.top])
    firsts: dict[str, Cluster] = {}
    for cluster in ranked:
        firsts.setdefault(cluster.place[0], cluster)
    first = {id(cluster): cluster for cluster in (*firsts.values(), *by_pricing)}
    shown = [*first, *(id(cluster) for cluster in ranked if id(cluster) not in first)]
    most = max(request.top, len(first))
    return [cluster for cluster in ranked if id(cluster) in shown[:most]]


def _sorted(rejected: Sequence[Rejection], chosen: Sequence[Cluster], *, kinds: int) -> list[Rejection]:
    """Order rejections by reason; with several models or ways to pay, keep each type's nearest, and none of types that
    are candidates.
    """
    feasible = {cluster.instance_type for cluster in chosen} if kinds > 1 else set()
    nearest_last = sorted(rejected, key=lambda r: -math.inf if r.nearness is None else -r.nearness)
    by_type = {r.instance_type: r for r in nearest_last if r.instance_type not in feasible}
    unique = by_type.values() if kinds > 1 else rejected
    return sorted(unique, key=lambda r: (r.reason, r.nearness or 0.0, r.instance_type))


def _stamp(catalogs: Sequence[Catalog]) -> CatalogStamp:
    """Return the names of the catalogs used, with the date of the oldest prices among them."""
    oldest = min(catalog.prices_as_of for catalog in catalogs)
    return CatalogStamp(
        name=",".join(catalog.name for catalog in catalogs),
        prices_as_of=oldest.isoformat(),
        refreshed=tuple(catalog.name for catalog in catalogs if catalog.refreshed_on),
    )


_WHAT = {"disks": "disks", "networks": "network", "small_io": "small operations", "sort_rates": "sorting in memory"}


def own_measurements(best: Candidate, catalogs: Sequence[Catalog]) -> Iterator[str]:
    """Yield a sentence naming the user's measurements of a cluster's type and their date; none without any."""
    for catalog in catalogs:
        tables = ((_WHAT.get(name, name.replace("_", " ")), table) for name, table in catalog.tables.items())
        if catalog.cloud == best.cloud and (
            parts := [part for what, table in tables for part in _of(what, table, best)]
        ):
            yield (
                f"your own measurements of {best.instance_type} count: {', '.join(dict.fromkeys(parts))}; "
                f"planner catalog measurements --catalog {catalog.name} lists them"
            )


def _of(what: str, table: Table, best: Candidate) -> Iterator[str]:
    if not {"instance_type", "source"} <= table.columns.keys():
        return
    for row in table.rows(np.flatnonzero(table["source"] == SOURCE).tolist()):
        if row["instance_type"] not in (best.instance_type, best.cloud_type):
            continue
        how = " ".join(str(row[name]).replace("_", " ") for name in ("mode", "operation") if row.get(name))
        yield f"{what} {how} ({row['as_of']})" if how else f"{what} ({row['as_of']})"
