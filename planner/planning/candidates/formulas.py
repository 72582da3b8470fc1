"""The leading types of a request as numbers to calculate with: what a page needs to plan them again by itself.

All amounts are for each byte of data, since the equations are linear in it; what depends on the number of nodes alone
is a table over `sizes`. What cannot be written so (block volumes, whose choice depends on the data, object stores,
reservations, spot nodes) is refused with a reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from planner.arrays import Rows
from planner.catalog import Catalog
from planner.catalog.cloud_regions import regions_of
from planner.cost_model.disk_layout import OBJECTS, VOLUMES
from planner.cost_model.model import CostModel
from planner.cost_model.prices import partly_unknown
from planner.cost_model.rate_doubts import ORDERS
from planner.cost_model.run_overheads import RunOverheads
from planner.cost_model.workload import JobContext
from planner.errors import BadInputError
from planner.planning.candidates.candidate_grid import CandidateGrid, build_grid
from planner.planning.candidates.candidates import candidate
from planner.planning.candidates.formula_tables import Tables, own_curves, short, table_sizes
from planner.planning.request.region import Region
from planner.schemas.plan import Candidate, Request
from planner.statistics.order_statistics import lognormal
from planner.statistics.scaling_curve import stated_slowdowns

MOST_TYPES: Final = 24


def formulas(
    request: Request,
    candidates: Sequence[Candidate],
    *,
    models: Sequence[CostModel],
    catalogs: Sequence[Catalog],
    overheads: RunOverheads,
) -> dict[str, Any]:
    """Return the formulas of the candidates' types and of others that lead without limits, at most `MOST_TYPES`.

    Raises BadInputError, which says why, where a request cannot be planned again with formulas alone.
    """
    free = replace(request, nodes=None, deadline_s=None, sort_deadline_s=None, budget_usd=None, top=MOST_TYPES)
    grids = [
        build_grid(free, model=model, region=Region.of(free, catalog, name), overheads=overheads)[0]
        for model in models
        for catalog, names in zip(catalogs, regions_of(request.regions, catalogs), strict=True)
        for name in names
    ]
    types = _leading(grids, candidates)
    chosen = [(grid, rows) for grid in grids if len(rows := _rows(grid, types))]
    sizes = table_sizes(request.max_nodes, [own_curves(grid, rows) for grid, rows in chosen])
    parts = [(Tables(grid, rows, sizes), grid) for grid, rows in chosen]
    if request.objective == "energy":
        raise BadInputError("what energy a cluster takes is not among its formulas")
    for part, grid in parts:
        for reason, applies in _exceptions(part.context, grid):
            if applies:
                raise BadInputError(reason)
    if len({bool(flag) for part, _ in parts for flag in partly_unknown(part.context)}) > 1:
        raise BadInputError("of some clusters a part of the bill is unknown")
    if not any(_is_as_planned(grid, best) for grid in grids for best in candidates[:1]):
        raise BadInputError("the plan was made with a profile, or with catalogs that have changed since")
    return {
        "request": _asked(request),
        "normal_log_cdf": short(lognormal(1.0).log_cdf),
        "orders": ORDERS,
        "sizes": sizes.tolist(),
        "stated": [short(row) for row in stated_slowdowns(sizes)],
        "grids": [part.document(request) for part, _ in parts],
    }


def _is_as_planned(grid: CandidateGrid, best: Candidate) -> bool:
    """Whether the formulas of a grid give the recommended cluster its time and cost."""
    place = (grid.context.model.name, grid.context.catalog.cloud, grid.offer.region)
    if place != (best.model, best.cloud, best.region):
        return False
    rows = _rows(grid, {best.instance_type}).tolist()
    again = (candidate(grid.context, row=row, nodes=best.nodes, offer=grid.offer) for row in rows)
    return any(
        math.isclose(made.time_s.expected, best.time_s.expected, rel_tol=1e-3)
        and math.isclose(made.cost_usd.total, best.cost_usd.total, rel_tol=1e-3)
        for made in again
    )


def _asked(request: Request) -> dict[str, Any]:
    names = (
        "data_bytes",
        "deadline_s",
        "sort_deadline_s",
        "confidence",
        "budget_usd",
        "nodes",
        "max_nodes",
        "objective",
        "map_ratio",
    )
    return {name: getattr(request, name) for name in names}


def _leading(grids: Sequence[CandidateGrid], candidates: Sequence[Candidate]) -> set[str]:
    """Return the candidates' types, then those that cost least in all, and those that are fastest."""
    names = list(dict.fromkeys(candidate.instance_type for candidate in candidates))
    ranked: list[list[tuple[float, str]]] = [[], []]
    for grid in grids:
        for place, measure in enumerate((grid.estimates.total_usd, grid.estimates.expected_s)):
            least = measure.min(axis=1, initial=np.inf)
            ranked[place] += [(float(amount), grid.type_name(row)) for row, amount in enumerate(least)]
    for pair in zip(*(sorted(of) for of in ranked), strict=True):
        names += [name for _, name in pair if name not in names]
    return set(names[:MOST_TYPES])


def _rows(grid: CandidateGrid, types: set[str]) -> Rows:
    rows = range(len(grid.context.layouts.type_row))
    return np.array([row for row in rows if grid.type_name(row) in types], int)


def _exceptions(context: JobContext, grid: CandidateGrid) -> Iterator[tuple[str, bool]]:
    yield "which block volumes to rent depends on the data", bool(context.layouts.uses(VOLUMES).any())
    yield "requests to the object store are counted one by one", bool(context.layouts.uses(OBJECTS).any())
    yield "reserved nodes have prices of their own", grid.offer.reservations is not None
    yield "how often spot nodes are taken back depends on the time", context.risk is not None
