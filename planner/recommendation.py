"""From a Request and catalogs to a Plan, in four steps: filter the types, estimate every cluster, select sizes, rank.

Source: Conley, Vahdat, Porter, SoCC 2015, sections 3.3 and 4; the ranges and whole-run totals go beyond it, see the
docs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from planner import feasibility, lifecycle, selection
from planner.candidates import Offer, candidate
from planner.catalog import Catalog
from planner.errors import BadInputError, InfeasibleError, nearest
from planner.estimate import Estimates, estimate
from planner.layout import layouts
from planner.model import CostModel, JobVolumes
from planner.plan import Candidate, CatalogStamp, FrontierPoint, Plan, Rejection, Request
from planner.rates import catalog_rates, check_assumptions, evidence_codes, evidence_name
from planner.selection import Cell
from planner.volumes import VolumeChoice, choose_volumes
from planner.work import Situation

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Market:
    """One catalog in one region: the situation, what it is offered for, and the estimates of every cluster there."""

    situation: Situation
    offer: Offer
    estimates: Estimates
    good: NDArray[np.bool_]

    def rows_of_types(self) -> list[NDArray[np.intp]]:
        """Return the layouts of each type, as arrays of rows."""
        rows = np.arange(len(self.situation.layouts.type_row))
        return np.split(rows, self.situation.layouts.first_of_types()[1:]) if len(rows) else []

    def point(self, cell: Cell) -> FrontierPoint:
        """Return a cell as a point of the frontier."""
        kind = self.situation.layouts.type_row[cell.row]
        return FrontierPoint(
            cloud=self.situation.catalog.cloud,
            instance_type=str(self.situation.catalog.instances.instance_type[kind]),
            nodes=int(self.estimates.nodes[cell.column]),
            time_s=float(self.estimates.expected_s[cell.row, cell.column]),
            cost_usd_total=float(self.estimates.total_usd[cell.row, cell.column]),
        )


def recommend(
    request: Request,
    *,
    model: CostModel,
    catalogs: Sequence[Catalog],
    surroundings: lifecycle.Lifecycle,
) -> Plan:
    """Return the plan for `request`: candidates best first, the frontier, and every type left out with its reason.

    `best` is None when nothing is feasible; `require_best` turns that into the error a command ends with.
    Raises BadInputError for an unpriced region, an unknown instance type or assumption.
    """
    check_assumptions(assume=request.assume, scale=request.scale)
    _check_instances(request, catalogs)
    markets, rejected = [], []
    for catalog in catalogs:
        for region in request.regions or (catalog.default_region,):
            market, unusable = _market(request, model, catalog, region, surroundings)
            rejected += unusable
            markets.append(market)
    chosen, missed = _choose(request, markets)
    ranked = selection.order(chosen, request.objective)
    return Plan(
        request=request,
        catalog=_stamp(catalogs),
        best=ranked[0] if ranked else None,
        candidates=tuple(ranked[: request.top]),
        rejected=tuple(sorted([*rejected, *missed], key=lambda r: (r.reason, r.nearness or 0.0, r.instance_type))),
        frontier=tuple(_frontier(markets)),
    )


def require_best(plan: Plan) -> Candidate:
    """Return the recommended cluster. Raises InfeasibleError naming the nearest rejections when there is none."""
    if plan.best is not None:
        return plan.best
    near = sorted((r for r in plan.rejected if r.nearness is not None), key=lambda r: r.nearness or 0.0)
    shown = near[:5] or plan.rejected[:5]
    lines = [f"{r.instance_type}: {r.reason}" + (f" ({r.detail})" if r.detail else "") for r in shown]
    raise InfeasibleError(f"nothing feasible among {len(plan.rejected)} types; the nearest:", lines)


def _market(
    request: Request, model: CostModel, catalog: Catalog, region: str, surroundings: lifecycle.Lifecycle
) -> tuple[Market, list[Rejection]]:
    volumes = choose_volumes(catalog, region=region)
    rates = catalog_rates(
        catalog, volumes=volumes.device, cpu=surroundings.cpu_bytes_per_s_per_vcpu, assume=request.assume
    ).times(request.scale)
    whole = Situation(
        catalog=catalog,
        model=model,
        job=JobVolumes.of_sort(request.data_bytes),
        rates=rates,
        volumes=_all_in(volumes) if "price" in request.assume else volumes,
        layouts=layouts(catalog, model=model, rates=rates, paper=request.paper),
        lifecycle=surroundings,
        paper=request.paper,
    )
    offer = _offer(whole, region, request)
    wanted, unasked = _wanted(whole, request)
    fit, lacking = feasibility.usable(whole, offer, networked=request.nodes != 1 or request.paper)
    situation = replace(whole, layouts=whole.layouts.only(np.flatnonzero((wanted & fit)[whole.layouts.type_row])))
    nodes = np.array([float(request.nodes)]) if request.nodes else np.arange(1.0, request.max_nodes + 1)
    estimates = estimate(situation, price_usd_per_hour=offer.price_usd_per_hour, nodes=nodes)
    good = selection.admissible(estimates, request)
    names = {r.instance_type for r in unasked}
    return (
        Market(situation=situation, offer=offer, estimates=estimates, good=good),
        unasked + [r for r in lacking if r.instance_type not in names],
    )


def _offer(situation: Situation, region: str, request: Request) -> Offer:
    """Price a node all-in: the instance, and on volumes what does not depend on capacity."""
    size = len(situation.catalog.instances)
    if situation.catalog.cloud == "local":  # nothing is rented, and that is known
        hourly, evidence = np.zeros(size), ("measured",) * size
    elif "price" in request.assume:
        hourly, evidence = np.full(size, request.assume["price"]), ("assumed",) * size
    else:
        prices = situation.catalog.prices(region, request.pricing)
        on_volumes = np.zeros(size, bool)
        on_volumes[situation.layouts.type_row[situation.layouts.data_disks == 0]] = True
        hourly = prices.price_usd_per_hour + np.where(on_volumes, situation.volumes.fixed_usd_per_hour, 0.0)
        evidence = tuple(evidence_name(code) for code in evidence_codes(prices.evidence).tolist())
    return Offer(
        region=region,
        pricing=request.pricing,
        price_usd_per_hour=hourly * request.scale.get("price", 1.0),
        evidence=evidence,
    )


def _all_in(volumes: VolumeChoice) -> VolumeChoice:
    """An assumed price is all-in: volumes cost nothing on top of it."""
    nothing = np.zeros(len(volumes.count))
    return replace(volumes, fixed_usd_per_hour=nothing, usd_per_byte_hour=nothing)


def _wanted(situation: Situation, request: Request) -> tuple[NDArray[np.bool_], list[Rejection]]:
    """Return which types `--instance` asks for, and a rejection for each other."""
    names = situation.catalog.instances.instance_type.tolist()
    if not request.instances:
        return np.ones(len(names), bool), []
    wanted = [any(fnmatchcase(name, pattern) for pattern in request.instances) for name in names]
    reason = f"not asked for (--instance {','.join(request.instances)})"
    unasked = [
        Rejection(instance_type=name, reason=reason) for name, asked in zip(names, wanted, strict=True) if not asked
    ]
    return np.array(wanted), unasked


def _choose(request: Request, markets: Sequence[Market]) -> tuple[list[Candidate], list[Rejection]]:
    """Pick the best cluster of each type in each market; the first `3 * top` are worked out in full."""
    least = min((float(m.estimates.total_usd[m.good].min()) for m in markets if m.good.any()), default=np.inf)
    picked: list[tuple[Market, Cell]] = []
    rejected: list[Rejection] = []
    for market in markets:
        for rows in market.rows_of_types():
            cell = selection.best_cell(
                rows, market.estimates, market.good, objective=request.objective, least_usd=least
            )
            if cell:
                picked.append((market, cell))
            elif len(rows):
                rejected.append(_missed(request, market, rows))
    picked.sort(key=lambda item: _promise(*item, request=request, least_usd=least))
    return [_candidate(*item) for item in picked[: 3 * request.top]], rejected


def _promise(market: Market, cell: Cell, *, request: Request, least_usd: float) -> tuple[float, ...]:
    """Order cells as `selection.order` will order the candidates made of them."""
    time, total = market.estimates.expected_s[cell.row, cell.column], market.estimates.total_usd[cell.row, cell.column]
    if request.objective == "balanced":
        return (0.0, time, total) if total <= selection.SLACK * least_usd else (1.0, total, time)
    return (total, time) if request.objective == "cost" else (time, total)


def _candidate(market: Market, cell: Cell) -> Candidate:
    nodes = int(market.estimates.nodes[cell.column])
    return candidate(market.situation, row=cell.row, nodes=nodes, offer=market.offer)


def _missed(request: Request, market: Market, rows: NDArray[np.intp]) -> Rejection:
    total = market.estimates.total_usd[rows]
    if not np.isfinite(total).any():
        roomiest = int(rows[np.argmin(market.estimates.fewest[rows])])
        return feasibility.too_small(market.situation, roomiest, market.estimates, request)
    return feasibility.misses(
        market.situation,
        int(market.situation.layouts.type_row[rows[0]]),
        best_s=float(market.estimates.expected_s[rows].min()),
        least_usd=float(total.min()),
        request=request,
    )


def _frontier(markets: Sequence[Market]) -> list[FrontierPoint]:
    points = [market.point(cell) for market in markets for cell in selection.frontier(market.estimates, market.good)]
    kept: list[FrontierPoint] = []
    for point in sorted(points, key=lambda p: (p.time_s, p.cost_usd_total)):
        if not kept or point.cost_usd_total < kept[-1].cost_usd_total:
            kept.append(point)
    return kept


def _stamp(catalogs: Sequence[Catalog]) -> CatalogStamp:
    """Name the catalogs that answered, with the date of the oldest prices among them."""
    oldest = min(catalog.prices_as_of for catalog in catalogs)
    return CatalogStamp(name=",".join(catalog.name for catalog in catalogs), prices_as_of=oldest.isoformat())


def _check_instances(request: Request, catalogs: Sequence[Catalog]) -> None:
    known = [name for catalog in catalogs for name in catalog.instances.instance_type.tolist()]
    for pattern in request.instances:
        if not any(fnmatchcase(name, pattern) for name in known):
            where = ", ".join(catalog.name for catalog in catalogs)
            raise BadInputError(f"unknown instance type {pattern!r} in {where}.{nearest(pattern, known)}")
