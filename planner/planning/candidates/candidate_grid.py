"""One model on one catalog in one region: filter the types, price them, and estimate every cluster there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from planner.arrays import Flags, Floats, Rows
from planner.catalog.instances import FOR_VOLUMES, split_weighting
from planner.cost_model.capacity import with_lasting_credit
from planner.cost_model.disk_layout import VOLUMES
from planner.cost_model.estimate import Estimates, estimate
from planner.cost_model.model import CostModel
from planner.cost_model.prices import Offer, paid_nodes, partly_unknown
from planner.cost_model.run_overheads import RunOverheads
from planner.cost_model.workload import JobContext
from planner.planning.candidates import feasibility
from planner.planning.candidates.candidates import Outlined, outlined
from planner.planning.ranking.selection import Cell, Cheapest
from planner.planning.request.constraints import RESTARTS, Constraint, amounts, constraints, times_begun
from planner.planning.request.filters import well_founded
from planner.planning.request.job_context import job_context
from planner.planning.request.region import Region
from planner.schemas.plan import Candidate, FrontierPoint, Rejection, Request


@dataclass(frozen=True, kw_only=True, eq=False)
class CandidateGrid:
    """A job context with an offer of prices, the estimates of every cluster, and the constraints on them."""

    context: JobContext
    offer: Offer
    estimates: Estimates
    asked: Sequence[Constraint]
    good: Flags

    @classmethod
    def of(cls, context: JobContext, offer: Offer, estimates: Estimates, request: Request) -> CandidateGrid:
        """Return the grid with the constraints of a request."""
        asked = constraints(context, estimates, request, region=offer.region)
        good = np.isfinite(estimates.total_usd)
        for constraint in asked:
            good &= constraint.met
        return cls(context=context, offer=offer, estimates=estimates, asked=asked, good=good)

    def with_constraints_of(self, request: Request) -> CandidateGrid:
        """Return the same clusters with the constraints of another request for the same job."""
        return CandidateGrid.of(self.context, self.offer, self.estimates, request)

    @cached_property
    def partly_unknown(self) -> Flags:
        """Layouts (R,) whose bill has a part without a known price."""
        return partly_unknown(self.context)

    @cached_property
    def cheapest(self) -> Cheapest:
        """The cheapest cluster of each layout that meets the constraints."""
        return Cheapest.of(self.estimates, self.good)

    @property
    def types(self) -> int:
        """The number of types that meet the constraints at some size."""
        type_rows = self.context.layouts.type_row[np.isfinite(self.cheapest.usd)]
        return len(set(self.context.catalog.instances.offered_row[type_rows].tolist()))

    def rows_of_types(self) -> list[Rows]:
        """Return the layouts of each type at all its bandwidth weightings, as arrays of rows: the default one first."""
        return self._rows_of_types

    @cached_property
    def _rows_of_types(self) -> list[Rows]:
        offered = self.context.catalog.instances.offered_row[self.context.layouts.type_row]
        rows = np.argsort(offered, kind="stable")
        if not len(rows):
            return []
        return np.split(rows, np.flatnonzero(np.diff(offered[rows])) + 1)

    def type_name(self, row: int) -> str:
        """Return the instance type of a layout."""
        return self._weighted_type(row)[0]

    def _weighted_type(self, row: int) -> tuple[str, str]:
        """Return the instance type and the bandwidth weighting of a layout."""
        return split_weighting(self.context.catalog.instances.names[self.context.layouts.type_row[row]])

    def cluster_name(self, row: int, column: int) -> str:
        """Return the name of a cell: `79 x i8g.8xlarge`."""
        return f"{self.estimates.nodes[column]:.0f} x {self.type_name(row)}"

    def point(self, cell: Cell) -> FrontierPoint:
        """Return a cell as a point of the frontier."""
        return FrontierPoint(
            model=self.context.model.name,
            cloud=self.context.catalog.cloud,
            instance_type=self.type_name(cell.row),
            bandwidth_weighting=self._weighted_type(cell.row)[1],
            nodes=int(self.estimates.nodes[cell.column]),
            pricing=self.offer.pricing,
            region=self.offer.region,
            time_s=float(self.estimates.expected_s[cell.row, cell.column]),
            cost_usd_total=float(self.estimates.total_usd[cell.row, cell.column]),
        )

    def exact(self, cell: Cell, request: Request) -> tuple[Outlined, float]:
        """Return a cell as an outlined candidate, and its ratio to the tightest limit: at most 1 is within all."""
        cluster, exactly = self.measured(cell, request)
        exceeds = (exactly[constraint.name] / constraint.limit for constraint in self.asked)
        return cluster, max(exceeds, default=0.0)

    def measured(self, cell: Cell, request: Request) -> tuple[Outlined, dict[str, float]]:
        """Return a cell as an outlined candidate, and its amount for each constraint, by name."""
        nodes = int(self.estimates.nodes[cell.column])
        cluster, lasts = outlined(self.context, row=cell.row, nodes=nodes, offer=self.offer, request=request)
        needed_s = cluster.time_s.expected
        if request.has_deadline and request.confidence:
            needed_s = float(lasts.quantile_s(request.confidence))
        estimated = {constraint.name: float(constraint.measure[cell.row, cell.column]) for constraint in self.asked}
        launched = self._launched_to_estimated(cell, cluster)
        estimated |= {name: estimated[name] * launched for name in estimated.keys() & {"quota", "capacity"}}
        exactly = amounts(cluster, needed_s)
        if self.context.risk is not None:
            expected_s, of = np.array(cluster.time_s.expected), np.array(float(nodes))
            exactly[RESTARTS] = float(times_begun(self.context.risk, nodes=of, expected_s=expected_s))
        return cluster, estimated | {name: exactly[name] for name in exactly.keys() & estimated.keys()}

    def _launched_to_estimated(self, cell: Cell, cluster: Candidate) -> float:
        """Return the ratio of launched nodes, spares included, to those in the estimates."""
        nodes = self.estimates.nodes[[cell.column]]
        estimated = float(paid_nodes(nodes, spare_fraction=self.context.overheads.spare_fraction)[0])
        return (cluster.nodes + cluster.spares) / estimated


def build_grid(
    request: Request, *, model: CostModel, region: Region, overheads: RunOverheads, sizes: Floats | None = None
) -> tuple[CandidateGrid, list[Rejection]]:
    """Return the grid, limited to clusters of `sizes` nodes (N,) if given, and a rejection for every type that is not
    asked for or lacks a fact.
    """
    nodes = _sizes(request, sizes, spare_fraction=overheads.spare_fraction)
    whole = _context_of_all_types(request, model=model, region=region, overheads=overheads, most=int(nodes[-1]))
    offer = _with_volumes(region.offer, whole, request)
    context, rejected = _feasible(request, whole, region=region, offer=offer)
    estimates = estimate(
        context,
        price_usd_per_hour=offer.price_usd_per_hour,
        nodes=nodes,
        budgeted=request.budget_usd is not None,
        reservations=offer.reservations,
    )
    return CandidateGrid.of(context, offer, estimates, request), rejected


def _sizes(request: Request, sizes: Floats | None, *, spare_fraction: float) -> Floats:
    """Return the numbers of nodes to plan (N,): those that are at most as many as allowed together with their spares.
    Types are refused if that leaves out the only size.
    """
    if request.nodes:
        return np.array([float(request.nodes)])
    every_size = np.arange(1.0, request.max_nodes + 1) if sizes is None else sizes
    return every_size[paid_nodes(every_size, spare_fraction=spare_fraction) <= request.most_machines]


def _context_of_all_types(
    request: Request, *, model: CostModel, region: Region, overheads: RunOverheads, most: int
) -> JobContext:
    """Return the job on all types of a region, with volumes on burst credit if that lasts and costs less."""
    place = region.offer.region
    with_volumes = partial(job_context, request, model=model, catalog=region.catalog, overheads=overheads, region=place)
    sustained = with_volumes(volumes=region.volumes)
    if region.volumes_on_credit is None or not sustained.layouts.uses(VOLUMES).any():
        return sustained
    lasting = with_lasting_credit(
        sustained,
        on_credit=region.volumes_on_credit,
        price_usd_per_hour=region.offer.price_usd_per_hour,
        nodes=request.nodes,
        max_nodes=most,
    )
    return with_volumes(volumes=lasting)


def _feasible(
    request: Request, whole: JobContext, *, region: Region, offer: Offer
) -> tuple[JobContext, list[Rejection]]:
    """Return the requested layouts that have every fact and hold the data, and a rejection for each other type."""
    fit, lacking = feasibility.with_all_facts(
        whole, offer, networked=request.nodes != 1, powered=request.objective == "energy"
    )
    fit &= region.passed[whole.layouts.type_row] & ~_gains_nothing(whole)
    fitting = whole.only_rows(np.flatnonzero(fit))
    founded, weak = well_founded(fitting, request.evidence, networked=request.nodes not in (None, 1))
    fitting = fitting.only_rows(np.flatnonzero(founded))
    fitting_rows, small = feasibility.fits_capacity(fitting, request)
    unasked = {rejection.instance_type for rejection in region.unasked}
    rejected = [*region.unasked, *(r for r in lacking if r.instance_type not in unasked), *weak, *small]
    rejected = [rejection for rejection in rejected if not split_weighting(rejection.instance_type)[1]]
    return fitting.only_rows(np.flatnonzero(fitting_rows)), rejected


def _gains_nothing(context: JobContext) -> Flags:
    """Return the layouts whose type gives up network for volumes that the job does not use."""
    for_volumes = np.char.endswith(context.catalog.instances.names, f"+{FOR_VOLUMES}")
    return np.asarray(for_volumes[context.layouts.type_row] & ~context.layouts.uses(VOLUMES))


def _with_volumes(offer: Offer, context: JobContext, request: Request) -> Offer:
    """Return the offer with the price of a node on volumes, including costs that do not depend on capacity."""
    fixed = np.zeros(len(offer.price_usd_per_hour))
    on_volumes = context.layouts.uses(VOLUMES)
    type_rows = context.layouts.type_row[on_volumes]
    fixed[type_rows] = np.nan_to_num(context.volumes.fixed_usd_per_hour[type_rows])
    if "price" in request.assume or not on_volumes.any():
        return offer
    factor = request.scale.get("price", 1.0)
    return replace(offer, price_usd_per_hour=offer.price_usd_per_hour + fixed * factor)
