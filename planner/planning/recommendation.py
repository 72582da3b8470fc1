"""From a Request and catalogs to a Plan: build a candidate grid for each model, catalog and region, select sizes, rank.

Source: Conley, Vahdat, Porter, SoCC 2015, sections 3.3 and 4; the ranges and whole-run totals go beyond it, see
docs/equations.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from planner.catalog import Catalog
from planner.catalog.bandwidth_distributions import distribution
from planner.cost_model import run_overheads
from planner.cost_model.model import CostModel
from planner.cost_model.rates import check_assumptions
from planner.errors import BadInputError, InfeasibleError, nearest
from planner.planning import constraints, selection
from planner.planning.candidate_grid import CandidateGrid, Region, build_grid
from planner.planning.filters import UNASKED, filter_conflicts
from planner.planning.selection import Cell
from planner.schemas.plan import Candidate, CatalogStamp, FrontierPoint, Objective, Plan, Rejection, Request
from planner.statistics.order_statistics import Spread, from_bandwidths

_TRIES = 6
"""How often a cell that turns out to miss what was asked is replaced by a safer one."""

_ALIKE = 1.01
"""Layouts whose estimated times lie within this factor are compared exactly."""


def recommend(
    request: Request,
    *,
    model: CostModel | Sequence[CostModel],
    catalogs: Sequence[Catalog],
    overheads: run_overheads.RunOverheads,
) -> Plan:
    """Return the plan for `request`: candidates best first, the frontier, and every type left out with its reason.

    Of several models the clusters are ranked against each other, each type once for each model. `best` is None when
    nothing is feasible; `require_best` turns that into the error a command ends with.
    Raises BadInputError for an unpriced region, an unknown instance type, distribution or assumption.
    """
    check_assumptions(assume=request.assume, scale=request.scale)
    _check_amounts(request)
    _check_instances(request, catalogs)
    models = [model] if isinstance(model, CostModel) else list(model)
    spread = _network_spread(request)
    regions = [Region.of(request, one, name) for one in catalogs for name in request.regions or (one.default_region,)]
    grids, rejected = [], []
    for one in models:
        found = [
            build_grid(request, model=one, region=region, overheads=overheads, network_spread=spread)
            for region in regions
        ]
        grids.append([grid for grid, _ in found])
        rejected += [rejection for _, unusable in found for rejection in unusable]
    chosen, missed = _choose(request, grids)
    rejected += missed
    opened = list(chain(*grids))
    ranked = selection.order(chosen, request.objective)
    return Plan(
        request=request,
        catalog=_stamp(catalogs),
        best=ranked[0] if ranked else None,
        candidates=tuple(_shown(ranked, request, models=len(models))),
        rejected=tuple(_sorted(rejected, chosen, models=len(models))),
        frontier=tuple(_frontier(opened)),
        conflicts=() if ranked else tuple(_conflicts(request, catalogs, opened)),
        warnings=(*_left_aside(request), *_capacity_seen(request, regions)),
    )


def require_best(plan: Plan) -> Candidate:
    """Return the recommended cluster. Raises InfeasibleError naming what clashes and the nearest rejections when there
    is none.
    """
    if plan.best is not None:
        return plan.best
    near = sorted((r for r in plan.rejected if r.nearness is not None), key=lambda r: r.nearness or 0.0)
    shown = near[:5] or sorted(plan.rejected, key=lambda r: r.reason.startswith(UNASKED))[:5]
    lines = [f"{r.instance_type}: {r.reason}" + (f" ({r.detail})" if r.detail else "") for r in shown]
    clash = "".join(f"; {conflict}" for conflict in plan.conflicts)
    raise InfeasibleError(f"nothing feasible among {len(plan.rejected)} types{clash}; the nearest:", lines)


def _conflicts(request: Request, catalogs: Sequence[Catalog], grids: Sequence[CandidateGrid]) -> Iterator[str]:
    """Name the filters that let no type through together, else the constraints that no cluster meets together."""
    clash = list(filter_conflicts(request, catalogs))
    yield from clash or constraints.conflicts([grid.asked for grid in grids])


def _left_aside(request: Request) -> Iterator[str]:
    """Say what was asked for and has no meaning in the papers' equations."""
    named = {
        "--input": request.input,
        "--output": request.output,
        "--zones": request.zones > 1,
        "own prices": request.own_prices,
        "--confidence": request.confidence,
    }
    aside = [name for name, given in named.items() if given]
    if request.paper and aside:
        yield f"--paper leaves aside {', '.join(aside)}: the papers' equations know nothing of it"


def _capacity_seen(request: Request, regions: Sequence[Region]) -> Iterator[str]:
    """Say which types are planned with fewer nodes since a cloud had no more."""
    places = {(region.catalog.cloud, region.offer.region) for region in regions}
    for limit in request.node_limits:
        if (limit.cloud, limit.region) in places:
            yield f"at most {limit.nodes} x {limit.instance} in {limit.region}: {limit.note}; --capacity overrides that"


def _network_spread(request: Request) -> tuple[float, Spread] | None:
    if request.network_distribution is None:
        return None
    if "network" in request.assume:
        raise BadInputError("--network-distribution and --assume network both say what the network does: give one")
    seen = distribution(request.network_distribution)
    spread = from_bandwidths(
        probabilities=seen.probabilities,
        bytes_per_s=seen.bytes_per_s,
        median_bytes_per_s=seen.median_bytes_per_s,
    )
    return seen.median_bytes_per_s, spread


@dataclass(frozen=True, kw_only=True, eq=False)
class _Pick:
    """The best cluster of a type in a grid, as estimated, among the layouts `rows` of the type; `least_usd` is the
    least total of any under the same model.
    """

    grid: CandidateGrid
    rows: NDArray[np.intp]
    cell: Cell
    least_usd: float


def _choose(
    request: Request, grids_by_model: Sequence[Sequence[CandidateGrid]]
) -> tuple[list[Candidate], list[Rejection]]:
    """Pick the best cluster of each type in each grid; the first `3 * top` are worked out in full, and of each model
    the first.
    """
    rejected: list[Rejection] = []
    picks = [_picks(request, grids, rejected) for grids in grids_by_model]
    least = min((_least_usd(grids) for grids in grids_by_model), default=np.inf)
    ranked = sorted(chain(*picks), key=lambda pick: _promise(pick, request=request, least_usd=least))
    settled: dict[int, Candidate | Rejection] = {}
    for mine, wanted in [(ranked, 3 * request.top), *((mine, 1) for mine in picks)]:
        good = 0
        for pick in mine:
            if good >= wanted:
                break
            if id(pick) not in settled:
                settled[id(pick)] = _settled(request, pick)
            good += isinstance(settled[id(pick)], Candidate)
    found = [one for one in settled.values() if isinstance(one, Candidate)]
    return found, rejected + [one for one in settled.values() if isinstance(one, Rejection)]


def _least_usd(grids: Sequence[CandidateGrid]) -> float:
    return min((float(m.estimates.total_usd[m.good].min()) for m in grids if m.good.any()), default=np.inf)


def _picks(request: Request, grids: Sequence[CandidateGrid], rejected: list[Rejection]) -> list[_Pick]:
    """Return the picks of one model, the most promising first; adds the types that have none to `rejected`."""
    least = _least_usd(grids)
    hopeful, hopeless = _hopeful(request, grids)
    rejected += hopeless
    picks = []
    for grid, rows in hopeful:
        cell = selection.best_cell(rows, grid.estimates, grid.good, objective=request.objective, least_usd=least)
        if cell:
            picks.append(_Pick(grid=grid, rows=rows, cell=cell, least_usd=least))
    return sorted(picks, key=lambda pick: _promise(pick, request=request, least_usd=least))


def _hopeful(
    request: Request, grids: Sequence[CandidateGrid]
) -> tuple[list[tuple[CandidateGrid, NDArray[np.intp]]], list[Rejection]]:
    """Return the types, as rows of a grid, that can be among the first `6 * top`, and a rejection of each that is
    not admissible at any size.
    """
    found: list[tuple[float, CandidateGrid, NDArray[np.intp]]] = []
    rejected: list[Rejection] = []
    for grid in grids:
        least = _least_of_rows(grid, request.objective)
        for rows in grid.rows_of_types() if len(least) else ():
            best = float(least[rows].min())
            if np.isfinite(best):
                found.append((best, grid, rows))
            else:
                rejected.append(_missed(grid, rows))
    found.sort(key=lambda item: item[0])
    limit = selection.SLACK * found[min(len(found), 6 * request.top) - 1][0] if found else 0.0
    return [(grid, rows) for best, grid, rows in found if best <= limit], rejected


def _least_of_rows(grid: CandidateGrid, objective: Objective) -> NDArray[np.float64]:
    """Return what the objective ranks by first, at the best admissible size of each layout: inf where none is."""
    estimates = grid.estimates
    measure = {"time": estimates.expected_s}.get(objective, estimates.total_usd)
    if objective == "energy":
        measure = estimates.energy_j(np.arange(len(estimates.power_w)))
    return np.asarray(np.min(measure, axis=1, where=grid.good, initial=np.inf))


def _settled(request: Request, pick: _Pick) -> Candidate | Rejection:
    """Work a cell out exactly; where that misses what was asked, which the estimates only bound, take a safer one."""
    grid, rows, cell = pick.grid, pick.rows, pick.cell
    asked, estimates, good = grid.asked, grid.estimates, grid.good
    for _ in range(_TRIES):
        found, over = grid.exact(cell, request)
        if over <= 1:
            return selection.order([found, *_like(request, pick, cell)], request.objective)[0]
        good = good.copy()
        for one in asked:
            at = one.measure[cell.row, cell.column]
            good[rows] &= one.measure[rows] <= max(at, one.limit / over) * (1 - 1e-9) if at * over > one.limit else True
        good[cell.row, cell.column] = False
        again = selection.best_cell(rows, estimates, good, objective=request.objective, least_usd=pick.least_usd)
        if again is None:
            break
        cell = again
    nearness = max(over, 1.0)
    reason = asked[0].reason if asked else ""
    detail = f"by {nearness - 1:.1%}, computed exactly"
    return Rejection(instance_type=grid.type_name(cell.row), reason=reason, detail=detail, nearness=nearness)


def _like(request: Request, pick: _Pick, cell: Cell) -> Iterator[Candidate]:
    """Yield the same cluster on its other layouts, where the estimates, lower bounds, cannot tell them apart."""
    expected, good = pick.grid.estimates.expected_s[:, cell.column], pick.grid.good[:, cell.column]
    for row in pick.rows.tolist():
        if row != cell.row and good[row] and expected[row] <= expected[cell.row] * _ALIKE:
            found, over = pick.grid.exact(Cell(row=row, column=cell.column), request)
            if over <= 1:
                yield found


def _promise(pick: _Pick, *, request: Request, least_usd: float) -> tuple[float, ...]:
    """Order picks as `selection.order` will order the candidates made of them."""
    grid, cell = pick.grid, pick.cell
    time, total = grid.estimates.expected_s[cell.row, cell.column], grid.estimates.total_usd[cell.row, cell.column]
    if request.objective == "energy":
        return (float(grid.estimates.energy_j(np.array([cell.row]))[0, cell.column]), time)
    if request.objective == "balanced":
        return (0.0, time, total) if total <= selection.SLACK * least_usd else (1.0, total, time)
    return (total, time) if request.objective == "cost" else (time, total)


def _missed(grid: CandidateGrid, rows: NDArray[np.intp]) -> Rejection:
    return constraints.missed(grid.type_name(int(rows[0])), rows, grid.asked)


def _shown(ranked: Sequence[Candidate], request: Request, *, models: int) -> list[Candidate]:
    """The first `top`; of several models first the best of each, so that each has its price shown."""
    if models == 1:
        return list(ranked[: request.top])
    firsts: dict[str, Candidate] = {}
    for one in ranked:
        firsts.setdefault(one.model, one)
    shown = list(firsts.values()) + [one for one in ranked if one is not firsts[one.model]]
    return [one for one in ranked if any(one is kept for kept in shown[: max(request.top, len(firsts))])]


def _sorted(rejected: Sequence[Rejection], chosen: Sequence[Candidate], *, models: int) -> list[Rejection]:
    """Order rejections by reason; of several models keep the last for each type, none for types that are candidates."""
    feasible = {one.instance_type for one in chosen} if models > 1 else set()
    kept = {r.instance_type: r for r in rejected if r.instance_type not in feasible}
    unique = kept.values() if models > 1 else rejected
    return sorted(unique, key=lambda r: (r.reason, r.nearness or 0.0, r.instance_type))


def _frontier(grids: Sequence[CandidateGrid]) -> list[FrontierPoint]:
    points = [grid.point(cell) for grid in grids for cell in selection.frontier(grid.estimates, grid.good)]
    kept: list[FrontierPoint] = []
    for point in sorted(points, key=lambda p: (p.time_s, p.cost_usd_total)):
        if not kept or point.cost_usd_total < kept[-1].cost_usd_total:
            kept.append(point)
    return kept


def _stamp(catalogs: Sequence[Catalog]) -> CatalogStamp:
    """Name the catalogs that answered, with the date of the oldest prices among them."""
    oldest = min(catalog.prices_as_of for catalog in catalogs)
    return CatalogStamp(
        name=",".join(catalog.name for catalog in catalogs),
        prices_as_of=oldest.isoformat(),
        refreshed=tuple(catalog.name for catalog in catalogs if catalog.refreshed_on),
    )


def _check_amounts(request: Request) -> None:
    if request.confidence is not None and not 0 < request.confidence < 1:
        raise BadInputError(f"confidence {request.confidence:g}: a probability lies between 0 and 1, such as 0.95")
    for name, ratio in (("map", request.map_ratio), ("reduce", request.reduce_ratio)):
        if not 0 < ratio < 1e6:
            raise BadInputError(f"{name} ratio {ratio:g}: output over input must be positive and below a million")
    interruptions = request.interruptions_per_node_hour
    if interruptions is not None and not 0 < interruptions <= 60:
        raise BadInputError(
            f"interruptions {interruptions:g}: an hourly rate per node above 0 and at most 60, such as 0.05"
        )
    if interruptions is not None and request.pricing != "spot":
        raise BadInputError(f"interruptions are of spot nodes: say pricing spot, not {request.pricing}")
    usual = Request.max_nodes
    if request.nodes and request.max_nodes != usual and request.nodes > request.max_nodes:
        raise BadInputError(
            f"--nodes {request.nodes} and --max-nodes {request.max_nodes} contradict each other: give one"
        )
    if request.arch not in (None, "x86_64", "arm64"):
        raise BadInputError(f"arch {request.arch}: use x86_64 or arm64")


def _check_instances(request: Request, catalogs: Sequence[Catalog]) -> None:
    known = [name for catalog in catalogs for name in catalog.instances.instance_type.tolist()]
    for pattern in request.instances:
        if not any(fnmatchcase(name, pattern) for name in known):
            where = ", ".join(catalog.name for catalog in catalogs)
            raise BadInputError(f"unknown instance type {pattern!r} in {where}.{nearest(pattern, known)}")
