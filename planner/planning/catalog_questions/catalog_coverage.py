"""How many types of a catalog can be planned with under each model, and why the others cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.catalog import Catalog
from planner.cost_model.model import CostModel
from planner.cost_model.run_overheads import RunOverheads
from planner.planning.candidates.candidate_grid import build_grid
from planner.planning.request.region import Region
from planner.schemas.plan import Request

_DATA_BYTES: Final = 1
"""So little that every type holds it: whether its facts are known does not depend on the size."""


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """`usable` of `types` have every fact that the model needs; `reasons` count what the others lack first."""

    catalog: str
    model: str
    types: int
    usable: int
    reasons: Mapping[str, int]


def coverage(catalog: Catalog, models: Sequence[CostModel], *, overheads: RunOverheads) -> list[Coverage]:
    """Return a row for each model, at the on-demand prices of the catalog's default region."""
    return [_of_model(catalog, model, overheads) for model in models] if catalog.regions() else []


def _of_model(catalog: Catalog, model: CostModel, overheads: RunOverheads) -> Coverage:
    request = Request(data_bytes=_DATA_BYTES, model=model.name, max_nodes=2, previous_generations=True)
    grid, lacking = build_grid(
        request, model=model, region=Region.of(request, catalog, catalog.default_region), overheads=overheads
    )
    plannable = len(np.unique(grid.context.layouts.type_row))
    reasons = Counter(rejection.reason for rejection in lacking)
    return Coverage(
        catalog=catalog.name,
        model=model.name,
        types=len(catalog.instances),
        usable=plannable,
        reasons=dict(reasons.most_common()),
    )
