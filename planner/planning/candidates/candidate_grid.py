"""One model on one catalog in one region: filter the types, price them, and estimate every cluster there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np

from planner.arrays import Flags, Floats, Rows, distinct
from planner.catalog.instances import split_weighting
from planner.cost_model.bill import beside_usd_per_hour, lower_bounds
from planner.cost_model.clusters import Clusters, energy_j
from planner.cost_model.estimate import Estimates, estimate
from planner.cost_model.model import CostModel
from planner.cost_model.prices import Offer, paid_nodes
from planner.cost_model.run_overheads import RunOverheads
from planner.cost_model.workload import JobContext
from planner.planning.candidates import feasibility
from planner.planning.candidates.candidates import Cluster
from planner.planning.candidates.usable import Usable
from planner.planning.ranking.selection import Cells
from planner.planning.request.constraints import MACHINES, RESTARTS, Constraint, constraints, machines, sureness
from planner.planning.request.job_context import job_volumes
from planner.planning.request.region import Region
from planner.schemas.plan import Rejection, Request

_SAMPLED: Final = 60
"""Most sizes of a sample."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CandidateGrid:
    """The clusters of `nodes` (N,) on each layout of a job context at an offer of prices, with the constraints of a
    request. Estimates are made when they are asked for; what was evaluated, `found` by layout (`ids`, R) and nodes, is
    shared with the grids made of a part.
    """

    context: JobContext
    offer: Offer
    nodes: Floats
    request: Request
    ids: Rows
    found: dict[int, dict[float, Cluster]]
    machines_most: float = np.inf

    @classmethod
    def of(cls, context: JobContext, offer: Offer, *, nodes: Floats, request: Request) -> CandidateGrid:
        """Return the grid of all layouts of a context."""
        ids = np.arange(len(context.layouts.type_row))
        return cls(context=context, offer=offer, nodes=nodes, request=request, ids=ids, found=defaultdict(dict))

    @cached_property
    def estimates(self) -> Estimates:
        """The estimates of all clusters."""
        return estimate(self.context, self.offer, nodes=self.nodes, budgeted=self.request.budget_usd is not None)

    @cached_property
    def asked(self) -> Sequence[Constraint]:
        """The constraints on the clusters."""
        asked = constraints(self.context, self.estimates, self.request, region=self.offer.region)
        if np.isfinite(self.machines_most):
            asked.append(machines(self.context, self.estimates, most=self.machines_most))
        return asked

    @cached_property
    def good(self) -> Flags:
        """The clusters that meet all constraints by the estimates, (R, N)."""
        return self.within(1.0)

    def within(self, share: float) -> Flags:
        """Return the clusters that hold the data and exceed no limit by more than to `share` of it, (R, N)."""
        good = np.isfinite(self.estimates.total_usd)
        for constraint in self.asked:
            good &= constraint.within(share)
        return good

    @cached_property
    def sampled(self) -> CandidateGrid:
        """The same layouts at some sizes, evenly spread on a logarithmic scale: neighbours differ little."""
        columns = _sample(len(self.nodes))
        return self if len(columns) == len(self.nodes) else replace(self, nodes=self.nodes[columns])

    def only(self, rows: Rows) -> CandidateGrid:
        """Return the grid of some layouts."""
        return replace(self, context=self.context.only(rows), ids=self.ids[rows])

    def under(self, request: Request) -> CandidateGrid:
        """Return the same clusters with the constraints of another request for the same job and budget."""
        return self._limited(request=request)

    def at_most(self, machines: float) -> CandidateGrid:
        """Return the same clusters, of which those of more machines, spares included, are not admissible."""
        return self._limited(machines_most=machines)

    def _limited(self, **limits: Any) -> CandidateGrid:
        grid = replace(self, **limits)
        known: dict[str, Any] = {name: at for name, at in self.__dict__.items() if name in ("estimates", "by_type")}
        grid.__dict__.update(known)  # set as if cached: no limit changes it
        grid.__dict__.update(sampled=grid if self.sampled is self else self.sampled._limited(**limits))
        return grid

    @cached_property
    def partly_unknown(self) -> Flags:
        """Layouts (R,) whose bill has a part without a known price."""
        beside = beside_usd_per_hour(self.context, self.offer, nodes=np.ones(1), spares=np.zeros(1))
        return lower_bounds(self.context, beside)

    def rows_of_types(self) -> list[Rows]:
        """Return the layouts of each type at all its bandwidth weightings, as arrays of rows: the default one first."""
        rows, starts = self.by_type
        return np.split(rows, starts[1:]) if len(rows) else []

    @cached_property
    def by_type(self) -> tuple[Rows, Rows]:
        """All layouts (R,), those of a type at all its bandwidth weightings one after the other, the default one first,
        and the places (T,) where those of each type begin.
        """
        offered = self.context.catalog.instances.offered_row[self.context.layouts.type_row]
        rows = np.argsort(offered, kind="stable")
        return rows, np.flatnonzero(np.diff(offered[rows], prepend=-1))

    def type_name(self, row: int) -> str:
        """Return the instance type of a layout."""
        return self._weighted_type(row)[0]

    def _weighted_type(self, row: int) -> tuple[str, str]:
        """Return the instance type and the bandwidth weighting of a layout."""
        return split_weighting(self.context.catalog.instances.names[self.context.layouts.type_row[row]])

    def cluster_name(self, row: int, column: int) -> str:
        """Return the name of a cell: `79 x i8g.8xlarge`."""
        return f"{self.nodes[column]:.0f} x {self.type_name(row)}"

    def cells(self, starts: Rows) -> Cells:
        """Return the figures of groups of layouts, which begin at `starts`, by the estimates: inf for clusters that
        miss a constraint.
        """
        time_s = np.where(self.good, self.estimates.expected_s, np.inf)
        return Cells(
            time_s=time_s,
            total_usd=np.where(self.good, self.estimates.total_usd, np.inf),
            energy_j=energy_j(time_s, nodes=self.estimates.nodes, power_w=self.estimates.power_w[:, None]),
            charges_usd=self.estimates.charges_usd,
            starts=starts,
        )

    def columns_of(self, row: int) -> list[int]:
        """Return the columns of the clusters evaluated on a layout."""
        known = np.array(sorted(self.found[int(self.ids[row])]))
        places = np.searchsorted(self.nodes, known).clip(max=len(self.nodes) - 1)
        return [int(place) for place in places[self.nodes[places] == known]]

    def evaluate(self, cells: Iterable[tuple[int, int]]) -> None:
        """Evaluate clusters, by row and column, that were not evaluated before, in one batch."""
        named = {(int(self.ids[row]), float(self.nodes[column])): row for row, column in cells}
        new = [(row, of, nodes) for (of, nodes), row in named.items() if nodes not in self.found[of]]
        if not new:
            return
        rows, _, nodes = (np.array(part) for part in zip(*new, strict=True))
        clusters = Clusters.of(self.context, self.offer, rows=rows, nodes=nodes)
        for at, (_, of, count) in enumerate(new):
            self.found[of][count] = Cluster(clusters=clusters, at=at)

    def cluster(self, row: int, column: int) -> Cluster:
        """Return one cluster."""
        self.evaluate([(row, column)])
        return self.found[int(self.ids[row])][float(self.nodes[column])]

    def amounts(self, row: int, column: int) -> dict[str, float]:
        """Return the exact figure of a cluster for each constraint, by name. A deadline limits the time at the
        requested confidence; what the number of machines limits is exact in the estimates but for spares.
        """
        cluster = self.cluster(row, column) if self.asked else None
        return {asked.name: self._amount(asked, row, column, cluster) for asked in self.asked if cluster}

    def _amount(self, asked: Constraint, row: int, column: int, cluster: Cluster) -> float:
        """Return the exact figure of a cluster for a constraint."""
        clusters, at, estimated = cluster.clusters, cluster.at, float(asked.measure[row, column])
        if asked.name in ("deadline", "sort's deadline"):
            sure = sureness(self.context, self.request)
            sort_s = float(clusters.quantile_s(sure)[at]) if sure else cluster.expected_s
            return sort_s + float(clusters.around_s[at]) if asked.name == "deadline" else sort_s
        if asked.name == "budget":
            return float(clusters.total_p95_usd[at])
        if asked.name == RESTARTS:
            return float(clusters.times_begun[at])
        if asked.name in ("quota", "capacity", MACHINES):
            usual = paid_nodes(clusters.nodes[at : at + 1], spare_fraction=self.context.overheads.spare_fraction)
            return estimated * cluster.machines / float(usual[0])
        return estimated

    def excess(self, row: int, column: int) -> float:
        """Return the ratio of a cluster to its tightest limit: at most 1 meets all constraints."""
        exactly = self.amounts(row, column)
        return max((exactly[constraint.name] / constraint.limit for constraint in self.asked), default=0.0)


@lru_cache(maxsize=16)
def _sample(count: int) -> Rows:
    """Return the columns to sample of so many."""
    return distinct(np.geomspace(1, count, min(count, _SAMPLED)).round().astype(int)) - 1


def build_grid(
    request: Request, *, model: CostModel, region: Region, overheads: RunOverheads, sizes: Floats | None = None
) -> tuple[CandidateGrid, list[Rejection]]:
    """Return the grid, limited to clusters of `sizes` nodes (N,) if given, and a rejection for every type that is not
    asked for or lacks a fact.
    """
    nodes = _sizes(request, sizes, spare_fraction=overheads.spare_fraction)
    usable = Usable.of(request, model=model, region=region, overheads=overheads, most=int(nodes[-1]))
    context = replace(usable.context, job=job_volumes(request), most_machines=request.most_machines)
    fitting, small = feasibility.fits_capacity(context, request)
    context = context.only_rows(np.flatnonzero(fitting))
    rejected = [*region.unasked, *usable.rejected, *small]
    return CandidateGrid.of(context, usable.offer, nodes=nodes, request=request), rejected


def _sizes(request: Request, sizes: Floats | None, *, spare_fraction: float) -> Floats:
    """Return the numbers of nodes to plan (N,): those that are at most as many as allowed together with their spares.
    Types are refused if that leaves out the only size.
    """
    if request.nodes:
        return np.array([float(request.nodes)])
    every_size = np.arange(1.0, request.max_nodes + 1) if sizes is None else sizes
    return every_size[paid_nodes(every_size, spare_fraction=spare_fraction) <= request.most_machines]
