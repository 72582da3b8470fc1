"""From a Request and catalogs to a Plan: build a candidate grid for each model, catalog and region, select sizes, rank.

Source: Conley, Vahdat, Porter, SoCC 2015, sections 3.3 and 4; the ranges and whole-run totals go beyond it, see
docs/equations.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from planner.arrays import Floats
from planner.catalog import Catalog
from planner.catalog.cloud_regions import regions_of
from planner.cost_model.model import CostModel
from planner.cost_model.run_overheads import RunOverheads
from planner.errors import InfeasibleError
from planner.planning import constraints, selection
from planner.planning.best_clusters import choose
from planner.planning.candidate_grid import CandidateGrid, build_grid
from planner.planning.feasibility import TOO_FEW
from planner.planning.filters import PREVIOUS, UNASKED, filter_conflicts
from planner.planning.overturning import overturned_by
from planner.planning.own_measurements import own_measurements
from planner.planning.region import Region
from planner.planning.request_checks import check_request
from planner.schemas.plan import Candidate, CatalogStamp, FrontierPoint, Plan, Rejection, Request
from planner.units import format_rate

_SAME_COST = 1e-6
"""Costs that differ by less are the same: equation 7 gives one cost for all cluster sizes."""


def recommend(
    request: Request,
    sizes: Floats | None = None,
    *,
    model: CostModel | Sequence[CostModel],
    catalogs: Sequence[Catalog],
    overheads: RunOverheads,
) -> Plan:
    """Return the plan for `request`: candidates best first, the frontier, and every type left out with its reason.

    Of several models the clusters are ranked against each other, each type once for each model. `best` is None when
    nothing is feasible; `require_best` turns that into the error a command ends with. With `sizes` only clusters of so
    many nodes are planned.
    Raises BadInputError for an unpriced region, an unknown instance type, distribution or assumption.
    """
    check_request(request, catalogs)
    regions = [
        Region.of(request, catalog, name)
        for catalog, names in zip(catalogs, regions_of(request.regions, catalogs), strict=True)
        for name in names
    ]
    grids: list[list[CandidateGrid]] = []
    rejected: list[Rejection] = []
    models = [model] if isinstance(model, CostModel) else list(model)
    for cost_model in models:
        grid_of = partial(build_grid, request, model=cost_model, overheads=overheads, sizes=sizes)
        built = [grid_of(region=region) for region in regions]
        grids.append([grid for grid, _ in built])
        rejected += [rejection for _, unusable in built for rejection in unusable]
    chosen, missed = choose(request, grids)
    all_grids = list(chain(*grids))
    points = _EstimatedPoints.of(request, all_grids)
    cheapest = points.cheaper_than(min((candidate.cost_usd.total for candidate in chosen), default=-math.inf))
    ranked = selection.order(chosen, request.objective, cheapest=cheapest)
    if ranked:
        turn = overturned_by(request, ranked, all_grids, cheapest=cheapest)
        ranked[0] = replace(ranked[0], overturned_by=turn)
    return Plan(
        request=request,
        catalog=_stamp(catalogs),
        best=ranked[0] if ranked else None,
        candidates=tuple(_shown(ranked, request, models=len(models))),
        rejected=tuple(_sorted([*rejected, *missed], chosen, models=len(models))),
        frontier=tuple(_frontier(points, ranked, cheapest)),
        conflicts=() if ranked else tuple(_conflicts(request, catalogs, all_grids)),
        warnings=(
            *_own(ranked[:1], catalogs, request),
            *_left_aside(request),
            *_capacity_seen(request, regions),
            *_beyond_the_link(request, ranked[:1]),
            *_as_if_free(ranked),
        ),
    )


def require_best(plan: Plan) -> Candidate:
    """Return the recommended cluster. Raises InfeasibleError naming what clashes and the nearest rejections when there
    is none.
    """
    if plan.best is None:
        raise refusal_of(plan)
    return plan.best


def refusal_of(plan: Plan) -> InfeasibleError:
    """Return why nothing is feasible: what clashes, and the nearest rejections."""
    near = sorted((r for r in plan.rejected if r.nearness is not None), key=_nearness)
    shown = near[:5] or sorted(plan.rejected, key=_lacking)[:5]
    lines = [f"{r.instance_type}: {r.reason}" + (f" ({r.detail})" if r.detail else "") for r in shown]
    clash = "".join(f"; {conflict}" for conflict in plan.conflicts)
    return InfeasibleError(f"nothing feasible among {len(plan.rejected)} types{clash}; the nearest:", lines)


def _nearness(rejection: Rejection) -> tuple[bool, float]:
    """Order rejections: first the types that can do the job and miss what was asked of it, each by how much."""
    return rejection.reason.startswith(TOO_FEW), rejection.nearness or 0.0


def _lacking(rejection: Rejection) -> tuple[bool, int]:
    """Order rejections that have no distance: first the types that were asked for, each by how many facts it lacks."""
    also = rejection.detail.partition("also ")[2]
    return rejection.reason.startswith((UNASKED, PREVIOUS)), len(also.split(", ")) if also else 0


def _conflicts(request: Request, catalogs: Sequence[Catalog], grids: Sequence[CandidateGrid]) -> Iterator[str]:
    """Name the filters that let no type through together, else the constraints that no cluster meets together."""
    clash = list(filter_conflicts(request, catalogs))
    yield from clash or constraints.conflicts(
        [constraints.Asked(constraints=grid.asked, cluster_name=grid.cluster_name) for grid in grids]
    )


def _own(best: Sequence[Candidate], catalogs: Sequence[Catalog], request: Request) -> Iterator[str]:
    """Say that the recommended cluster may rest on the user's own measurements."""
    return chain.from_iterable(own_measurements(candidate, catalogs) for candidate in best if not request.paper)


def _left_aside(request: Request) -> Iterator[str]:
    """Say what was asked for and has no meaning in the papers' equations."""
    named = {
        "--input": request.input,
        "--output": request.output,
        "--zones": request.zones > 1,
        "--head-room": request.head_room is not None,
        "own prices": request.own_prices,
        "--confidence": request.confidence,
    }
    aside = [name for name, given in named.items() if given]
    if request.paper and aside:
        yield f"--paper leaves aside {', '.join(aside)}: the papers' equations know nothing of it"


def _beyond_the_link(request: Request, best: Sequence[Candidate]) -> Iterator[str]:
    """Say where the recommended cluster's volumes, or its link to them, do less than was assumed of volumes."""
    for candidate in best if not request.paper else ():
        volumes = candidate.volumes
        planned = volumes.count * volumes.bytes_per_s_each if volumes else math.inf
        for name in ("volume_read", "volume_write"):
            if request.assume.get(name, 0.0) > planned * (1 + 1e-9):
                asked, most = format_rate(request.assume[name]), format_rate(planned)
                yield f"{name}: planned with {most}, what {candidate.instance_type} and its volumes do, not {asked}"


def _capacity_seen(request: Request, regions: Sequence[Region]) -> Iterator[str]:
    """Say which types are planned with fewer nodes since a cloud had no more."""
    places = {(region.catalog.cloud, region.offer.region) for region in regions}
    for limit in request.node_limits:
        if (limit.cloud, limit.region) in places:
            yield f"at most {limit.nodes} x {limit.instance} in {limit.region}: {limit.note}; --capacity overrides that"


def _as_if_free(ranked: Sequence[Candidate]) -> Iterator[str]:
    """Say where the recommended cluster is compared with some that pay for what nobody knows the price of for it."""
    unpriced = [name for name in (ranked[0].cost_usd.unknown if ranked else ()) if _is_paid(name, ranked)]
    if unpriced:
        without = f"without the price of {', '.join(unpriced)}, which is unknown"
        yield f"{ranked[0].cloud} comes first {without}; other clouds' totals have it"


def _is_paid(name: str, ranked: Sequence[Candidate]) -> bool:
    """Whether any cluster has a charge of this name with a known price in its bill."""
    return any(line.name == name and line.usd for candidate in ranked for line in candidate.bill)


def _shown(ranked: Sequence[Candidate], request: Request, *, models: int) -> list[Candidate]:
    """The first `top`; of several models first the best of each, so that each has its price shown."""
    if models == 1:
        return list(ranked[: request.top])
    firsts: dict[str, Candidate] = {}
    for candidate in ranked:
        firsts.setdefault(candidate.model, candidate)
    shown = list(firsts.values()) + [candidate for candidate in ranked if candidate is not firsts[candidate.model]]
    return [
        candidate
        for candidate in ranked
        if any(candidate is shown_one for shown_one in shown[: max(request.top, len(firsts))])
    ]


def _sorted(rejected: Sequence[Rejection], chosen: Sequence[Candidate], *, models: int) -> list[Rejection]:
    """Order rejections by reason; of several models keep each type's nearest, and none of types that are candidates."""
    feasible = {candidate.instance_type for candidate in chosen} if models > 1 else set()
    nearest_last = sorted(rejected, key=lambda r: -math.inf if r.nearness is None else -r.nearness)
    by_type = {r.instance_type: r for r in nearest_last if r.instance_type not in feasible}
    unique = by_type.values() if models > 1 else rejected
    return sorted(unique, key=lambda r: (r.reason, r.nearness or 0.0, r.instance_type))


@dataclass(frozen=True, kw_only=True, eq=False)
class _EstimatedPoints:
    """The frontier as estimated: cells by the point they make, without those that turn out to miss what was asked."""

    request: Request
    cells: dict[FrontierPoint, tuple[CandidateGrid, selection.Cell]]

    @classmethod
    def of(cls, request: Request, grids: Sequence[CandidateGrid]) -> _EstimatedPoints:
        cells = ((grid, cell) for grid in grids for cell in selection.frontier(grid.estimates, grid.good))
        return cls(request=request, cells={grid.point(cell): (grid, cell) for grid, cell in cells})

    def cheaper_than(self, usd: float) -> list[Candidate]:
        """Return the clusters, worked out exactly, of all points that can cost less than `usd` and those before."""
        cheaper: list[Candidate] = []
        for point in sorted(self.cells, key=lambda point: point.cost_usd_total):
            if point.cost_usd_total >= usd:
                break
            if (cluster := self.exact(point)) is not None:
                cheaper.append(cluster)
                usd = min(usd, cluster.cost_usd.total)
        return cheaper

    def fastest_within(self, usd: float) -> list[Candidate]:
        """Return the cluster, worked out exactly, of the fastest point that costs at most so much; none if there is
        none.
        """
        for point in sorted(self.cells, key=lambda point: point.time_s):
            if point.cost_usd_total <= usd and (cluster := self.exact(point)) and cluster.cost_usd.total <= usd:
                return [cluster]
        return []

    def exact(self, point: FrontierPoint) -> Candidate | None:
        """Work a point out exactly; one that misses what was asked is None and no point any longer."""
        grid, cell = self.cells[point]
        cluster, excess = grid.exact(cell, self.request)
        if excess <= 1:
            return cluster
        del self.cells[point]
        return None


def _frontier(
    estimated: _EstimatedPoints, ranked: Sequence[Candidate], cheapest: Sequence[Candidate]
) -> list[FrontierPoint]:
    """Return the clusters that no other beats in both time and total cost, fastest first; the recommended one and the
    cheapest are always there. Candidates, the cheapest and the fastest sensible cluster have their exact figures,
    others the estimates'.
    """
    by_cost = sorted([*ranked, *cheapest], key=lambda candidate: candidate.cost_usd.total)
    sensible = estimated.fastest_within(selection.SENSIBLE * by_cost[0].cost_usd.total) if by_cost else []
    exact = {_place(point): point for point in map(_point, [*ranked, *cheapest, *sensible])}
    points = [*exact.values(), *(point for point in estimated.cells if _place(point) not in exact)]
    always = [_point(candidate) for candidate in [*ranked[:1], *by_cost[:1]]]
    best: list[FrontierPoint] = []
    least = math.inf
    for point in sorted(points, key=lambda p: (p.time_s, p.cost_usd_total)):
        if point in always or point.cost_usd_total < least * (1 - _SAME_COST):
            best.append(point)
        least = min(least, point.cost_usd_total)
    return best


def _point(candidate: Candidate) -> FrontierPoint:
    return FrontierPoint(
        model=candidate.model,
        cloud=candidate.cloud,
        instance_type=candidate.instance_type,
        nodes=candidate.nodes,
        time_s=candidate.time_s.expected,
        cost_usd_total=candidate.cost_usd.total,
    )


def _place(point: FrontierPoint) -> tuple[str, str, str, int]:
    return point.model, point.cloud, point.instance_type, point.nodes


def _stamp(catalogs: Sequence[Catalog]) -> CatalogStamp:
    """Name the catalogs that answered, with the date of the oldest prices among them."""
    oldest = min(catalog.prices_as_of for catalog in catalogs)
    return CatalogStamp(
        name=",".join(catalog.name for catalog in catalogs),
        prices_as_of=oldest.isoformat(),
        refreshed=tuple(catalog.name for catalog in catalogs if catalog.refreshed_on),
    )
